// Products of matrices and vectors.
#pragma once

#include <xtape/tensor.hpp>

namespace xtape {

/// The matrix product, over batches that broadcast; vectors as in NumPy: a vector on the left is a
/// row, on the right a column, and that axis is left out of the result. Operands are read by their
/// strides, without a copy. a: [..., M, K]  b: [..., K, N] -> [..., M, N]; zeros over K = 0.
/// Throws: std::invalid_argument when a's last axis differs from b's second to last, or for [].
/// Formula: y = a b; da = g b^T, db = a^T g
template <class T>
XTAPE_API Tensor<T> matmul(const Tensor<T>& a, const Tensor<T>& b);

/// The scalar product, accumulated in double. a, b: [D] -> []
/// Throws: std::invalid_argument unless both are vectors of one length.
/// Formula: y = sum a b; da = g b, db = g a
template <class T>
XTAPE_API Tensor<T> dot(const Tensor<T>& a, const Tensor<T>& b);

/// Every product of a value of a with one of b. a: [M]  b: [N] -> [M, N]
/// Throws: std::invalid_argument unless both are vectors.
/// Formula: y_ij = a_i b_j; da = g b, db = g^T a
template <class T>
XTAPE_API Tensor<T> outer(const Tensor<T>& a, const Tensor<T>& b);

}  // namespace xtape
