// Fused attention, ordinary and differential, forward and backward, for one kind of processor.
//
// A block of R queries is worked on at once, and all its scores are kept: R Tk values a map, so
// that the softmax needs no rescaling, and that the maps are subtracted before their one product
// with V. Nothing of size Tq Tk is stored. A phase is a function; the products are the matrix
// product's tiles. Per head, without what the causal mask saves, with Dv = 2 D:
//
//   forward                                               flops
//     scores    S_i = Q_i K_i^T                           4 T^2 D for both maps
//     combine   P = A_1 - lambda A_2, A_i = softmax(s S_i)
//     weigh     O = P V                                   4 T^2 D
//   backward, from each row's maximum and sum
//     scores    S_i, and dP = G V^T                       4 + 4 T^2 D
//     derive    A_i; r_i = rowsum(A_i dP); dS_1 = s A_1 (dP - r_1), dS_2 = -lambda s A_2 (dP -
//     r_2);
//               dlambda = -r_2; P
//     weigh     dQ_i = dS_i K_i                           4 T^2 D
//     gather    dK_i = dS_i^T Q_i, dV = P^T G             4 + 4 T^2 D
//
// The causal mask ends every row tile's products at the last key that its last row sees, and begins
// every key tile's at the first row that sees its first key.
#pragma once

#include <cmath>
#include <limits>

#include "exp.hpp"
#include "kernels.hpp"
#include "matmul.hpp"
#include "simd.hpp"

namespace xtape::detail {
namespace {

template <class T, class Isa>
struct Attention {
  using P = Product<T, Isa>;
  using V = Vector<T, Isa>;
  static constexpr std::int64_t W = kWidth<V>;
  static constexpr std::int64_t kRows = P::kRows;
  static constexpr std::int64_t kChunk = 128;  // keys whose values stay in the cache

  static constexpr std::int64_t padded(std::int64_t n) { return (n + 15) / 16 * 16; }

  /// A right operand of products, [k, n]: packed, in chunks of kChunk rows, or as it lies (row >
  /// 0).
  struct Right {
    const T* data;
    std::int64_t k, n, row;

    const T* panel(std::int64_t p, std::int64_t j) const {
      return row > 0 ? data + p * row + j : data + p * padded(n) + j * std::min(kChunk, k - p);
    }
    std::int64_t step(std::int64_t vectors) const { return row > 0 ? row : vectors * W; }
  };

  /// b as a right operand: as it lies where its rows are whole vectors, else packed into `to`,
  /// which then moves on.
  static Right right(std::int64_t k, std::int64_t n, Strided<T> b, T*& to) {
    if (b.column == 1 && n % W == 0) return {b.data, k, n, b.row};
    const Right result{to, k, n, 0};
    for (std::int64_t p = 0; p < k; p += kChunk) {
      const std::int64_t rows = std::min(kChunk, k - p);
      pack(rows, n, {b.data + p * b.row, b.row, b.column}, to);
      to += rows * padded(n);
    }
    return result;
  }

  /// The panels of b: [k, n], one after the other.
  static void pack(std::int64_t k, std::int64_t n, Strided<T> b, T* to) {
    P::for_each_panel(n, [&](std::int64_t j, std::int64_t columns, std::int64_t vectors) {
      P::pack_right(k, columns, {b.data + j * b.column, b.row, b.column}, vectors * W, to + j * k);
    });
  }
  static const T* pack_transposed(std::int64_t rows, std::int64_t n, Strided<T> b, T*& to) {
    T* const packed = to;
    pack(n, rows, {b.data, b.column, b.row}, packed);
    to += n * padded(rows);
    return packed;
  }

  /// A block of queries: where it lies, and how far its rows of keys go.
  struct Block {
    const Head<T>& head;
    std::int64_t first, rows;
    std::int64_t ld;  // from one row of scores to the next

    /// The keys that row i may see.
    std::int64_t keys(std::int64_t i) const {
      if (!head.causal) return head.keys;
      return std::clamp<std::int64_t>(first + i + 1 + head.keys - head.queries, 0, head.keys);
    }
    std::int64_t tile_rows(std::int64_t i) const { return std::min(kRows, rows - i); }
    /// The keys that any row of the tile from row i on may see.
    std::int64_t tile_keys(std::int64_t i) const { return keys(i + tile_rows(i) - 1); }
    /// The first row of the first tile that may see key j.
    std::int64_t first_row(std::int64_t j) const {
      std::int64_t i = 0;
      while (i < rows && tile_keys(i) <= j) i += kRows;
      return std::min(i, rows);
    }
  };

  /// to = x b^T, as far as rows see keys. x: [rows, k], packed: b^T: [k, Tk]
  static void scores(const Block& block, std::int64_t k, Strided<T> x, const T* packed, T* to) {
    for (std::int64_t i = 0; i < block.rows; i += kRows) {
      const std::int64_t keys = block.tile_keys(i);
      P::for_each_panel(block.head.keys, [&](std::int64_t j, std::int64_t, std::int64_t vectors) {
        if (j < keys)
          P::any_tile(vectors, block.tile_rows(i), vectors * W, k,
                      {x.data + (block.first + i) * x.row, x.row, 1}, packed + j * k, vectors * W,
                      to + i * block.ld + j, block.ld, true);
      });
    }
  }

