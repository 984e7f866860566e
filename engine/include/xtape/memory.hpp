// The memory of large tensors. A buffer that no tensor uses any more is kept for the next tensor of
// about its size: to fetch fresh pages from the system takes longer than most ops.
#pragma once

#include <cstddef>

#include <xtape/export.hpp>

namespace xtape {

/// The bytes in buffers that are kept and not in use.
XTAPE_API std::size_t cached_bytes() noexcept;

/// The bytes that may be kept: 1 GiB unless set.
XTAPE_API std::size_t cache_limit() noexcept;

/// Keeps no more than `bytes` from now on; 0 keeps nothing. Where there are more, those unused for
/// longest go back to the system.
XTAPE_API void set_cache_limit(std::size_t bytes) noexcept;

/// Gives every buffer that is not in use back to the system.
XTAPE_API void empty_cache() noexcept;

namespace detail {

/// For tests: whether values are overwritten, with NaN, whenever memory for them is handed out or
/// given back, so that whoever reads a value that was never written, or no longer lives, shows.
XTAPE_API void poison_memory(bool on) noexcept;

}  // namespace detail

}  // namespace xtape
