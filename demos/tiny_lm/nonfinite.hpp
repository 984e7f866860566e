// Where a step's numbers stop being finite.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <sstream>
#include <string>
#include <utility>
#include <vector>
#include <xtape/xtape.hpp>

namespace tiny_lm {

template <class T>
bool is_finite(const xtape::Tensor<T>& x) {
  const std::vector<T> values = x.values();
  return std::all_of(values.begin(), values.end(), [](T v) { return std::isfinite(v); });
}

/// Does a computation again on a tape that keeps all values. Returns the first line whose value is
/// not finite, as the tape prints it; else the first line whose cotangent is finite and that passes
/// on one that is not; else "". What `mask` fills in does not count.
/// loss: (const Parameters<T>&) -> []
template <class T, class Loss>
std::string first_not_finite(xtape::Parameters<T> parameters, const Loss& loss) {
  xtape::Tape<T> tape(xtape::Keep::values);
  tape.watch(parameters);
  const xtape::Tensor<T> target = loss(parameters);
  std::vector<std::string> lines;
  std::istringstream text(xtape::to_string(tape));
  for (std::string line; std::getline(text, line);) lines.push_back(line);

  for (std::int64_t i = 0; i < tape.size(); ++i) {
    const xtape::Node<T> node = tape.node(i);
    if (node.op != "mask" && node.value.has_value() && !is_finite(node.value))
      return lines[static_cast<std::size_t>(i)];
  }
  std::string found;
  const auto look = [&](std::int64_t line, xtape::In<T> cotangent,
                        const std::vector<xtape::Contribution<T>>& passed_on) {
    if (!found.empty() || !is_finite(cotangent)) return;
    for (const auto& part : passed_on)
      if (!is_finite(part.cotangent))
        found = "the gradient of " + lines[static_cast<std::size_t>(line)];
  };
  tape.gradient(target, parameters, xtape::Sweep<T>(xtape::Record::no, look));
  return found;
}

}  // namespace tiny_lm
