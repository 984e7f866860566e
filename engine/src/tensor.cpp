// Tensors made from nothing, and casts.
#include <xtape/tensor.hpp>

#include <algorithm>
#include <cmath>
#include <string>

#include "xt.hpp"

namespace xtape {

using namespace detail;

template <class T>
Tensor<T> Tensor<T>::full(const Shape& shape, double value) {
  const Dims dims = to_dims(shape, "full");
  auto [tensor, data] = fresh<T>(dims);
  std::fill_n(data, size_of(dims), static_cast<T>(value));
  return tensor;
}

template <class T>
Tensor<T> Tensor<T>::arange(double start, double stop, double step) {
  const double count = std::ceil((stop - start) / step);
  if (!(std::abs(count) < 1e15))
    fail("arange", "from ", start, " to ", stop, " in steps of ", step,
         ": finite numbers, a step other than 0 and fewer than 10^15 values are required.");
  Dims dims;
  dims.push_back(std::max<std::int64_t>(0, static_cast<std::int64_t>(count)));
  return generate<T>(dims, [=](std::int64_t i) { return start + static_cast<double>(i) * step; });
}

template <class T>
Tensor<T> Tensor<T>::linspace(double start, double stop, std::int64_t count) {
  return generate<T>(to_dims({count}, "linspace"), [=](std::int64_t i) {
    const double share = count == 1 ? 0 : static_cast<double>(i) / static_cast<double>(count - 1);
    return start * (1 - share) + stop * share;
  });
}

template <class T>
Tensor<T> Tensor<T>::eye(std::int64_t n) {
  auto [tensor, data] = fresh<T>(to_dims({n, n}, "eye"));
  std::fill_n(data, n * n, T(0));
  for (std::int64_t i = 0; i < n; ++i) data[i * (n + 1)] = T(1);
  return tensor;
}

template <class To, class From>
Tensor<To> cast(const Tensor<From>& x) {
  const Body<From>& b = body(x, "cast");
  auto [tensor, data] = fresh<To>(b.shape);
  To* to = data;
  read_values(b, [&](auto from) {
    for (std::int64_t i = 0; i < b.size; ++i) *to++ = static_cast<To>(*from++);
  });
  return tensor;
}

template class Tensor<float>;
template class Tensor<double>;
template Tensor<float> cast(const Tensor<float>&);
template Tensor<float> cast(const Tensor<double>&);
template Tensor<double> cast(const Tensor<float>&);
template Tensor<double> cast(const Tensor<double>&);

}  // namespace xtape
