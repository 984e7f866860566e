// Products of matrices and vectors.
#include <xtape/ops/linalg.hpp>

#include <algorithm>
#include <string>
#include <vector>

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

template <class T>
detail::Strided<T> matrix(const Body<T>& a) {
  const int rank = a.shape.rank();
  return {a.data, a.strides[rank - 2], a.strides[rank - 1]};
}

/// All products of a batch. Several threads share them whole, or cut up when there are few.
template <class T>
Tensor<T> product(const Body<T>& a, const Body<T>& b) {
  Dims batch = detail::broadcast(batch_of(a.shape), batch_of(b.shape), "matmul");
  std::int64_t m = a.shape[a.shape.rank() - 2];
  const std::int64_t k = a.shape[a.shape.rank() - 1];
  const std::int64_t n = b.shape[b.shape.rank() - 1];
  Dims shape = batch;
  shape.push_back(m);
  shape.push_back(n);
  detail::check_countable(shape, "matmul");
  auto [out, to] = detail::fresh<T>(shape);
  T* const c = to;
  auto left = matrix(a);
  if (b.shape.rank() == 2 && a.contiguous) {  // one matrix for the whole batch: one product
    left.row = k;
    m *= detail::size_of(batch);
    batch.resize(0);
  }
  struct Job {
    detail::Strided<T> a, b;
    T* c;
    std::int64_t m, n;
  };
  std::vector<Job> jobs;
  const double work = static_cast<double>(detail::size_of(shape)) * static_cast<double>(k);
  const double nanoseconds = work / 16;  // multiply-adds of a processor at its middling best
  const std::int64_t products = std::max<std::int64_t>(1, detail::size_of(batch));
  const bool tall = m >= n;
  const std::int64_t length = tall ? m : n;
  const std::int64_t parts = products >= 4 ? 1 : detail::threads_for(length / 64, nanoseconds);
  T* next = c;
  detail::for_each_offset<2>(batch,
                             {strides_in(batch, batch_of(a.shape), batch_of(a.strides)),
                              strides_in(batch, batch_of(b.shape), batch_of(b.strides))},
                             [&](const auto& offset) {
                               Job whole{left, matrix(b), next, m, n};
                               whole.a.data += offset[0];
                               whole.b.data += offset[1];
                               next += m * n;
                               for (std::int64_t part = 0; part < parts; ++part) {
                                 const std::int64_t begin = length * part / parts,
                                                    end = length * (part + 1) / parts;
                                 Job job = whole;
                                 (tall ? job.m : job.n) = end - begin;
                                 job.a.data += tall ? begin * left.row : 0;
                                 job.b.data += tall ? 0 : begin * whole.b.column;
                                 job.c += tall ? begin * n : begin;
                                 jobs.push_back(job);
                               }
                             });
  const auto& multiply = *detail::kernels<T>().matmul;
  detail::parallel(static_cast<std::int64_t>(jobs.size()), nanoseconds, [&](std::int64_t i) {
    const Job& job = jobs[static_cast<std::size_t>(i)];
    multiply(job.m, job.n, k, job.a, job.b, job.c, n);
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
