// The program's operator new and delete, which note what is asked for. The thread sanitizer has its
// own, which cannot be replaced: there a hook of its allocator takes the notes.
#include "support/allocations.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#include <sanitizer/allocator_interface.h>
#define XTAPE_TSAN
#endif
#endif

namespace {

std::atomic<std::size_t> largest_request{0};

void note(std::size_t size) {
  std::size_t before = largest_request.load();
  while (size > before && !largest_request.compare_exchange_weak(before, size)) {
  }
}

}  // namespace

#ifdef XTAPE_TSAN

xtape::test::Allocations::Allocations() {
  static const int hooks = __sanitizer_install_malloc_and_free_hooks(
      [](const volatile void*, std::size_t size) { note(size); }, [](const volatile void*) {});
  largest_request = hooks > 0 ? 0 : ~std::size_t{0};  // without hooks every test of it fails
}
bool xtape::test::Allocations::fail(std::size_t, int) { return false; }

#else

namespace {

#ifdef _WIN32
void* aligned(std::size_t alignment, std::size_t size) { return _aligned_malloc(size, alignment); }
void release(void* memory) { _aligned_free(memory); }
#else
void* aligned(std::size_t alignment, std::size_t size) {
  return std::aligned_alloc(alignment, size);
}
void release(void* memory) { std::free(memory); }
#endif

std::atomic<std::size_t> failing_size{0};
std::atomic<int> failures{0};

void* allocate(std::size_t size, std::size_t alignment) {
  note(size);
  if (failures > 0 && size >= failing_size && failures-- > 0) throw std::bad_alloc();
  const std::size_t whole =
      (std::max<std::size_t>(size, 1) + alignment - 1) / alignment * alignment;
  if (whole >= size)
    if (void* memory = aligned(alignment, whole)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size, alignof(std::max_align_t)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate(size, std::max(static_cast<std::size_t>(alignment), alignof(std::max_align_t)));
}
// Standard algorithms ask so for buffers: a sanitizer's own would not go with the delete below.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept try {
  return operator new(size);
} catch (const std::bad_alloc&) {
  return nullptr;
}
void operator delete(void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }

xtape::test::Allocations::Allocations() { largest_request = 0; }
bool xtape::test::Allocations::fail(std::size_t bytes, int times) {
  failing_size = bytes;
  failures = times;
  return true;
}

#endif

std::size_t xtape::test::Allocations::largest() const { return largest_request; }
