// The operators: what PyTorch sees. Tensors in and out, checks, memory, threads; the arithmetic is the engine's.
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/core/ScalarType.h>
#include <torch/headeronly/util/Exception.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "engine.h"

namespace slowfade {

#if defined(__x86_64__)
namespace baseline { extern const Variant variant; }
namespace avx2 { extern const Variant variant; }
namespace avx512 { extern const Variant variant; }

// The variants this machine can run, slowest first.
static std::vector<const Variant*> runnable() {
  std::vector<const Variant*> found{&baseline::variant};
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    found.push_back(&avx2::variant);
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
      found.push_back(&avx512::variant);
  }
  return found;
}
#elif defined(__aarch64__)
namespace neon { extern const Variant variant; }
static std::vector<const Variant*> runnable() { return {&neon::variant}; }
#else
namespace baseline { extern const Variant variant; }
static std::vector<const Variant*> runnable() { return {&baseline::variant}; }
#endif

// The best variant, or the one that SLOWFADE_ISA names; null where it names none that runs here.
static const Variant* choose() {
  const std::vector<const Variant*> found = runnable();
  const char* forced = std::getenv("SLOWFADE_ISA");
  if (!forced || !*forced) return found.back();
  for (const Variant* variant : found)
    if (std::strcmp(variant->name, forced) == 0) return variant;
  return nullptr;
}

static const Variant& variant() {
  static const Variant* const chosen = choose();
  STD_TORCH_CHECK(chosen, "SLOWFADE_ISA names no instruction set that this machine has");
  return *chosen;
}

template <class T>
const Kernels<T>& kernels() {
  if constexpr (std::is_same_v<T, float>)
    return variant().f32;
  else
    return variant().f64;
}

namespace {

using torch::headeronly::ScalarType;
using torch::stable::Tensor;
using Optional = std::optional<Tensor>;

Pool pool() {
  return {int(torch::stable::get_num_threads()), [](int parts, void (*f)(int, void*), void* context) {
            torch::stable::parallel_for(0, parts, 1, [&](int64_t begin, int64_t end) {
              for (int64_t part = begin; part < end; ++part) f(int(part), context);
            });
          }};
}

template <class T>
T* data(const Tensor& tensor) {
  return static_cast<T*>(tensor.data_ptr());
}
template <class T>
T* data(const Optional& tensor) {
  return tensor ? data<T>(*tensor) : nullptr;
}

// On the CPU, of one type and shape: what the engine takes on trust.
template <class T>
void checked_shape(const Tensor& tensor, const char* name, const std::vector<int64_t>& shape) {
  constexpr ScalarType expected = std::is_same_v<T, float> ? ScalarType::Float : ScalarType::Double;
  STD_TORCH_CHECK(tensor.is_cpu() && tensor.scalar_type() == expected, name, " is not on the CPU or not of x's type");
  bool fits = tensor.dim() == int64_t(shape.size());
  for (size_t i = 0; fits && i < shape.size(); ++i) fits = tensor.size(int64_t(i)) == shape[i];
  STD_TORCH_CHECK(fits, name, " has the wrong shape");
}

// The same, and contiguous.
template <class T>
Tensor checked(const Tensor& tensor, const char* name, const std::vector<int64_t>& shape) {
  checked_shape<T>(tensor, name, shape);
  return tensor.is_contiguous() ? tensor : torch::stable::contiguous(tensor);
}
template <class T>
Optional checked(const Optional& tensor, const char* name, std::vector<int64_t> shape) {
  return tensor ? Optional(checked<T>(*tensor, name, shape)) : std::nullopt;
}

// Rows may lie anywhere, as long as each is contiguous itself.
Tensor with_contiguous_rows(const Tensor& tensor) {
  const int64_t last = tensor.dim() - 1;
  return tensor.size(last) <= 1 || tensor.stride(last) == 1 ? tensor : torch::stable::contiguous(tensor);
}

template <class T>
Rows<T> rows(const Tensor& tensor) {
  return {data<T>(tensor), tensor.stride(0), tensor.stride(1)};
}

// Fresh memory costs a trip into the kernel for every page at its first use, which for what a training step keeps is a
// good part of the step. Ask for large pages.
Tensor paged_largely(Tensor tensor) {
#if defined(__linux__)
  constexpr uintptr_t page = 2 << 20;
  const auto begin = (reinterpret_cast<uintptr_t>(tensor.data_ptr()) + page - 1) / page * page;
  const auto end = (reinterpret_cast<uintptr_t>(tensor.data_ptr()) + tensor.numel() * tensor.element_size()) / page * page;
  if (end > begin) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#endif
  return tensor;
}

Tensor empty_like(const Tensor& x, std::vector<int64_t> shape) { return paged_largely(torch::stable::new_empty(x, shape)); }

// (time, batch, width), lying in memory batch first where asked.
Tensor sequence_like(const Tensor& x, int64_t steps, int64_t batch, int64_t columns, bool batch_first) {
  if (!batch_first) return empty_like(x, {steps, batch, columns});
  Tensor tensor = empty_like(x, {batch, steps, columns});
  return torch::stable::transpose(tensor, 0, 1);
}

// Rows in order of length, longest first, and how many are valid at each step.
struct Order {
  std::vector<int64_t> order, length, active;

