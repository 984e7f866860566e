// What a demo claims of its own numbers: a sentence each, with its verdict.
//
//   std::printf("the error is %.1e, 1e-14 allowed", error);
//   claims.hold_if(error <= 1e-14);
#pragma once

#include <cstdio>

namespace demo {

class Claims {
 public:
  /// Ends the sentence that was printed.
  void hold_if(bool holds) {
    std::printf(": %s\n", holds ? "ok" : "WRONG");
    all_ = all_ && holds;
  }
  int exit_code() const { return all_ ? 0 : 1; }

 private:
  bool all_ = true;
};

}  // namespace demo
