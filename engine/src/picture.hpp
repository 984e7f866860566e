// Tensors as pages get them: a few values on an even grid, and what is known of all of them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <xtape/tensor.hpp>

namespace xtape::detail {

/// JSON whose numbers have as many digits as a T needs to be read back.
template <class T>
using Json =
    nlohmann::basic_json<std::map, std::vector, std::string, bool, std::int64_t, std::uint64_t, T>;

constexpr std::int64_t kMostSide = 32;   // rows and columns shown of a slice, at most
constexpr std::int64_t kMostSlices = 8;  // slices shown of a tensor, at most

/// {shape, shown: [slices, rows, columns], values, low, high, bad: {what, at}}: low and high are of
/// all finite values, bad is the first NaN or else the first infinity; each where there is one. The
/// i-th of n positions shown along an axis of length N is i N / n.
template <class T>
Json<T> picture(const Tensor<T>& x, std::int64_t side);

}  // namespace xtape::detail
