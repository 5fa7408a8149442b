// The backward pass of any cell over a whole batch of sequences.
//
// Time runs backwards in chunks. Within a chunk each thread takes its rows through all steps; then all threads together
// multiply what the chunk has left behind into the weight gradients, each its own part of them. So a product's inner
// dimension is long, no gradient is summed in two places, and its order of summation does not depend on the threads.
#pragma once

#include "blocked.h"

namespace slowfade::SLOWFADE_ISA {

template <class Cell>
class BackwardRun {
  using T = typename Cell::Scalar;
  using V = Vec<T>;
  static constexpr int W = width<T>, G = Cell::gates, carried = Cell::carried, slots = Cell::kept + Cell::carried;
  static constexpr int column_group = int(tile_rows<3> < W ? tile_rows<3> : W);
  static constexpr int64_t rows_per_chunk = 1024, rows_in_cache = 128;

 public:
  BackwardRun(const Backward<T>& problem, const Pool& pool, Arena& arena)
      : p_(problem), s_(problem.forward.shape), pool_(pool), units_(blocks_of<T>(s_.hidden)) {
    const int64_t batch = s_.batch, inputs = s_.inputs, recurrent = s_.recurrent, hidden = s_.hidden;
    chunk_ = most(1, least(s_.steps, (rows_per_chunk + batch - 1) / most(1, batch)));
    const int64_t rows = chunk_ * batch, depth = G * units_ * W;
    first_row_ = arena.take<int64_t>(chunk_ + 1);
    hh_ = Packed<T, 3>::take(arena, depth, blocks_of<T>(recurrent));
    unit_ = arena.take<T>(units_ * W);
    dz_ = Blocked<T>::take(arena, rows, depth);
    dh_ = Blocked<T>::take(arena, batch, recurrent);
    for (auto& d : dstate_) d = Blocked<T>::take(arena, batch, hidden);
    for (auto& c : start_) c = Blocked<T>::take(arena, batch, hidden);
    sums_ = arena.take<T>(pool.threads * (G + 1) * units_ * W);
    if (p_.dx.data) ih_ = Packed<T, 3>::take(arena, depth, blocks_of<T>(inputs));
    if (p_.ddt.data) ddt_ = arena.take<T>(pool.threads * batch * W);
    if (weights_wanted()) {
      x_ = Blocked<T>::take(arena, rows, inputs);
      h_ = Blocked<T>::take(arena, rows, recurrent);
      dweights_ = arena.take<T>((inputs + recurrent) * depth);
    }
    if (projected()) {
      hr_ = Packed<T, 3>::take(arena, blocks_of<T>(recurrent) * W, units_);
      dprojected_ = Blocked<T>::take(arena, rows, recurrent);
      dunprojected_ = Blocked<T>::take(arena, batch, hidden);
      unprojected_ = Blocked<T>::take(arena, rows, hidden);
      dhr_ = arena.take<T>(recurrent * units_ * W);
    }
  }

  void run() {
    prepare();
    const int64_t work = s_.hidden * G * (s_.inputs + s_.recurrent);
    int64_t last = s_.steps;
    while (last > 0 && !s_.active[last - 1]) --last;
    for (; last > 0; last = most(0, last - chunk_)) {
      const int64_t first = most(0, last - chunk_), rows = s_.active[first];
      first_row_[0] = 0;
      for (int64_t t = first; t < last; ++t) first_row_[t - first + 1] = first_row_[t - first] + s_.active[t];
      const Division division = Division::of(rows, work, units_, pool_.threads);
      if (division.by_units)
        chunk_by_units(first, last, division.parts);
      else
        parallel(pool_, division.parts, [&](int part) {
          const int64_t begin = share(rows, part, division.parts), end = share(rows, part + 1, division.parts);
          for (int64_t t = last - 1; t >= first; --t) {
            const int64_t valid = least(end, s_.active[t]), row0 = first_row_[t - first];
            if (valid <= begin) continue;
            gather(t, row0, begin, valid);
            if (projected()) unproject(row0, begin, valid, 0, hr_.groups());
            gates(t, row0, begin, valid, 0, units_, part);
            if (p_.ddt.data) store_ddt(t, begin, valid, part, part + 1);
            recur(row0, begin, valid, 0, hh_.groups());
            if (p_.dx.data) input_gradient(t, row0, begin, valid, 0, ih_.groups());
          }
        });
      weight_gradients(first_row_[last - first]);
    }
    finish();
  }

 private:
  bool projected() const { return p_.forward.weights.hr != nullptr; }
  bool weights_wanted() const { return p_.dih || p_.dhh; }

