// The matrix product of one kind of processor. A block of b is packed into panels, a few vectors
// wide, that lie dense; tiles of c as high as there are registers for run down the rows of a, along
// the panels. Each value of c is a sum of chains of multiply-adds, one for every kDepth of k,
// whatever the tiles: its bits do not depend on them.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "kernels.hpp"
#include "simd.hpp"

namespace xtape::detail {
namespace {

template <class Use, int... I>
void each_of(std::integer_sequence<int, I...>, const Use& use) {
  (use(std::integral_constant<int, I>()), ...);
}
/// Calls use for the numbers below N, as types: an array that only they index lives in registers.
template <int N, class Use>
void each(const Use& use) {
  each_of(std::make_integer_sequence<int, N>(), use);
}

template <class T, class Isa>
struct Product {
  using V = Vector<T, Isa>;
  static constexpr std::int64_t W = kWidth<V>;
  static constexpr int kRows = kRegisters<Isa> == 32 ? 8 : 4;  // of a tile
  static constexpr int kVectors = 3;                           // that a tile is wide
  static constexpr std::int64_t kDepth = kMatmulDepth;
  static constexpr std::int64_t kBlock = 64;               // rows of a packed at once
  static constexpr std::int64_t kSquare = 16 / sizeof(T);  // of transpose_block
  static constexpr std::int64_t kLine = 64 / sizeof(T);
  static constexpr std::int64_t kNear = 16384 / sizeof(T);  // half of the nearest cache
  // From one packed tile to the next. The odd cache line keeps them out of each other's places in
  // the cache, which repeat every 4 KiB.
  static constexpr std::int64_t kTile = kRows * kDepth + kLine;
  static_assert(kTile * (kBlock / kRows) <= kMatmulLeft);

  /// What of a lies dense: element (i, p) is a[i * a_step + p], or a[i + p * a_step]. Not a
  /// Strided, which compilers copy through memory: the next tile would wait there for this one.
  enum class Dense { rows, columns };

  /// Asks for a tile of c: where it is not in the cache, it comes while the products are computed.
  /// A function of its own, or compilers keep all these addresses until the tile is written.
  template <int R, int N>
  XTAPE_NOINLINE static void fetch(const T* c, std::int64_t c_row) {
    for (int i = 0; i < R; ++i, c += c_row)
      for (int j = 0; j < N; ++j) prefetch_to_write(c + j * W);
  }

  /// c += a b for a tile of R rows and N vectors; with `begin`, c = a b.
  template <Dense dense, int R, int N>
  XTAPE_FLATTEN static void tile(std::int64_t k, const T* a, std::int64_t a_step, const T* b,
                                 std::int64_t b_row, T* c, std::int64_t c_row, bool begin) {
    fetch<R, N>(c, c_row);
    V sum[R * N];
    each<R * N>([&](auto at) { sum[at] = V(T(0)); });
    constexpr bool kRowsDense = dense == Dense::rows;
    for (std::int64_t p = 0; p < k; ++p, b += b_row, a += kRowsDense ? 1 : a_step) {
      V right[N];
      each<N>([&](auto j) { right[j] = load<V>(b + j * W); });
      each<R>([&](auto i) {
        const V left(a[kRowsDense ? i * a_step : i]);
        each<N>([&](auto j) { sum[i * N + j] = multiply_add(left, right[j], sum[i * N + j]); });
      });
    }
    each<R>([&](auto i) {
      each<N>([&](auto j) {
        T* const to = c + j * W;
        store(begin ? sum[i * N + j] : load<V>(to) + sum[i * N + j], to);
      });
      c += c_row;
    });
  }

  /// The tile of m <= R rows whose width is that of its panel, or less: then by way of a buffer.
  template <Dense dense, int R, int N>
  static void tile_of(std::int64_t m, std::int64_t n, std::int64_t k, const T* a,
                      std::int64_t a_step, const T* b, std::int64_t b_row, T* c, std::int64_t c_row,
                      bool begin) {
    if constexpr (R > 1)
      if (m < R) return tile_of<dense, R - 1, N>(m, n, k, a, a_step, b, b_row, c, c_row, begin);
    if (n == N * W) return tile<dense, R, N>(k, a, a_step, b, b_row, c, c_row, begin);
    T buffer[R * N * W];
    if (!begin)
      for (int i = 0; i < R; ++i) std::copy_n(c + i * c_row, n, buffer + i * N * W);
    tile<dense, R, N>(k, a, a_step, b, b_row, buffer, N * W, begin);
    for (int i = 0; i < R; ++i) std::copy_n(buffer + i * N * W, n, c + i * c_row);
  }

  /// k rows of n values of b, each filled up with zeros to `width`.
  static void pack_right(std::int64_t k, std::int64_t n, const Strided<T>& b, std::int64_t width,
                         T* to) {
    std::int64_t columns = 0;  // those packed by blocks, where b's columns lie dense
    for (; b.row == 1 && b.column != 1 && columns + kSquare <= n; columns += kSquare)
      pack_columns(k, b.data + columns * b.column, b.column, width, to + columns);
    for (std::int64_t p = 0; p < k; ++p, to += width) {
      const T* from = b.data + p * b.row;
      std::int64_t j = columns;
      for (; b.column == 1 && j + W <= n; j += W) store(load<V>(from + j), to + j);
      for (; j < n; ++j) to[j] = from[j * b.column];
      for (; j < width; ++j) to[j] = T(0);
    }
  }

