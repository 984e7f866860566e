// Memory for array bodies and their values.
#pragma once

#include <cstddef>

namespace xtape::detail {

inline constexpr std::size_t kBlockBytes = 256;

/// kBlockBytes bytes, enough for any body.
void* allocate_block();
void free_block(void* block) noexcept;

/// Where values begin: a cache line, as vector instructions like it.
inline constexpr std::size_t kAlignment = 64;

/// Memory for values, which may still hold those of a tensor that ended. Throws: std::bad_alloc.
void* allocate_values(std::size_t bytes);
/// `bytes` is what was asked for.
void free_values(void* values, std::size_t bytes) noexcept;

/// Overwrites values that may not be read, if tests want that (see poison_memory).
void poison(void* values, std::size_t bytes) noexcept;

}  // namespace xtape::detail