  Order(int64_t steps, int64_t batch, const Optional& lengths) : order(batch), length(batch, steps), active(steps + 1) {
    std::iota(order.begin(), order.end(), 0);
    if (lengths) {
      STD_TORCH_CHECK(lengths->is_cpu() && lengths->scalar_type() == ScalarType::Long && lengths->dim() == 1 &&
                          lengths->size(0) == batch,
                      "lengths should be int64 of shape (B,) on the CPU");
      const int64_t* given = data<int64_t>(*lengths);
      const int64_t stride = lengths->stride(0);
      for (int64_t b = 0; b < batch; ++b)
        STD_TORCH_CHECK(given[b * stride] >= 0 && given[b * stride] <= steps, "lengths should lie between 0 and T = ", steps,
                        ", got ", given[b * stride]);
      std::stable_sort(order.begin(), order.end(),
                       [&](int64_t a, int64_t b) { return given[a * stride] > given[b * stride]; });
      for (int64_t row = 0; row < batch; ++row) length[row] = given[order[row] * stride];
    }
    for (int64_t row = 0; row < batch; ++row)
      if (length[row] > 0) active[length[row] - 1] += 1;
    for (int64_t t = steps - 1; t >= 0; --t) active[t] += active[t + 1];
  }
};

// The operators' arguments that describe the problem, shared by forward and backward of every cell.
struct Arguments {
  CellKind cell;
  Tensor x;
  Optional dt, lengths;
  Tensor h;
  std::vector<Tensor> carried;
  Tensor ih, hh;
  Optional bias, hr, unit;
  double constant;
  bool reverse, batch_first;
};

const Tensor& with_dimensions(const Tensor& tensor, int64_t count, const char* expected) {
  STD_TORCH_CHECK(tensor.is_cpu() && tensor.dim() == count, expected, " on the CPU");
  return tensor;
}

// A problem and what keeps its memory alive.
template <class T>
struct Bound {
  Forward<T> problem;
  Order order;
  std::vector<Tensor> alive;

