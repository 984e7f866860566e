// What pictures are made of: rectangles and texts, in the coordinates of pixels.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace xtape::detail {

/// Text as it may stand in SVG and HTML; of control characters only spaces are left.
std::string markup(const std::string& text);

class Svg {
 public:
  enum class Align { start, middle, end };

  void rectangle(int x, int y, int width, int height, const std::string& colour);
  /// Slanted lines over a rectangle.
  void hatch(int x, int y, int width, int height);
  void line(int x1, int y1, int x2, int y2);
  /// One line of text whose middle is at the height y; rotated it runs upwards.
  void text(int x, int y, const std::string& text, Align align = Align::start,
            const std::string& colour = "#222", bool rotated = false);
  /// The picture; `title` is for those who cannot see it.
  std::string finish(int width, int height, const std::string& title) const;

  /// The width of a text, at most.
  static int width(const std::string& text);

 private:
  // Rectangles of one colour are one path, which keeps a map of a thousand cells small.
  std::map<std::string, std::string> fills_;
  std::string strokes_;
  std::string texts_;
};

/// The colour of t in [-1, 1]: orange, white at 0, blue. NaN is grey.
std::string colour(double t);
/// A colour for text that is read on it.
std::string ink(double t);

/// A number in at most three significant digits.
std::string short_number(double value);

}  // namespace xtape::detail
