// What a cell brings to the engine: its own arithmetic, forward and backward, and nothing else.
//
// A cell is a struct with static members. T is float or double, V a group of vectors of it (simd.h): `width` neighbouring
// units of each of a few rows.
//
//   gates      how many pre-activations a unit has; weight rows are blocks of H in this order
//   kept       values the forward pass keeps for the backward one, beside the carried state
//   carried    elementwise states that go from step to step (the hidden state is not one of them)
//
//   V forward(z, state, keep, unit, dt, constant)
//       z[gates]         U x + W h + b
//       state[carried]   in: before this step; out: after it
//       keep[kept]       out: whatever backward wants
//       unit, dt         the per-unit parameter (1 where there is none), the time since the previous step (1 if unit steps)
//       returns          the hidden state (before the projection)
//
//   V backward(keep, now, before, unit, dt, constant, dh, dstate, dz, dunit, ddt)
//       keep[kept], now[carried], before[carried]    as forward left them
//       dh               gradient of the hidden state forward returned
//       dstate[carried]  in: gradient of the state after the step; out: of the state before it
//       dz[gates]        out
//       dunit, ddt       out: this row's gradient of the per-unit parameter, this unit's of dt
//       returns          the hidden state again (a projection's weight gradient needs it)
//
// The engine does all the rest: packing, products, tiles, threads, lengths, directions, projection, weight gradients.
// Register a new cell in isa.cpp and give it an operator in library.cpp.
#pragma once

#include "simd.h"

namespace slowfade::SLOWFADE_ISA {

// The power-law LSTM; src/slowfade/gate.py has the equations. Gates: reset, output, cell, and input unless Coupled.
template <class T, bool Coupled>
struct PowerLaw {
  using Scalar = T;
  static constexpr int gates = Coupled ? 3 : 4, kept = gates, carried = 2;

  template <class V>
  struct Gate {
    V keep, reset, ratio_minus_one, denominator, numerator, log_ratio, forget, minus_admit;
  };

  // The forget gate from the reset logit and the age before; the one place that knows it.
  template <class V>
  static SLOWFADE_INLINE Gate<V> gate(const V& logit, const V& age, const V& power, const V& dt, T epsilon) {
    Gate<V> g;
    // Past this bound the unit has reset entirely, and a larger exponential would only make infinity times zero.
    const V e = exp_within(between(logit, Exponential<T>::lowest, Exponential<T>::highest - 8)).exp;
    g.keep = 1 / (1 + e);
    g.reset = e * g.keep;
    g.numerator = g.keep * (age + 1) + epsilon;
    g.denominator = g.keep * (age + dt) + 1;
    const V inverse = 1 / g.denominator;
    g.ratio_minus_one = (epsilon - (g.reset + g.keep * dt)) * inverse;
    g.log_ratio = log(g.numerator * inverse, g.ratio_minus_one);
    const ExpPair<V> f = exp_pair(power * g.log_ratio);
    g.forget = f.exp;
    g.minus_admit = f.expm1;
    return g;
  }

  template <class V>
  static SLOWFADE_INLINE V forward(const V* z, V* state, V* keep, const V& power, const V& dt, T epsilon) {
    const Gate<V> g = gate<V>(z[0], state[1], power, dt, epsilon);
    const V output = sigmoid(z[1]), candidate = tanh(z[2]);
    keep[0] = z[0];
    keep[1] = output;
    keep[2] = candidate;
    V input = -g.minus_admit;
    if constexpr (!Coupled) keep[3] = input = sigmoid(z[3]);
    state[0] = g.forget * state[0] + input * candidate;
    state[1] = g.keep * (state[1] + dt);
    return output * tanh(state[0]);
  }

  template <class V>
  static SLOWFADE_INLINE V backward(const V* keep, const V* now, const V* before, const V& power, const V& dt, T epsilon,
                                    const V& dh, V* dstate, V* dz, V& dpower, V& ddt) {
    const Gate<V> g = gate<V>(keep[0], before[1], power, dt, epsilon);
    const V output = keep[1], candidate = keep[2], squashed = tanh(now[0]);
    const V dcell = dstate[0] + dh * output * (1 - squashed * squashed);
    dz[1] = dh * squashed * output * (1 - output);
    V dforget, input;
    if constexpr (Coupled) {
      input = -g.minus_admit;
      dforget = dcell * (before[0] - candidate);
    } else {
      input = keep[3];
      dforget = dcell * before[0];
      dz[3] = dcell * candidate * input * (1 - input);
    }
    dz[2] = dcell * input * (1 - candidate * candidate);
    // With N and D the ratio's numerator and denominator, the derivatives of log N - log D are differences of nearly
    // equal numbers where the memory is old; multiplied out, they are not.
    const V dlog = dforget * g.forget;
    const V dratio = dlog * power / g.numerator / g.denominator;  // their product can be too large a number
    const V dage = dstate[1];
    const V dkeep = dratio * ((before[1] + 1) - epsilon * (before[1] + dt)) + dage * (before[1] + dt);
    dz[0] = -dkeep * g.keep * g.reset;
    dpower = dlog * g.log_ratio;
    ddt = g.keep * (dage - dratio * g.numerator);
    dstate[0] = dcell * g.forget;
    dstate[1] = g.keep * (dage - dratio * g.ratio_minus_one * g.denominator);
    return output * squashed;
  }
};

// The LSTM with nn.LSTM's equations. Gates: input, forget, cell, output.
template <class T>
struct Lstm {
  using Scalar = T;
  static constexpr int gates = 4, kept = 4, carried = 1;

  template <class V>
  static SLOWFADE_INLINE V forward(const V* z, V* state, V* keep, const V&, const V&, T) {
    const V input = keep[0] = sigmoid(z[0]), forget = keep[1] = sigmoid(z[1]);
    const V candidate = keep[2] = tanh(z[2]), output = keep[3] = sigmoid(z[3]);
    state[0] = forget * state[0] + input * candidate;
    return output * tanh(state[0]);
  }

  template <class V>
  static SLOWFADE_INLINE V backward(const V* keep, const V* now, const V* before, const V&, const V&, T, const V& dh,
                                    V* dstate, V* dz, V& dunit, V& ddt) {
    const V input = keep[0], forget = keep[1], candidate = keep[2], output = keep[3], squashed = tanh(now[0]);
    const V dcell = dstate[0] + dh * output * (1 - squashed * squashed);
    dz[0] = dcell * candidate * input * (1 - input);
    dz[1] = dcell * before[0] * forget * (1 - forget);
    dz[2] = dcell * input * (1 - candidate * candidate);
    dz[3] = dh * squashed * output * (1 - output);
    dstate[0] = dcell * forget;
    dunit = ddt = T(0);
    return output * squashed;
  }
};

}  // namespace slowfade::SLOWFADE_ISA
