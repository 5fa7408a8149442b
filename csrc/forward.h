// The forward pass of any cell over a whole batch of sequences.
#pragma once

#include "blocked.h"

namespace slowfade::SLOWFADE_ISA {

template <class Cell>
class ForwardRun {
  using T = typename Cell::Scalar;
  using V = Vec<T>;
  static constexpr int W = width<T>, G = Cell::gates, carried = Cell::carried, slots = Cell::kept + Cell::carried;

 public:
  ForwardRun(const Forward<T>& problem, const Pool& pool, Arena& arena)
      : p_(problem), s_(problem.shape), pool_(pool), units_(blocks_of<T>(s_.hidden)) {
    weights_ = Packed<T, G>::take(arena, s_.inputs + s_.recurrent, units_ * G);
    bias_ = arena.take<T>(units_ * G * W);
    unit_ = arena.take<T>(units_ * W);
    x_ = Blocked<T>::take(arena, s_.batch, s_.inputs);
    for (auto& h : h_) h = Blocked<T>::take(arena, s_.batch, s_.recurrent);
    for (auto& c : state_) c = Blocked<T>::take(arena, s_.batch, s_.hidden);
    if (p_.weights.hr) {
      projection_ = Packed<T, 3>::take(arena, s_.hidden, blocks_of<T>(s_.recurrent));
      unprojected_ = Blocked<T>::take(arena, s_.batch, s_.hidden);
    }
  }

  void run() {
    prepare();
    // Rows end at different times: dividing anew every so often keeps the threads evenly busy.
    const int64_t stretch = s_.active[most(0, s_.steps - 1)] == s_.batch ? s_.steps : 64;
    const int64_t work = s_.hidden * G * (s_.inputs + s_.recurrent);
    for (int64_t first = 0; first < s_.steps && s_.active[first]; first += stretch) {
      const int64_t last = least(first + stretch, s_.steps), rows = s_.active[first];
      const Division division = Division::of(rows, work, units_, pool_.threads);
      if (division.by_units)
        run_by_units(first, last, division.parts);
      else
        parallel(pool_, division.parts, [&](int part) {
          const int64_t begin = share(rows, part, division.parts), end = share(rows, part + 1, division.parts);
          for (int64_t t = first; t < last; ++t) {
            const int64_t valid = least(end, s_.active[t]);
            if (valid <= begin) break;
            read_input(t, begin, valid);
            step(t, begin, valid, 0, units_);
            if (p_.weights.hr) project(t, begin, valid, 0, projection_.groups());
          }
        });
    }
    finish();
  }

 private:
  void prepare() {
    const Weights<T>& w = p_.weights;
    parallel(pool_, pool_.threads, [&](int part) {
      for (int64_t u = share(units_, part, pool_.threads); u < share(units_, part + 1, pool_.threads); ++u) {
        // Packed block u * G + g is unit block u of gate g.
        auto source = [&](const T* matrix, int64_t columns) {
          return [this, matrix, columns](int64_t block, int lane) {
            const int64_t unit = block / G * W + lane;
            return unit < s_.hidden ? matrix + (block % G * s_.hidden + unit) * columns : nullptr;
          };
        };
        weights_.pack_columns(u, 0, s_.inputs, source(w.ih, s_.inputs));
        weights_.pack_columns(u, s_.inputs, s_.recurrent, source(w.hh, s_.recurrent));
        const int64_t left = s_.hidden - u * W;
        for (int g = 0; g < G; ++g)
          store(bias_ + (u * G + g) * W, w.bias ? load(w.bias + g * s_.hidden + u * W, left) : V{});
        store(unit_ + u * W, w.unit ? load(w.unit + u * W, left) : splat(T(1)));
      }
      for (int64_t g = share(projection_.groups(), part, pool_.threads);
           g < share(projection_.groups(), part + 1, pool_.threads); ++g)
        projection_.pack_columns(g, 0, s_.hidden, [&](int64_t block, int lane) {
          const int64_t column = block * W + lane;
          return column < s_.recurrent ? w.hr + column * s_.hidden : nullptr;
        });
    });
    for (int64_t row = 0; row < s_.batch; ++row) {
      const int64_t b = s_.order[row];
      h_[0].write_row(row, p_.h + b * s_.recurrent, s_.recurrent);
      for (int i = 0; i < carried; ++i) state_[i].write_row(row, p_.carried[i] + b * s_.hidden, s_.hidden);
    }
  }

  void run_by_units(int64_t first, int64_t last, int parts) {
    for (int64_t t = first; t < last; ++t) {
      const int64_t rows = s_.active[t];
      if (!rows) break;
      read_input(t, 0, rows);
      parallel(pool_, parts, [&](int part) {
        step(t, 0, rows, share(units_, part, parts), share(units_, part + 1, parts));
      });
      if (p_.weights.hr)
        parallel(pool_, parts, [&](int part) {
          const int64_t groups = projection_.groups();
          project(t, 0, rows, share(groups, part, parts), share(groups, part + 1, parts));
        });
    }
  }

