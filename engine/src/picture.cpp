// Tensors as pages get them.
#include "picture.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace xtape::detail {

namespace {

/// Any shape as slices of rows and columns, and how many of each are shown.
struct Grid {
  std::array<std::int64_t, 3> whole{1, 1, 1}, shown{};

  Grid(const Shape& shape, std::int64_t side) {
    const std::size_t rank = shape.size();
    for (std::size_t axis = 0; axis < rank; ++axis)
      whole[axis + 2 < rank ? 0 : axis + 3 - rank] *= shape[axis];
    shown = {std::min(whole[0], kMostSlices), std::min(whole[1], side), std::min(whole[2], side)};
  }
};

const char* name_of(double value) {
  if (std::isnan(value)) return "nan";
  return value > 0 ? "inf" : "-inf";
}

std::vector<std::int64_t> position(std::int64_t flat, const Shape& shape) {
  std::vector<std::int64_t> index(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0; flat /= shape[axis])
    index[axis] = flat % shape[axis];
  return index;
}

}  // namespace

std::int64_t picture_size(const Shape& shape, std::int64_t side) {
  const auto& shown = Grid(shape, side).shown;
  return shown[0] * shown[1] * shown[2];
}

template <class T>
Json<T> picture(const Tensor<T>& x, std::int64_t side) {
  const std::vector<T> all = x.values();
  const Shape shape = x.shape();
  const auto [whole, shown] = Grid(shape, side);

  auto values = Json<T>::array();
  for (std::int64_t s = 0; s < shown[0]; ++s)
    for (std::int64_t i = 0; i < shown[1]; ++i)
      for (std::int64_t j = 0; j < shown[2]; ++j) {
        const std::int64_t slice = s * whole[0] / shown[0], row = i * whole[1] / shown[1];
        const std::int64_t at = (slice * whole[1] + row) * whole[2] + j * whole[2] / shown[2];
        const T value = all[static_cast<std::size_t>(at)];
        if (std::isfinite(value))
          values.push_back(value);
        else
          values.push_back(name_of(static_cast<double>(value)));
      }

  T low = 0, high = 0;
  bool any = false;
  auto bad = all.end();
  for (auto at = all.begin(); at != all.end(); ++at) {
    if (std::isfinite(*at)) {
      low = any ? std::min(low, *at) : *at;
      high = any ? std::max(high, *at) : *at;
      any = true;
    } else if (bad == all.end() || (std::isnan(*at) && !std::isnan(*bad))) {
      bad = at;
    }
  }
  Json<T> result{{"shape", shape}, {"shown", shown}, {"values", values}};
  if (any) {
    result["low"] = low;
    result["high"] = high;
  }
  if (bad != all.end())
    result["bad"] = {{"what", name_of(static_cast<double>(*bad))},
                     {"at", position(bad - all.begin(), shape)}};
  return result;
}

template Json<float> picture(const Tensor<float>&, std::int64_t);
template Json<double> picture(const Tensor<double>&, std::int64_t);

}  // namespace xtape::detail
