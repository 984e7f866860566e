// The matrix product of one kind of processor. A panel of b, a few vectors wide, is packed so that
// it lies dense; tiles of c as high as there are registers for run down the rows of a. Each value
// of c is one chain of multiply-adds from k = 0 on, whatever the tiles: its bits do not depend on
// them.
#pragma once

#include <algorithm>

#include "kernels.hpp"
#include "simd.hpp"

namespace xtape::detail {
namespace {

template <class T, class Isa>
struct Product {
  using V = Vector<T, Isa>;
  static constexpr std::int64_t W = kWidth<V>;
  static constexpr int kRows = kRegisters<Isa> == 32 ? 8 : 4;  // of a tile
  static constexpr int kVectors = 3;                           // that a tile is wide
  static constexpr std::int64_t kDepth = 256;                  // of a panel: it stays in the cache
  static constexpr std::int64_t kBlock = 96;                   // rows of a packed at once

  /// c += a b for a tile of R rows and N vectors; with `begin`, c = a b.
  template <int R, int N>
  static void tile(std::int64_t k, Strided<T> a, const T* b, std::int64_t b_row, T* c,
                   std::int64_t c_row, bool begin) {
    V sum[R][N];
    for (int i = 0; i < R; ++i)
      for (int j = 0; j < N; ++j) sum[i][j] = begin ? V(T(0)) : load<V>(c + i * c_row + j * W);
    for (std::int64_t p = 0; p < k; ++p, b += b_row, a.data += a.column) {
      V right[N];
      for (int j = 0; j < N; ++j) right[j] = load<V>(b + j * W);
      for (int i = 0; i < R; ++i) {
        const V left(a.data[i * a.row]);
        for (int j = 0; j < N; ++j) sum[i][j] = multiply_add(left, right[j], sum[i][j]);
      }
    }
    for (int i = 0; i < R; ++i)
      for (int j = 0; j < N; ++j) store(sum[i][j], c + i * c_row + j * W);
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
        tile<R, N>(k, {a.data, 1, kRows}, b, b_row, to, to_row, begin);
    };
    if (n == N * W) return multiply(c, c_row);
    T buffer[R * N * W];
    if (!begin)
      for (int i = 0; i < R; ++i) std::copy_n(c + i * c_row, n, buffer + i * N * W);
    multiply(buffer, N * W);
    for (int i = 0; i < R; ++i) std::copy_n(buffer + i * N * W, n, c + i * c_row);
  }

  /// c += a b for all rows of a, and a panel of b that is N vectors wide.
  template <int N>
  static void panel(std::int64_t m, std::int64_t n, std::int64_t k, Strided<T> a, const T* b,
                    std::int64_t b_row, T* c, std::int64_t c_row, bool begin) {
    for (std::int64_t i = 0; i < m; i += kRows, c += kRows * c_row) {
      tile_of<kRows, N>(std::min<std::int64_t>(kRows, m - i), n, k, a, b, b_row, c, c_row, begin);
      a.data += a.column == 1 ? kRows * a.row : kRows * k;
    }
  }

  /// k rows of n values of b, each filled up with zeros to `width`.
  static void pack_right(std::int64_t k, std::int64_t n, Strided<T> b, std::int64_t width, T* to) {
    for (std::int64_t p = 0; p < k; ++p) {
      const T* from = b.data + p * b.row;
      if (b.column == 1)
        for (std::int64_t j = 0; j < n; ++j) to[p * width + j] = from[j];
      else
        for (std::int64_t j = 0; j < n; ++j) to[p * width + j] = from[j * b.column];
      for (std::int64_t j = n; j < width; ++j) to[p * width + j] = T(0);
    }
  }

  /// Tiles of kRows rows of a, one after the other, each with its columns one after the other.
  static void pack_left(std::int64_t m, std::int64_t k, Strided<T> a, T* to) {
    for (std::int64_t p = 0; p < k; ++p, to += kRows) {
      const T* from = a.data + p * a.column;
      std::int64_t i = 0;
      for (; a.row == 1 && i + kRows <= m; i += kRows)
        for (int r = 0; r < kRows; ++r) to[i * k + r] = from[i + r];
      for (; i < m; ++i) to[(i - i % kRows) * k + i % kRows] = from[i * a.row];
    }
  }

  static void multiply(std::int64_t m, std::int64_t n, std::int64_t k, Strided<T> a, Strided<T> b,
                       T* c, std::int64_t c_row) {
    if (n == 1 && m > 1 && c_row == 1)  // one column fills no vector, one row does
      return multiply(1, m, k, {b.data, b.column, b.row}, {a.data, a.column, a.row}, c, m);
    if (k == 0)
      for (std::int64_t i = 0; i < m; ++i) std::fill_n(c + i * c_row, n, T(0));
    alignas(64) T right[kDepth * kVectors * W];
    alignas(64) T left[kDepth * kBlock];
    const bool pack = a.column != 1;
    const std::int64_t block = pack ? kBlock : m;
    for (std::int64_t p = 0; p < k; p += kDepth) {
      const std::int64_t depth = std::min(kDepth, k - p);
      for (std::int64_t i = 0; i < m; i += block) {
        const std::int64_t rows = std::min(block, m - i);
        Strided<T> above{a.data + i * a.row + p * a.column, a.row, a.column};
        if (pack) {
          pack_left(rows, depth, above, left);
          above = {left, 1, kRows};
        }
        multiply_block(rows, n, depth, above, {b.data + p * b.row, b.row, b.column}, right,
                       c + i * c_row, c_row, p == 0);
      }
    }
  }

  static void multiply_block(std::int64_t m, std::int64_t n, std::int64_t k, Strided<T> a,
                             Strided<T> b, T* packed, T* c, std::int64_t c_row, bool begin) {
    for (std::int64_t j = 0; j < n;) {
      // Four vectors are two and two, not three and one.
      const std::int64_t left = (n - j + W - 1) / W;
      const std::int64_t vectors = left == 4 ? 2 : std::min<std::int64_t>(left, kVectors);
      const std::int64_t width = vectors * W, columns = std::min(width, n - j);
      const T* from = b.data + j * b.column;
      std::int64_t row = b.row;
      // A panel used by few rows is not worth packing.
      if (b.column != 1 || columns < width || m > 2 * kRows) {
        pack_right(k, columns, {from, b.row, b.column}, width, packed);
        from = packed;
        row = width;
      }
      const auto& run = vectors == 1 ? panel<1> : vectors == 2 ? panel<2> : panel<3>;
      run(m, columns, k, a, from, row, c + j, c_row, begin);
      j += columns;
    }
  }
};

}  // namespace
}  // namespace xtape::detail
