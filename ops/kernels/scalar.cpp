// The plain kernels: what every faster one must equal.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "isas.hpp"
#include "scalar_attention.hpp"

namespace xtape::detail {

namespace {

template <class T>
void matmul(std::int64_t m, std::int64_t n, std::int64_t k, const Strided<T>& a,
            const Strided<T>& b, T* c, std::int64_t c_row, T*) {
  for (std::int64_t i = 0; i < m; ++i, c += c_row) {
    std::fill_n(c, n, T(0));
    for (std::int64_t p = 0; p < k; ++p) {
      const T x = a.data[i * a.row + p * a.column];
      const T* row = b.data + p * b.row;
      for (std::int64_t j = 0; j < n; ++j) c[j] += x * row[j * b.column];
    }
  }
}

template <class F, class T>
void apply(std::int64_t n, const T* a, std::int64_t a_step, const T* b, std::int64_t b_step, T* y) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = F()(a[i * a_step], b[i * b_step]);
}

template <class T>
void select(std::int64_t n, const bool* which, const T* a, std::int64_t a_step, const T* b,
            std::int64_t b_step, T* y) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = which[i] ? a[i * a_step] : b[i * b_step];
}

template <class T>
struct Chain {
  T operator()(T x, T y) const { return x == 0 ? T(0) : x * y; }
};

template <auto f, class T>
void map(std::int64_t n, const T* x, T* y) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = f(x[i]);
}

constexpr double kSqrtHalf = 0.707106781186547524400844362105;  // 2^(-1/2)

template <class T>
T neg(T x) {
  return -x;
}
template <class T>
T abs(T x) {
  return std::abs(x);
}
template <class T>
T relu(T x) {
  return x <= 0 ? T(0) : x;
}
template <class T>
T sqrt(T x) {
  return std::sqrt(x);
}
template <class T>
T square(T x) {
  return x * x;
}
template <class T>
T exp(T x) {
  return std::exp(x);
}
template <class T>
T exp2(T x) {
  return std::exp2(x);
}
template <class T>
T log(T x) {
  return std::log(x);
}
template <class T>
T tanh(T x) {
  return std::tanh(x);
}
template <class T>
T sigmoid(T x) {
  // e^-|x| never overflows, and each half keeps its digits.
  const T e = std::exp(-std::abs(x));
  return (x < 0 ? e : T(1)) / (1 + e);
}
template <class T>
T silu(T x) {
  // x e^x far below 0, by halves: e^x alone would underflow first.
  if (x < -50) {
    const T half = std::exp(std::max(x, T(-1000)) / 2);
    return std::max(x, T(-1000)) * half * half;
  }
  return x / (1 + std::exp(-x));
}
template <class T>
T softplus(T x) {
  return (x > 0 ? x : T(0)) + std::log1p(std::exp(-std::abs(x)));
}
template <class T>
T sin(T x) {
  return std::sin(x);
}
template <class T>
T cos(T x) {
  return std::cos(x);
}
template <class T>
T erf(T x) {
  return std::erf(x);
}
template <class T>
T gelu(T x) {
  // Phi(x) = erfc(-x / 2^(1/2)) / 2 keeps its digits far below 0, where 1 + erf would lose them.
  const T twice = std::erfc(-x * static_cast<T>(kSqrtHalf));
  return twice == 0 ? -T(0) : x * T(0.5) * twice;
}

template <class T>
constexpr T kInf = std::numeric_limits<T>::infinity();

/// What is taken away before the exponential: the maximum, or 0 where all are -inf.
template <class T>
T shift(std::int64_t n, const T* x) {
  T largest = -kInf<T>;
  for (std::int64_t i = 0; i < n; ++i) largest = std::max(largest, x[i]);  // passes NaN over
  return largest == -kInf<T> ? T(0) : largest;
}

/// The sum of e^(x - shift): NaN with any NaN or +inf.
template <class T>
double sum_of_exponentials(std::int64_t n, const T* x, T shift) {
  double total = 0;
  for (std::int64_t i = 0; i < n; ++i) total += static_cast<double>(std::exp(x[i] - shift));
  return total;
}

template <class T>
void softmax(std::int64_t n, const T* x, const bool* allowed, T* y) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = !allowed || allowed[i] ? x[i] : -kInf<T>;
  const T most = shift(n, y);
  const double total = sum_of_exponentials(n, y, most);
  for (std::int64_t i = 0; i < n; ++i)
    y[i] = total == 0 ? T(0) : static_cast<T>(static_cast<double>(std::exp(y[i] - most)) / total);
}

template <class T>
void softmax_pullback(std::int64_t n, const T* g, const T* y, T* dx) {
  const Chain<T> chain;
  double total = 0;
  for (std::int64_t i = 0; i < n; ++i) total += static_cast<double>(chain(g[i], y[i]));
  for (std::int64_t i = 0; i < n; ++i) dx[i] = chain(g[i], y[i]) - y[i] * static_cast<T>(total);
}

template <class T>
void log_softmax(std::int64_t n, const T* x, T* y) {
  const T most = shift(n, x);
  const T log = static_cast<T>(std::log(sum_of_exponentials(n, x, most)));
  // Shifted before the logarithm, which is small then: large x would swallow it.
  for (std::int64_t i = 0; i < n; ++i) y[i] = x[i] == -kInf<T> ? x[i] : x[i] - most - log;
}

