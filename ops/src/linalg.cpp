// Products of matrices and vectors.
#include <xtape/ops/linalg.hpp>

#include <array>
#include <string>
#include <utility>

#include <xtape/ops/elementwise.hpp>
#include <xtape/ops/shape.hpp>
#include <xtape/record.hpp>

#include "kernels.hpp"
#include "rows.hpp"
#include "storage.hpp"
#include "threads.hpp"

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

Dims scratch_shape(std::int64_t size) {
  Dims shape;
  shape.push_back(size);
  return shape;
}

template <class T>
detail::Strided<T> matrix(const Body<T>& a) {
  const int rank = a.shape.rank();
  return {a.data, a.strides[rank - 2], a.strides[rank - 1]};
}

/// All products of a batch. Several threads share them, each cut up when there are few.
template <class T>
Tensor<T> product(const Body<T>& x, const Body<T>& y) {
  Dims batch = detail::broadcast(batch_of(x.shape), batch_of(y.shape), "matmul");
  std::int64_t m = x.shape[x.shape.rank() - 2], n = y.shape[y.shape.rank() - 1];
  const std::int64_t k = x.shape[x.shape.rank() - 1];
  Dims shape = batch;
  shape.push_back(m);
  shape.push_back(n);
  detail::check_countable(shape, "matmul");
  auto [out, to] = detail::fresh<T>(shape);
  T* const c = to;
  const std::int64_t size = detail::size_of(shape);
  if (size == 0) return out;

  auto a = matrix(x), b = matrix(y);
  if (y.shape.rank() == 2 && x.contiguous) {  // one matrix for the whole batch: one product
    m = size / n;
    a.row = k;
    batch.resize(0);
  }
  std::array<Dims, 2> strides{strides_in(batch, batch_of(x.shape), batch_of(x.strides)),
                              strides_in(batch, batch_of(y.shape), batch_of(y.strides))};
  if (n == 1 && m > 1) {  // one column fills no vector, one row does: c^T = b^T a^T
    std::swap(a, b);
    std::swap(m, n);
    std::swap(strides[0], strides[1]);
    for (auto* each : {&a, &b}) std::swap(each->row, each->column);
  }

  const std::int64_t products = detail::size_of(batch);
  // A processor at its middling best does 16 multiply-adds in a nanosecond.
  const double nanoseconds = static_cast<double>(size) * static_cast<double>(k) / 16;
  const bool tall = m >= n;
  const std::int64_t length = tall ? m : n;
  const std::int64_t parts = products < 4 ? detail::threads_for(length / 64, nanoseconds) : 1;
  const std::int64_t needed = detail::matmul_scratch(n, k, a);
  const auto scratch =
      detail::fresh<T>(scratch_shape(needed * detail::threads_for(products * parts, nanoseconds)));
  const auto& multiply = *detail::kernels<T>().matmul;
  detail::parallel_blocks(products * parts, nanoseconds, [&](std::int64_t job, std::int64_t end) {
    T* const mine = scratch.data + needed * detail::this_thread();
    for (; job < end; ++job) {
      const std::int64_t at = job / parts, part = job % parts;
      const std::int64_t begin = length * part / parts;
      const std::int64_t share = length * (part + 1) / parts - begin;
      detail::for_each_offset<2>(batch, strides, at, at + 1, [&](const auto& offset) {
        auto left = a, right = b;
        left.data += offset[0] + (tall ? begin * a.row : 0);
        right.data += offset[1] + (tall ? 0 : begin * b.column);
        multiply(tall ? share : m, tall ? n : share, k, left, right,
                 c + at * m * n + begin * (tall ? n : 1), n, mine);
      });
    }
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
