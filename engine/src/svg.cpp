// Rectangles and texts as SVG.
#include "svg.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace xtape::detail {

namespace {

constexpr int kLetter = 7;  // the width of a letter, at most, at the size of 11

std::string number(int n) { return std::to_string(n); }

}  // namespace

std::string markup(const std::string& text) {
  std::string result;
  for (char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
  }
  return result;
}

void Svg::rectangle(int x, int y, int width, int height, const std::string& colour) {
  fills_[colour] += "M" + number(x) + " " + number(y) + "h" + number(width) + "v" + number(height) +
                    "h" + number(-width) + "z";
}

void Svg::hatch(int x, int y, int width, int height) {
  rectangle(x, y, width, height, "#eee");
  constexpr int kStep = 6;
  // The lines x - y = d that cross the rectangle, cut off at its sides.
  for (int d = kStep / 2 - height; d < width; d += kStep) {
    const int from = std::max(d, 0), to = std::min(d + height, width);
    if (from < to)
      strokes_ += "M" + number(x + from) + " " + number(y + from - d) + "L" + number(x + to) + " " +
                  number(y + to - d);
  }
}

void Svg::line(int x1, int y1, int x2, int y2) {
  strokes_ += "M" + number(x1) + " " + number(y1) + "L" + number(x2) + " " + number(y2);
}

void Svg::text(int x, int y, const std::string& text, Align align, const std::string& colour,
               bool rotated) {
  static const std::array<const char*, 3> anchors{"", " text-anchor=\"middle\"",
                                                  " text-anchor=\"end\""};
  const std::string at = number(x) + (rotated ? " " : "\" y=\"") + number(y);
  texts_ += "<text " + (rotated ? "transform=\"translate(" + at + ") rotate(-90)" : "x=\"" + at) +
            "\" dy=\"4\"" + anchors[static_cast<std::size_t>(align)] +
            (colour == "#222" ? "" : " fill=\"" + colour + "\"") + ">" + markup(text) + "</text>";
}

std::string Svg::finish(int width, int height, const std::string& title) const {
  const std::string size = number(width) + " " + number(height);
  std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"" +
                    number(width) + "\" height=\"" + number(height) + "\" viewBox=\"0 0 " + size +
                    "\"><title>" + markup(title) + "</title><rect width=\"100%\" height=\"100%\" " +
                    "fill=\"#fff\"/>";
  for (const auto& [colour, path] : fills_)
    svg += "<path fill=\"" + colour + "\" d=\"" + path + "\"/>";
  if (!strokes_.empty()) svg += "<path stroke=\"#999\" fill=\"none\" d=\"" + strokes_ + "\"/>";
  return svg +
         "<g font-family=\"DejaVu Sans,Helvetica,Arial,sans-serif\" font-size=\"11\" "
         "fill=\"#222\" xml:space=\"preserve\">" +
         texts_ + "</g></svg>";
}

int Svg::width(const std::string& text) {
  // Bytes that continue a UTF-8 symbol take no room.
  const auto letters = std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  });
  return kLetter * static_cast<int>(letters);
}

std::string colour(double t) {
  if (std::isnan(t)) return "#bbbbbb";
  constexpr double kSteps = 32;
  constexpr std::array<int, 3> kBlue{0, 114, 178}, kOrange{213, 94, 0};
  const double strength = std::round(std::min(std::abs(t), 1.0) * kSteps) / kSteps;
  std::string text = "#";
  for (std::size_t i = 0; i < 3; ++i) {
    const int full = (t < 0 ? kOrange : kBlue)[i];
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x",
                  static_cast<unsigned>(std::lround(255 - strength * (255 - full))) & 0xFFu);
    text += digits;
  }
  return text;
}

std::string ink(double t) { return std::abs(t) > 0.7 ? "#fff" : "#222"; }

std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value == 0 ? 0 : value);
  return text;
}

}  // namespace xtape::detail
