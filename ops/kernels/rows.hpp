// Kernels of rows without gaps: softmax, its logarithm and the cross entropy, and their pullbacks.
// Sums are in double. What does not fill a vector is filled up with values that change nothing.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "exp.hpp"
#include "functions.hpp"

namespace xtape::detail {
namespace {

/// How a whole vector, or the first few values of one, are read and written.
template <class V>
struct Whole {
  template <class T>
  V read(const T* from, T) const {
    return load<V>(from);
  }
  template <class T>
  void write(V v, T* to) const {
    store(v, to);
  }
  V only(V v) const { return v; }
};
template <class V>
struct Few {
  std::int64_t count;

  template <class T>
  V read(const T* from, T fill) const {
    T values[kWidth<V>];
    for (std::int64_t i = 0; i < kWidth<V>; ++i) values[i] = i < count ? from[i] : fill;
    return load<V>(values);
  }
  template <class T>
  void write(V v, T* to) const {
    T values[kWidth<V>];
    store(v, values);
    for (std::int64_t i = 0; i < count; ++i) to[i] = values[i];
  }
  /// v, with zeros behind those few.
  V only(V v) const {
    typename V::value_type values[kWidth<V>];
    store(v, values);
    return read(values, typename V::value_type(0));
  }
};

/// Calls use(i, how) for the vectors that begin at i of a row of n values.
template <class V, class Use>
void over(std::int64_t n, const Use& use) {
  std::int64_t i = 0;
  for (; i + kWidth<V> <= n; i += kWidth<V>) use(i, Whole<V>());
  if (i < n) use(i, Few<V>{n - i});
}

/// A sum of vectors, in double.
template <class V>
class Sum {
  using Wide = Vector<double, typename V::arch_type>;

 public:
  void add(V v) {
    if constexpr (std::is_same_v<V, Wide>)
      sum_ = sum_ + v;
    else
      sum_ = sum_ + Wide(widened_sum(Register<V>(v)));
  }
  void add_products(V x, V y) {
    if constexpr (std::is_same_v<V, Wide>)
      sum_ = multiply_add(x, y, sum_);
    else
      sum_ = sum_ + Wide(widened_products(Register<V>(x), Register<V>(y)));
  }
  double total() const { return first_of(sum_of(sum_)); }

 private:
  Wide sum_ = Wide(0.0);
};

/// Multiplies by a double, as good as rounded once: else a row of weights would not sum to 1.
template <class V>
struct Factor {
  using T = typename V::value_type;
  using Isa = typename V::arch_type;
  double factor;
  V high, low;  // factor = high + low

  explicit Factor(double f)
      : factor(f), high(static_cast<T>(f)), low(static_cast<T>(f - static_cast<double>(T(f)))) {}
  V operator()(V x) const {
#ifdef XTAPE_REGISTERS_X86
    if constexpr (std::is_same_v<V, xsimd::batch<float, xsimd::sse2>>)  // without multiply-add
      return times_in_double(Register<V>(x), Vector<double, Isa>(factor));
    else
#endif
      return multiply_add(x, high, x * low);
  }
};

template <class T, class Isa>
struct Rows {
  using V = Vector<T, Isa>;
  static constexpr T kInf = std::numeric_limits<T>::infinity();

  /// What is taken away before the exponential: the maximum, or 0 where all are -inf. NaN and +inf
  /// make the sum of exponentials NaN, whatever is taken away.
  static T shift(std::int64_t n, const T* x) {
    V most(-kInf);
    over<V>(n, [&](std::int64_t i, auto how) { most = larger(how.read(x + i, -kInf), most); });
    const T largest = first_of(largest_of(most));
    return largest == -kInf ? T(0) : largest;
  }

  /// The sum of e^(x - shift); use(i, how, e) sees each vector of them.
  template <class Use>
  static double exponentials(std::int64_t n, const T* x, T shift, const Use& use) {
    Sum<V> sum;
    over<V>(n, [&](std::int64_t i, auto how) {
      const V e = Exp()(how.read(x + i, -kInf) - V(shift));
      use(i, how, e);
      sum.add(e);
    });
    return sum.total();
  }
  static double exponentials(std::int64_t n, const T* x, T shift) {
    return exponentials(n, x, shift, [](std::int64_t, auto, V) {});
  }

  static void softmax(std::int64_t n, const T* x, const bool* allowed, T* y) {
    if (allowed) {
      for (std::int64_t i = 0; i < n; ++i) {
        const T v = x[i];
        y[i] = allowed[i] ? v : -kInf;
      }
      x = y;
    }
    const double total = exponentials(n, x, shift(n, x),
                                      [&](std::int64_t i, auto how, V e) { how.write(e, y + i); });
    const Factor<V> inverse(total == 0 ? 0 : 1 / total);
    over<V>(n, [&](std::int64_t i, auto how) { how.write(inverse(how.read(y + i, T(0))), y + i); });
  }

  static void softmax_pullback(std::int64_t n, const T* g, const T* y, T* dx) {
    const Chain chain;
    Sum<V> sum;
    over<V>(n, [&](std::int64_t i, auto how) {
      sum.add(chain(how.read(g + i, T(0)), how.read(y + i, T(0))));
    });
    const V total(static_cast<T>(sum.total()));
    over<V>(n, [&](std::int64_t i, auto how) {
      const V weights = how.read(y + i, T(0));
      how.write(chain(how.read(g + i, T(0)), weights) - weights * total, dx + i);
    });
  }

  static void log_softmax(std::int64_t n, const T* x, T* y) {
    const T most = shift(n, x);
    const T log = static_cast<T>(std::log(exponentials(n, x, most)));
    // Shifted before the logarithm, which is small then: large x would swallow it.
    over<V>(n, [&](std::int64_t i, auto how) {
      const V v = how.read(x + i, T(0));
      how.write(xsimd::select(v == V(-kInf), v, v - V(most) - V(log)), y + i);
    });
  }

  static void log_softmax_pullback(std::int64_t n, const T* g, const T* y, T* dx) {
    const auto seen = [&](std::int64_t i, auto how, V logs) {
      return xsimd::select(logs == V(-kInf), V(T(0)), how.read(g + i, T(0)));
    };
    Sum<V> sum;
    over<V>(n, [&](std::int64_t i, auto how) { sum.add(seen(i, how, how.read(y + i, T(0)))); });
    const V total(static_cast<T>(sum.total()));
    over<V>(n, [&](std::int64_t i, auto how) {
      const V logs = how.read(y + i, T(0));
      how.write(seen(i, how, logs) - Chain()(total, Exp()(logs)), dx + i);
    });
  }

  static double cross_entropy(std::int64_t n, const T* x, std::int64_t target) {
    if (x[target] == -kInf) return std::numeric_limits<double>::infinity();
    const T most = shift(n, x);
    return std::log(exponentials(n, x, most)) -
           (static_cast<double>(x[target]) - static_cast<double>(most));
  }

  static void cross_entropy_pullback(std::int64_t n, const T* x, std::int64_t target, T g, T* dx) {
    softmax(n, x, nullptr, dx);
    dx[target] -= T(1);
    over<V>(n, [&](std::int64_t i, auto how) {
      how.write(Chain()(V(g), how.read(dx + i, T(0))), dx + i);
    });
  }
};

}  // namespace
}  // namespace xtape::detail