  void read_input(int64_t t, int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      x_.write_row(row, p_.x.row(s_.time(row, t), s_.order[row]), s_.inputs);
  }

  // Step t of rows [begin, end), unit blocks [u0, u1).
  void step(int64_t t, int64_t begin, int64_t end, int64_t u0, int64_t u1) {
    const Blocked<T>& h = h_[t & 1];
    for (int64_t u = u0; u < u1; ++u) {
      const T* weights = weights_.group(u);
      tiles<tile_rows<G>>(begin, end, [&](int64_t first, int rows) {
        alignas(64) T tile[8 * G * W];
        for (int r = 0; r < rows; ++r)
          for (int g = 0; g < G; ++g) store(tile + (r * G + g) * W, load(bias_ + (u * G + g) * W));
        const auto product = multiply_for<T, G>(rows);
        product(x_.at(0, first), x_.block(), s_.inputs, weights, tile);
        product(h.at(0, first), h.block(), s_.recurrent, weights + s_.inputs * G * W, tile);
        for (int r = 0; r < rows;)
          if (rows - r > 1) {
            update<rows_together>(t, u, first, r, int(least(rows_together, rows - r)), tile);
            r += rows_together;
          } else {
            update<1>(t, u, first, r++, 1, tile);
          }
      });
    }
  }

  // The cell's arithmetic for `count` rows of a tile, from its r-th on; its pre-activations are in `tile`.
  template <int Together>
  void update(int64_t t, int64_t u, int64_t first, int r, int count, const T* tile) {
    using V = Group<T, Together>;
    const Blocked<T>& h_next = p_.weights.hr ? unprojected_ : h_[(t + 1) & 1];
    V z[G], state[carried], kept[Cell::kept], dt;
    for (int i = 0; i < Together; ++i) {
      // Past the last row that one is computed again, and not stored.
      const int local = r + int(least(i, count - 1));
      for (int g = 0; g < G; ++g) z[g].v[i] = load(tile + (local * G + g) * W);
      for (int j = 0; j < carried; ++j) state[j].v[i] = load(state_[j].at(u, first + local));
      dt.v[i] = splat(interval(t, first + local));
    }
    const V value = Cell::forward(z, state, kept, V(load(unit_ + u * W)), dt, p_.constant);
    for (int i = 0; i < count; ++i) {
      const int64_t row = first + r + i;
      for (int j = 0; j < carried; ++j) store(state_[j].at(u, row), state[j].v[i]);
      store(h_next.at(u, row), value.v[i]);
      if (!p_.weights.hr) store(output(t, row) + u * W, value.v[i], s_.hidden - u * W);
      if (p_.kept) {
        T* to = p_.kept + ((t * units_ + u) * s_.batch + row) * slots * W;
        for (int j = 0; j < Cell::kept; ++j) store(to + j * W, kept[j].v[i]);
        for (int j = 0; j < carried; ++j) store(to + (Cell::kept + j) * W, state[j].v[i]);
      }
    }
  }

  void project(int64_t t, int64_t begin, int64_t end, int64_t g0, int64_t g1) {
    const Blocked<T>& h_next = h_[(t + 1) & 1];
    projection_.multiply_rows(unprojected_, begin, end, g0, g1, [&](int64_t row, int64_t block, V value) {
      store(h_next.at(block, row), value);
      store(output(t, row) + block * W, value, s_.recurrent - block * W);
    });
  }

  T* output(int64_t t, int64_t row) const { return p_.output.row(s_.time(row, t), s_.order[row]); }
  T interval(int64_t t, int64_t row) const {
    return p_.dt.data ? *p_.dt.row(s_.time(row, t), s_.order[row]) : T(1);
  }

  // The state after each row's last step, and zeros where a row was padding.
  void finish() {
    for (int64_t row = 0; row < s_.batch; ++row) {
      const int64_t b = s_.order[row], length = s_.length[row];
      const T* h = length ? output(length - 1, row) : p_.h + b * s_.recurrent;
      for (int64_t j = 0; j < s_.recurrent; ++j) p_.h_end[b * s_.recurrent + j] = h[j];
      for (int i = 0; i < carried; ++i) state_[i].read_row(row, p_.carried_end[i] + b * s_.hidden, s_.hidden);
      for (int64_t t = length; t < s_.steps; ++t) {
        T* padding = p_.output.row(t, b);
        for (int64_t j = 0; j < s_.recurrent; ++j) padding[j] = 0;
      }
    }
  }

  const Forward<T>& p_;
  const Shape& s_;
  const Pool& pool_;
  int64_t units_;  // blocks of units
  Packed<T, G> weights_;
  Packed<T, 3> projection_;
  T *bias_, *unit_;
  Blocked<T> x_, h_[2], state_[carried], unprojected_;
};

}  // namespace slowfade::SLOWFADE_ISA