  explicit Bound(const Arguments& a)
      : problem{}, order(with_dimensions(a.x, 3, "x should be (T, B, I)").size(0), a.x.size(1), a.lengths) {
    with_dimensions(a.hh, 2, "weight_hh should be (gates H, H)");
    const int64_t gates = a.cell == CellKind::power_law_coupled ? 3 : 4;
    Shape& s = problem.shape;
    s = {a.x.size(0), a.x.size(1), a.x.size(2), a.hh.size(0) / gates, a.hh.size(1), a.reverse,
         order.order.data(), order.length.data(), order.active.data()};
    auto hold = [&](const auto& tensor, const char* name, std::vector<int64_t> shape) -> const T* {
      const Optional kept = checked<T>(Optional(tensor), name, std::move(shape));
      if (kept) alive.push_back(*kept);
      return data<T>(kept);
    };
    STD_TORCH_CHECK(a.hr || s.recurrent == s.hidden, "weight_hh should be (gates H, H)");
    alive.push_back(with_contiguous_rows(a.x));
    problem.x = rows<const T>(alive.back());
    if (a.dt) {
      STD_TORCH_CHECK(a.dt->scalar_type() == a.x.scalar_type() && a.dt->dim() == 2 && a.dt->size(0) == s.steps &&
                          a.dt->size(1) == s.batch,
                      "dt should be (T, B) of x's type");
      alive.push_back(*a.dt);
      problem.dt = rows<const T>(*a.dt);
    }
    problem.h = hold(a.h, "h", {s.batch, s.recurrent});
    for (size_t i = 0; i < a.carried.size(); ++i) problem.carried[i] = hold(a.carried[i], "state", {s.batch, s.hidden});
    problem.weights = {hold(a.ih, "weight_ih", {gates * s.hidden, s.inputs}),
                       hold(a.hh, "weight_hh", {gates * s.hidden, s.recurrent}),
                       hold(a.bias, "bias", {gates * s.hidden}), hold(a.hr, "weight_hr", {s.recurrent, s.hidden}),
                       hold(a.unit, "power", {s.hidden})};
    problem.constant = T(a.constant);
  }
  Bound(const Bound&) = delete;
};

Tensor workspace(const Tensor& like, size_t bytes) {
  return paged_largely(
      torch::stable::empty({int64_t(bytes / sizeof(double)) + 8}, ScalarType::Double, std::nullopt, like.device()));
}
void* aligned(const Tensor& tensor) {
  const auto address = reinterpret_cast<uintptr_t>(tensor.data_ptr());
  return reinterpret_cast<void*>((address + 63) / 64 * 64);
}

// Of what a forward pass keeps for the backward one.
template <class T>
std::vector<int64_t> kept_shape(CellKind cell, const Shape& s) {
  return {s.steps, s.batch, kept_values(cell), (s.hidden + line<T> - 1) / line<T> * line<T>};
}

// output, h, carried..., kept (empty unless `keep`)
template <class T>
std::vector<Tensor> run_forward(const Arguments& a, bool keep) {
  Bound<T> bound(a);
  Forward<T>& p = bound.problem;
  const Shape& s = p.shape;
  std::vector<Tensor> results;
  results.push_back(sequence_like(a.x, s.steps, s.batch, s.recurrent, a.batch_first));
  p.output = rows<T>(results.back());
  results.push_back(empty_like(a.x, {s.batch, s.recurrent}));
  p.h_end = data<T>(results.back());
  for (size_t i = 0; i < a.carried.size(); ++i) {
    results.push_back(empty_like(a.x, {s.batch, s.hidden}));
    p.carried_end[i] = data<T>(results.back());
  }
  results.push_back(empty_like(a.x, keep ? kept_shape<T>(a.cell, s) : std::vector<int64_t>{0}));
  p.kept = keep ? data<T>(results.back()) : nullptr;
  const Pool threads = pool();
  const Tensor memory = workspace(a.x, kernels<T>().forward_bytes(a.cell, p, threads));
  kernels<T>().forward(a.cell, p, threads, aligned(memory));
  return results;
}

// Which gradients are wanted, one bit each; the order of the results.
enum Wanted { want_x, want_dt, want_h, want_carried, want_age, want_ih, want_hh, want_bias, want_hr, want_unit };

template <class T>
std::vector<Tensor> run_backward(const Arguments& a, const Tensor& output, const Tensor& kept, const Optional& doutput,
                                 const Optional& dh_end, const std::vector<Optional>& dcarried_end, int64_t wanted) {
  Bound<T> bound(a);
  const Shape& s = bound.problem.shape;
  Backward<T> p{};
  p.forward = bound.problem;
  std::vector<Tensor> alive;
  auto sequence = [&](const Tensor& tensor, const char* name) {
    checked_shape<T>(tensor, name, {s.steps, s.batch, s.recurrent});
    alive.push_back(with_contiguous_rows(tensor));
    return rows<T>(alive.back());
  };
  p.forward.output = sequence(output, "output");
  if (doutput) {
    const Rows<T> given = sequence(*doutput, "the output's gradient");
    p.doutput = {given.data, given.time, given.batch};
  }
  // A forward pass that was traced without gradients kept nothing: run it again.
  alive.push_back(kept.numel() ? checked<T>(kept, "kept", kept_shape<T>(a.cell, s)) : run_forward<T>(a, true).back());
  p.forward.kept = data<T>(alive.back());
  auto hold = [&](const Optional& tensor, int64_t columns) -> const T* {
    const Optional ready = checked<T>(tensor, "the state's gradient", {s.batch, columns});
    if (ready) alive.push_back(*ready);
    return data<T>(ready);
  };
  p.dh_end = hold(dh_end, s.recurrent);
  for (size_t i = 0; i < dcarried_end.size(); ++i) p.dcarried_end[i] = hold(dcarried_end[i], s.hidden);

  std::vector<Tensor> results;
  auto make = [&](int bit, bool exists, auto&& create) -> Tensor& {
    results.push_back(exists && (wanted >> bit & 1) ? create() : empty_like(a.x, {0}));
    return results.back();
  };
  auto made = [&](int bit, bool exists, std::vector<int64_t> shape) -> T* {
    Tensor& t = make(bit, exists, [&] { return empty_like(a.x, shape); });
    return exists && (wanted >> bit & 1) ? data<T>(t) : nullptr;
  };
  const Tensor& dx = make(want_x, true, [&] { return sequence_like(a.x, s.steps, s.batch, s.inputs, a.batch_first); });
  if (wanted >> want_x & 1) p.dx = rows<T>(dx);
  const Tensor& ddt = make(want_dt, a.dt.has_value(), [&] { return empty_like(a.x, {s.steps, s.batch}); });
  if (a.dt && (wanted >> want_dt & 1)) p.ddt = rows<T>(ddt);
  const int64_t gates = a.hh.size(0);
  p.dh = made(want_h, true, {s.batch, s.recurrent});
  p.dcarried[0] = made(want_carried, true, {s.batch, s.hidden});
  p.dcarried[1] = made(want_age, a.carried.size() > 1, {s.batch, s.hidden});
  p.dih = made(want_ih, true, {gates, s.inputs});
  p.dhh = made(want_hh, true, {gates, s.recurrent});
  p.dbias = made(want_bias, a.bias.has_value(), {gates});
  p.dhr = made(want_hr, a.hr.has_value(), {s.recurrent, s.hidden});
  p.dunit = made(want_unit, a.unit.has_value(), {s.hidden});
  const Pool threads = pool();
  const Tensor memory = workspace(a.x, kernels<T>().backward_bytes(a.cell, p, threads));
  kernels<T>().backward(a.cell, p, threads, aligned(memory));
  return results;
}

template <class F>
auto for_type(const Tensor& x, const F& f) {
  STD_TORCH_CHECK(x.scalar_type() == ScalarType::Float || x.scalar_type() == ScalarType::Double,
                  "the CPU engine computes in float32 and float64");
  return x.scalar_type() == ScalarType::Float ? f(float{}) : f(double{});
}

using Four = std::tuple<Tensor, Tensor, Tensor, Tensor>;
using Five = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor>;
using Seven = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor>;
using Ten = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor>;

Arguments power_law_arguments(const Tensor& x, const Optional& dt, const Optional& lengths, const Tensor& h, const Tensor& c,
                              const Tensor& age, const Tensor& ih, const Tensor& hh, const Optional& bias,
                              const Optional& hr, const Tensor& power, double epsilon, bool coupled, bool reverse,
                              bool batch_first) {
  return {coupled ? CellKind::power_law_coupled : CellKind::power_law,
          x, dt, lengths, h, {c, age}, ih, hh, bias, hr, power, epsilon, reverse, batch_first};
}

Five power_law(Tensor x, Optional dt, Optional lengths, Tensor h, Tensor c, Tensor age, Tensor ih, Tensor hh, Optional bias,
               Optional hr, Tensor power, double epsilon, bool coupled, bool reverse, bool batch_first, bool keep) {
  const Arguments a = power_law_arguments(x, dt, lengths, h, c, age, ih, hh, bias, hr, power, epsilon, coupled, reverse,
                                          batch_first);
  const std::vector<Tensor> r = for_type(x, [&](auto type) { return run_forward<decltype(type)>(a, keep); });
  return {r[0], r[1], r[2], r[3], r[4]};
}

Ten power_law_backward(Optional doutput, Optional dh, Optional dc, Optional dage, Tensor x, Optional dt, Optional lengths,
                       Tensor h, Tensor c, Tensor age, Tensor ih, Tensor hh, Optional bias, Optional hr, Tensor power,
                       Tensor output, Tensor kept, double epsilon, bool coupled, bool reverse, bool batch_first,
                       int64_t wanted) {
  const Arguments a = power_law_arguments(x, dt, lengths, h, c, age, ih, hh, bias, hr, power, epsilon, coupled, reverse,
                                          batch_first);
  const std::vector<Tensor> r = for_type(x, [&](auto type) {
    return run_backward<decltype(type)>(a, output, kept, doutput, dh, {dc, dage}, wanted);
  });
  return {r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8], r[9]};
}

