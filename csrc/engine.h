// The border between the operators (library.cpp, which knows PyTorch) and the engine (compiled once per instruction set,
// which does not).
#pragma once

#include <cstddef>
#include <cstdint>

namespace slowfade {

enum class CellKind { power_law_coupled, power_law, lstm };

constexpr int max_carried = 2;

// A matrix of rows at (time, batch), each row contiguous; the strides count elements.
template <class T>
struct Rows {
  T* data = nullptr;
  int64_t time = 0, batch = 0;

  T* row(int64_t t, int64_t b) const { return data + t * time + b * batch; }
};

// The sequences' extents. Rows are taken in order of length, longest first, so that the valid ones are always a prefix.
struct Shape {
  int64_t steps, batch, inputs, hidden, recurrent;  // recurrent: what h has, hidden or the projection's size
  bool reverse;
  const int64_t* order;   // (batch) which sequence a row is
  const int64_t* length;  // (batch) valid steps of a row
  const int64_t* active;  // (steps + 1) rows valid at a step; 0 at the end

  // Where in the sequence a row is at its s-th step.
  int64_t time(int64_t row, int64_t s) const { return reverse ? length[row] - 1 - s : s; }
};

// Weights as PyTorch has them: (gates H, I), (gates H, R), (gates H), (R, H), (H); null where absent.
template <class T>
struct Weights {
  const T *ih, *hh, *bias, *hr, *unit;
};

template <class T>
struct Forward {
  Shape shape;
  Weights<T> weights;
  T constant;                         // epsilon
  Rows<const T> x, dt;                // dt null: unit steps
  const T *h, *carried[max_carried];  // (batch, R), (batch, H)
  Rows<T> output;
  T *h_end, *carried_end[max_carried];
  T* kept;  // (steps, blocks, batch, kept + carried, width), null: nothing is kept for a backward pass
};

template <class T>
struct Backward {
  Forward<T> forward;  // as it was given; output and kept are read
  Rows<const T> doutput;
  const T *dh_end, *dcarried_end[max_carried];  // null: zero
  Rows<T> dx, ddt;                              // null where not wanted, here and below
  T *dh, *dcarried[max_carried];
  T *dih, *dhh, *dbias, *dhr, *dunit;
};

// How the engine runs things side by side: f(part, context) for part in [0, parts).
struct Pool {
  int threads;
  void (*run)(int parts, void (*f)(int part, void* context), void* context);
};

template <class T>
struct Kernels {
  size_t (*forward_bytes)(CellKind, const Forward<T>&, const Pool&);
  void (*forward)(CellKind, const Forward<T>&, const Pool&, void* workspace);
  size_t (*backward_bytes)(CellKind, const Backward<T>&, const Pool&);
  void (*backward)(CellKind, const Backward<T>&, const Pool&, void* workspace);
  void (*elementary)(int function, const T* in, T* out, int64_t count);  // exp, expm1, log, tanh, sigmoid: for tests
};

struct Variant {
  const char* name;
  Kernels<float> f32;
  Kernels<double> f64;
};

// How many values one unit of one row keeps per step.
inline int64_t kept_values(CellKind cell) { return cell == CellKind::power_law ? 6 : 5; }

// Units are padded to whole cache lines in what is kept, whatever the instruction set.
template <class T>
constexpr int64_t line = 64 / int64_t(sizeof(T));

}  // namespace slowfade
