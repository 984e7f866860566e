// How much memory the test program asks for: every operator new of it counts, and, but for a DLL,
// of the library.
#pragma once

#include <cstddef>

namespace xtape::test {

/// Watches from its construction on.
class Allocations {
 public:
  Allocations();
  /// The largest single request so far, in bytes.
  std::size_t largest() const;
  /// Lets the next `times` requests of `bytes` or more fail. False where that is not possible.
  bool fail(std::size_t bytes, int times);
};

}  // namespace xtape::test
