// The op table as a whole, and its random inputs.
#include "op_table.hpp"

#include <xtape/random.hpp>

namespace op_table {

namespace {

double draw(const Domain& domain, xtape::Random& random) {
  const double x = domain.low + (domain.high - domain.low) * random.uniform();
  return domain.kind == Domain::kOutside && random.below(2) == 0 ? -x : x;
}

plain::Values draw(const Domain& domain, std::size_t count, xtape::Random& random) {
  plain::Values values;
  const double step = (domain.high - domain.low) / static_cast<double>(count);
  for (std::size_t i = 0; i < count; ++i)
    values.push_back(domain.kind == Domain::kDistinct ? domain.low + step * static_cast<double>(i)
                                                      : draw(domain, random));
  if (domain.kind == Domain::kDistinct)
    for (std::size_t i = count; i > 1; --i)
      std::swap(values[i - 1],
                values[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(i)))]);
  for (double& v : values) v = static_cast<double>(static_cast<float>(v));
  return values;
}

}  // namespace

const Rows& rows() {
  static const Rows all = [] {
    Rows result;
    for (const auto part : {elementwise_rows, compare_rows, reduce_rows, shape_rows, arrange_rows,
                            linalg_rows, nn_rows, layer_rows, attention_rows})
      for (Row& row : part()) result.push_back(std::move(row));
    return result;
  }();
  return all;
}

std::vector<plain::Array> inputs(const Row& row, const Sample& sample, std::uint64_t seed) {
  xtape::Random random(seed);
  std::vector<plain::Array> result;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const Domain domain = row.domains.empty() ? Domain() : row.domains.at(i);
    result.push_back({sample[i], draw(domain, plain::size(sample[i]), random)});
  }
  return result;
}

}  // namespace op_table
