// Ctrl-C as a wish that a loop can grant when it suits it.
#pragma once

#include <csignal>

namespace tiny_lm {

/// While it lives, Ctrl-C and SIGTERM are noted; a second one ends the program at once.
class Interrupts {
 public:
  Interrupts() {
    for (int s : {SIGINT, SIGTERM}) std::signal(s, note);
  }
  ~Interrupts() {
    for (int s : {SIGINT, SIGTERM}) std::signal(s, SIG_DFL);
  }
  Interrupts(const Interrupts&) = delete;

  bool happened() const { return happened_ != 0; }

 private:
  static void note(int signal) {
    happened_ = 1;
    std::signal(signal, SIG_DFL);
  }
  static inline volatile std::sig_atomic_t happened_ = 0;
};

}  // namespace tiny_lm
