// Products of matrices and vectors.
#include <xtape/ops/linalg.hpp>

#include <string>

#include <xtape/ops/elementwise.hpp>
#include <xtape/ops/shape.hpp>
#include <xtape/record.hpp>

#include "kernels.hpp"
#include "rows.hpp"
#include "storage.hpp"

namespace xtape {

namespace {

using detail::Body;
using detail::body;
using detail::Dims;

/// A batch's axes: all but the last two.
Dims batch_of(const Dims& dims) {
  Dims batch = dims;
  batch.resize(dims.rank() - 2);
  return batch;
}

/// a's strides along the axes of a batch that it broadcasts to.
template <class T>
Dims batch_strides(const Body<T>& a, const Dims& batch) {
  Dims strides;
  const int extra = batch.rank() - (a.shape.rank() - 2);
  for (int i = 0; i < batch.rank(); ++i)
    strides.push_back(i < extra || a.shape[i - extra] == 1 ? 0 : a.strides[i - extra]);
  return strides;
}

template <class T>
detail::Strided<T> matrix(const Body<T>& a) {
  const int rank = a.shape.rank();
  return {a.data, a.strides[rank - 2], a.strides[rank - 1]};
}

template <class T>
Tensor<T> product(const Body<T>& a, const Body<T>& b) {
  const Dims batch = detail::broadcast(batch_of(a.shape), batch_of(b.shape), "matmul");
  const std::int64_t m = a.shape[a.shape.rank() - 2];
  const std::int64_t k = a.shape[a.shape.rank() - 1];
  const std::int64_t n = b.shape[b.shape.rank() - 1];
  Dims shape = batch;
  shape.push_back(m);
  shape.push_back(n);
  detail::check_countable(shape, "matmul");
  auto [out, to] = detail::fresh<T>(shape);
  T* c = to;
  if (b.shape.rank() == 2 && a.contiguous) {  // one matrix for the whole batch: one product
    detail::kernels<T>().matmul(detail::size_of(batch) * m, n, k, {a.data, k, 1}, matrix(b), c);
    return out;
  }
  const auto& multiply = *detail::kernels<T>().matmul;
  detail::for_each_offset<2>(batch, {batch_strides(a, batch), batch_strides(b, batch)},
                             [&](const auto& offset) {
                               auto left = matrix(a), right = matrix(b);
                               left.data += offset[0];
                               right.data += offset[1];
                               multiply(m, n, k, left, right, c);
                               c += m * n;
                             });
  return out;
}

/// x: [..., K] -> [N, K]
template <class T>
Tensor<T> flatten(const Tensor<T>& x) {
  return reshape(x, {detail::size_of(batch_of(x.raw()->shape)) * x.dim(-2), x.dim(-1)});
}

}  // namespace

template <class T>
Tensor<T> matmul(const Tensor<T>& a, const Tensor<T>& b) {
  const Body<T>& left = body(a, "matmul");
  const Body<T>& right = body(b, "matmul");
  const int a_rank = left.shape.rank(), b_rank = right.shape.rank();
  if (a_rank == 0 || b_rank == 0 || left.shape[a_rank - 1] != right.shape[std::max(0, b_rank - 2)])
    detail::fail("matmul", "cannot multiply a " + detail::to_string(left.shape) + " by b " +
                               detail::to_string(right.shape) +
                               ": a's last axis must equal b's second to last.");
  if (a_rank == 1) return squeeze(matmul(unsqueeze(a, 0), b), b_rank == 1 ? -1 : -2);
  if (b_rank == 1) return squeeze(matmul(a, unsqueeze(b, 1)), -1);
  return record<T>("matmul", product(left, right),
                   {{a, [b](In<T> g) { return matmul(g, transpose(b)); }},
                    {b, [a, b](In<T> g) {
                       // One matrix for a whole batch: sum over the batch inside the product.
                       if (b.rank() == 2 && a.rank() > 2 && g.size() > 0)
                         return matmul(transpose(flatten(a)), flatten(g));
                       return matmul(transpose(a), g);
                     }}});
}

template <class T>
Tensor<T> dot(const Tensor<T>& a, const Tensor<T>& b) {
  const Body<T>& x = body(a, "dot");
  const Body<T>& y = body(b, "dot");
  if (x.shape.rank() != 1 || x.shape != y.shape)
    detail::fail("dot", "a of shape " + detail::to_string(x.shape) + " and b of shape " +
                            detail::to_string(y.shape) +
                            ": two vectors of one length are required.");
  double total = 0;
  for (std::int64_t i = 0; i < x.size; ++i)
    total += static_cast<double>(x.data[i * x.strides[0]]) *
             static_cast<double>(y.data[i * y.strides[0]]);
  return record<T>(
      "dot", Tensor<T>(total),
      {{a, [b](In<T> g) { return chain(g, b); }}, {b, [a](In<T> g) { return chain(g, a); }}});
}

template <class T>
Tensor<T> outer(const Tensor<T>& a, const Tensor<T>& b) {
  if (body(a, "outer").shape.rank() != 1 || body(b, "outer").shape.rank() != 1)
    detail::fail("outer", "a of shape " + to_string(a.shape()) + " and b of shape " +
                              to_string(b.shape()) + ": two vectors are required.");
  return unsqueeze(a, 1) * b;
}

#define XTAPE_INSTANTIATE(T)                                     \
  template Tensor<T> matmul(const Tensor<T>&, const Tensor<T>&); \
  template Tensor<T> outer(const Tensor<T>&, const Tensor<T>&);  \
  template Tensor<T> dot(const Tensor<T>&, const Tensor<T>&);
XTAPE_INSTANTIATE(float)
XTAPE_INSTANTIATE(double)
#undef XTAPE_INSTANTIATE

}  // namespace xtape
