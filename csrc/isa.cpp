// The engine for one instruction set. setup.py compiles this file once for each, with its flags.
#include "backward.h"
#include "cell.h"
#include "forward.h"

#define SLOWFADE_STRING(x) SLOWFADE_QUOTE(x)
#define SLOWFADE_QUOTE(x) #x

namespace slowfade {
namespace SLOWFADE_ISA {

template <class T, class F>
auto for_cell(CellKind cell, const F& f) {
  switch (cell) {
    case CellKind::power_law_coupled: return f(PowerLaw<T, true>{});
    case CellKind::power_law: return f(PowerLaw<T, false>{});
    default: return f(Lstm<T>{});
  }
}

template <class T>
size_t forward_bytes(CellKind cell, const Forward<T>& problem, const Pool& pool) {
  return for_cell<T>(cell, [&](auto kind) {
    Arena arena(nullptr);
    ForwardRun<decltype(kind)>(problem, pool, arena);
    return arena.used();
  });
}

template <class T>
void forward(CellKind cell, const Forward<T>& problem, const Pool& pool, void* workspace) {
  for_cell<T>(cell, [&](auto kind) {
    Arena arena(workspace);
    ForwardRun<decltype(kind)>(problem, pool, arena).run();
  });
}

template <class T>
size_t backward_bytes(CellKind cell, const Backward<T>& problem, const Pool& pool) {
  return for_cell<T>(cell, [&](auto kind) {
    Arena arena(nullptr);
    BackwardRun<decltype(kind)>(problem, pool, arena);
    return arena.used();
  });
}

template <class T>
void backward(CellKind cell, const Backward<T>& problem, const Pool& pool, void* workspace) {
  for_cell<T>(cell, [&](auto kind) {
    Arena arena(workspace);
    BackwardRun<decltype(kind)>(problem, pool, arena).run();
  });
}

template <class T>
void elementary(int function, const T* in, T* out, int64_t count) {
  for (int64_t i = 0; i < count; i += width<T>) {
    const Group<T, 1> x = load(in + i, count - i);
    const Group<T, 1> y = function == 0   ? exp_pair(x).exp
                     : function == 1 ? exp_pair(x).expm1
                     : function == 2 ? log(x, x - 1)
                     : function == 3 ? tanh(x)
                                     : sigmoid(x);
    store(out + i, y.v[0], count - i);
  }
}

template <class T>
constexpr Kernels<T> kernels = {forward_bytes<T>, forward<T>, backward_bytes<T>, backward<T>, elementary<T>};

extern const Variant variant;
const Variant variant = {SLOWFADE_STRING(SLOWFADE_ISA), kernels<float>, kernels<double>};

}  // namespace SLOWFADE_ISA
}  // namespace slowfade
