// Fused attention: heads and blocks of queries for the kernels, in threads.
#include <xtape/ops/fused.hpp>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <xtape/record.hpp>

#include "attention_checks.hpp"
#include "kernels.hpp"
#include "map.hpp"

namespace xtape {

using namespace detail;

namespace {

/// The operands of all heads of a call. Ordinary attention has one map.
template <class T>
struct Call {
  std::vector<Tensor<T>> q, k;
  Tensor<T> value, coefficient;
  Visible visible;
  Tensor<T> stats;  // [B, H, 2 maps, Tq]

  int maps() const { return static_cast<int>(q.size()); }
  Dims shape() const {  // [B, H, Tq, Dv]
    Dims result = q[0].raw()->shape;
    result[3] = value.raw()->shape[3];
    return result;
  }
};

/// x, with rows that lie dense.
template <class T>
Tensor<T> with_dense_rows(In<T> x) {
  const Body<T>& b = *x.raw();
  return b.strides[3] == 1 || b.shape[3] == 1 ? x : Tensor<T>(dense(b));
}

template <class T>
Strided<T> matrix_at(In<T> x, std::int64_t b, std::int64_t h) {
  const Body<T>& body = *x.raw();
  const Dims& s = body.strides;
  return {body.data + b * s[0] + h * s[1], s[2], body.shape[3] == 1 ? 1 : s[3]};
}

/// What the kernels see of head h of batch item b; where results go is still to be said.
template <class T>
Head<T> head_at(const Call<T>& call, std::int64_t b, std::int64_t h) {
  const Dims shape = call.shape();
  Head<T> head{};
  head.queries = shape[2];
  head.keys = call.k[0].raw()->shape[2];
  head.depth = call.q[0].raw()->shape[3];
  head.width = shape[3];
  head.maps = call.maps();
  for (int i = 0; i < head.maps; ++i) {
    head.q[i] = matrix_at<T>(call.q[static_cast<std::size_t>(i)], b, h);
    head.k[i] = matrix_at<T>(call.k[static_cast<std::size_t>(i)], b, h);
  }
  head.value = matrix_at<T>(call.value, b, h);
  Dims positions = shape;
  positions[3] = 1;
  if (head.maps == 2) {
    const Dims s = strides_in(positions, *call.coefficient.raw());
    head.coefficient = call.coefficient.raw()->data + b * s[0] + h * s[1];
    head.coefficient_step = s[2];
  }
  head.causal = call.visible.causal();
  if (call.visible.allowed().has_value()) {
    positions[3] = head.keys;
    const Dims s = strides_in(positions, *call.visible.allowed().raw());
    head.allowed = call.visible.allowed().raw()->data + b * s[0] + h * s[1];
    head.allowed_row = s[2];
    head.allowed_column = s[3];
  }
  head.stats =
      const_cast<T*>(call.stats.raw()->data) + (b * shape[1] + h) * 2 * head.maps * head.queries;
  return head;
}

/// How many nanoseconds the products of all heads take at a processor's middling best.
template <class T>
double nanoseconds(const Head<T>& head, std::int64_t heads, double flops) {
  const double per_head = flops * static_cast<double>(head.queries) *
                          static_cast<double>(head.keys) * static_cast<double>(head.depth);
  return per_head * static_cast<double>(heads) / 64;
}

/// The blocks of queries that kernels work on.
template <class T>
std::int64_t blocks_of(const Head<T>& head) {
  return (head.queries + kAttentionRows - 1) / kAttentionRows;
}

/// Cuts each head's queries into about `wanted / heads` parts, which do not depend on the number of
/// threads: their sums would.
template <class T>
std::int64_t parts_of(const Head<T>& head, std::int64_t heads, std::int64_t wanted) {
  return std::clamp<std::int64_t>(wanted / std::max<std::int64_t>(1, heads), 1, blocks_of(head));
}

/// Calls use(b, h, part, begin, end, scratch) for each part of each head, in threads.
template <class T, class Use>
void for_each_part(const Call<T>& call, std::int64_t parts, bool backward, double flops,
                   const Use& use) {
  const Dims shape = call.shape();
  const std::int64_t heads = shape[0] * shape[1];
  if (heads == 0) return;
  const Head<T> any = head_at(call, 0, 0);
  const double work = nanoseconds(any, heads, flops);
  const std::int64_t needed = attention_scratch(any, backward);
  const std::int64_t jobs = heads * parts;
  const auto scratch = fresh<T>(to_dims({needed * threads_for(jobs, work)}, "attention"));
  const std::int64_t blocks = blocks_of(any);
  parallel(jobs, work, [&](std::int64_t job) {
    // From both ends to the middle: where masked, the first parts have the least to do, and a
    // thread gets parts that follow on each other.
    const std::int64_t at = job / parts, turn = job % parts;
    const std::int64_t part = turn % 2 == 0 ? turn / 2 : parts - 1 - turn / 2;
    use(at / shape[1], at % shape[1], part, blocks * part / parts * kAttentionRows,
        std::min(any.queries, blocks * (part + 1) / parts * kAttentionRows),
        scratch.data + needed * this_thread());
  });
}

template <class T>
Tensor<T> forward(Call<T>& call) {
  const Dims shape = call.shape();
  auto [out, data] = fresh<T>(shape);
  T* const to = data;
  Dims stats = shape;
  stats[2] = 2 * call.maps();
  stats[3] = shape[2];
  call.stats = fresh<T>(stats).array;
  if (size_of(shape) == 0) return out;
  const std::int64_t parts = parts_of(head_at(call, 0, 0), shape[0] * shape[1], 8);
  for_each_part(call, parts, false, 8, [&](auto b, auto h, auto, auto begin, auto end, T* scratch) {
    Head<T> head = head_at(call, b, h);
    head.out = to + (b * shape[1] + h) * shape[2] * shape[3];
    kernels<T>().attention(head, begin, end, scratch);
  });
  return out;
}

/// An accumulator of gradients of x's shape for each part, and their sum.
template <class T>
class Parts {
 public:
  Parts(In<T> x, std::int64_t parts) : shape_(x.raw()->shape), size_(x.raw()->size) {
    for (std::int64_t i = 0; i < parts; ++i)
      arrays_.push_back(generate<T>(shape_, [](std::int64_t) { return T(0); }));
  }
  T* at(std::int64_t part, std::int64_t head) const {
    T* data = const_cast<T*>(arrays_[static_cast<std::size_t>(part)].raw()->data);
    return data + head * shape_[2] * shape_[3];
  }
  Tensor<T> sum() const {
    T* const total = at(0, 0);
    for (std::size_t part = 1; part < arrays_.size(); ++part) {
      const T* from = arrays_[part].raw()->data;
      for (std::int64_t i = 0; i < size_; ++i) total[i] += from[i];
    }
    return arrays_[0];
  }

