// Tensor, Mask and Index: making and reading them, views, and what has no value.
#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include <xtape/xtape.hpp>

#include "support/errors.hpp"

namespace {

using namespace xtape;
using test::invalid;
using test::kUncountable;
using Values = std::vector<double>;

static_assert(std::is_nothrow_copy_constructible_v<Tensor<float>>);
static_assert(std::is_nothrow_copy_constructible_v<Tensor<double>>);
static_assert(std::is_nothrow_copy_constructible_v<Mask>);
static_assert(std::is_nothrow_copy_constructible_v<Index>);
static_assert(std::is_nothrow_move_constructible_v<Tensor<double>>);
static_assert(std::is_nothrow_move_assignable_v<Tensor<double>>);
static_assert(std::is_nothrow_default_constructible_v<Tensor<double>>);
static_assert(sizeof(Tensor<float>) == sizeof(void*), "a tensor is one pointer");
static_assert(std::is_same_v<Shape, std::vector<std::int64_t>>);

template <class S>
void converts(S three) {
  const Tensor<float> x = three;
  const Tensor<double> y = three;
  CHECK(x.shape() == Shape{});
  CHECK(x.item() == 3.0f);
  CHECK(y.shape() == Shape{});
  CHECK(y.item() == 3.0);
}

}  // namespace

