// Fused attention, ordinary and differential, forward and backward, for one kind of processor.
//
// kAttentionRows queries are worked on at once, and all their scores are kept, so that the softmax
// needs no rescaling and the maps are subtracted before their one product with the values. Nothing
// of size Tq Tk is stored: the backward pass computes the scores again, and takes from the forward
// pass two numbers a row and map, its largest score and the sum of its exponentials. A phase is a
// function, and products are made of the matrix product's tiles. Flops a head, T queries and keys,
// values 2 D wide, without what the causal mask saves, which is half:
//
//   forward
//     scores       S_i = Q_i K_i^T                                 4 T^2 D, of both maps
//     exponentials E_i = 2^(s S_i - the row's largest), and their sums; s = log2(e) / sqrt(D)
//     and then, for chunks of kChunk keys, which are in the cache from one phase to the next,
//     subtract     P = A_1 - lambda A_2, where A_i = E_i / sum
//     weigh        O += P V                                        4 T^2 D
//   backward
//     scores       S_i, and dP = G V^T                             8 T^2 D
//     maps         A_i, and r_i = rowsum(A_i dP); dlambda = -r_2
//     and for chunks of keys
//     derive       dS_1 = A_1 (dP - r_1) / sqrt(D), dS_2 = -lambda A_2 (dP - r_2) / sqrt(D), and P
//     weigh        dQ_i += dS_i K_i                                4 T^2 D
//     gather       dK_i += dS_i^T Q_i, dV += P^T G                 8 T^2 D
//
// The row sums need the maps apart: rowsum(dO O) is r_1 - lambda r_2 alone. The causal mask ends
// every row tile's products at the last key that its last row sees, and begins every key tile's at
// the first row that sees its first key.
// Source: Dao et al., FlashAttention (NeurIPS 2022), for maps that are computed again
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

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
  static Right right(std::int64_t k, std::int64_t n, const Strided<T>& b, T*& to) {
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
  static void pack(std::int64_t k, std::int64_t n, const Strided<T>& b, T* to) {
    P::for_each_panel(n, [&](std::int64_t j, std::int64_t columns, std::int64_t vectors) {
      P::pack_right(k, columns, {b.data + j * b.column, b.row, b.column}, vectors * W, to + j * k);
    });
  }
  static const T* pack_transposed(std::int64_t rows, std::int64_t n, const Strided<T>& b, T*& to) {
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
    T coefficient(std::int64_t i) const {
      return head.coefficient[(first + i) * head.coefficient_step];
    }
    /// The first row of the first tile that may see key j.
    std::int64_t first_row(std::int64_t j) const {
      std::int64_t i = 0;
      while (i < rows && tile_keys(i) <= j) i += kRows;
      return std::min(i, rows);
    }
  };

  /// to = x b^T, as far as rows see keys. x: [rows, k]  packed: b^T, [k, Tk]
  static void scores(const Block& block, std::int64_t k, const Strided<T>& x, const T* packed,
                     T* to) {
    P::for_each_panel(block.head.keys, [&](std::int64_t j, std::int64_t, std::int64_t vectors) {
      for (std::int64_t i = block.first_row(j); i < block.rows; i += kRows) {
        const std::int64_t seen = std::min(vectors, (block.tile_keys(i) - j + W - 1) / W);
        P::template any_tile<P::Dense::rows>(
            seen, block.tile_rows(i), seen * W, k, x.data + (block.first + i) * x.row, x.row,
            packed + j * k, vectors * W, to + i * block.ld + j, block.ld, true);
      }
    });
  }

  /// to += maps b for the keys from p on, one chunk of them; to = maps b for the first. maps:
  /// [rows, Tk]  b: [Tk, n]
  static void weigh(const Block& block, std::int64_t p, const T* maps, const Right& b, T* to) {
    T* const first = to + block.first * b.n;
    for (std::int64_t i = 0; i < block.rows; i += kRows) {
      const std::int64_t depth = std::min(kChunk, block.tile_keys(i) - p);
      if (p > 0 && depth <= 0) continue;
      P::for_each_panel(b.n, [&](std::int64_t j, std::int64_t columns, std::int64_t vectors) {
        P::template any_tile<P::Dense::rows>(vectors, block.tile_rows(i), columns, depth,
                                             maps + i * block.ld + p, block.ld, b.panel(p, j),
                                             b.step(vectors), first + i * b.n + j, b.n, p == 0);
      });
    }
  }

  /// to += maps^T b for one chunk of keys. maps: [rows, Tk]  b: [rows, n]
  static void gather(const Block& block, std::int64_t p, const T* maps, const Right& b, T* to) {
    const std::int64_t end = std::min(p + kChunk, block.keys(block.rows - 1));
    for (std::int64_t j = p; j < end; j += kRows) {
      const std::int64_t i = block.first_row(j);
      P::for_each_panel(b.n, [&](std::int64_t c, std::int64_t columns, std::int64_t vectors) {
        const std::int64_t step = b.step(vectors);
        P::template any_tile<P::Dense::columns>(vectors, std::min(kRows, block.head.keys - j),
                                                columns, block.rows - i, maps + i * block.ld + j,
                                                block.ld, b.panel(0, c) + i * step, step,
                                                to + j * b.n + c, b.n, false);
      });
    }
  }

  /// Calls use(i, n, a number type of R) for R rows of scores, from i on, of which the first n keys
  /// count: all rows of a tile, since one row's operations fill another's waits, or one.
  template <class Use>
  static void by_rows(const Block& block, const Use& use) {
    for (std::int64_t i = 0; i < block.rows; i += kRows) {
      const std::int64_t n = padded(block.tile_keys(i));
      if (block.tile_rows(i) == kRows)
        use(i, n, std::integral_constant<int, kRows>());
      else
        for (std::int64_t r = i; r < block.rows; ++r) use(r, n, std::integral_constant<int, 1>());
    }
  }

  /// Fills a row of scores, whose first n values count, after the last key that row i may see.
  static void fill(const Block& block, std::int64_t i, std::int64_t n, T value, T* row) {
    T lanes[W];
    for (std::int64_t lane = 0; lane < W; ++lane) lanes[lane] = static_cast<T>(lane);
    const std::int64_t keys = block.keys(i);
    for (std::int64_t j = keys / W * W; j < n; j += W) {
      const auto after = load<V>(lanes) >= V(static_cast<T>(keys - j));
      store(xsimd::select(after, V(value), load<V>(row + j)), row + j);
    }
  }

  /// Puts -inf where row i must not attend.
  static void hide(const Block& block, std::int64_t i, std::int64_t n, T* row) {
    constexpr T kMinusInf = -std::numeric_limits<T>::infinity();
    if (const bool* allowed = block.head.allowed) {
      allowed += (block.first + i) * block.head.allowed_row;
      for (std::int64_t j = 0; j < block.head.keys; ++j)
        row[j] = allowed[j * block.head.allowed_column] ? row[j] : kMinusInf;
    }
    fill(block, i, n, kMinusInf, row);
  }

  static T scale(const Head<T>& head) {
    return static_cast<T>(1 / std::sqrt(static_cast<double>(head.depth)));
  }
  /// Of scores that become powers of 2.
  static V scale2(const Head<T>& head) {
    return V(static_cast<T>(1.4426950408889634 / std::sqrt(static_cast<double>(head.depth))));
  }

  /// The statistics of one map that are at stats: -s times a row's largest score, and then 1 / (the
  /// sum of its exponentials), or 0 where there is nothing to attend to.
  static T* stats_of(const Block& block, int map, std::int64_t i) {
    return block.head.stats + 2 * map * block.head.queries + block.first + i;
  }

  /// Turns scores into exponentials, and keeps each row's statistics.
  static void exponentials(const Block& block, int map, T* scores) {
    const V s = scale2(block.head), minus_inf(-std::numeric_limits<T>::infinity());
    by_rows(block, [&](std::int64_t i, std::int64_t n, auto count) {
      constexpr int R = decltype(count)::value;
      T* const row = scores + i * block.ld;
      V most[R], shift[R], total[R];
      for (int r = 0; r < R; ++r) {
        hide(block, i + r, n, row + r * block.ld);
        most[r] = minus_inf;
      }
      for (std::int64_t j = 0; j < n; j += W)
        for (int r = 0; r < R; ++r) most[r] = larger(load<V>(row + r * block.ld + j), most[r]);
      for (int r = 0; r < R; ++r) {
        const V largest = largest_of(most[r]);
        shift[r] = xsimd::select(largest == minus_inf, V(T(0)), -s * largest);
        total[r] = V(T(0));
      }
      for (std::int64_t j = 0; j < n; j += W)
        for (int r = 0; r < R; ++r) {
          T* const at = row + r * block.ld + j;
          const V e = Exp2()(multiply_add(load<V>(at), s, shift[r]));
          store(e, at);
          total[r] = total[r] + e;
        }
      T* const stats = stats_of(block, map, i);
      for (int r = 0; r < R; ++r) {
        const T sum = first_of(sum_of(total[r]));
        stats[r] = first_of(shift[r]);
        stats[block.head.queries + r] = sum == 0 ? T(0) : 1 / sum;
      }
    });
  }

  /// first = P = A_1 - lambda A_2 for one chunk of keys, from exponentials.
  static void subtract(const Block& block, std::int64_t p, T* first, const T* second) {
    const Head<T>& head = block.head;
    by_rows(block, [&](std::int64_t i, std::int64_t n, auto count) {
      for (int r = 0; r < decltype(count)::value; ++r) {
        const V inverse(stats_of(block, 0, i + r)[head.queries]);
        const std::int64_t at = (i + r) * block.ld, end = std::min(p + kChunk, n);
        if (head.maps == 1) {
          for (std::int64_t j = at + p; j < at + end; j += W)
            store(load<V>(first + j) * inverse, first + j);
        } else {
          const V inverse2(stats_of(block, 1, i + r)[head.queries]);
          const V less(-block.coefficient(i + r));
          for (std::int64_t j = at + p; j < at + end; j += W) {
            // Each map is rounded: where they are equal, the difference is 0.
            const V a1 = load<V>(first + j) * inverse, a2 = load<V>(second + j) * inverse2;
            store(multiply_add(a2, less, a1), first + j);
          }
        }
      }
    });
  }

  static void forward(const Head<T>& head, std::int64_t begin, std::int64_t end, T* scratch) {
    const std::int64_t ld = padded(head.keys) + 16;
    T* const maps[2] = {scratch, scratch + kAttentionRows * ld};
    T* free = maps[1] + kAttentionRows * ld;
    const T* keys[2]{};
    for (int i = 0; i < head.maps; ++i)
      keys[i] = pack_transposed(head.keys, head.depth, head.k[i], free);
    const Right value = right(head.keys, head.width, head.value, free);
    for (std::int64_t at = begin; at < end; at += kAttentionRows) {
      const Block block{head, at, std::min(kAttentionRows, end - at), ld};
      for (int i = 0; i < head.maps; ++i) {
        scores(block, head.depth, head.q[i], keys[i], maps[i]);
        exponentials(block, i, maps[i]);
      }
      for (std::int64_t p = 0; p == 0 || p < block.keys(block.rows - 1); p += kChunk) {
        subtract(block, p, maps[0], maps[1]);
        weigh(block, p, maps[0], value, head.out);
      }
    }
  }

  /// Turns scores into a map A, and sums[i] = rowsum(A dP).
  static void map_again(const Block& block, int map, T* dp, T* scores, T* sums) {
    const V s = scale2(block.head);
    by_rows(block, [&](std::int64_t i, std::int64_t n, auto count) {
      constexpr int R = decltype(count)::value;
      const T* const stats = stats_of(block, map, i);
      V shift[R], inverse[R], sum[R];
      for (int r = 0; r < R; ++r) {
        hide(block, i + r, n, scores + (i + r) * block.ld);
        fill(block, i + r, n, T(0), dp + (i + r) * block.ld);
        shift[r] = V(stats[r]);
        inverse[r] = V(stats[block.head.queries + r]);
        sum[r] = V(T(0));
      }
      for (std::int64_t j = 0; j < n; j += W)
        for (int r = 0; r < R; ++r) {
          const std::int64_t at = (i + r) * block.ld + j;
          const V a = Exp2()(multiply_add(load<V>(scores + at), s, shift[r])) * inverse[r];
          store(a, scores + at);
          sum[r] = multiply_add(a, load<V>(dp + at), sum[r]);
        }
      for (int r = 0; r < R; ++r) sums[i + r] = first_of(sum_of(sum[r]));
    });
  }

  /// For one chunk of keys, from A_1, A_2 and dp = dP: first = dS_1, second = dS_2, dp = P.
  static void derive(const Block& block, std::int64_t p, const T (&sums)[2][kAttentionRows],
                     T* first, T* second, T* dp) {
    const Head<T>& head = block.head;
    const T s = scale(head);
    by_rows(block, [&](std::int64_t i, std::int64_t n, auto count) {
      for (int r = 0; r < decltype(count)::value; ++r) {
        const V sum1(sums[0][i + r]), sum2(sums[1][i + r]);
        const std::int64_t at = (i + r) * block.ld, end = std::min(p + kChunk, n);
        if (head.maps == 1) {
          for (std::int64_t j = at + p; j < at + end; j += W) {
            const V a = load<V>(first + j);
            store(a * (load<V>(dp + j) - sum1) * V(s), first + j);
            store(a, dp + j);
          }
        } else {
          const T lambda = block.coefficient(i + r);
          for (std::int64_t j = at + p; j < at + end; j += W) {
            const V a1 = load<V>(first + j), a2 = load<V>(second + j), d = load<V>(dp + j);
            store(a1 * (d - sum1) * V(s), first + j);
            store(a2 * (d - sum2) * V(-lambda * s), second + j);
            store(multiply_add(a2, V(-lambda), a1), dp + j);
          }
        }
      }
    });
  }

  static void backward(const Head<T>& head, std::int64_t begin, std::int64_t end, T* scratch) {
    const std::int64_t ld = padded(head.keys) + 16, size = kAttentionRows * ld;
    T* const maps[3] = {scratch, scratch + size, scratch + 2 * size};
    T* free = scratch + 3 * size;
    const T* keys[2]{};
    Right k[2]{};
    for (int i = 0; i < head.maps; ++i) {
      keys[i] = pack_transposed(head.keys, head.depth, head.k[i], free);
      k[i] = right(head.keys, head.depth, head.k[i], free);
    }
    const T* const values = pack_transposed(head.keys, head.width, head.value, free);
    for (std::int64_t at = begin; at < end; at += kAttentionRows) {
      const Block block{head, at, std::min(kAttentionRows, end - at), ld};
      const auto rows = [&](std::int64_t n, const Strided<T>& x, T*& to) {
        return right(block.rows, n, {x.data + at * x.row, x.row, x.column}, to);
      };
      T* packed = free;
      Right q[2]{};
      for (int i = 0; i < head.maps; ++i) q[i] = rows(head.depth, head.q[i], packed);
      const Right g = rows(head.width, head.g, packed);
      T sums[2][kAttentionRows];
      scores(block, head.width, head.g, values, maps[2]);
      for (int i = 0; i < head.maps; ++i) {
        scores(block, head.depth, head.q[i], keys[i], maps[i]);
        map_again(block, i, maps[2], maps[i], sums[i]);
      }
      for (std::int64_t i = 0; head.maps == 2 && i < block.rows; ++i)
        head.dcoefficient[at + i] = -static_cast<double>(sums[1][i]);
      for (std::int64_t p = 0; p == 0 || p < block.keys(block.rows - 1); p += kChunk) {
        derive(block, p, sums, maps[0], maps[1], maps[2]);
        for (int i = 0; i < head.maps; ++i) {
          weigh(block, p, maps[i], k[i], head.dq[i]);
          gather(block, p, maps[i], q[i], head.dk[i]);
        }
        gather(block, p, maps[2], g, head.dvalue);
      }
    }
  }
};

}  // namespace
}  // namespace xtape::detail
