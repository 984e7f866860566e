// The matrix product of one kind of processor. A block of b is packed into panels, a few vectors
// wide, that lie dense; tiles of c as high as there are registers for run down the rows of a, along
// the panels. Each value of c is a sum of chains of multiply-adds, one for every kDepth of k,
// whatever the tiles: its bits do not depend on them.
#pragma once

#include <algorithm>
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
  // From one packed tile to the next. The odd cache line keeps them out of each other's places in
  // the cache, which repeat every 4 KiB.
  static constexpr std::int64_t kTile = kRows * kDepth + kLine;
  static_assert(kTile * (kBlock / kRows) <= kMatmulLeft);

  /// c += a b for a tile of R rows and N vectors; with `begin`, c = a b.
  template <int R, int N>
  static void tile(std::int64_t k, Strided<T> a, const T* b, std::int64_t b_row, T* c,
                   std::int64_t c_row, bool begin) {
    // Where c is not in the cache, it comes while the products are computed, and is needed last.
    for (int i = 0; i < R; ++i)
      for (int j = 0; j < N; ++j) prefetch_to_write(c + i * c_row + j * W);
    V sum[R * N];
    each<R * N>([&](auto at) { sum[at] = V(T(0)); });
    for (std::int64_t p = 0; p < k; ++p, b += b_row, a.data += a.column) {
      V right[N];
      each<N>([&](auto j) { right[j] = load<V>(b + j * W); });
      each<R>([&](auto i) {
        const V left(a.data[i * a.row]);
        each<N>([&](auto j) { sum[i * N + j] = multiply_add(left, right[j], sum[i * N + j]); });
      });
    }
    each<R * N>([&](auto at) {
      T* const to = c + at / N * c_row + at % N * W;
      store(begin ? sum[at] : load<V>(to) + sum[at], to);
    });
  }

  /// The tile of m <= R rows whose width is that of its panel, or less: then by way of a buffer.
  template <int R, int N>
  static void tile_of(std::int64_t m, std::int64_t n, std::int64_t k, Strided<T> a, const T* b,
                      std::int64_t b_row, T* c, std::int64_t c_row, bool begin) {
    if constexpr (R > 1)
      if (m < R) return tile_of<R - 1, N>(m, n, k, a, b, b_row, c, c_row, begin);
    const auto multiply = [&](T* to, std::int64_t to_row) {
      // Told apart for the compiler, which then needs fewer addresses.
      if (a.column == 1)
        tile<R, N>(k, {a.data, a.row, 1}, b, b_row, to, to_row, begin);
      else
        tile<R, N>(k, {a.data, 1, a.column}, b, b_row, to, to_row, begin);
    };
    if (n == N * W) return multiply(c, c_row);
    T buffer[R * N * W];
    if (!begin)
      for (int i = 0; i < R; ++i) std::copy_n(c + i * c_row, n, buffer + i * N * W);
    multiply(buffer, N * W);
    for (int i = 0; i < R; ++i) std::copy_n(buffer + i * N * W, n, c + i * c_row);
  }

  /// k rows of n values of b, each filled up with zeros to `width`.
  static void pack_right(std::int64_t k, std::int64_t n, Strided<T> b, std::int64_t width, T* to) {
    std::int64_t columns = 0;  // those packed by blocks, where b's columns lie dense
    for (; b.row == 1 && b.column != 1 && columns + kSquare <= n; columns += kSquare)
      pack_columns(k, {b.data + columns * b.column, 1, b.column}, width, to + columns);
    for (std::int64_t p = 0; p < k; ++p) {
      const T* from = b.data + p * b.row;
      if (b.column == 1)
        for (std::int64_t j = 0; j < n; ++j) to[p * width + j] = from[j];
      else
        for (std::int64_t j = columns; j < n; ++j) to[p * width + j] = from[j * b.column];
      for (std::int64_t j = n; j < width; ++j) to[p * width + j] = T(0);
    }
  }

  /// kSquare columns of b, each of k values that lie dense, as columns `width` apart.
  static void pack_columns(std::int64_t k, Strided<T> b, std::int64_t width, T* to) {
    std::int64_t p = 0;
    for (; p + kSquare <= k; p += kSquare)
      transpose_block(b.data + p, b.column, to + p * width, width);
    for (; p < k; ++p)
      for (std::int64_t j = 0; j < kSquare; ++j) to[p * width + j] = b.data[p + j * b.column];
  }

  /// Tiles of kRows rows of a, kTile apart, each with its columns one after the other.
  static void pack_left(std::int64_t m, std::int64_t k, Strided<T> a, T* to) {
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
  static void any_tile(std::int64_t vectors, std::int64_t m, std::int64_t n, std::int64_t k,
                       Strided<T> a, const T* b, std::int64_t b_row, T* c, std::int64_t c_row,
                       bool begin) {
    const auto& run = vectors == 1   ? tile_of<kRows, 1>
                      : vectors == 2 ? tile_of<kRows, 2>
                                     : tile_of<kRows, 3>;
    run(m, n, k, a, b, b_row, c, c_row, begin);
  }

  /// c += a b for a block of b: [k, n], k <= kDepth, that fits into `packed`; with `begin`, c = a
  /// b.
  static void multiply_block(std::int64_t m, std::int64_t n, std::int64_t k, Strided<T> a,
                             Strided<T> b, T* c, std::int64_t c_row, bool begin, T* packed_left,
                             T* packed) {
    // A panel used by few rows is not worth packing.
    const bool pack = b.column != 1 || m > 2 * kRows;
    const auto packs = [=](std::int64_t columns, std::int64_t vectors) {
      return pack || columns < vectors * W;
    };
    for_each_panel(n, [&](std::int64_t j, std::int64_t columns, std::int64_t vectors) {
      if (packs(columns, vectors))
        pack_right(k, columns, {b.data + j * b.column, b.row, b.column}, vectors * W,
                   packed + j * k);
    });
    for (std::int64_t i = 0; i < m; i += kRows) {
      Strided<T> rows{a.data + i * a.row, a.row, 1};
      if (a.column != 1) {
        if (i % kBlock == 0)
          pack_left(std::min(kBlock, m - i), k, {a.data + i * a.row, a.row, a.column}, packed_left);
        rows = {packed_left + i % kBlock / kRows * kTile, 1, kRows};
      }
      for_each_panel(n, [&](std::int64_t j, std::int64_t columns, std::int64_t vectors) {
        const bool dense = packs(columns, vectors);
        any_tile(vectors, std::min<std::int64_t>(kRows, m - i), columns, k, rows,
                 dense ? packed + j * k : b.data + j, dense ? vectors * W : b.row,
                 c + i * c_row + j, c_row, begin);
      });
    }
  }

  static void multiply(std::int64_t m, std::int64_t n, std::int64_t k, Strided<T> a, Strided<T> b,
                       T* c, std::int64_t c_row, T* scratch) {
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
