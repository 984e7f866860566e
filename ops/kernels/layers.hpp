// Kernels of layers: the norms of rows, and gated units, with their pullbacks.
#pragma once

#include <algorithm>
#include <cmath>

#include "exp.hpp"
#include "functions.hpp"
#include "rows.hpp"

namespace xtape::detail {
namespace {

template <class T, class Isa>
struct Layers {
  using V = Vector<T, Isa>;

  /// A row less its mean (0 unless centred), and what that is multiplied by. Sums are in double.
  struct Centred {
    double inverse;
    V high, low;  // mean = high + low: where values lie close together, all its digits count

    /// use(i, how, c) sees each vector of differences.
    template <class Use>
    Centred(std::int64_t n, const T* x, bool centred, double epsilon, const Use& use) {
      const double share = 1 / static_cast<double>(n);
      double mean = 0;
      if (centred) {
        Sum<V> sum;
        over<V>(n, [&](std::int64_t i, auto how) { sum.add(how.read(x + i, T(0))); });
        mean = sum.total() * share;
      }
      high = V(static_cast<T>(mean));
      low = V(static_cast<T>(mean - static_cast<double>(static_cast<T>(mean))));
      Sum<V> squares;
      over<V>(n, [&](std::int64_t i, auto how) {
        const V c = how.only(at(x + i, how));
        squares.add_products(c, c);
        use(i, how, c);
      });
      inverse = 1 / std::sqrt(squares.total() * share + epsilon);
    }
    template <class How>
    V at(const T* x, How how) const {
      return how.read(x, T(0)) - high - low;
    }
  };

  static void norm(std::int64_t n, const T* x, bool centred, const T* gain, const T* bias,
                   double epsilon, T* y) {
    const Centred row(n, x, centred, epsilon, [](std::int64_t, auto, V) {});
    const V inverse(static_cast<T>(row.inverse));
    over<V>(n, [&](std::int64_t i, auto how) {
      V v = row.at(x + i, how) * inverse;
      if (gain) v = v * how.read(gain + i, T(0));
      if (bias) v = v + how.read(bias + i, T(0));
      how.write(v, y + i);
    });
  }

  /// Adds to numbers in double: a loop that the compiler makes vectors of.
  static void add(std::int64_t n, V v, double* to) {
    T values[kWidth<V>];
    store(v, values);
    if (n >= kWidth<V>)
      for (std::int64_t i = 0; i < kWidth<V>; ++i) to[i] += static_cast<double>(values[i]);
    else
      for (std::int64_t i = 0; i < n; ++i) to[i] += static_cast<double>(values[i]);
  }

  static void norm_pullback(std::int64_t n, const T* g, const T* x, bool centred, const T* gain,
                            double epsilon, T* dx, double* dgain, double* dbias) {
    if (std::all_of(g, g + n, [](T v) { return v == 0; })) return void(std::fill_n(dx, n, T(0)));
    const auto scaled = [&](std::int64_t i, auto how) {
      const V v = how.read(g + i, T(0));
      return gain ? v * how.read(gain + i, T(0)) : v;
    };
    Sum<V> sum, along;
    const Centred row(n, x, centred, epsilon, [&](std::int64_t i, auto how, V c) {
      const V h = scaled(i, how);
      if (centred) sum.add(h);
      along.add_products(h, c);
    });
    const double r = row.inverse, share = 1 / static_cast<double>(n);
    const V mean(static_cast<T>(sum.total() * share)), inverse(static_cast<T>(r));
    const V slope(static_cast<T>(along.total() * share * r * r));
    over<V>(n, [&](std::int64_t i, auto how) {
      const V c = row.at(x + i, how), v = how.read(g + i, T(0));
      how.write((scaled(i, how) - mean - c * slope) * inverse, dx + i);
      if (dgain) add(n - i, Chain()(v, c * inverse), dgain + i);
      if (dbias) add(n - i, v, dbias + i);
    });
  }

  static void swiglu(std::int64_t n, const T* gate, const T* up, T* y) {
    over<V>(n, [&](std::int64_t i, auto how) {
      how.write(Silu()(how.read(gate + i, T(0))) * how.read(up + i, T(0)), y + i);
    });
  }

  static void swiglu_pullback(std::int64_t n, const T* g, const T* gate, const T* up, T* dgate,
                              T* dup) {
    using C = ExpConstants<T>;
    const Chain chain;
    const V one(T(1));
    over<V>(n, [&](std::int64_t i, auto how) {
      const V v = how.read(g + i, T(0)), x = how.read(gate + i, T(0)), s = Sigmoid()(x);
      // Finite where s, or 1 - s, has become 0.
      const V low = larger(V(C::kLow), x), inside = smaller(V(C::kHigh), low);
      how.write(chain(chain(v, how.read(up + i, T(0))), s * (one + inside * (one - s))), dgate + i);
      how.write(chain(v, low * s), dup + i);
    });
  }
};

}  // namespace
}  // namespace xtape::detail