  /// to = maps b for the block's rows. maps: [rows, Tk]  b: [Tk, n]
  static void weigh(const Block& block, const T* maps, const Right& b, T* to) {
    T* const first = to + block.first * b.n;
    for (std::int64_t p = 0; p == 0 || p < b.k; p += kChunk)
      for (std::int64_t i = 0; i < block.rows; i += kRows) {
        const std::int64_t depth = std::min(kChunk, block.tile_keys(i) - p);
        if (p > 0 && depth <= 0) continue;
        P::for_each_panel(b.n, [&](std::int64_t j, std::int64_t columns, std::int64_t vectors) {
          P::any_tile(vectors, block.tile_rows(i), columns, depth,
                      {maps + i * block.ld + p, block.ld, 1}, b.panel(p, j), b.step(vectors),
                      first + i * b.n + j, b.n, p == 0);
        });
      }
  }

  /// to += maps^T b for the keys that the block's rows see. maps: [rows, Tk]  b: [rows, n]
  static void gather(const Block& block, const T* maps, const Right& b, T* to) {
    const std::int64_t keys = block.keys(block.rows - 1);
    for (std::int64_t j = 0; j < keys; j += kRows) {
      const std::int64_t i = block.head.causal ? block.first_row(j) : 0;
      P::for_each_panel(b.n, [&](std::int64_t c, std::int64_t columns, std::int64_t vectors) {
        const std::int64_t step = b.step(vectors);
        P::any_tile(vectors, std::min(kRows, block.head.keys - j), columns, block.rows - i,
                    {maps + i * block.ld + j, 1, block.ld}, b.panel(0, c) + i * step, step,
                    to + j * b.n + c, b.n, false);
      });
    }
  }

  /// Puts -inf where row i must not attend, up to the end of its last vector; returns that end.
  static std::int64_t hide(const Block& block, std::int64_t i, T* row) {
    constexpr T kMinusInf = -std::numeric_limits<T>::infinity();
    const std::int64_t n = block.keys(i), end = (n + W - 1) / W * W;
    if (const bool* allowed = block.head.allowed) {
      allowed += (block.first + i) * block.head.allowed_row;
      for (std::int64_t j = 0; j < n; ++j)
        row[j] = allowed[j * block.head.allowed_column] ? row[j] : kMinusInf;
    }
    for (std::int64_t j = n; j < end; ++j) row[j] = kMinusInf;
    return end;
  }

  static T horizontal_sum(V x) {
    T values[W], total = 0;
    store(x, values);
    for (T value : values) total += value;
    return total;
  }

  static T scale(const Head<T>& head) {
    return static_cast<T>(1 / std::sqrt(static_cast<double>(head.depth)));
  }

  /// x = e^(s (x - largest)) of n values that are whole vectors.
  static V weight(const T* x, V s, V shift) { return Exp()(multiply_add(load<V>(x), s, shift)); }

  struct Stats {
    T shift;    // -s times the row's largest score
    T inverse;  // of the sum of exponentials; 0 where there is nothing to attend to
  };

  /// Turns one row of scores into exponentials.
  static Stats exponentials(std::int64_t n, T s, T* row) {
    V most(-std::numeric_limits<T>::infinity());
    for (std::int64_t j = 0; j < n; j += W) most = larger(load<V>(row + j), most);
    T values[W], largest = -std::numeric_limits<T>::infinity();
    store(most, values);
    for (T value : values) largest = value > largest ? value : largest;
    const T shift = largest == -std::numeric_limits<T>::infinity() ? T(0) : -s * largest;
    V total(T(0));
    for (std::int64_t j = 0; j < n; j += W) {
      const V e = weight(row + j, V(s), V(shift));
      store(e, row + j);
      total = total + e;
    }
    const T sum = horizontal_sum(total);
    return {shift, sum == 0 ? T(0) : 1 / sum};
  }

  /// first = P = A_1 - lambda A_2 from the scores, with zeros up to the end of each tile.
  static void combine(const Block& block, T* first, T* second) {
    const Head<T>& head = block.head;
    const T s = scale(head);
    for (std::int64_t i = 0; i < block.rows; ++i, first += block.ld, second += block.ld) {
      const std::int64_t at = block.first + i, n = hide(block, i, first);
      T* const stats = head.stats + at;
      const Stats one = exponentials(n, s, first);
      stats[0] = one.shift;
      stats[head.queries] = one.inverse;
      if (head.maps == 1) {
        for (std::int64_t j = 0; j < n; j += W)
          store(load<V>(first + j) * V(one.inverse), first + j);
      } else {
        hide(block, i, second);
        const Stats two = exponentials(n, s, second);
        stats[2 * head.queries] = two.shift;
        stats[3 * head.queries] = two.inverse;
        const V less(-head.coefficient[at * head.coefficient_step]);
        for (std::int64_t j = 0; j < n; j += W) {
          // Each map is rounded: where they are equal, the difference is 0.
          const V a1 = load<V>(first + j) * V(one.inverse);
          const V a2 = load<V>(second + j) * V(two.inverse);
          store(multiply_add(a2, less, a1), first + j);
        }
      }
      for (std::int64_t j = n; j < padded(block.tile_keys(i / kRows * kRows)); ++j) first[j] = T(0);
    }
  }

