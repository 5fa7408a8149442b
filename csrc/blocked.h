// Matrices in blocked and packed form, and products over their rows.
#pragma once

#include "engine.h"
#include "product.h"

namespace slowfade::SLOWFADE_ISA {

inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

template <class T>
int64_t blocks_of(int64_t columns) {
  return (columns + width<T> - 1) / width<T>;
}

// Hands out pieces of one workspace. With no memory behind it, it only counts.
class Arena {
 public:
  explicit Arena(void* base) : base_(reinterpret_cast<uintptr_t>(base)) {}

  template <class T>
  T* take(int64_t count) {
    T* piece = reinterpret_cast<T*>(base_ + used_);
    used_ += (size_t(count) * sizeof(T) + 63) / 64 * 64;
    return piece;
  }
  size_t used() const { return used_; }

 private:
  uintptr_t base_;
  size_t used_ = 0;
};

// Element (row, column) at [column / width][row][column % width].
template <class T>
struct Blocked {
  T* data = nullptr;
  int64_t rows = 0;  // of the storage, so the distance of two blocks is rows * width

  static Blocked take(Arena& arena, int64_t rows, int64_t columns) {
    // An odd number of cache lines between blocks: an even one would put them all into the same few sets of the cache.
    const int64_t odd = rows | 1;
    return {arena.take<T>(blocks_of<T>(columns) * odd * width<T>), odd};
  }
  int64_t block() const { return rows * width<T>; }
  T* at(int64_t block_index, int64_t row) const { return data + (block_index * rows + row) * width<T>; }

  void write_row(int64_t row, const T* from, int64_t columns) const {
    for (int64_t c = 0, b = 0; c < columns; c += width<T>, ++b) store(at(b, row), load(from + c, columns - c));
  }
  void read_row(int64_t row, T* to, int64_t columns) const {
    for (int64_t c = 0, b = 0; c < columns; c += width<T>, ++b) store(to + c, load(at(b, row)), columns - c);
  }
  void clear_row(int64_t row, int64_t columns) const {
    for (int64_t b = 0; b < blocks_of<T>(columns); ++b) store(at(b, row), Vec<T>{});
  }
};

// Cuts [begin, end) into tiles of at most `Largest` rows, as even as can be: f(first row, rows).
template <int Largest, class F>
void tiles(int64_t begin, int64_t end, const F& f) {
  const int64_t count = (end - begin + Largest - 1) / Largest;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t first = begin + (end - begin) * i / count, last = begin + (end - begin) * (i + 1) / count;
    f(first, int(last - first));
  }
}

// A right-hand matrix, depth by columns, packed in groups of N vectors: [group][k][vector][lane].
// The last group may hold fewer vectors; each is then packed as narrow as it is.
template <class T, int N>
struct Packed {
  T* data = nullptr;
  int64_t depth = 0, blocks = 0;

  static Packed take(Arena& arena, int64_t depth, int64_t blocks) {
    return {arena.take<T>(depth * blocks * width<T>), depth, blocks};
  }
  int64_t groups() const { return (blocks + N - 1) / N; }
  int vectors(int64_t group) const { return int(least(N, blocks - group * N)); }
  T* group(int64_t index) const { return data + index * N * depth * width<T>; }

  // From rows that run along the columns: row(k) points at `columns` values, or is null for zeros.
  template <class F>
  void pack_rows(int64_t g, int64_t columns, const F& row) const {
    const int n = vectors(g);
    T* to = group(g);
    for (int64_t k = 0; k < depth; ++k) {
      const T* from = row(k);
      for (int v = 0; v < n; ++v, to += width<T>) {
        const int64_t first = (g * N + v) * width<T>;
        store(to, from && first < columns ? load(from + first, columns - first) : Vec<T>{});
      }
    }
  }

  // From rows that run along the depth: row(block, lane) points at `count` values, or is null for zeros. They become
  // rows [first, first + count) of the packed matrix.
  template <class F>
  void pack_columns(int64_t g, int64_t first, int64_t count, const F& row) const {
    const int n = vectors(g);
    for (int v = 0; v < n; ++v)
      for (int lane = 0; lane < width<T>; ++lane) {
        const T* from = row(g * N + v, lane);
        T* to = group(g) + (first * n + v) * width<T> + lane;
        for (int64_t k = 0; k < count; ++k) to[k * n * width<T>] = from ? from[k] : T(0);
      }
  }

  // rows [begin, end) of `a` times groups [g0, g1): f(row, block, value) gets each vector of the product.
  template <class F>
  void multiply_rows(const Blocked<T>& a, int64_t begin, int64_t end, int64_t g0, int64_t g1, const F& f) const {
    for (int64_t g = g0; g < g1; ++g) {
      const int n = vectors(g);
      if (n == 3)
        multiply_group<3>(a, begin, end, g, f);
      else if (n == 2)
        multiply_group<2>(a, begin, end, g, f);
      else
        multiply_group<1>(a, begin, end, g, f);
    }
  }

 private:
  template <int M, class F>
  void multiply_group(const Blocked<T>& a, int64_t begin, int64_t end, int64_t g, const F& f) const {
    tiles<tile_rows<M>>(begin, end, [&](int64_t row, int rows) {
      alignas(64) T tile[8 * M * width<T>] = {};
      multiply_for<T, M>(rows)(a.at(0, row), a.block(), depth, group(g), tile);
      for (int r = 0; r < rows; ++r)
        for (int v = 0; v < M; ++v) f(row + r, g * N + v, load(tile + (r * M + v) * width<T>));
    });
  }
};

// f(part) for each part, side by side.
template <class F>
void parallel(const Pool& pool, int parts, const F& f) {
  pool.run(parts, [](int part, void* context) { (*static_cast<const F*>(context))(part); }, const_cast<F*>(&f));
}

// The part-th of `parts` even shares of [0, count): its beginning. The next part's beginning is its end.
inline int64_t share(int64_t count, int part, int parts) { return count * part / parts; }

// How one stretch of time is divided among threads.
struct Division {
  bool by_units;  // each step over units, threads meeting twice a step; otherwise over rows, each thread on its own
  int parts;

  // Rows are the better cut as long as there are enough of them to fill register tiles.
  static Division of(int64_t rows, int64_t work_per_row, int64_t units, int threads) {
    constexpr int64_t worth_a_meeting = 400'000;  // multiplications
    if (rows < 4 * threads && rows * work_per_row >= worth_a_meeting) return {true, int(least(units, threads))};
    return {false, int(most(1, least(rows, threads)))};
  }
};

}  // namespace slowfade::SLOWFADE_ISA
