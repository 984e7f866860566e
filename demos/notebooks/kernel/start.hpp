// What the kernel declares before the first cell.
#pragma once

#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <xcpp/xdisplay.hpp>

namespace xcpp::detail {

/// A cell that crashes or is interrupted ends the process: C++ cannot be stopped in between.
inline void give_up(int signal) {
  const char* text = signal == SIGINT
                         ? "\nInterrupted: the kernel ends and starts again. Run the cells anew.\n"
                         : "\nThe cell crashed (a bad memory access, or too deep a recursion): the "
                           "kernel ends and starts again. Run the cells anew.\n";
  if (write(2, text, strlen(text)) < 0) _exit(1);
  const timespec second{1, 0};  // for the text to be sent
  nanosleep(&second, nullptr);
  _exit(1);
}

inline void guard() {
  static char stack[65536];  // a stack that has overflowed is of no use to the handler
  stack_t other{};
  other.ss_sp = stack;
  other.ss_size = sizeof stack;
  sigaltstack(&other, nullptr);
  struct sigaction action {};
  action.sa_handler = give_up;
  action.sa_flags = SA_ONSTACK;
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGINT})
    sigaction(signal, &action, nullptr);
}

inline void flush() {
  std::cout << std::flush;
  std::cerr << std::flush;
  fflush(nullptr);
}

}  // namespace xcpp::detail
