// Memory that is recycled: small pieces by each thread for itself, so that a recorded op on a small
// tensor allocates nothing; the buffers of large tensors by all threads together.
#include <xtape/memory.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <mutex>
#include <new>
#include <utility>

#include "memory.hpp"

#ifndef _WIN32
#include <pthread.h>
#endif

namespace xtape {

namespace detail {

namespace {

// Under a sanitizer all memory goes back to the system, so that a stale pointer is seen.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kRecycles = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool kRecycles = false;
#else
constexpr bool kRecycles = true;
#endif
#else
constexpr bool kRecycles = true;
#endif

/// Large buffers all begin at one offset within 4 KiB: a result that lies one to four cache lines
/// further than an operand takes up to twice the time, since processors compare the addresses of
/// loads and of the stores before them by their last 12 bits.
constexpr std::size_t kSpan = 4096;
constexpr std::size_t alignment(std::size_t bytes) { return bytes < kSpan ? kAlignment : kSpan; }

void* from_system(std::size_t bytes, std::size_t aligned_to) {
  try {
    return ::operator new (bytes, std::align_val_t{aligned_to});
  } catch (const std::bad_alloc&) {
    empty_cache();
    return ::operator new (bytes, std::align_val_t{aligned_to});
  }
}

void to_system(void* memory, std::size_t aligned_to) noexcept {
  ::operator delete (memory, std::align_val_t{aligned_to});
}

// ---- size classes ----------------------------------------------------------------------------

/// Each power of two in four steps: 64, 80, 96, 112, 128, 160, ... bytes. Memory is as large as
/// its class, so at most a quarter larger than what was asked for.
constexpr int kClasses = 4 * (std::numeric_limits<std::size_t>::digits - 8);
constexpr std::size_t size_of_class(int c) {
  return static_cast<std::size_t>(4 + c % 4) << (c / 4 + 4);
}

/// The classes below this one are kept by each thread for itself, without a lock.
constexpr int kFirstShared = 24;
static_assert(size_of_class(kFirstShared) == kSpan);

/// The smallest class that holds so many bytes; kClasses when none does, or nothing is recycled.
int class_of(std::size_t bytes) noexcept {
  int c = kRecycles ? 0 : kClasses;
  while (c < kClasses && size_of_class(c + 3) < bytes) c += 4;
  while (c < kClasses && size_of_class(c) < bytes) ++c;
  return c;
}

// ---- what a thread keeps ---------------------------------------------------------------------

constexpr std::size_t kThreadLimit = kRecycles ? std::size_t{1} << 20 : 0;

/// A list for each class of values, and one for blocks, which need no cache line of their own: to
/// align them would take two fifths more memory.
constexpr int kBlocks = kFirstShared;
constexpr int kLists = kFirstShared + 1;
constexpr std::size_t size_in(int list) {
  return list == kBlocks ? kBlockBytes : size_of_class(list);
}
constexpr std::size_t alignment_in(int list) {
  return list == kBlocks ? alignof(std::max_align_t) : kAlignment;
}

struct Block {
  Block* next;
};

struct FreeLists {
  Block* heads[kLists];
  std::size_t bytes;
  bool drains;
  bool closed;
};

// Initial-exec: the address is one addition away, also in a shared library.
#if defined(__GNUC__) && !defined(_WIN32)
__attribute__((tls_model("initial-exec")))
#endif
thread_local FreeLists lists{};

/// Gives everything back when its thread ends.
struct Drain {
  ~Drain() {
    lists.closed = true;
    for (int list = 0; list < kLists; ++list)
      while (Block* block = lists.heads[list]) {
        lists.heads[list] = block->next;
        to_system(block, alignment_in(list));
      }
    lists.bytes = 0;
  }
};

void drain_at_thread_exit() noexcept {
  static thread_local Drain drain;
  lists.drains = true;
}

void* take(int list) {
  Block*& head = lists.heads[list];
  if (!head) return from_system(size_in(list), alignment_in(list));
  lists.bytes -= size_in(list);
  return std::exchange(head, head->next);
}

void give(int list, void* memory) noexcept {
  if (lists.bytes >= kThreadLimit || lists.closed) return to_system(memory, alignment_in(list));
  if (!lists.drains) drain_at_thread_exit();
  lists.heads[list] = ::new (memory) Block{lists.heads[list]};
  lists.bytes += size_in(list);
}

// ---- what all threads keep -------------------------------------------------------------------

constexpr std::size_t kLimit = std::size_t{1} << 30;

/// A buffer that is not in use begins with its place among those of its class.
struct Buffer {
  Buffer* newer;
  Buffer* older;
  std::uint64_t time;  // when it was given back
};

class Cache {
 public:
  Cache() noexcept {
#ifndef _WIN32
    // A child must not find the lock taken by a thread that it does not have.
    pthread_atfork([] { cache().mutex_.lock(); }, [] { cache().mutex_.unlock(); },
                   [] { cache().mutex_.unlock(); });
#endif
  }

