// Vectors of the instruction set this file is compiled for, and the few functions the cells need on them.
//
// Everything stands in a namespace named after the instruction set: the same headers are compiled several times with
// different flags, and the linker must never take one variant's function for another's. For the same reason nothing
// here uses the standard library's templates.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

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

// Cells and their functions must melt into the loops that call them, or every vector takes a trip through memory.
#define SLOWFADE_INLINE inline __attribute__((always_inline))

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

// The lesser or greater of two; the second where either is NaN. Compilers do not find the instruction by themselves.
#if defined(__AVX512F__)
inline Vec<float> lesser(Vec<float> a, Vec<float> b) { return (Vec<float>)_mm512_min_ps(a, b); }
inline Vec<float> greater(Vec<float> a, Vec<float> b) { return (Vec<float>)_mm512_max_ps(a, b); }
inline Vec<double> lesser(Vec<double> a, Vec<double> b) { return (Vec<double>)_mm512_min_pd(a, b); }
inline Vec<double> greater(Vec<double> a, Vec<double> b) { return (Vec<double>)_mm512_max_pd(a, b); }
#elif defined(__AVX2__)
inline Vec<float> lesser(Vec<float> a, Vec<float> b) { return (Vec<float>)_mm256_min_ps(a, b); }
inline Vec<float> greater(Vec<float> a, Vec<float> b) { return (Vec<float>)_mm256_max_ps(a, b); }
inline Vec<double> lesser(Vec<double> a, Vec<double> b) { return (Vec<double>)_mm256_min_pd(a, b); }
inline Vec<double> greater(Vec<double> a, Vec<double> b) { return (Vec<double>)_mm256_max_pd(a, b); }
#else
template <class V>
inline V lesser(V a, V b) {
  return a < b ? a : b;
}
template <class V>
inline V greater(V a, V b) {
  return a > b ? a : b;
}
#endif

// ---- groups: the same units of several rows, treated alike
//
// A cell's arithmetic is one long chain of dependent operations. Working on several rows at once, operation by operation,
// keeps the machine busy while each chain waits for itself.

constexpr int rows_together = SLOWFADE_REGISTERS >= 32 ? 4 : 2;

template <class T, int Rows>
struct Group {
  using Scalar = T;
  static constexpr int rows = Rows;
  Vec<T> v[rows];

  Group() = default;
  Group(T value) : Group(splat(value)) {}
  Group(Vec<T> value) {
    for (auto& row : v) row = value;
  }

#define SLOWFADE_OPERATOR(op)                                        \
  friend SLOWFADE_INLINE Group operator op(const Group& a, const Group& b) {  \
    Group result;                                                    \
    for (int i = 0; i < rows; ++i) result.v[i] = a.v[i] op b.v[i];   \
    return result;                                                   \
  }
  SLOWFADE_OPERATOR(+)
  SLOWFADE_OPERATOR(-)
  SLOWFADE_OPERATOR(*)
  SLOWFADE_OPERATOR(/)
#undef SLOWFADE_OPERATOR
  friend SLOWFADE_INLINE Group operator-(const Group& a) { return a.map([](Vec<T> x) { return -x; }); }

  template <class F>
  SLOWFADE_INLINE Group map(const F& f) const {
    Group result;
    for (int i = 0; i < rows; ++i) result.v[i] = f(v[i]);
    return result;
  }
};

// Neither of these takes a NaN away.
template <class T, int R>
SLOWFADE_INLINE Group<T, R> at_most(const Group<T, R>& x, typename Group<T, R>::Scalar bound) {
  return x.map([=](Vec<T> v) { return lesser(splat(bound), v); });
}
template <class T, int R>
SLOWFADE_INLINE Group<T, R> between(const Group<T, R>& x, typename Group<T, R>::Scalar low, typename Group<T, R>::Scalar high) {
  return x.map([=](Vec<T> v) { return greater(splat(low), lesser(splat(high), v)); });
}

// ---- elementary functions: a few ulp over the whole range, NaN in NaN out; tests/engines/test_cpu_math.py measures them

template <class T>
struct Exponential;

template <>
struct Exponential<float> {
  static constexpr float log2e = 1.44269504f, ln2_high = 0.693359375f, ln2_low = -2.12194440e-4f;
  static constexpr float magic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer, kept in the low bits
  static constexpr int mantissa = 23, bias = 127, terms = 7;
  static constexpr float lowest = -86.9f, highest = 88.73f;  // where exp is normal; at the highest it is infinite already
  static constexpr float tanh_is_one = 9.02f;
};

