// Rows of ops/linalg.hpp.
#include <xtape/ops/linalg.hpp>

#include "op_table.hpp"
#include "support/plain_ops.hpp"

namespace op_table {

namespace {

using plain::Array;
using plain::length;
using plain::Position;
using plain::Shape;

using Arrays = std::vector<Array>;

/// A product's operands as batches of matrices: a vector is a row on the left, a column on the
/// right.
struct Product {
  Shape a, b, batch;
  std::int64_t m, k, n;

  explicit Product(const Arrays& x) : a(x[0].shape), b(x[1].shape) {
    if (a.size() == 1) a.insert(a.begin(), 1);
    if (b.size() == 1) b.push_back(1);
    m = length(a, -2);
    k = length(a, -1);
    n = length(b, -1);
    batch = plain::broadcast(Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2));
  }
  /// use(c, a, b) with the flat indices of c_ij, a_ip and b_pj, for all batches, i, j and p.
  template <class Use>
  void each(const Use& use) const {
    Shape c = batch;
    c.push_back(m);
    c.push_back(n);
    for (std::size_t at = 0; at < plain::size(c); ++at) {
      Position left = plain::position(at, c), right = left;
      const Position c_at = left;
      for (std::int64_t p = 0; p < k; ++p) {
        length(left, -1) = p;
        length(right, -2) = p;
        use(plain::flat(c_at, c), plain::flat(left, a), plain::flat(right, b));
      }
    }
  }
  /// The result's shape, without the axes that vectors do not have.
  Shape shape(const Arrays& x) const {
    Shape result = batch;
    if (x[0].shape.size() > 1) result.push_back(m);
    if (x[1].shape.size() > 1) result.push_back(n);
    return result;
  }
};

Array matmul_value(const Arrays& x) {
  const Product product(x);
  Array y{product.shape(x), plain::Values(plain::size(product.shape(x)))};
  product.each([&](std::size_t c, std::size_t a, std::size_t b) {
    y.values[c] += x[0].values[a] * x[1].values[b];
  });
  return y;
}

plain::Gradients matmul_vjp(const Arrays& x, const Array& g) {
  plain::Gradients result = plain::zeros(x);
  Product(x).each([&](std::size_t c, std::size_t a, std::size_t b) {
    result[0][a] += g.values[c] * x[1].values[b];
    result[1][b] += x[0].values[a] * g.values[c];
  });
  return result;
}

/// Two vectors as a matrix of one column and one of one row.
Arrays column_and_row(Arrays x) {
  x[0].shape.push_back(1);
  x[1].shape.insert(x[1].shape.begin(), 1);
  return x;
}

}  // namespace

Rows linalg_rows() {
  const Op product = [](const auto& x) { return matmul(x[0], x[1]); };
  return {
      {"matmul of matrices",
       {{{2, 3}, {3, 4}},
        {{1, 1}, {1, 1}},
        {{1, 3}, {3, 1}},
        {{3, 1}, {1, 2}},
        {{5, 5}, {5, 5}},
        {{2, 0}, {0, 3}},
        {{0, 3}, {3, 2}},
        {{2, 3}, {3, 0}},
        {{0, 0}, {0, 0}}},
       product,
       matmul_value,
       matmul_vjp},
      {"matmul with vectors",
       {{{3}, {3}},
        {{3}, {3, 2}},
        {{2, 3}, {3}},
        {{1}, {1}},
        {{3}, {2, 3, 2}},
        {{2, 2, 3}, {3}},
        {{0}, {0}},
        {{0}, {0, 2}}},
       product,
       matmul_value,
       matmul_vjp},
      {"matmul of batches",
       {{{2, 2, 3}, {2, 3, 2}},
        {{2, 2, 2, 3}, {2, 2, 3, 1}},
        {{0, 2, 3}, {0, 3, 2}},
        {{2, 2, 0}, {2, 0, 3}},
        {{2, 0, 3}, {2, 3, 2}}},
       product,
       matmul_value,
       matmul_vjp},
      {"matmul of batches that broadcast",
       {{{2, 2, 3}, {3, 4}},
        {{2, 3}, {2, 3, 2}},
        {{1, 2, 3}, {4, 3, 2}},
        {{2, 1, 2, 3}, {3, 3, 2}},
        {{2, 2, 2, 3}, {3, 2}},
        {{0, 2, 3}, {3, 2}},
        {{2, 2, 0}, {0, 3}},
        {{2, 0, 3}, {3, 2}}},
       product,
       matmul_value,
       matmul_vjp},
      {"dot",
       {{{4}, {4}}, {{1}, {1}}, {{0}, {0}}},
       [](const auto& x) { return dot(x[0], x[1]); },
       matmul_value,
       matmul_vjp},
      {"outer",
       {{{2}, {3}}, {{3}, {3}}, {{1}, {1}}, {{1}, {4}}, {{0}, {3}}, {{3}, {0}}, {{0}, {0}}},
       [](const auto& x) { return outer(x[0], x[1]); },
       [](const Arrays& x) { return matmul_value(column_and_row(x)); },
       [](const Arrays& x, const Array& g) { return matmul_vjp(column_and_row(x), g); }},
  };
}

}  // namespace op_table