  /// A buffer of class c, or null.
  void* take(int c) noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    Buffer* const buffer = lists_[c].newest;
    if (buffer) remove(c, buffer);
    return buffer;
  }

  /// Keeps a buffer of class c; those over the limit go back to the system.
  void give(int c, void* memory) noexcept {
    Buffer* over;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      List& list = lists_[c];
      Buffer* const buffer = ::new (memory) Buffer{nullptr, list.newest, ++time_};
      (list.newest ? list.newest->newer : list.oldest) = buffer;
      list.newest = buffer;
      bytes_ += size_of_class(c);
      over = remove_over(limit_);
    }
    release(over);
  }

  /// Keeps no more than `bytes`.
  void shrink(std::size_t bytes) noexcept {
    Buffer* over;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      over = remove_over(bytes);
    }
    release(over);
  }

  void set_limit(std::size_t bytes) noexcept {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      limit_ = bytes;
    }
    shrink(bytes);
  }
  std::size_t limit() noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    return limit_;
  }
  std::size_t bytes() noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    return bytes_;
  }

  /// Never destroyed: tensors may end after everything static.
  static Cache& cache() noexcept {
    alignas(Cache) static unsigned char memory[sizeof(Cache)];
    static Cache* const cache = ::new (memory) Cache;
    return *cache;
  }

 private:
  struct List {
    Buffer* newest = nullptr;
    Buffer* oldest = nullptr;
  };

  void remove(int c, Buffer* buffer) noexcept {
    (buffer->newer ? buffer->newer->older : lists_[c].newest) = buffer->older;
    (buffer->older ? buffer->older->newer : lists_[c].oldest) = buffer->newer;
    bytes_ -= size_of_class(c);
  }

  /// Takes out the oldest until no more than `bytes` are left. They are linked by `older`, to be
  /// given back without the lock.
  Buffer* remove_over(std::size_t bytes) noexcept {
    Buffer* removed = nullptr;
    while (bytes_ > bytes) {
      int oldest = -1;
      for (int c = 0; c < kClasses; ++c)
        if (lists_[c].oldest &&
            (oldest < 0 || lists_[c].oldest->time < lists_[oldest].oldest->time))
          oldest = c;
      Buffer* const buffer = lists_[oldest].oldest;
      remove(oldest, buffer);
      buffer->older = removed;
      removed = buffer;
    }
    return removed;
  }

  static void release(Buffer* buffer) noexcept {
    while (buffer) {
      Buffer* const next = buffer->older;
      to_system(buffer, kSpan);
      buffer = next;
    }
  }

  std::mutex mutex_;
  List lists_[kClasses];
  std::size_t bytes_ = 0;
  std::size_t limit_ = kLimit;
  std::uint64_t time_ = 0;
};

std::atomic<bool> poisons{false};

}  // namespace

void* allocate_block() { return take(kBlocks); }
void free_block(void* block) noexcept { give(kBlocks, block); }

void* allocate_values(std::size_t bytes) {
  const int c = class_of(bytes);
  if (c < kFirstShared) return take(c);
  if (c == kClasses) return from_system(bytes, alignment(bytes));
  void* const buffer = Cache::cache().take(c);
  return buffer ? buffer : from_system(size_of_class(c), kSpan);
}

void free_values(void* values, std::size_t bytes) noexcept {
  poison(values, bytes);
  const int c = class_of(bytes);
  if (c < kFirstShared) return give(c, values);
  if (c == kClasses) return to_system(values, alignment(bytes));
  Cache::cache().give(c, values);
}

void poison(void* values, std::size_t bytes) noexcept {
  if (poisons.load(std::memory_order_relaxed)) std::memset(values, 0xff, bytes);
}

void poison_memory(bool on) noexcept { poisons.store(on, std::memory_order_relaxed); }

}  // namespace detail

std::size_t cached_bytes() noexcept { return detail::Cache::cache().bytes(); }
std::size_t cache_limit() noexcept { return detail::Cache::cache().limit(); }
void set_cache_limit(std::size_t bytes) noexcept { detail::Cache::cache().set_limit(bytes); }
void empty_cache() noexcept { detail::Cache::cache().shrink(0); }

}  // namespace xtape
