// Ops that move values or give them other axes. transpose, slice, broadcast_to, unsqueeze, squeeze
// and, where strides allow, reshape are views: O(1), sharing storage.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <xtape/tensor.hpp>

namespace xtape {

/// The same values in row-major order without gaps: x itself when they lie so already.
/// Formula: y = x; dx = g
template <class T>
XTAPE_API Tensor<T> contiguous(const Tensor<T>& x);

/// Another shape for the same values in row-major order; one length may be -1, to be found.
/// Throws: std::invalid_argument when the sizes differ.
/// Formula: y = x; dx = g, reshaped back
template <class T>
XTAPE_API Tensor<T> reshape(const Tensor<T>& x, const Shape& shape);
/// The same for a mask.
/// Not an op: a mask has no derivative.
XTAPE_API Mask reshape(const Mask& x, const Shape& shape);

/// The last two axes swapped. x: [..., M, N] -> [..., N, M]
/// Formula: y_ij = x_ji; dx = transpose(g)
template <class T>
XTAPE_API Tensor<T> transpose(const Tensor<T>& x);
/// Axes in another order: axis i of the result is axis order[i] of x.
/// Throws: std::invalid_argument when order is no permutation.
/// Formula: y = x, axes permuted; dx = g, permuted back
template <class T>
XTAPE_API Tensor<T> transpose(const Tensor<T>& x, const Axes& order);

/// A new axis of length 1 before `axis` (rank: after the last; -1 likewise).
/// Formula: y = x; dx = g, without the axis
template <class T>
XTAPE_API Tensor<T> unsqueeze(const Tensor<T>& x, Axis axis);

/// Without some axes of length 1; by default without all of them.
/// Throws: std::invalid_argument when a given axis has another length.
/// Formula: y = x; dx = g, with the axes
template <class T>
XTAPE_API Tensor<T> squeeze(const Tensor<T>& x, const Axes& axes = all);

/// Every step-th position from start up to, not including, stop, as in Python: negative ones count
/// from the end, ones beyond it are cut off. n slices of one tensor cost n times its size in the
/// backward pass: `split` does it in one.
/// Throws: std::invalid_argument for a step below 1.
/// Formula: y = x[start:stop:step]; dx = g there, 0 elsewhere
template <class T>
XTAPE_API Tensor<T> slice(const Tensor<T>& x, Axis axis, std::int64_t start, std::int64_t stop,
                          std::int64_t step = 1);

/// Zeros of length `size` along an axis, with x at start, start + step, ...: what slice undoes.
/// Throws: std::invalid_argument when x does not fit.
/// Formula: y[start::step] = x, else 0; dx = slice(g, ...)
template <class T>
XTAPE_API Tensor<T> unslice(const Tensor<T>& x, Axis axis, std::int64_t start, std::int64_t size,
                            std::int64_t step = 1);

/// Parts of the given lengths along an axis, as one op: its backward pass costs one tensor.
/// Throws: std::invalid_argument when the lengths do not sum to the axis's.
/// Formula: y_i = the i-th part; dx = concatenate(g_1, g_2, ...)
template <class T>
XTAPE_API std::vector<Tensor<T>> split(const Tensor<T>& x, const std::vector<std::int64_t>& lengths,
                                       Axis axis);

/// Tensors joined along an axis; their other axes are equal.
/// Throws: std::invalid_argument for no tensors, or when the other axes differ.
/// Formula: y = [x_1, x_2, ...]; dx_i = the i-th part of g
template <class T>
XTAPE_API Tensor<T> concatenate(const std::vector<Tensor<T>>& xs, Axis axis);

/// x repeated to a shape by NumPy's rules.
/// Throws: std::invalid_argument when it does not broadcast.
/// Formula: y = x, repeated; dx = g, summed over the repeats
template <class T>
XTAPE_API Tensor<T> broadcast_to(const Tensor<T>& x, const Shape& shape);

/// Slices along an axis at given positions: NumPy's take, and the look-up of an embedding.
/// x: [A..., N, B...]  index: [I...], each from 0 to N - 1 -> [A..., I..., B...]
/// Throws: std::invalid_argument for a position outside.
/// Formula: y[..., i, ...] = x[..., index_i, ...]; dx = scatter_add(g, index, N, axis)
template <class T>
XTAPE_API Tensor<T> gather(const Tensor<T>& x, const Index& index, Axis axis = 0);

/// Zeros, plus each slice of x at its position; slices at one position are summed, in double.
/// x: [A..., I..., B...]  index: [I...], each from 0 to size - 1 -> [A..., size, B...]
/// Throws: std::invalid_argument for a position outside, or when x has not index's axes.
/// Formula: y[..., n, ...] = sum of x[..., i, ...] with index_i = n; dx = gather(g, index, axis)
template <class T>
XTAPE_API Tensor<T> scatter_add(const Tensor<T>& x, const Index& index, std::int64_t size,
                                Axis axis = 0);

/// The order of values along some axes reversed: a view.
/// Formula: y_i = x_(n-1-i); dx = flip(g)
template <class T>
XTAPE_API Tensor<T> flip(const Tensor<T>& x, const Axes& axes = all);

/// Tensors of one shape, side by side along a new axis.
/// Throws: std::invalid_argument for no tensors, or when the shapes differ.
/// Formula: y[i] = x_i; dx_i = g[i]
template <class T>
XTAPE_API Tensor<T> stack(const std::vector<Tensor<T>>& xs, Axis axis = 0);

/// The slices of length 1 along an axis, without that axis, as one op: what stack undoes.
/// Formula: y_i = x[i]; dx = stack(g_1, g_2, ...)
template <class T>
XTAPE_API std::vector<Tensor<T>> unstack(const Tensor<T>& x, Axis axis = 0);

/// x with `value` put before and after it along each axis.
/// widths: {before, after} for each axis, none negative.
/// Throws: std::invalid_argument for another number of widths.
/// Formula: y = x inside, value outside; dx = g inside
template <class T>
XTAPE_API Tensor<T> pad(const Tensor<T>& x, const std::vector<std::array<std::int64_t, 2>>& widths,
                        double value = 0);

/// The upper triangle of matrices, zeros below the diagonal; `diagonal` shifts it to the right.
/// x: [..., M, N]
/// Formula: y_ij = x_ij where j >= i + diagonal, else 0; dx = triu(g)
template <class T>
XTAPE_API Tensor<T> triu(const Tensor<T>& x, std::int64_t diagonal = 0);

/// The lower triangle of matrices, zeros above the diagonal; `diagonal` shifts it to the right.
/// x: [..., M, N]
/// Formula: y_ij = x_ij where j <= i + diagonal, else 0; dx = tril(g)
template <class T>
XTAPE_API Tensor<T> tril(const Tensor<T>& x, std::int64_t diagonal = 0);

/// One value for each position along an axis: NumPy's take_along_axis.
/// x: [A..., N, B...]  index: [A..., I, B...], each from 0 to N - 1 -> index's shape
/// Throws: std::invalid_argument for a position outside, or when the other axes differ.
/// Formula: y[a, i, b] = x[a, index[a, i, b], b]; dx = g added at those places
template <class T>
XTAPE_API Tensor<T> take_along_axis(const Tensor<T>& x, const Index& index, Axis axis);

/// 1 at each given class, 0 elsewhere: one_hot<float>(ids, 10). index: [...] -> [..., classes]
/// Throws: std::invalid_argument for a class outside.
/// Not an op: whole numbers have no derivative.
template <class T>
XTAPE_API Tensor<T> one_hot(const Index& index, std::int64_t classes);

}  // namespace xtape