 private:
  Dims shape_;
  std::int64_t size_;
  std::vector<Array<T>> arrays_;
};

/// The coefficient's gradient from that of every query, in its own shape.
template <class T>
Tensor<T> coefficient_gradient(const Call<T>& call, const std::vector<double>& by_query) {
  Dims positions = call.shape();
  positions[3] = 1;
  const Dims& shape = call.coefficient.raw()->shape;
  std::vector<double> totals(static_cast<std::size_t>(size_of(shape)));
  const double* next = by_query.data();
  for_each_offset<1>(positions, {strides_in(positions, shape, contiguous_strides(shape))},
                     [&](const auto& at) { totals[static_cast<std::size_t>(at[0])] += *next++; });
  return generate<T>(shape, [&](std::int64_t i) { return totals[static_cast<std::size_t>(i)]; });
}

/// The gradients of the call's operands: q1 k1 (q2 k2) value (coefficient).
template <class T>
std::vector<Tensor<T>> backward(const Call<T>& call, In<T> cotangent) {
  const Tensor<T> g = with_dense_rows<T>(cotangent);
  const Dims shape = call.shape();
  const std::int64_t heads = shape[0] * shape[1];
  std::vector<double> by_query(static_cast<std::size_t>(heads * shape[2]));
  const bool some = heads * shape[2] > 0;
  const std::int64_t parts = some ? parts_of(head_at(call, 0, 0), heads, 4) : 1;
  std::vector<Parts<T>> dq, dk;
  for (int i = 0; i < call.maps(); ++i) {
    dq.emplace_back(call.q[static_cast<std::size_t>(i)], 1);
    dk.emplace_back(call.k[static_cast<std::size_t>(i)], parts);
  }
  const Parts<T> dvalue(call.value, parts);
  if (some)
    for_each_part(call, parts, true, 20,
                  [&](auto b, auto h, auto part, auto begin, auto end, T* scratch) {
                    const std::int64_t at = b * shape[1] + h;
                    Head<T> head = head_at(call, b, h);
                    head.g = matrix_at<T>(g, b, h);
                    for (std::size_t i = 0; i < dq.size(); ++i) {
                      head.dq[i] = dq[i].at(0, at);
                      head.dk[i] = dk[i].at(part, at);
                    }
                    head.dvalue = dvalue.at(part, at);
                    head.dcoefficient = by_query.data() + at * shape[2];
                    kernels<T>().attention_gradient(head, begin, end, scratch);
                  });
  std::vector<Tensor<T>> result;
  for (std::size_t i = 0; i < dq.size(); ++i) {
    result.push_back(dq[i].sum());
    result.push_back(dk[i].sum());
  }
  result.push_back(dvalue.sum());
  if (call.maps() == 2) result.push_back(coefficient_gradient(call, by_query));
  return result;
}

template <class T>
Tensor<T> run(const char* name, Call<T> call, const std::vector<Tensor<T>>& inputs,
              Composition<T> composition) {
  Tensor<T> value = forward(call);
  auto fast = [call](In<T> g, const std::vector<bool>&) { return backward(call, g); };
  return record_fused<T>(name, std::move(value), inputs, std::move(composition), std::move(fast));
}

/// Operands for the kernels: constants, and queries with rows that lie dense.
template <class T>
Tensor<T> query(In<T> q) {
  return stop_gradient(with_dense_rows(q));
}

}  // namespace

namespace fused {

template <class T>
Tensor<T> attention(In<T> q, In<T> k, In<T> value, const Visible& visible) {
  check_attention("fused::attention", q, k, value, visible);
  Call<T> call{{query(q)}, {stop_gradient(k)}, stop_gradient(value), {}, visible, {}};
  return run<T>("fused::attention", std::move(call), {q, k, value},
                [visible](const std::vector<Tensor<T>>& x) {
                  return xtape::attention(x[0], x[1], x[2], visible);
                });
}

template <class T>
Tensor<T> differential_attention(In<T> q1, In<T> k1, In<T> q2, In<T> k2, In<T> value,
                                 In<T> coefficient, const Visible& visible) {
  check_differential_attention("fused::differential_attention", q1, k1, q2, k2, value, coefficient,
                               visible);
  Call<T> call{{query(q1), query(q2)},
               {stop_gradient(k1), stop_gradient(k2)},
               stop_gradient(value),
               stop_gradient(coefficient),
               visible,
               {}};
  return run<T>("fused::differential_attention", std::move(call),
                {q1, k1, q2, k2, value, coefficient}, [visible](const std::vector<Tensor<T>>& x) {
                  return xtape::differential_attention(x[0], x[1], x[2], x[3], x[4], x[5], visible);
                });
}

template <class T>
Tensor<T> differential_attention(In<T> q1, In<T> k1, In<T> q2, In<T> k2, In<T> value,
                                 double coefficient, const Visible& visible) {
  check_number<T>("fused::differential_attention", coefficient);
  return fused::differential_attention(q1, k1, q2, k2, value, Tensor<T>(coefficient), visible);
}

#define XTAPE_INSTANTIATE(T)                                                           \
  template Tensor<T> attention(In<T>, In<T>, In<T>, const Visible&);                   \
  template Tensor<T> differential_attention(In<T>, In<T>, In<T>, In<T>, In<T>, In<T>,  \
                                            const Visible&);                           \
  template Tensor<T> differential_attention(In<T>, In<T>, In<T>, In<T>, In<T>, double, \
                                            const Visible&);
XTAPE_INSTANTIATE(float)
XTAPE_INSTANTIATE(double)
#undef XTAPE_INSTANTIATE

}  // namespace fused

}  // namespace xtape