Arguments lstm_arguments(const Tensor& x, const Optional& lengths, const Tensor& h, const Tensor& c, const Tensor& ih,
                         const Tensor& hh, const Optional& bias, const Optional& hr, bool reverse, bool batch_first) {
  return {CellKind::lstm, x, std::nullopt, lengths, h, {c}, ih, hh, bias, hr, std::nullopt, 0.0, reverse, batch_first};
}

Four lstm(Tensor x, Optional lengths, Tensor h, Tensor c, Tensor ih, Tensor hh, Optional bias, Optional hr, bool reverse,
          bool batch_first, bool keep) {
  const Arguments a = lstm_arguments(x, lengths, h, c, ih, hh, bias, hr, reverse, batch_first);
  const std::vector<Tensor> r = for_type(x, [&](auto type) { return run_forward<decltype(type)>(a, keep); });
  return {r[0], r[1], r[2], r[3]};
}

Seven lstm_backward(Optional doutput, Optional dh, Optional dc, Tensor x, Optional lengths, Tensor h, Tensor c, Tensor ih,
                    Tensor hh, Optional bias, Optional hr, Tensor output, Tensor kept, bool reverse, bool batch_first,
                    int64_t wanted) {
  const Arguments a = lstm_arguments(x, lengths, h, c, ih, hh, bias, hr, reverse, batch_first);
  const std::vector<Tensor> r = for_type(x, [&](auto type) {
    return run_backward<decltype(type)>(a, output, kept, doutput, dh, {dc}, wanted);
  });
  return {r[want_x], r[want_h], r[want_carried], r[want_ih], r[want_hh], r[want_bias], r[want_hr]};
}