template <class T>
void log_softmax_pullback(std::int64_t n, const T* g, const T* y, T* dx) {
  const auto seen = [&](std::int64_t i) { return y[i] == -kInf<T> ? T(0) : g[i]; };
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += static_cast<double>(seen(i));
  const T total = static_cast<T>(sum);
  for (std::int64_t i = 0; i < n; ++i) dx[i] = seen(i) - Chain<T>()(total, std::exp(y[i]));
}

template <class T>
double cross_entropy(std::int64_t n, const T* x, std::int64_t target) {
  if (x[target] == -kInf<T>) return kInf<double>;
  const T most = shift(n, x);
  return std::log(sum_of_exponentials(n, x, most)) -
         (static_cast<double>(x[target]) - static_cast<double>(most));
}

template <class T>
void cross_entropy_pullback(std::int64_t n, const T* x, std::int64_t target, T g, T* dx) {
  softmax<T>(n, x, nullptr, dx);
  dx[target] -= T(1);
  for (std::int64_t i = 0; i < n; ++i) dx[i] = Chain<T>()(g, dx[i]);
}

/// A row's mean, 0 unless centred, and what its values are multiplied by.
struct Moments {
  double mean, inverse;
};
template <class T>
Moments moments(std::int64_t n, const T* x, bool centred, double epsilon) {
  const double count = static_cast<double>(n);
  double sum = 0, squares = 0;
  for (std::int64_t i = 0; centred && i < n; ++i) sum += static_cast<double>(x[i]);
  const double mean = sum / count;
  for (std::int64_t i = 0; i < n; ++i) squares += std::pow(static_cast<double>(x[i]) - mean, 2);
  return {mean, 1 / std::sqrt(squares / count + epsilon)};
}

template <class T>
void norm(std::int64_t n, const T* x, bool centred, const T* gain, const T* bias, double epsilon,
          T* y) {
  const auto [mean, inverse] = moments(n, x, centred, epsilon);
  for (std::int64_t i = 0; i < n; ++i) {
    const T v = static_cast<T>((static_cast<double>(x[i]) - mean) * inverse);
    y[i] = (gain ? v * gain[i] : v) + (bias ? bias[i] : T(0));
  }
}

template <class T>
void norm_pullback(std::int64_t n, const T* g, const T* x, bool centred, const T* gain,
                   double epsilon, T* dx, double* dgain, double* dbias) {
  std::fill_n(dx, n, T(0));
  if (std::all_of(g, g + n, [](T v) { return v == 0; })) return;
  const auto [mean, inverse] = moments(n, x, centred, epsilon);
  const auto h = [&](std::int64_t i) { return static_cast<double>(gain ? g[i] * gain[i] : g[i]); };
  const auto unit = [&, m = mean, r = inverse](std::int64_t i) {
    return (static_cast<double>(x[i]) - m) * r;
  };
  double sum = 0, along = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    sum += centred ? h(i) : 0;
    along += h(i) * unit(i);
    if (dgain) dgain[i] += Chain<double>()(static_cast<double>(g[i]), unit(i));
    if (dbias) dbias[i] += static_cast<double>(g[i]);
  }
  const double count = static_cast<double>(n);
  for (std::int64_t i = 0; i < n; ++i)
    dx[i] = static_cast<T>(inverse * (h(i) - sum / count - unit(i) * (along / count)));
}

template <class T>
void swiglu(std::int64_t n, const T* gate, const T* up, T* y) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = silu(gate[i]) * up[i];
}

template <class T>
void swiglu_pullback(std::int64_t n, const T* g, const T* gate, const T* up, T* dgate, T* dup) {
  const Chain<T> chain;
  for (std::int64_t i = 0; i < n; ++i) {
    const T x = gate[i], s = sigmoid(x);
    const T slope = std::isinf(x) ? s : s * (1 + x * (1 - s));  // x (1 - s) is 0 there, not NaN
    dgate[i] = chain(chain(g[i], up[i]), slope);
    dup[i] = chain(g[i], silu(x));
  }
}

template <class T>
constexpr Kernels<T> kTable{
    "scalar",
    matmul<T>,
    {apply<std::plus<T>, T>, apply<std::minus<T>, T>, apply<std::multiplies<T>, T>,
     apply<std::divides<T>, T>, apply<Chain<T>, T>},
    select<T>,
    {map<neg<T>, T>, map<abs<T>, T>, map<relu<T>, T>, map<sqrt<T>, T>, map<square<T>, T>,
     map<exp<T>, T>, map<exp2<T>, T>, map<log<T>, T>, map<tanh<T>, T>, map<sigmoid<T>, T>,
     map<silu<T>, T>, map<softplus<T>, T>, map<sin<T>, T>, map<cos<T>, T>, map<erf<T>, T>,
     map<gelu<T>, T>},
    attention<T>,
    attention_gradient<T>,
    softmax<T>,
    softmax_pullback<T>,
    log_softmax<T>,
    log_softmax_pullback<T>,
    cross_entropy<T>,
    cross_entropy_pullback<T>,
    norm<T>,
    norm_pullback<T>,
    swiglu<T>,
    swiglu_pullback<T>};

}  // namespace

Tables scalar_tables() { return {kTable<float>, kTable<double>}; }

}  // namespace xtape::detail