TEST_CASE("a tensor holds its shape and its values in row-major order") {
  const Tensor<double> x({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(x.shape() == Shape{2, 3});
  CHECK(x.rank() == 2);
  CHECK(x.size() == 6);
  CHECK(x.dim(0) == 2);
  CHECK(x.dim(1) == 3);
  CHECK(x.dim(-1) == 3);
  CHECK(x.dim(-2) == 2);
  CHECK(x.values() == Values{1, 2, 3, 4, 5, 6});
  CHECK(x.strides() == std::vector<std::int64_t>{3, 1});
  CHECK(x.is_contiguous());
  CHECK(x.at({0, 2}) == 3);
  CHECK(x.at({1, 0}) == 4);
  CHECK(x.at({-1, -1}) == 6);
  CHECK(x.at({-2, 1}) == 2);
}

TEST_CASE("nested lists give their own shape") {
  const Tensor<double> vector{1, 2, 3};
  CHECK(vector.shape() == Shape{3});
  const Tensor<double> matrix{{1, 2}, {3, 4}, {5, 6}};
  CHECK(matrix.shape() == Shape{3, 2});
  CHECK(matrix.values() == Values{1, 2, 3, 4, 5, 6});
  const Tensor<float> cube{{{1, 2, 3}}, {{4, 5, 6}}};
  CHECK(cube.shape() == Shape{2, 1, 3});
  CHECK(cube.values() == std::vector<float>{1, 2, 3, 4, 5, 6});
  const Tensor<double> deep{{{{{{{{7}}}}}}}};
  CHECK(deep.shape() == Shape{1, 1, 1, 1, 1, 1, 1, 1});
  const Tensor<double> mixed{1, 2.5, 3.0f};
  CHECK(mixed.values() == Values{1, 2.5, 3});
  const Tensor<double> empty_rows{{}, {}};
  CHECK(empty_rows.shape() == Shape{2, 0});
}

TEST_CASE("ragged nested lists throw") {
  CHECK(invalid([] {
          Tensor<double>{{1, 2}, {3}};
        }) ==
        "[Tensor] a nested list that begins like shape [2, 2] is ragged: all lists at one depth "
        "must be equally long.");
  CHECK(invalid([] {
          Tensor<double>{{1}, {2, 3}};
        }) ==
        "[Tensor] a nested list that begins like shape [2, 1] is ragged: all lists at one depth "
        "must be equally long.");
  const std::string mixed_depth =
      "[Tensor] a nested list that begins like shape [2] is ragged: all lists at one depth must "
      "be equally long.";
  CHECK(invalid([] { Tensor<double>{1, {2, 3}}; }) == mixed_depth);
  CHECK(invalid([] {
          Tensor<double>{{{}, {1, 2}}};
        }) ==
        "[Tensor] a nested list that begins like shape [1, 2, 0] is ragged: all lists at one depth "
        "must be equally long.");
  CHECK(invalid([] {
          Tensor<double>{{1, 2}, 3};
        }) ==
        "[Tensor] a nested list that begins like shape [2, 2] is ragged: all lists at one depth "
        "must be equally long.");
  CHECK(invalid([] {
          Index{{1, 2}, {3}};
        }) ==
        "[Tensor] a nested list that begins like shape [2, 2] is ragged: all lists at one depth "
        "must be equally long.");
}

TEST_CASE("rank 0 is not the same as one axis of length 1") {
  const Tensor<double> scalar = 3.0, vector({1}, {3.0});
  CHECK(scalar.rank() == 0);
  CHECK(scalar.size() == 1);
  CHECK(scalar.at({}) == 3.0);
  CHECK(vector.rank() == 1);
  CHECK(scalar.shape() != vector.shape());
  CHECK(to_string(scalar.shape()) == "[]");
  CHECK(to_string(vector.shape()) == "[1]");
  CHECK((scalar + scalar).shape() == Shape{});
  CHECK((scalar + vector).shape() == Shape{1});
  CHECK(sum(vector).shape() == Shape{});
  CHECK(sum(vector, all, true).shape() == Shape{1});
  CHECK(scalar.item() == vector.item());
}

TEST_CASE("numbers of every arithmetic type become scalars of both element types") {
  converts(static_cast<char>(3));
  converts(static_cast<signed char>(3));
  converts(static_cast<unsigned char>(3));
  converts(static_cast<short>(3));
  converts(static_cast<unsigned short>(3));
  converts(3);
  converts(3u);
  converts(3l);
  converts(3ul);
  converts(3ll);
  converts(3ull);
  converts(3.0f);
  converts(3.0);
  converts(3.0l);
}

TEST_CASE("numbers of every arithmetic type stand beside tensors of both element types") {
  const Tensor<float> x({2}, {1, 2});
  CHECK((x * 0.5).values() == std::vector<float>{0.5f, 1});
  CHECK((1 + x).values() == std::vector<float>{2, 3});
  CHECK((x - 1u).values() == std::vector<float>{0, 1});
  CHECK((2L / x).values() == std::vector<float>{2, 1});
  CHECK((0.2 * x).values() == std::vector<float>{0.2f, 0.4f});  // 0.2 is rounded to float first
  const Tensor<double> y({2}, {1, 2});
  CHECK((y * 0.25f).values() == Values{0.25, 0.5});
  CHECK((short{3} - y).values() == Values{2, 1});
  CHECK((y < 2).values() == std::vector<bool>{true, false});
  CHECK((1.0f >= y).values() == std::vector<bool>{true, false});
}

TEST_CASE("values of the wrong number and impossible shapes throw") {
  CHECK(invalid([] {
          Tensor<double>({2, 3}, {1, 2});
        }) == "[Tensor] 2 values for shape [2, 3]: it needs 6.");
  CHECK(invalid([] {
          Tensor<float>({0, 3}, {1});
        }) == "[Tensor] 1 value for shape [0, 3]: it needs 0.");
  CHECK(invalid([] { Tensor<double>({}, {}); }) == "[Tensor] 0 values for shape []: it needs 1.");
  CHECK(invalid([] {
          Tensor<double>({2, -1}, {1});
        }) == "[Tensor] shape [2, -1]: no length may be negative.");
  CHECK(invalid([] {
          Tensor<double>({1, 1, 1, 1, 1, 1, 1, 1, 1}, {1});
        }) == "[Tensor] shape [1, 1, 1, 1, 1, 1, 1, 1, 1] has 9 axes: at most 8 are possible.");
  CHECK(invalid([] {
          Tensor<double>::zeros({4294967296, 4294967296});
        }) == "[full] shape [4294967296, 4294967296]" + kUncountable);
  // The product wraps to a small number, or is hidden behind a 0.
  CHECK(invalid([] {
          Tensor<double>::ones({4294967296, 4294967296, 4294967296});
        }) == "[full] shape [4294967296, 4294967296, 4294967296]" + kUncountable);
  CHECK(invalid([] {
          Tensor<double>::ones({4294967296, 0, 4294967296});
        }) == "[full] shape [4294967296, 0, 4294967296]" + kUncountable);
  const std::int64_t most = std::numeric_limits<std::int64_t>::max() / 16;
  const Tensor<double> one(1);
  CHECK(broadcast_to(one, {most}).size() == most);
  CHECK(invalid([&] { broadcast_to(one, {most + 1}); }) ==
        "[broadcast_to] shape [576460752303423488]" + kUncountable);
}

TEST_CASE("reading outside of a tensor throws") {
  const Tensor<double> x({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(invalid([&] { x.item(); }) == "[item] shape [2, 3] has 6 values: exactly one is required.");
  CHECK(invalid([] { Tensor<double>::zeros({0}).item(); }) ==
        "[item] shape [0] has 0 values: exactly one is required.");
  CHECK(invalid([&] { x.at({1}); }) ==
        "[at] position [1] in shape [2, 3]: one number an axis is required.");
  CHECK(invalid([&] {
          x.at({0, 3});
        }) == "[at] position [0, 3] in shape [2, 3]: it must lie inside.");
  CHECK(invalid([&] {
          x.at({-3, 0});
        }) == "[at] position [-3, 0] in shape [2, 3]: it must lie inside.");
  CHECK(invalid([&] { x.dim(2); }) ==
        "[dim] axis 2 of 2 axes: it must be at least -2 and below 2.");
  CHECK(invalid([&] { x.dim(-3); }) ==
        "[dim] axis -3 of 2 axes: it must be at least -2 and below 2.");
}

TEST_CASE("zeros ones full arange linspace and eye hold what their names say") {
  CHECK(Tensor<float>::zeros({2, 2}).values() == std::vector<float>{0, 0, 0, 0});
  CHECK(Tensor<double>::ones({}).item() == 1);
  CHECK(Tensor<double>::full({3}, -2.5).values() == Values{-2.5, -2.5, -2.5});
  CHECK(Tensor<double>::arange(0, 4).values() == Values{0, 1, 2, 3});
  CHECK(Tensor<double>::arange(1, 2, 0.25).values() == Values{1, 1.25, 1.5, 1.75});
  CHECK(Tensor<double>::arange(3, 0, -1).values() == Values{3, 2, 1});
  CHECK(Tensor<double>::arange(0, 2.5).values() == Values{0, 1, 2});
  CHECK(Tensor<double>::arange(3, 0).shape() == Shape{0});
  CHECK(Tensor<double>::linspace(0, 1, 5).values() == Values{0, 0.25, 0.5, 0.75, 1});
  CHECK(Tensor<double>::linspace(2, -2, 3).values() == Values{2, 0, -2});
  CHECK(Tensor<double>::linspace(7, 9, 1).values() == Values{7});
  CHECK(Tensor<double>::linspace(7, 9, 0).shape() == Shape{0});
  // Both ends are exact, whatever the step rounds to.
  CHECK(Tensor<double>::linspace(0.1, 0.7, 8).at({0}) == 0.1);
  CHECK(Tensor<double>::linspace(0.1, 0.7, 8).at({-1}) == 0.7);
  CHECK(Tensor<double>::eye(2).values() == Values{1, 0, 0, 1});
  CHECK(Tensor<double>::eye(0).shape() == Shape{0, 0});
}

TEST_CASE("makers of tensors refuse impossible numbers") {
  CHECK(
      invalid([] { Tensor<double>::arange(0, 1, 0); }) ==
      "[arange] from 0.000000 to 1.000000 in steps of 0.000000: finite numbers, a step other than "
      "0 and fewer than 10^15 values are required.");
  CHECK(
      invalid([] { Tensor<double>::arange(0, std::numeric_limits<double>::infinity()); }) ==
      "[arange] from 0.000000 to inf in steps of 1.000000: finite numbers, a step other than 0 and "
      "fewer than 10^15 values are required.");
  CHECK_THROWS_AS(Tensor<double>::arange(0, 1e15), std::invalid_argument);
  CHECK(invalid([] { Tensor<double>::linspace(0, 1, -2); }) ==
        "[linspace] shape [-2]: no length may be negative.");
  CHECK(invalid([] { Tensor<double>::eye(-1); }) ==
        "[eye] shape [-1, -1]: no length may be negative.");
  CHECK(invalid([] { Tensor<double>::full({-1}, 0); }) ==
        "[full] shape [-1]: no length may be negative.");
}

TEST_CASE("cast rounds to the other type and gives a constant") {
  const Tensor<double> x({2, 2}, {0.1, 1, 2, 3});
  const Tensor<float> narrow = cast<float>(transpose(x));
  CHECK(narrow.shape() == Shape{2, 2});
  CHECK(narrow.values() == std::vector<float>{0.1f, 2, 1, 3});
  CHECK(cast<double>(narrow).values() == Values{static_cast<double>(0.1f), 2, 1, 3});
  Tape<double> tape;
  const Tensor<double> v = tape.variable(x);
  CHECK(tape.gradient(sum(v * cast<double>(v)), v).values() == Values{0.1, 1, 2, 3});
}

TEST_CASE("masks and indices hold truth values and whole numbers") {
  const Mask m{{true, false}, {false, true}};
  CHECK(m.shape() == Shape{2, 2});
  CHECK(m.values() == std::vector<bool>{true, false, false, true});
  CHECK(m.at({1, 1}));
  CHECK((!m).values() == std::vector<bool>{false, true, true, false});
  CHECK((m & Mask{true, false}).values() == std::vector<bool>{true, false, false, false});
  CHECK((m | Mask(true)).values() == std::vector<bool>{true, true, true, true});
  CHECK(Mask(true).shape() == Shape{});
  const Index i{{1, 2, 3}, {4, 5, 9007199254740993}};
  CHECK(i.shape() == Shape{2, 3});
  CHECK(i.at({1, 2}) == 9007199254740993);  // no double holds it
  CHECK(Index(7).item() == 7);
}

TEST_CASE("a moved-from tensor has no value and can be assigned again") {
  Tensor<double> x = 1.0;
  Tensor<double> y = std::move(x);
  CHECK(!x.has_value());
  CHECK(y.item() == 1);
  x = y + 1;
  CHECK(x.item() == 2);
  y = std::as_const(y);
  CHECK(y.item() == 1);
}

TEST_CASE_TEMPLATE("a list of one zero is a value in a generic lambda too", T, float, double) {
  const auto make = [](auto) { return Tensor<T>{0}; };
  CHECK(make(1).values() == std::vector<T>{0});
}
