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

}  // namespace xtape::detail
