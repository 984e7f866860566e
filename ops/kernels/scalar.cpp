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
void matmul(std::int64_t m, std::int64_t n, std::int64_t k, Strided<T> a, Strided<T> b, T* c,
            std::int64_t c_row, T*) {
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
void softmax_row(std::int64_t n, const T* x, std::int64_t x_step, T* y, std::int64_t y_step) {
  T largest = -std::numeric_limits<T>::infinity();
  bool nan = false;
  for (std::int64_t i = 0; i < n; ++i) {
    largest = std::max(largest, x[i * x_step]);
    nan = nan || std::isnan(x[i * x_step]);
  }
  if (!nan && largest == -std::numeric_limits<T>::infinity()) {
    for (std::int64_t i = 0; i < n; ++i) y[i * y_step] = T(0);
    return;
  }
  double total = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    y[i * y_step] = std::exp(x[i * x_step] - largest);
    total += static_cast<double>(y[i * y_step]);
  }
  for (std::int64_t i = 0; i < n; ++i)
    y[i * y_step] = static_cast<T>(static_cast<double>(y[i * y_step]) / total);
}

template <class T>
constexpr Kernels<T> kTable{
    "scalar",
    matmul<T>,
    {apply<std::plus<T>, T>, apply<std::minus<T>, T>, apply<std::multiplies<T>, T>,
     apply<std::divides<T>, T>, apply<Chain<T>, T>},
    {map<neg<T>, T>, map<abs<T>, T>, map<relu<T>, T>, map<sqrt<T>, T>, map<square<T>, T>,
     map<exp<T>, T>, map<log<T>, T>, map<tanh<T>, T>, map<sigmoid<T>, T>, map<silu<T>, T>,
     map<softplus<T>, T>, map<sin<T>, T>, map<cos<T>, T>, map<erf<T>, T>, map<gelu<T>, T>},
    attention<T>,
    attention_gradient<T>,
    softmax_row<T>};

}  // namespace

Tables scalar_tables() { return {kTable<float>, kTable<double>}; }

}  // namespace xtape::detail
