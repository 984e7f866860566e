// Where things stand in pictures: numbers in their cells, labels at their rows and columns, and
// nothing outside or on top of something else.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include <xtape/xtape.hpp>

namespace {

using namespace xtape;

struct Box {
  double left, top, right, bottom;

  double middle_x() const { return (left + right) / 2; }
  double middle_y() const { return (top + bottom) / 2; }
  bool holds(const Box& other) const {
    return left <= other.left && top <= other.top && other.right <= right && other.bottom <= bottom;
  }
  bool meets(const Box& other) const {
    return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
  }
};

struct Text {
  std::string words;
  Box box;
};

/// What a picture consists of, in its own coordinates.
struct Picture {
  Box whole{};
  std::vector<Box> rectangles;
  std::vector<Text> texts;

  explicit Picture(const std::string& svg) {
    const std::size_t size = svg.find("width=\"");
    REQUIRE(std::sscanf(svg.c_str() + size, "width=\"%lf\" height=\"%lf\"", &whole.right,
                        &whole.bottom) == 2);
    for (std::size_t at = 0; (at = svg.find('M', at)) != std::string::npos; ++at) {
      double x = 0, y = 0, width = 0, height = 0;
      if (std::sscanf(svg.c_str() + at, "M%lf %lfh%lfv%lfh", &x, &y, &width, &height) == 4)
        rectangles.push_back({x, y, x + width, y + height});
    }
    for (std::size_t at = 0; (at = svg.find("<text x=", at)) != std::string::npos; ++at) {
      double x = 0, y = 0;
      REQUIRE(std::sscanf(svg.c_str() + at, "<text x=\"%lf\" y=\"%lf\"", &x, &y) == 2);
      const std::size_t begin = svg.find('>', at) + 1, end = svg.find("</text>", at);
      const std::string tag = svg.substr(at, begin - at), words = svg.substr(begin, end - begin);
      const auto anchored = [&](const char* where) {
        return tag.find("text-anchor=\"" + std::string(where)) != std::string::npos;
      };
      constexpr double kLetter = 5, kHeight = 11;  // a narrow letter of the font's size, 11
      const double width = kLetter * static_cast<double>(words.size());
      const double left = x - (anchored("middle") ? width / 2 : anchored("end") ? width : 0);
      texts.push_back({words, {left, y - kHeight / 2, left + width, y + kHeight / 2}});
    }
  }

  const Box& text(const std::string& words) const {
    const auto found = std::find_if(texts.begin(), texts.end(),
                                    [&](const Text& text) { return text.words == words; });
    REQUIRE_MESSAGE(found != texts.end(), words);
    return found->box;
  }
};

AttentionMap<double> tokens() {
  AttentionMap<double> map;
  map.weights = {{0.25, 0.5, 0.125}, {-0.25, 0.75, 0.375}};
  map.queries = {"q", "r"};
  map.keys = {"a", "b", "c"};
  return map;
}

}  // namespace

TEST_CASE("all of a picture lies inside of it, and no text on another") {
  AttentionMap<double> titled = tokens();
  titled.title = "A1 - A2";
  const std::string pictures[]{to_svg(Random(1).normal<double>({2, 16})),
                               to_svg(Random(1).normal<double>({16, 2})),
                               to_svg(Random(1).normal<double>({2, 3, 2, 2})),
                               to_svg(Random(1).normal<double>({40, 50})),
                               to_svg(Random(1).normal<double>({3, 1, 1})),
                               to_svg(Random(1).normal<double>({16})),
                               to_svg(Tensor<double>{-1e-9, 123456, -3.5e10, 0}),
                               to_svg(Tensor<double>(2)),
                               to_svg(Random(1).normal<double>({60})),
                               to_svg(tokens()),
                               to_svg(titled)};
  for (const std::string& svg : pictures) {
    INFO(svg);
    const Picture picture(svg);
    CHECK(!picture.texts.empty());
    for (const Box& rectangle : picture.rectangles) CHECK(picture.whole.holds(rectangle));
    for (const Text& text : picture.texts) {
      CHECK_MESSAGE(picture.whole.holds(text.box), text.words);
      for (const Text& other : picture.texts)
        if (&text != &other)
          CHECK_MESSAGE(!text.box.meets(other.box), text.words << " and " << other.words);
    }
  }
}