  void prepare() {
    const Weights<T>& w = p_.forward.weights;
    // Row k of the packed matrices is unit k % (units * W) of gate k / (units * W).
    auto source = [&](const T* matrix, int64_t columns) {
      return [this, matrix, columns](int64_t k) {
        const int64_t gate = k / (units_ * W), unit = k % (units_ * W);
        return unit < s_.hidden ? matrix + (gate * s_.hidden + unit) * columns : nullptr;
      };
    };
    parallel(pool_, pool_.threads, [&](int part) {
      auto each = [&](const Packed<T, 3>& packed, int64_t columns, const auto& row) {
        for (int64_t g = share(packed.groups(), part, pool_.threads); g < share(packed.groups(), part + 1, pool_.threads); ++g)
          packed.pack_rows(g, columns, row);
      };
      each(hh_, s_.recurrent, source(w.hh, s_.recurrent));
      if (p_.dx.data) each(ih_, s_.inputs, source(w.ih, s_.inputs));
      if (projected())
        each(hr_, s_.hidden, [&](int64_t k) { return k < s_.recurrent ? w.hr + k * s_.hidden : nullptr; });
    });
    for (int64_t u = 0; u < units_; ++u)
      store(unit_ + u * W, w.unit ? load(w.unit + u * W, s_.hidden - u * W) : splat(T(1)));
    clear(sums_, pool_.threads * (G + 1) * units_ * W);
    if (weights_wanted()) clear(dweights_, (s_.inputs + s_.recurrent) * G * units_ * W);
    if (projected()) clear(dhr_, s_.recurrent * units_ * W);
    for (int64_t row = 0; row < s_.batch; ++row) {
      const int64_t b = s_.order[row];
      auto begin_with = [&](const Blocked<T>& to, const T* from, int64_t columns) {
        from ? to.write_row(row, from + b * columns, columns) : to.clear_row(row, columns);
      };
      begin_with(dh_, p_.dh_end, s_.recurrent);
      for (int i = 0; i < carried; ++i) begin_with(dstate_[i], p_.dcarried_end[i], s_.hidden);
      for (int i = 0; i < carried; ++i) begin_with(start_[i], p_.forward.carried[i], s_.hidden);
    }
  }

  void chunk_by_units(int64_t first, int64_t last, int parts) {
    for (int64_t t = last - 1; t >= first; --t) {
      const int64_t rows = s_.active[t], row0 = first_row_[t - first];
      gather(t, row0, 0, rows);
      if (projected())
        parallel(pool_, parts, [&](int part) {
          unproject(row0, 0, rows, share(hr_.groups(), part, parts), share(hr_.groups(), part + 1, parts));
        });
      parallel(pool_, parts, [&](int part) {
        gates(t, row0, 0, rows, share(units_, part, parts), share(units_, part + 1, parts), part);
      });
      if (p_.ddt.data) store_ddt(t, 0, rows, 0, parts);
      parallel(pool_, parts, [&](int part) {
        recur(row0, 0, rows, share(hh_.groups(), part, parts), share(hh_.groups(), part + 1, parts));
        if (p_.dx.data)
          input_gradient(t, row0, 0, rows, share(ih_.groups(), part, parts), share(ih_.groups(), part + 1, parts));
      });
    }
  }

  // What the weight gradients will want of this step: its input and the hidden state before it.
  void gather(int64_t t, int64_t row0, int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      if (weights_wanted()) {
        x_.write_row(row0 + row, p_.forward.x.row(s_.time(row, t), s_.order[row]), s_.inputs);
        const T* h = t > 0 ? p_.forward.output.row(s_.time(row, t - 1), s_.order[row])
                           : p_.forward.h + s_.order[row] * s_.recurrent;
        h_.write_row(row0 + row, h, s_.recurrent);
      }
      if (projected())
        for (int64_t b = 0; b < blocks_of<T>(s_.recurrent); ++b) store(dprojected_.at(b, row0 + row), dhidden(dh_, t, row, b));
    }
  }

  // The gradient of a step's output: from the steps after it, and from outside.
  V dhidden(const Blocked<T>& recurrent, int64_t t, int64_t row, int64_t block) const {
    const V later = load(recurrent.at(block, row));
    if (!p_.doutput.data) return later;
    return later + load(p_.doutput.row(s_.time(row, t), s_.order[row]) + block * W, s_.recurrent - block * W);
  }

  void unproject(int64_t row0, int64_t begin, int64_t end, int64_t g0, int64_t g1) {
    hr_.multiply_rows(dprojected_, row0 + begin, row0 + end, g0, g1, [&](int64_t row, int64_t block, V value) {
      store(dunprojected_.at(block, row - row0), value);
    });
  }