template <>
struct Exponential<double> {
  static constexpr double log2e = 1.4426950408889634, ln2_high = 0.693145751953125, ln2_low = 1.42860682030941723e-6;
  static constexpr double magic = 6755399441055744.0;
  static constexpr int mantissa = 52, bias = 1023, terms = 13;
  static constexpr double lowest = -707.0, highest = 709.79;
  static constexpr double tanh_is_one = 19.1;
};

template <class V>
struct ExpPair {
  V exp, expm1;
};

// exp(x) and exp(x) - 1, both to full relative accuracy, for x in [lowest, highest].
template <class T, int R>
SLOWFADE_INLINE ExpPair<Group<T, R>> exp_within(const Group<T, R>& x) {
  using E = Exponential<T>;
  // x = n log 2 + r with |r| <= log(2) / 2
  const Group<T, R> shifted = x * E::log2e + E::magic;
  const Group<T, R> n = shifted - E::magic;
  const Group<T, R> r = (x - n * E::ln2_high) - n * E::ln2_low;
  // exp(r) - 1 by Taylor's series, cut where its next term is below the last bit.
  T factorial = 1;
  for (int i = 2; i <= E::terms; ++i) factorial *= T(i);
  Group<T, R> series = 1 / factorial;
#pragma GCC unroll 16
  for (int i = E::terms; i > 2; --i) {
    factorial /= T(i);
    series = series * r + 1 / factorial;
  }
  const Group<T, R> expm1 = r + r * r * series;
  // Half of 2^n, doubled at the end: 2^n itself is infinite a little before exp(x) is, and infinity has no use for r.
  const Group<T, R> half = shifted.map([](Vec<T> count) {
    using Bits = typename Lanes<T>::Bits;
    return (Vec<T>)(((Int<T>)count - ((Int<T>)splat(E::magic) - Bits(E::bias - 1))) << E::mantissa);
  });
  return {2 * (half * expm1 + half), 2 * (half * expm1 + (half - T(0.5)))};
}

template <class T, int R>
SLOWFADE_INLINE ExpPair<Group<T, R>> exp_pair(const Group<T, R>& x) {
  return exp_within(between(x, Exponential<T>::lowest, Exponential<T>::highest));
}

template <class T, int R>
SLOWFADE_INLINE Group<T, R> sigmoid(const Group<T, R>& x) {
  return 1 / (1 + exp_pair(-x).exp);
}

template <class T, int R>
SLOWFADE_INLINE Group<T, R> tanh(const Group<T, R>& x) {
  using E = Exponential<T>;
  const Group<T, R> bounded = between(x, -E::tanh_is_one, E::tanh_is_one);
  const Group<T, R> t = exp_within(bounded + bounded).expm1;
  return t / (t + 2);
}

// log(x) for a positive normal x, given x - 1 as well. Where x is nearly 1 that difference decides, so a caller who
// knows it better than the rounding of x gets a logarithm as good as log1p's.
template <class T, int R>
SLOWFADE_INLINE Group<T, R> log(const Group<T, R>& x, const Group<T, R>& x_minus_one) {
  using E = Exponential<T>;
  const Int<T> root_half = (Int<T>)splat(T(0.70710678118654752));
  Group<T, R> exponent, f;
  for (int i = 0; i < R; ++i) {
    const Int<T> bits = (Int<T>)x.v[i], n = (bits - root_half) >> E::mantissa;
    const Vec<T> scaled = (Vec<T>)(bits - (n << E::mantissa));
    f.v[i] = n == 0 ? x_minus_one.v[i] : scaled - 1;
    exponent.v[i] = __builtin_convertvector(n, Vec<T>);
  }
  // log(1 + f) = 2 artanh(f / (2 + f))
  const Group<T, R> s = f / (2 + f), z = s * s;
  constexpr int last = sizeof(T) == 4 ? 9 : 21;
  Group<T, R> series = T(1) / last;
#pragma GCC unroll 16
  for (int i = last - 2; i > 1; i -= 2) series = series * z + T(1) / i;
  const Group<T, R> log1p = 2 * s + 2 * s * z * series;
  Group<T, R> result = exponent * E::ln2_high + (exponent * E::ln2_low + log1p);
  for (int i = 0; i < R; ++i) result.v[i] = x.v[i] < T(__builtin_inf()) ? result.v[i] : x.v[i];
  return result;
}

}  // namespace slowfade::SLOWFADE_ISA
