// The bridge to xtensor: whole arrays, views, strided views, expressions.
#include <doctest/doctest.h>

#include <string>
#include <type_traits>
#include <vector>

#include <xtape/xtape.hpp>
#include <xtape/xtensor.hpp>

// xtensor's folders changed in 0.26.
#if __has_include(<xtensor/views/xview.hpp>)
#include <xtensor/containers/xfixed.hpp>
#include <xtensor/containers/xtensor.hpp>
#include <xtensor/core/xmath.hpp>
#include <xtensor/views/xstrided_view.hpp>
#include <xtensor/views/xview.hpp>
#else
#include <xtensor/xfixed.hpp>
#include <xtensor/xmath.hpp>
#include <xtensor/xstrided_view.hpp>
#include <xtensor/xtensor.hpp>
#include <xtensor/xview.hpp>
#endif

#include "support/errors.hpp"

namespace {

using namespace xtape;
using Values = std::vector<double>;

xt::xarray<double> two_by_three() { return {{1, 2, 3}, {4, 5, 6}}; }

/// An xtensor expression's values in row-major order.
template <class E>
Values values_of(const E& e) {
  return Values(e.template begin<xt::layout_type::row_major>(),
                e.template end<xt::layout_type::row_major>());
}

}  // namespace

TEST_CASE("an xtensor array becomes a tensor with a copy of its values") {
  auto a = two_by_three();
  const auto x = from_xtensor(a);
  static_assert(std::is_same_v<decltype(x), const Tensor<double>>);
  CHECK(x.shape() == Shape{2, 3});
  CHECK(x.values() == Values{1, 2, 3, 4, 5, 6});
  a(0, 0) = 100;
  CHECK(x.at({0, 0}) == 1);
}

TEST_CASE("xtensor views and strided views become tensors") {
  const auto a = two_by_three();
  CHECK(from_xtensor(xt::view(a, xt::all(), 1)).values() == Values{2, 5});
  CHECK(from_xtensor(xt::view(a, xt::all(), xt::range(0, 3, 2))).values() == Values{1, 3, 4, 6});
  CHECK(from_xtensor(xt::view(a, 1, xt::newaxis())).shape() == Shape{1, 3});
  CHECK(from_xtensor(xt::strided_view(a, {xt::all(), xt::range(3, 0, -1)})).values() ==
        Values{3, 2, 6, 5});
  const auto transposed = from_xtensor(xt::transpose(a));
  CHECK(transposed.shape() == Shape{3, 2});
  CHECK(transposed.values() == Values{1, 4, 2, 5, 3, 6});
}

TEST_CASE("other xtensor containers and expressions become tensors") {
  const xt::xtensor<float, 2> fixed_rank{{1, 2}, {3, 4}};
  const auto x = from_xtensor(fixed_rank);
  static_assert(std::is_same_v<decltype(x), const Tensor<float>>);
  CHECK(x.values() == std::vector<float>{1, 2, 3, 4});
  const xt::xtensor_fixed<double, xt::xshape<2>> fixed_shape{5, 6};
  CHECK(from_xtensor(fixed_shape).values() == Values{5, 6});
  const auto a = two_by_three();
  CHECK(from_xtensor(a + 10 * a).values() == Values{11, 22, 33, 44, 55, 66});
  const xt::xarray<double, xt::layout_type::column_major> column{{1, 2}, {3, 4}};
  CHECK(from_xtensor(column).values() == Values{1, 2, 3, 4});
  CHECK(from_xtensor(xt::xarray<double>(7.0)).shape() == Shape{});
  CHECK(from_xtensor(xt::xarray<double>(7.0)).item() == 7);
  CHECK(from_xtensor(xt::xarray<double>::from_shape({2, 0})).shape() == Shape{2, 0});
}

TEST_CASE("a tensor seen by xtensor shares its values") {
  const Tensor<double> x({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto a = as_xtensor(x);
  CHECK(a.dimension() == 2);
  CHECK(a.shape()[0] == 2);
  CHECK(a.shape()[1] == 3);
  CHECK(a(1, 2) == 6);
  CHECK(&a(0, 0) == x.data());
  CHECK(values_of(a * 2) == Values{2, 4, 6, 8, 10, 12});
}

TEST_CASE("strided tensors are seen by xtensor through their strides") {
  const Tensor<double> x({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto turned = transpose(x);
  const auto a = as_xtensor(turned);
  CHECK(&a(0, 1) == x.data() + 3);
  CHECK(values_of(a) == Values{1, 4, 2, 5, 3, 6});
  const auto column = slice(x, 1, 1, 2);
  CHECK(values_of(as_xtensor(column)) == Values{2, 5});
  const auto odd = slice(x, 1, 0, 3, 2);
  CHECK(values_of(as_xtensor(odd)) == Values{1, 3, 4, 6});
  const auto repeated = broadcast_to(Tensor<double>{{7}, {8}}, {2, 3});
  CHECK(values_of(as_xtensor(repeated)) == Values{7, 7, 7, 8, 8, 8});
}

TEST_CASE("to_xtensor gives a copy that outlives its tensor") {
  xt::xarray<double> a;
  {
    const auto x = transpose(Tensor<double>({2, 3}, {1, 2, 3, 4, 5, 6}));
    a = to_xtensor(x);
    a(0, 0) = 100;
    CHECK(x.at({0, 0}) == 1);
  }
  CHECK(a.shape()[0] == 3);
  CHECK(values_of(a) == Values{100, 4, 2, 5, 3, 6});
}

TEST_CASE("scalars and empty tensors cross the bridge in both directions") {
  const Tensor<double> scalar = 3;
  CHECK(to_xtensor(scalar).dimension() == 0);
  CHECK(to_xtensor(scalar)() == 3);
  const auto empty = Tensor<double>::zeros({2, 0, 3});
  CHECK(to_xtensor(empty).size() == 0);
  CHECK(to_xtensor(empty).dimension() == 3);
  CHECK(from_xtensor(to_xtensor(scalar)).item() == 3);
  CHECK(from_xtensor(to_xtensor(empty)).shape() == Shape{2, 0, 3});
}

TEST_CASE("a tensor on a tape crosses as its values and comes back as a constant") {
  Tape<double> tape;
  const auto x = tape.variable(Tensor<double>{1, 2});
  const auto back = from_xtensor(as_xtensor(x) * 10);
  CHECK(tape.size() == 1);
  CHECK(tape.gradient(sum(x * back), x).values() == Values{10, 20});
}

TEST_CASE("a tensor without a value does not cross the bridge") {
  const Tensor<double> none;
  const std::string text = "[shape] an array without a value was given: it must be assigned first.";
  CHECK(test::invalid([&] { as_xtensor(none); }) == text);
  CHECK(test::invalid([&] { to_xtensor(none); }) == text);
}
