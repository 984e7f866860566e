// Tensors as pages get them.
#include "picture.hpp"

#include <algorithm>
#include <cmath>

#include "grid.hpp"

namespace xtape::detail {

namespace {

const char* name_of(double value) {
  if (std::isnan(value)) return "nan";
  return value > 0 ? "inf" : "-inf";
}

}  // namespace

template <class T>
Json<T> picture(const Tensor<T>& x, std::int64_t side) {
  const std::vector<T> all = x.values();
  const Shape shape = x.shape();
  const Grid grid(shape, kMostSlices, side);

  auto values = Json<T>::array();
  for (std::int64_t s = 0; s < grid.slices.count; ++s)
    for (T value : grid.slice(all, s)) {
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
  Json<T> result{{"shape", shape},
                 {"shown", {grid.slices.count, grid.rows.count, grid.columns.count}},
                 {"values", values}};
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