  /// kSquare columns of b, each of k values that lie dense, as rows `width` apart.
  static void pack_columns(std::int64_t k, const T* b, std::int64_t b_column, std::int64_t width,
                           T* to) {
    std::int64_t p = 0;
    for (; p + kSquare <= k; p += kSquare) transpose_block(b + p, b_column, to + p * width, width);
    for (; p < k; ++p)
      for (std::int64_t j = 0; j < kSquare; ++j) to[p * width + j] = b[p + j * b_column];
  }

  /// Tiles of kRows rows of a, kTile apart, each with its columns one after the other.
  static void pack_left(std::int64_t m, std::int64_t k, const Strided<T>& a, T* to) {
    for (std::int64_t p = 0; p < k; ++p, to += kRows) {
      const T* from = a.data + p * a.column;
      // Columns lie too far apart for the processor to see what comes next.
      for (std::int64_t q = 0; a.row == 1 && q < m; q += kLine) prefetch(from + 16 * a.column + q);
      std::int64_t i = 0;
      for (; a.row == 1 && i + kRows <= m; i += kRows)
        for (int r = 0; r < kRows; ++r) to[i / kRows * kTile + r] = from[i + r];
      for (; i < m; ++i) to[i / kRows * kTile + i % kRows] = from[i * a.row];
    }
  }

  /// The vectors of the next panel, when so many are left: four are two and two, not three and one.
  static std::int64_t panel_vectors(std::int64_t left) {
    return left == 4 ? 2 : std::min<std::int64_t>(left, kVectors);
  }

  /// Calls use(first column, columns, vectors) for the panels of n columns.
  template <class Use>
  static void for_each_panel(std::int64_t n, const Use& use) {
    for (std::int64_t j = 0; j < n;) {
      const std::int64_t vectors = panel_vectors((n - j + W - 1) / W);
      use(j, std::min(vectors * W, n - j), vectors);
      j += vectors * W;
    }
  }

  /// The tile of m <= kRows rows as wide as its panel of so many vectors.
  template <Dense dense>
  static void any_tile(std::int64_t vectors, std::int64_t m, std::int64_t n, std::int64_t k,
                       const T* a, std::int64_t a_step, const T* b, std::int64_t b_row, T* c,
                       std::int64_t c_row, bool begin) {
    const auto& run = vectors == 1   ? tile_of<dense, kRows, 1>
                      : vectors == 2 ? tile_of<dense, kRows, 2>
                                     : tile_of<dense, kRows, 3>;
    run(m, n, k, a, a_step, b, b_row, c, c_row, begin);
  }

  /// c += a b for a block of b: [k, n], k <= kDepth, that fits into `packed`; with `begin`, c = a
  /// b.
  static void multiply_block(std::int64_t m, std::int64_t n, std::int64_t k, const Strided<T>& a,
                             const Strided<T>& b, T* c, std::int64_t c_row, bool begin,
                             T* packed_left, T* packed) {
    // What few rows use is not worth packing, nor is what the nearest cache holds as it lies.
    const bool pack = b.column != 1 || (m > 2 * kRows && k * std::abs(b.row) > kNear);
    const auto packs = [=](std::int64_t columns, std::int64_t vectors) {
      return pack || columns < vectors * W;
    };
    for_each_panel(n, [&](std::int64_t j, std::int64_t columns, std::int64_t vectors) {
      if (packs(columns, vectors))
        pack_right(k, columns, {b.data + j * b.column, b.row, b.column}, vectors * W,
                   packed + j * k);
    });
    for (std::int64_t i = 0; i < m; i += kRows) {
      const auto multiply = [&](auto dense, const T* rows, std::int64_t step) {
        for_each_panel(n, [&](std::int64_t j, std::int64_t columns, std::int64_t vectors) {
          const bool packed_here = packs(columns, vectors);
          any_tile<dense.value>(vectors, std::min<std::int64_t>(kRows, m - i), columns, k, rows,
                                step, packed_here ? packed + j * k : b.data + j,
                                packed_here ? vectors * W : b.row, c + i * c_row + j, c_row, begin);
        });
      };
      const T* const from = a.data + i * a.row;
      if (a.column == 1) {
        multiply(std::integral_constant<Dense, Dense::rows>(), from, a.row);
      } else {
        if (i % kBlock == 0)
          pack_left(std::min(kBlock, m - i), k, {from, a.row, a.column}, packed_left);
        multiply(std::integral_constant<Dense, Dense::columns>(),
                 packed_left + i % kBlock / kRows * kTile, kRows);
      }
    }
  }

  static void multiply(std::int64_t m, std::int64_t n, std::int64_t k, const Strided<T>& a,
                       const Strided<T>& b, T* c, std::int64_t c_row, T* scratch) {
    if (k == 0)
      for (std::int64_t i = 0; i < m; ++i) std::fill_n(c + i * c_row, n, T(0));
    for (std::int64_t p = 0; p < k; p += kDepth) {
      const std::int64_t depth = std::min(kDepth, k - p);
      const std::int64_t block = kMatmulRight<T> / depth / (kVectors * W) * (kVectors * W);
      for (std::int64_t j = 0; j < n; j += block)
        multiply_block(m, std::min(block, n - j), depth, {a.data + p * a.column, a.row, a.column},
                       {b.data + p * b.row + j * b.column, b.row, b.column}, c + j, c_row, p == 0,
                       scratch, a.column == 1 ? scratch : scratch + kMatmulLeft);
    }
  }
};

}  // namespace
}  // namespace xtape::detail