  void gates(int64_t t, int64_t row0, int64_t begin, int64_t end, int64_t u0, int64_t u1, int slot) {
    T* dbias = sums_ + slot * (G + 1) * units_ * W;
    for (int64_t u = u0; u < u1; ++u) {
      V total[G + 1]{};
      for (int64_t row = begin; row < end;)
        if (end - row > 1) {
          differentiate<rows_together>(t, row0, u, row, int(least(rows_together, end - row)), slot, u == u0, total);
          row += rows_together;
        } else {
          differentiate<1>(t, row0, u, row++, 1, slot, u == u0, total);
        }
      for (int g = 0; g <= G; ++g) {
        T* to = dbias + (g * units_ + u) * W;
        store(to, load(to) + total[g]);
      }
    }
  }

  // The cell's arithmetic for rows [first, first + count).
  template <int Together>
  void differentiate(int64_t t, int64_t row0, int64_t u, int64_t first, int count, int slot, bool first_unit, V* total) {
    using Rows = Group<T, Together>;
    const Forward<T>& f = p_.forward;
    Rows keep[Cell::kept], now[carried], before[carried], dstate[carried], dt, dh, dz[G], dunit, ddt;
    for (int i = 0; i < Together; ++i) {
      // Past the last row that one is computed again, and not used.
      const int64_t row = first + least(i, count - 1);
      const T* kept = f.kept + ((t * units_ + u) * s_.batch + row) * slots * W;
      const T* kept_before = kept - units_ * s_.batch * slots * W;
      for (int j = 0; j < Cell::kept; ++j) keep[j].v[i] = load(kept + j * W);
      for (int j = 0; j < carried; ++j) {
        now[j].v[i] = load(kept + (Cell::kept + j) * W);
        before[j].v[i] = load(t > 0 ? kept_before + (Cell::kept + j) * W : start_[j].at(u, row));
        dstate[j].v[i] = load(dstate_[j].at(u, row));
      }
      dh.v[i] = projected() ? load(dunprojected_.at(u, row)) : dhidden(dh_, t, row, u);
      dt.v[i] = splat(interval(t, row));
    }
    const Rows h =
        Cell::backward(keep, now, before, Rows(load(unit_ + u * W)), dt, f.constant, dh, dstate, dz, dunit, ddt);
    for (int i = 0; i < count; ++i) {
      const int64_t row = first + i;
      for (int j = 0; j < carried; ++j) store(dstate_[j].at(u, row), dstate[j].v[i]);
      for (int g = 0; g < G; ++g) {
        store(dz_.at(g * units_ + u, row0 + row), dz[g].v[i]);
        total[g] += dz[g].v[i];
      }
      total[G] += dunit.v[i];
      if (projected()) store(unprojected_.at(u, row0 + row), h.v[i]);
      if (p_.ddt.data) {
        T* sum = ddt_ + (slot * s_.batch + row) * W;
        store(sum, first_unit ? ddt.v[i] : load(sum) + ddt.v[i]);
      }
    }
  }

  void store_ddt(int64_t t, int64_t begin, int64_t end, int slot0, int slot1) {
    for (int64_t row = begin; row < end; ++row) {
      V total{};
      for (int slot = slot0; slot < slot1; ++slot) total += load(ddt_ + (slot * s_.batch + row) * W);
      *p_.ddt.row(s_.time(row, t), s_.order[row]) = sum<T>(total);
    }
  }

  // The gradient of the hidden state before the step.
  void recur(int64_t row0, int64_t begin, int64_t end, int64_t g0, int64_t g1) {
    hh_.multiply_rows(dz_, row0 + begin, row0 + end, g0, g1, [&](int64_t row, int64_t block, V value) {
      store(dh_.at(block, row - row0), value);
    });
  }

  void input_gradient(int64_t t, int64_t row0, int64_t begin, int64_t end, int64_t g0, int64_t g1) {
    ih_.multiply_rows(dz_, row0 + begin, row0 + end, g0, g1, [&](int64_t row, int64_t block, V value) {
      T* to = p_.dx.row(s_.time(row - row0, t), s_.order[row - row0]);
      store(to + block * W, value, s_.inputs - block * W);
    });
  }

  void weight_gradients(int64_t rows) {
    const int64_t gate_columns = G * units_;
    parallel(pool_, pool_.threads, [&](int part) {
      if (weights_wanted()) {
        outer_products(x_, s_.inputs, dz_, gate_columns, rows, dweights_, part);
        outer_products(h_, s_.recurrent, dz_, gate_columns, rows, dweights_ + s_.inputs * gate_columns * W, part);
      }
      if (projected() && p_.dhr) outer_products(dprojected_, s_.recurrent, unprojected_, units_, rows, dhr_, part);
    });
  }

