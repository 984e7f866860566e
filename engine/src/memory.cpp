// Blocks for array bodies, recycled per thread: a recorded op on a small tensor allocates nothing.
#include <cstdlib>
#include <new>

#include "memory.hpp"

namespace xtape::detail {

namespace {

struct Block {
  Block* next;
};

// Under a sanitizer every block goes back to the system, so that a stale pointer is seen.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kCapacity = 0;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr int kCapacity = 0;
#else
constexpr int kCapacity = 4096;
#endif
#else
constexpr int kCapacity = 4096;  // 1 MB a thread
#endif

struct FreeList {
  Block* head;
  int count;
  bool closed;
};

// Initial-exec: the address is one addition away, also in a shared library.
#if defined(__GNUC__) && !defined(_WIN32)
__attribute__((tls_model("initial-exec")))
#endif
thread_local FreeList free_list{nullptr, 0, false};

/// Gives the list back when its thread ends.
struct Drain {
  ~Drain() {
    free_list.closed = true;
    while (Block* block = free_list.head) {
      free_list.head = block->next;
      ::operator delete(block);
    }
    free_list.count = 0;
  }
};

void drain_at_thread_exit() noexcept { static thread_local Drain drain; }

}  // namespace

void* allocate_block() {
  if (Block* block = free_list.head) {
    free_list.head = block->next;
    --free_list.count;
    return block;
  }
  return ::operator new(kBlockBytes);
}

void free_block(void* block) noexcept {
  if (free_list.count >= kCapacity || free_list.closed) return ::operator delete(block);
  if (!free_list.head) drain_at_thread_exit();
  free_list.head = ::new (block) Block{free_list.head};
  ++free_list.count;
}

}  // namespace xtape::detail
