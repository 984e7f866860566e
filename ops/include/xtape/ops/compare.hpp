// Comparisons, which give masks, and ops that choose by a mask. A comparison with NaN is false.
// < <= > >= stand for less and less_equal.
#pragma once

#include <cstdint>
#include <limits>

#include <xtape/tensor.hpp>

namespace xtape {

/// True where a < b. a, b: broadcast; b may be a number.
/// Not an op: a mask has no derivative.
template <class T>
XTAPE_API Mask less(const Tensor<T>& a, Arg<T> b);

/// True where a <= b. a, b: broadcast; b may be a number.
/// Not an op: a mask has no derivative.
template <class T>
XTAPE_API Mask less_equal(const Tensor<T>& a, Arg<T> b);

/// True where a and b are equal. a, b: broadcast; b may be a number.
/// Not an op: a mask has no derivative.
template <class T>
XTAPE_API Mask equal(const Tensor<T>& a, Arg<T> b);

/// Where both, either, or not: a, b broadcast.
XTAPE_API Mask operator&(const Mask& a, const Mask& b);
XTAPE_API Mask operator|(const Mask& a, const Mask& b);
XTAPE_API Mask operator!(const Mask& a);

/// a where `condition` is true, b elsewhere: what is not taken changes nothing, even if NaN.
/// condition, a, b: broadcast; a or b may be a number.
/// Formula: y = c ? a : b; da = c ? g : 0, db = c ? 0 : g
template <class T>
XTAPE_API Tensor<T> where(const Mask& condition, const Tensor<T>& a, Arg<T> b);
/// The same with a number where the condition is true.
/// Formula: y = c ? a : b; db = c ? 0 : g
template <class T>
XTAPE_API Tensor<T> where(const Mask& condition, double a, const Tensor<T>& b);

/// x where allowed, `fill` elsewhere: a selection, so that a NaN or an infinity in a masked place
/// changes nothing there or in its gradient. allowed broadcasts to x.
/// Throws: std::invalid_argument when it does not.
/// Formula: y = allowed ? x : fill; dx = allowed ? g : 0
template <class T>
XTAPE_API Tensor<T> mask(const Tensor<T>& x, const Mask& allowed,
                         double fill = -std::numeric_limits<double>::infinity());

/// What a causal query may attend to: key j is visible to query i when j <= i + keys - queries, so
/// that the last query sees every key. -> [queries, keys]
/// Not an op: a mask has no derivative.
XTAPE_API Mask causal_mask(std::int64_t queries, std::int64_t keys);

}  // namespace xtape