  static void forward(const Head<T>& head, std::int64_t begin, std::int64_t end, T* scratch) {
    const std::int64_t ld = padded(head.keys) + 16, most = attention_rows<T>(head.keys);
    T* const first = scratch;
    T* const second = first + most * ld;
    T* free = second + most * ld;
    const T* keys[2]{};
    for (int i = 0; i < head.maps; ++i)
      keys[i] = pack_transposed(head.keys, head.depth, head.k[i], free);
    const Right value = right(head.keys, head.width, head.value, free);
    for (std::int64_t at = begin; at < end; at += most) {
      const Block block{head, at, std::min(most, end - at), ld};
      scores(block, head.depth, head.q[0], keys[0], first);
      if (head.maps == 2) scores(block, head.depth, head.q[1], keys[1], second);
      combine(block, first, second);
      weigh(block, first, value, head.out);
    }
  }

  /// From scores and dp = dP: first = dS_1, second = dS_2, dp = P; zeros up to each tile's end.
  static void derive(const Block& block, T* first, T* second, T* dp) {
    const Head<T>& head = block.head;
    const T s = scale(head);
    const bool both = head.maps == 2;
    for (std::int64_t i = 0; i < block.rows;
         ++i, first += block.ld, second += block.ld, dp += block.ld) {
      const std::int64_t at = block.first + i, n = hide(block, i, first);
      const T* const stats = head.stats + at;
      const V shift(stats[0]), inverse(stats[head.queries]);
      V r1(T(0)), r2(T(0));
      for (std::int64_t j = 0; j < n; j += W) {
        const V a = weight(first + j, V(s), shift) * inverse;
        r1 = multiply_add(a, load<V>(dp + j), r1);
        store(a, first + j);
      }
      const V sum1(horizontal_sum(r1));
      if (both) {
        hide(block, i, second);
        const V shift2(stats[2 * head.queries]), inverse2(stats[3 * head.queries]);
        for (std::int64_t j = 0; j < n; j += W) {
          const V a = weight(second + j, V(s), shift2) * inverse2;
          r2 = multiply_add(a, load<V>(dp + j), r2);
          store(a, second + j);
        }
        const T total = horizontal_sum(r2), lambda = head.coefficient[at * head.coefficient_step];
        head.dcoefficient[at] = -static_cast<double>(total);
        const V sum2(total), less(-lambda), scale2(-lambda * s);
        for (std::int64_t j = 0; j < n; j += W) {
          const V a1 = load<V>(first + j), a2 = load<V>(second + j), d = load<V>(dp + j);
          store(a1 * (d - sum1) * V(s), first + j);
          store(a2 * (d - sum2) * scale2, second + j);
          store(multiply_add(a2, less, a1), dp + j);
        }
      } else {
        for (std::int64_t j = 0; j < n; j += W) {
          const V a = load<V>(first + j);
          store(a * (load<V>(dp + j) - sum1) * V(s), first + j);
          store(a, dp + j);
        }
      }
      for (std::int64_t j = n; j < padded(block.tile_keys(i / kRows * kRows)); ++j) {
        first[j] = dp[j] = T(0);
        if (both) second[j] = T(0);
      }
    }
  }

  static void backward(const Head<T>& head, std::int64_t begin, std::int64_t end, T* scratch) {
    const std::int64_t ld = padded(head.keys) + 16, most = attention_rows<T>(head.keys);
    T* maps[3] = {scratch, scratch + most * ld, scratch + 2 * most * ld};
    T* free = scratch + 3 * most * ld;
    const T* keys[2]{};
    Right k[2]{};
    for (int i = 0; i < head.maps; ++i) {
      keys[i] = pack_transposed(head.keys, head.depth, head.k[i], free);
      k[i] = right(head.keys, head.depth, head.k[i], free);
    }
    const T* const values = pack_transposed(head.keys, head.width, head.value, free);
    for (std::int64_t at = begin; at < end; at += most) {
      const Block block{head, at, std::min(most, end - at), ld};
      const auto rows = [&](Strided<T> x) {
        return Strided<T>{x.data + at * x.row, x.row, x.column};
      };
      for (int i = 0; i < head.maps; ++i) scores(block, head.depth, head.q[i], keys[i], maps[i]);
      scores(block, head.width, head.g, values, maps[2]);
      derive(block, maps[0], maps[1], maps[2]);
      T* packed = free;
      for (int i = 0; i < head.maps; ++i) {
        weigh(block, maps[i], k[i], head.dq[i]);
        gather(block, maps[i], right(block.rows, head.depth, rows(head.q[i]), packed), head.dk[i]);
      }
      gather(block, maps[2], right(block.rows, head.width, rows(head.g), packed), head.dvalue);
    }
  }
};

}  // namespace
}  // namespace xtape::detail