TEST_CASE("a number stands in the middle of its cell") {
  const Picture picture(to_svg(Tensor<double>{{11, 12, 13}, {21, 22, 23}}));
  const auto in_a_cell = [&](const Box& number) {
    return std::any_of(picture.rectangles.begin(), picture.rectangles.end(), [&](const Box& cell) {
      return cell.middle_x() == number.middle_x() && cell.middle_y() == number.middle_y();
    });
  };
  for (const char* number : {"11", "12", "13", "21", "22"}) CHECK(in_a_cell(picture.text(number)));
  // Rows run down, columns to the right.
  CHECK(picture.text("11").left < picture.text("12").left);
  CHECK(picture.text("11").top < picture.text("21").top);
  CHECK(picture.text("12").left == picture.text("22").left);
}

TEST_CASE("tokens stand beside their rows and above their columns") {
  const Picture picture(to_svg(tokens()));
  const char* const keys[]{"a", "b", "c"};
  const char* const first_row[]{"0.25", "0.5", "0.125"};
  for (int j = 0; j < 3; ++j) {
    CHECK(picture.text(keys[j]).middle_x() == picture.text(first_row[j]).middle_x());
    CHECK(picture.text(keys[j]).bottom < picture.text(first_row[j]).top);
  }
  CHECK(picture.text("q").middle_y() == picture.text("0.25").middle_y());
  CHECK(picture.text("r").middle_y() == picture.text("-0.25").middle_y());
  CHECK(picture.text("q").right < picture.text("0.25").left);
}

TEST_CASE("the scale stands between its ends, on one line with them") {
  const Picture picture(to_svg(tokens()));
  // Its steps are the last rectangles of a row of 33.
  const Box &low = picture.text("-0.75"), &high = picture.texts[picture.texts.size() - 2].box;
  int steps = 0;
  for (const Box& step : picture.rectangles)
    if (step.middle_y() == low.middle_y()) {
      ++steps;
      CHECK(low.right + 6 <= step.left);
      CHECK(step.right + 6 <= high.left);
    }
  CHECK(steps == 33);
  CHECK(high.middle_y() == low.middle_y());
}

TEST_CASE("a bar has its number at its end and its position under all bars") {
  const Picture picture(to_svg(Tensor<double>{30, -10, 20}));
  REQUIRE(picture.rectangles.size() == 3);
  const char* const numbers[]{"30", "-10", "20"};
  const char* const positions[]{"0", "1", "2"};
  for (int i = 0; i < 3; ++i) {
    const Box &number = picture.text(numbers[i]), &position = picture.text(positions[i]);
    const auto bar = std::find_if(
        picture.rectangles.begin(), picture.rectangles.end(),
        [&](const Box& bar) { return std::abs(bar.middle_x() - number.middle_x()) < 1; });
    REQUIRE(bar != picture.rectangles.end());
    CHECK((i == 1 ? number.top >= bar->bottom : number.bottom <= bar->top));
    CHECK(position.middle_x() == number.middle_x());
    for (const Box& any : picture.rectangles) CHECK(any.bottom <= position.top);
  }
}

TEST_CASE("what has no values has no cells, whichever axis is empty") {
  for (const Shape& shape : {Shape{0, 3}, Shape{3, 0}, Shape{2, 0, 3}, Shape{0, 2, 2}, Shape{0}}) {
    INFO(to_string(shape));
    const std::string svg = to_svg(Tensor<double>::zeros(shape));
    CHECK(Picture(svg).rectangles.empty());
    CHECK(Picture(svg).texts.size() == 1);
    CHECK(Picture(svg).whole.bottom == Picture(to_svg(Tensor<double>::zeros({0, 3}))).whole.bottom);
  }
  for (const Shape& shape : {Shape{0, 3}, Shape{3, 0}}) {
    AttentionMap<double> map;
    map.weights = Tensor<double>::zeros(shape);
    CHECK(Picture(to_svg(map)).rectangles.empty());
    CHECK(to_svg(map).find("<path") == std::string::npos);
  }
}
