// Vectors of the instruction set this file is compiled for, and the few functions the cells need on them.
//
// Everything stands in a namespace named after the instruction set: the same headers are compiled several times with
// different flags, and the linker must never take one variant's function for another's. For the same reason nothing
// here uses the standard library's templates.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__AVX512F__)
#define SLOWFADE_ISA avx512
#define SLOWFADE_VECTOR_BYTES 64
#define SLOWFADE_REGISTERS 32
#elif defined(__AVX2__) && defined(__FMA__)
#define SLOWFADE_ISA avx2
#define SLOWFADE_VECTOR_BYTES 32
#define SLOWFADE_REGISTERS 16
#elif defined(__aarch64__)
#define SLOWFADE_ISA neon
#define SLOWFADE_VECTOR_BYTES 16
#define SLOWFADE_REGISTERS 32
#else
#define SLOWFADE_ISA baseline
#define SLOWFADE_VECTOR_BYTES 16
#define SLOWFADE_REGISTERS 16
#endif

namespace slowfade::SLOWFADE_ISA {

template <class T>
struct Lanes;

template <>
struct Lanes<float> {
  using Bits = int32_t;
  typedef float Vector __attribute__((vector_size(SLOWFADE_VECTOR_BYTES)));
  typedef int32_t Integers __attribute__((vector_size(SLOWFADE_VECTOR_BYTES)));
  typedef float Unaligned __attribute__((vector_size(SLOWFADE_VECTOR_BYTES), aligned(4), may_alias));
};

template <>
struct Lanes<double> {
  using Bits = int64_t;
  typedef double Vector __attribute__((vector_size(SLOWFADE_VECTOR_BYTES)));
  typedef int64_t Integers __attribute__((vector_size(SLOWFADE_VECTOR_BYTES)));
  typedef double Unaligned __attribute__((vector_size(SLOWFADE_VECTOR_BYTES), aligned(8), may_alias));
};

template <class T>
using Vec = typename Lanes<T>::Vector;
template <class T>
using Int = typename Lanes<T>::Integers;

template <class T>
constexpr int width = SLOWFADE_VECTOR_BYTES / int(sizeof(T));

template <class T>
inline Vec<T> load(const T* from) {
  return *reinterpret_cast<const typename Lanes<T>::Unaligned*>(from);
}

template <class T>
inline void store(T* to, Vec<T> value) {
  *reinterpret_cast<typename Lanes<T>::Unaligned*>(to) = value;
}

// The first `count` lanes; the others are zero, or left alone.
template <class T>
inline Vec<T> load(const T* from, int64_t count) {
  if (count >= width<T>) return load(from);
  Vec<T> value{};
  for (int64_t i = 0; i < count; ++i) value[i] = from[i];
  return value;
}

template <class T>
inline void store(T* to, Vec<T> value, int64_t count) {
  if (count >= width<T>) return store(to, value);
  for (int64_t i = 0; i < count; ++i) to[i] = value[i];
}

template <class T>
inline Vec<T> splat(T value) {
  return Vec<T>{} + value;
}

// Summed in a fixed order, so that results repeat bit for bit.
template <class T>
inline T sum(Vec<T> value) {
  T total = 0;
  for (int i = 0; i < width<T>; ++i) total += value[i];
  return total;
}

// Neither of these takes a NaN away.
template <class V, class T>
inline V at_most(V x, T bound) {
  return x > bound ? V{} + bound : x;
}
template <class V, class T>
inline V at_least(V x, T bound) {
  return x < bound ? V{} + bound : x;
}

// ---- elementary functions: a few ulp over the whole range, NaN in NaN out; tests/engines/test_cpu_math.py measures them

template <class T>
struct Exponential;

template <>
struct Exponential<float> {
  static constexpr float log2e = 1.44269504f, ln2_high = 0.693359375f, ln2_low = -2.12194440e-4f;
  static constexpr float magic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer, kept in the low bits
  static constexpr int mantissa = 23, bias = 127, terms = 7;
  static constexpr float lowest = -104.0f, highest = 89.0f;           // beyond, exp is 0 or infinite
  static constexpr float lowest_normal = -87.0f, highest_normal = 88.0f;
  static constexpr float tanh_is_one = 9.02f;
};

template <>
struct Exponential<double> {
  static constexpr double log2e = 1.4426950408889634, ln2_high = 0.693145751953125, ln2_low = 1.42860682030941723e-6;
  static constexpr double magic = 6755399441055744.0;
  static constexpr int mantissa = 52, bias = 1023, terms = 13;
  static constexpr double lowest = -746.0, highest = 710.0;
  static constexpr double lowest_normal = -707.0, highest_normal = 709.0;
  static constexpr double tanh_is_one = 19.1;
};

// x = n log 2 + r with |r| <= log(2) / 2: gives n and exp(r) - 1.
template <class T>
struct Reduced {
  Int<T> n;
  Vec<T> expm1;
};

template <class T>
inline Reduced<T> reduce(Vec<T> x) {
  using E = Exponential<T>;
  const Vec<T> shifted = x * E::log2e + E::magic;
  const Vec<T> count = shifted - E::magic;
  const Vec<T> r = (x - count * E::ln2_high) - count * E::ln2_low;
  // Taylor's series: 1/2 + r/6 + ... is cut where its next term is below the last bit.
  T factorial = 1;
  for (int i = 2; i <= E::terms; ++i) factorial *= T(i);
  Vec<T> series = splat<T>(1 / factorial);
#pragma GCC unroll 16
  for (int i = E::terms; i > 2; --i) {
    factorial /= T(i);
    series = series * r + 1 / factorial;
  }
  return {(Int<T>)shifted - (Int<T>)splat<T>(E::magic), r + r * r * series};
}

template <class T>
inline Vec<T> power_of_two(Int<T> n) {
  using E = Exponential<T>;
  return (Vec<T>)((n + typename Lanes<T>::Bits(E::bias)) << E::mantissa);
}

template <class T>
inline Vec<T> exp(Vec<T> x) {
  using E = Exponential<T>;
  x = at_least(at_most(x, E::highest), E::lowest);
  const Reduced<T> part = reduce<T>(x);
  // In two halves, so that the last powers before overflow and the subnormals come out right.
  const Int<T> half = part.n >> 1;
  return (1 + part.expm1) * power_of_two<T>(half) * power_of_two<T>(part.n - half);
}

template <class T>
struct ExpPair {
  Vec<T> exp, expm1;
};

// exp(x) and exp(x) - 1, both to full relative accuracy.
template <class T>
inline ExpPair<T> exp_pair(Vec<T> x) {
  using E = Exponential<T>;
  x = at_least(at_most(x, E::highest_normal), E::lowest_normal);
  const Reduced<T> part = reduce<T>(x);
  const Vec<T> scale = power_of_two<T>(part.n);
  return {scale * part.expm1 + scale, scale * part.expm1 + (scale - 1)};
}

template <class T>
inline Vec<T> sigmoid(Vec<T> x) {
  return 1 / (1 + exp<T>(-x));
}

template <class T>
inline Vec<T> tanh(Vec<T> x) {
  using E = Exponential<T>;
  const Vec<T> bounded = at_least(at_most(x, E::tanh_is_one), -E::tanh_is_one);
  const Vec<T> t = exp_pair<T>(bounded + bounded).expm1;
  return t / (t + 2);
}

// log(x) for a positive normal x, given x - 1 as well. Where x is nearly 1 that difference decides, so a caller who
// knows it better than the rounding of x gets a logarithm as good as log1p's.
template <class T>
inline Vec<T> log(Vec<T> x, Vec<T> x_minus_one) {
  using E = Exponential<T>;
  using Bits = typename Lanes<T>::Bits;
  const Vec<T> root_half = splat<T>(T(0.70710678118654752));
  const Int<T> exponent = ((Int<T>)x - (Int<T>)root_half) >> E::mantissa;
  const Vec<T> scaled = (Vec<T>)((Int<T>)x - (exponent << E::mantissa));
  const Vec<T> f = exponent == Bits(0) ? x_minus_one : scaled - 1;
  // log(1 + f) = 2 artanh(f / (2 + f))
  const Vec<T> s = f / (2 + f), z = s * s;
  constexpr int last = sizeof(T) == 4 ? 9 : 21;
  Vec<T> series = splat<T>(T(1) / last);
#pragma GCC unroll 16
  for (int i = last - 2; i > 1; i -= 2) series = series * z + T(1) / i;
  const Vec<T> log1p = 2 * s + 2 * s * z * series;
  const Vec<T> whole = __builtin_convertvector(exponent, Vec<T>);
  const Vec<T> result = whole * E::ln2_high + (whole * E::ln2_low + log1p);
  return x < T(__builtin_inf()) ? result : x;
}

}  // namespace slowfade::SLOWFADE_ISA
