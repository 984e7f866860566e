// The program's operator new and delete, which note what is asked for.
#include "support/allocations.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::size_t> largest_request{0};

#ifdef _WIN32
void* aligned(std::size_t alignment, std::size_t size) { return _aligned_malloc(size, alignment); }
void release(void* memory) { _aligned_free(memory); }
#else
void* aligned(std::size_t alignment, std::size_t size) {
  return std::aligned_alloc(alignment, size);
}
void release(void* memory) { std::free(memory); }
#endif

void* allocate(std::size_t size, std::size_t alignment) {
  std::size_t before = largest_request.load();
  while (size > before && !largest_request.compare_exchange_weak(before, size)) {
  }
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
void operator delete(void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }

namespace xtape::test {

Allocations::Allocations() { largest_request = 0; }

std::size_t Allocations::largest() const { return largest_request; }

}  // namespace xtape::test
