// The two matrix products of the engine, as register tiles: R rows by N vectors held in registers over the long dimension.
//
// Operands are in blocked form: element (row, k) of a matrix lies at [k / width][row][k % width]. That makes every access
// below sequential, whatever the matrix, and lets a tile be read where the cell's arithmetic has just written it.
#pragma once

#include "simd.h"

namespace slowfade::SLOWFADE_ISA {

// Rows of a tile of N vectors that still fit in the registers beside N weights and a broadcast.
template <int N>
constexpr int tile_rows = (SLOWFADE_REGISTERS - 1) / N - 1 < 8 ? (SLOWFADE_REGISTERS - 1) / N - 1 : 8;

// tile[r][n] += sum over k of a(r, k) b[k][n], for k in [0, depth).
//   a       blocked, at the tile's first row; `a_block` elements from one block of k to the next
//   b       packed [k][N][width]
//   tile    [R][N][width]
template <class T, int R, int N>
void multiply(const T* a, int64_t a_block, int64_t depth, const T* b, T* tile) {
  constexpr int W = width<T>;
  Vec<T> total[R][N];
  for (int r = 0; r < R; ++r)
    for (int n = 0; n < N; ++n) total[r][n] = load(tile + (r * N + n) * W);
  for (int64_t left = depth; left > 0; left -= W, a += a_block) {
    const int lanes = left < W ? int(left) : W;
#pragma GCC unroll 4
    for (int j = 0; j < lanes; ++j, b += N * W) {
      Vec<T> weight[N];
      for (int n = 0; n < N; ++n) weight[n] = load(b + n * W);
      for (int r = 0; r < R; ++r) {
        const Vec<T> value = splat(a[r * W + j]);
        for (int n = 0; n < N; ++n) total[r][n] += value * weight[n];
      }
    }
  }
  for (int r = 0; r < R; ++r)
    for (int n = 0; n < N; ++n) store(tile + (r * N + n) * W, total[r][n]);
}

// sums[r][n] += sum over l of a[l][r] b[n][l], for l in [0, depth): the products of weight gradients.
//   a       [l][width], at the first of R neighbouring columns
//   b       N blocks [l][width], `b_block` elements apart
//   sums    R rows of N vectors, `stride` elements apart
template <class T, int R, int N>
void accumulate(const T* a, const T* b, int64_t b_block, int64_t depth, T* sums, int64_t stride) {
  constexpr int W = width<T>;
  Vec<T> total[R][N]{};
#pragma GCC unroll 4
  for (int64_t l = 0; l < depth; ++l) {
    Vec<T> value[N];
    for (int n = 0; n < N; ++n) value[n] = load(b + n * b_block + l * W);
    for (int r = 0; r < R; ++r) {
      const Vec<T> factor = splat(a[l * W + r]);
      for (int n = 0; n < N; ++n) total[r][n] += factor * value[n];
    }
  }
  for (int r = 0; r < R; ++r)
    for (int n = 0; n < N; ++n) {
      T* to = sums + r * stride + n * W;
      store(to, load(to) + total[r][n]);
    }
}

// The function for a number of rows (or vectors) known only at run time.
template <class T, int N>
auto multiply_for(int rows) -> void (*)(const T*, int64_t, int64_t, const T*, T*) {
  switch (rows) {
    case 1: return multiply<T, 1, N>;
    case 2: return multiply<T, 2, N>;
    case 3: if constexpr (tile_rows<N> >= 3) return multiply<T, 3, N>; [[fallthrough]];
    case 4: if constexpr (tile_rows<N> >= 4) return multiply<T, 4, N>; [[fallthrough]];
    case 5: if constexpr (tile_rows<N> >= 5) return multiply<T, 5, N>; [[fallthrough]];
    case 6: if constexpr (tile_rows<N> >= 6) return multiply<T, 6, N>; [[fallthrough]];
    case 7: if constexpr (tile_rows<N> >= 7) return multiply<T, 7, N>; [[fallthrough]];
    case 8: if constexpr (tile_rows<N> >= 8) return multiply<T, 8, N>; [[fallthrough]];
    default: return nullptr;
  }
}

template <class T, int N>
auto accumulate_for(int rows) -> void (*)(const T*, const T*, int64_t, int64_t, T*, int64_t) {
  switch (rows) {
    case 1: return accumulate<T, 1, N>;
    case 2: return accumulate<T, 2, N>;
    case 3: if constexpr (tile_rows<N> >= 3) return accumulate<T, 3, N>; [[fallthrough]];
    case 4: if constexpr (tile_rows<N> >= 4) return accumulate<T, 4, N>; [[fallthrough]];
    case 5: if constexpr (tile_rows<N> >= 5) return accumulate<T, 5, N>; [[fallthrough]];
    case 6: if constexpr (tile_rows<N> >= 6) return accumulate<T, 6, N>; [[fallthrough]];
    case 7: if constexpr (tile_rows<N> >= 7) return accumulate<T, 7, N>; [[fallthrough]];
    case 8: if constexpr (tile_rows<N> >= 8) return accumulate<T, 8, N>; [[fallthrough]];
    default: return nullptr;
  }
}

}  // namespace slowfade::SLOWFADE_ISA