  // sums(j, k) += sum over rows of a(row, j) b(row, k), a part of it.
  void outer_products(const Blocked<T>& a, int64_t columns, const Blocked<T>& b, int64_t blocks, int64_t rows, T* sums,
                      int part) {
    const int64_t a_groups = (columns + column_group - 1) / column_group, b_groups = (blocks + 2) / 3;
    const int64_t begin = share(a_groups * b_groups, part, pool_.threads);
    const int64_t end = share(a_groups * b_groups, part + 1, pool_.threads);
    for (int64_t at = begin; at < end;) {
      const int64_t g = at / a_groups, a0 = at % a_groups, a1 = least(a_groups, a0 + end - at);
      // A stretch of rows short enough for b's blocks to stay in the nearest cache while all of a passes by.
      for (int64_t row = 0; row < rows; row += rows_in_cache)
        for (int64_t j = a0; j < a1; ++j) {
          const int64_t first = j * column_group, depth = least(rows_in_cache, rows - row);
          const int count = int(least(column_group, columns - first)), vectors = int(least(3, blocks - g * 3));
          const auto product = vectors == 3   ? accumulate_for<T, 3>(count)
                               : vectors == 2 ? accumulate_for<T, 2>(count)
                                              : accumulate_for<T, 1>(count);
          product(a.at(first / W, row) + first % W, b.at(g * 3, row), b.block(), depth,
                  sums + first * blocks * W + g * 3 * W, blocks * W);
        }
      at += a1 - a0;
    }
  }

  void finish() {
    parallel(pool_, pool_.threads, [&](int part) {
      const int64_t blocks = G * units_;
      if (weights_wanted())
        for (int64_t block = share(blocks, part, pool_.threads); block < share(blocks, part + 1, pool_.threads); ++block) {
          if (p_.dih) transpose(dweights_, block, s_.inputs, p_.dih);
          if (p_.dhh) transpose(dweights_ + s_.inputs * blocks * W, block, s_.recurrent, p_.dhh);
        }
    });
    if (p_.dhr)
      for (int64_t j = 0; j < s_.recurrent; ++j)
        for (int64_t k = 0; k < s_.hidden; ++k) p_.dhr[j * s_.hidden + k] = dhr_[j * units_ * W + k];
    for (int64_t k = 0; k < s_.hidden; ++k)
      for (int g = 0; g <= G; ++g) {
        T* to = g < G ? (p_.dbias ? p_.dbias + g * s_.hidden + k : nullptr) : (p_.dunit ? p_.dunit + k : nullptr);
        if (!to) continue;
        *to = 0;
        for (int slot = 0; slot < pool_.threads; ++slot) *to += sums_[(slot * (G + 1) + g) * units_ * W + k];
      }
    for (int64_t row = 0; row < s_.batch; ++row) {
      const int64_t b = s_.order[row];
      if (p_.dh) dh_.read_row(row, p_.dh + b * s_.recurrent, s_.recurrent);
      for (int i = 0; i < carried; ++i)
        if (p_.dcarried[i]) dstate_[i].read_row(row, p_.dcarried[i] + b * s_.hidden, s_.hidden);
      for (int64_t t = s_.length[row]; t < s_.steps; ++t) {
        if (p_.dx.data) clear(p_.dx.row(t, b), s_.inputs);
        if (p_.ddt.data) *p_.ddt.row(t, b) = 0;
      }
    }
  }

  // One block of units of the summed gradient, (columns, gates units), into rows of the weight's, (gates H, columns).
  void transpose(const T* from, int64_t block, int64_t columns, T* to) {
    const int64_t gate = block / units_, first = block % units_ * W, stride = G * units_ * W;
    for (int64_t j0 = 0; j0 < columns; j0 += W)
      for (int64_t lane = 0; lane < least(W, s_.hidden - first); ++lane)
        for (int64_t j = j0; j < least(columns, j0 + W); ++j)
          to[(gate * s_.hidden + first + lane) * columns + j] = from[j * stride + block * W + lane];
  }

  static void clear(T* data, int64_t count) {
    for (int64_t i = 0; i < count; ++i) data[i] = 0;
  }

  T interval(int64_t t, int64_t row) const {
    const Rows<const T>& dt = p_.forward.dt;
    return dt.data ? *dt.row(s_.time(row, t), s_.order[row]) : T(1);
  }

  const Backward<T>& p_;
  const Shape& s_;
  const Pool& pool_;
  int64_t units_, chunk_;
  int64_t* first_row_;  // of each step, among the chunk's rows
  Packed<T, 3> hh_, ih_, hr_;
  T *unit_, *sums_, *ddt_ = nullptr, *dweights_ = nullptr, *dhr_ = nullptr;
  Blocked<T> dz_, x_, h_, dh_, dstate_[carried], start_[carried];
  Blocked<T> dprojected_, dunprojected_, unprojected_;
};

}  // namespace slowfade::SLOWFADE_ISA