// exp, expm1, log, tanh or sigmoid as the cells use them, so that their accuracy can be tested.
Tensor elementary(int64_t function, Tensor x) {
  const Tensor in = torch::stable::contiguous(x);
  Tensor out = torch::stable::empty_like(in);
  for_type(in, [&](auto type) {
    using T = decltype(type);
    kernels<T>().elementary(int(function), data<T>(in), data<T>(out), in.numel());
    return 0;
  });
  return out;
}

}  // namespace
}  // namespace slowfade

STABLE_TORCH_LIBRARY(slowfade, m) {
  m.def(
      "power_law(Tensor x, Tensor? dt, Tensor? lengths, Tensor h, Tensor c, Tensor age, Tensor weight_ih, "
      "Tensor weight_hh, Tensor? bias, Tensor? weight_hr, Tensor power, float epsilon, bool coupled, bool reverse, "
      "bool batch_first, bool keep) -> (Tensor output, Tensor h_end, Tensor c_end, Tensor age_end, Tensor kept)");
  m.def(
      "power_law_backward(Tensor? doutput, Tensor? dh, Tensor? dc, Tensor? dage, Tensor x, Tensor? dt, "
      "Tensor? lengths, Tensor h, Tensor c, Tensor age, Tensor weight_ih, Tensor weight_hh, Tensor? bias, "
      "Tensor? weight_hr, Tensor power, Tensor output, Tensor kept, float epsilon, bool coupled, bool reverse, "
      "bool batch_first, int wanted) -> (Tensor x, Tensor dt, Tensor h, Tensor c, Tensor age, Tensor weight_ih, "
      "Tensor weight_hh, Tensor bias, Tensor weight_hr, Tensor power)");
  m.def(
      "lstm(Tensor x, Tensor? lengths, Tensor h, Tensor c, Tensor weight_ih, Tensor weight_hh, Tensor? bias, "
      "Tensor? weight_hr, bool reverse, bool batch_first, bool keep) -> (Tensor output, Tensor h_end, Tensor c_end, "
      "Tensor kept)");
  m.def(
      "lstm_backward(Tensor? doutput, Tensor? dh, Tensor? dc, Tensor x, Tensor? lengths, Tensor h, Tensor c, "
      "Tensor weight_ih, Tensor weight_hh, Tensor? bias, Tensor? weight_hr, Tensor output, Tensor kept, bool reverse, "
      "bool batch_first, int wanted) -> (Tensor x, Tensor h, Tensor c, Tensor weight_ih, Tensor weight_hh, "
      "Tensor bias, Tensor weight_hr)");
  m.def("elementary(int function, Tensor x) -> Tensor");
}

STABLE_TORCH_LIBRARY_IMPL(slowfade, CPU, m) {
  m.impl("power_law", TORCH_BOX(&slowfade::power_law));
  m.impl("power_law_backward", TORCH_BOX(&slowfade::power_law_backward));
  m.impl("lstm", TORCH_BOX(&slowfade::lstm));
  m.impl("lstm_backward", TORCH_BOX(&slowfade::lstm_backward));
  m.impl("elementary", TORCH_BOX(&slowfade::elementary));
}

// For `slowfade doctor`: the variant in use, and all that this machine can run, separated by blanks.
extern "C" __attribute__((visibility("default"))) const char* slowfade_variant() {
  const slowfade::Variant* chosen = slowfade::choose();
  return chosen ? chosen->name : "";
}

extern "C" __attribute__((visibility("default"))) const char* slowfade_variants() {
  static const std::string names = [] {
    std::string joined;
    for (const slowfade::Variant* variant : slowfade::runnable()) joined += (joined.empty() ? "" : " ") + std::string(variant->name);
    return joined;
  }();
  return names.c_str();
}
