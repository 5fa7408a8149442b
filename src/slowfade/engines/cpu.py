"""The C++ engine: its operators as PyTorch should see them (shapes, gradients, autocast), and whether it can run.

The library is built when the package is installed and loaded when this module is imported. ``csrc/`` has the source,
``docs/performance.md`` says how it works.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd import forward_ad

from slowfade.engines import reference
from slowfade.engines.notices import say_once
from slowfade.engines.reference import Weights
from slowfade.state import State

__all__ = ["lstm", "power_law", "variant", "variants", "why_not"]

TYPES = (torch.float32, torch.float64)


def _load() -> tuple[ctypes.CDLL | None, str]:
    """The library, or ``None`` and why not."""
    path = Path(__file__).parent.parent / "_engine.so"
    if not path.exists():
        return None, (
            "the C++ engine was not built when slowfade was installed: with a C++ compiler and PyTorch there, "
            "`pip install --no-build-isolation --no-cache-dir --force-reinstall --no-deps slowfade` builds it"
        )
    try:
        torch.ops.load_library(path)
        library = ctypes.CDLL(str(path))
    except OSError as error:
        return None, f"the C++ engine could not be loaded: {error}"
    for name in ("slowfade_variant", "slowfade_variants"):
        getattr(library, name).restype = ctypes.c_char_p
    if not library.slowfade_variant():
        return None, f"SLOWFADE_ISA names none of this machine's: {library.slowfade_variants().decode()}"
    return library, ""


_library, _missing = _load()


def variant() -> str:
    """The instruction set the engine runs on; ``SLOWFADE_ISA`` can force another."""
    return _library.slowfade_variant().decode() if _library else ""


def variants() -> list[str]:
    """The instruction sets this machine could run the engine on, slowest first."""
    return _library.slowfade_variants().decode().split() if _library else []


def why_not(x: Tensor, *others: Tensor | None) -> str | None:
    """Why the engine cannot take these tensors; ``None`` where it can. ``x`` is cast to the others' type."""
    if _library is None:
        return _missing
    if x.device.type != "cpu":
        return f"the C++ engine runs on the CPU, and x is on {x.device}"
    for tensor in others:
        if tensor is not None and tensor.dtype not in TYPES:
            return f"the C++ engine computes in float32 and float64, not in {tensor.dtype}"
    return transformed("C++")


def transformed(engine: str) -> str | None:
    """Why an engine behind an operator cannot take tensors that are being transformed; ``None`` where none are."""
    if _under_torch_func():
        return f"the {engine} engine cannot be transformed by torch.func"
    if torch.compiler.is_compiling():
        return None
    if forward_ad._current_level >= 0:
        return f"the {engine} engine has no forward-mode derivatives"
    return None


#: Asked while tracing, by the interpreter itself: traced like other code it would always say yes.
_under_torch_func: Callable[[], bool] = torch.compiler.assume_constant_result(
    lambda: torch._C._functorch.peek_interpreter_stack() is not None
)


def power_law(
    x: Float[Tensor, "time batch inputs"],
    dt: Float[Tensor, "time batch"] | None,
    lengths: Int[Tensor, " batch"] | None,
    state: State,
    weights: Weights,
    *,
    epsilon: float,
    coupled: bool,
    reverse: bool = False,
    batch_first: bool = False,
) -> tuple[Float[Tensor, "time batch recurrent"], State]:
    """The power-law LSTM over time, as :func:`slowfade.engines.reference.run` defines it.

    ``batch_first`` lays the output out batch first in memory; its shape is time-major all the same.
    """
    dtype = weights.ih.dtype
    x, dt = x.to(dtype), None if dt is None else dt.to(dtype)
    keep = _gradient_wanted(x, dt, *state, *weights)
    output, h, c, age, _ = torch.ops.slowfade.power_law(
        x,
        dt,
        lengths,
        *state,
        weights.ih,
        weights.hh,
        weights.bias,
        weights.hr,
        weights.power.to(dtype),
        epsilon,
        coupled,
        reverse,
        batch_first,
        keep,
    )
    return output, (h, c, age)


def lstm(
    x: Float[Tensor, "time batch inputs"],
    lengths: Int[Tensor, " batch"] | None,
    h: Float[Tensor, "batch recurrent"],
    c: Float[Tensor, "batch hidden"],
    weight_ih: Float[Tensor, "gates_hidden inputs"],
    weight_hh: Float[Tensor, "gates_hidden recurrent"],
    bias: Float[Tensor, " gates_hidden"] | None = None,
    weight_hr: Float[Tensor, "recurrent hidden"] | None = None,
    *,
    reverse: bool = False,
    batch_first: bool = False,
) -> tuple[Float[Tensor, "time batch recurrent"], tuple[Tensor, Tensor]]:
    """The LSTM with ``nn.LSTM``'s equations and gate order (input, forget, cell, output), both biases added up."""
    keep = _gradient_wanted(x, h, c, weight_ih, weight_hh, bias, weight_hr)
    output, h_end, c_end, _ = torch.ops.slowfade.lstm(
        x, lengths, h, c, weight_ih, weight_hh, bias, weight_hr, reverse, batch_first, keep
    )
    return output, (h_end, c_end)


def _gradient_wanted(*tensors: Tensor | None) -> bool:
    """Whether the forward pass should keep what the backward one wants. What it did not keep is computed again."""
    # An exported program keeps the answer for good, and is there for inference.
    if torch.compiler.is_exporting():
        return False
    return torch.is_grad_enabled() and any(tensor is not None and tensor.requires_grad for tensor in tensors)


# What PyTorch has to know of the operators: shapes without data, gradients, autocast.

# The tensors each takes, in order; the gradients its backward operator returns are theirs, in the same order.
_POWER_LAW = ("x", "dt", "lengths", "h", "c", "age", "weight_ih", "weight_hh", "bias", "weight_hr", "power")
_LSTM = ("x", "lengths", "h", "c", "weight_ih", "weight_hh", "bias", "weight_hr")
# The bit that asks the engine for a gradient (csrc/library.cpp, `Wanted`).
BIT = {name: 1 << i for i, name in enumerate(name for name in _POWER_LAW if name != "lengths")}


def _sequence_like(x: Tensor, features: int, batch_first: bool) -> Tensor:
    steps, batch = x.shape[:2]
    if batch_first:
        return x.new_empty(batch, steps, features).transpose(0, 1)
    return x.new_empty(steps, batch, features)


def _register(
    name: str,
    tensors: tuple[str, ...],
    states: int,
    recompute: Callable[[dict[str, Any], tuple[Any, ...]], tuple[Tensor, ...]],
) -> None:
    """Tell PyTorch about one cell's two operators.

    Args:
        name: the operator; its backward one is ``name_backward``.
        tensors: the names of its tensor arguments, which come first.
        states: elementwise states it carries beside ``h``.
        recompute: the same outputs from the reference engine, for derivatives of derivatives.
    """
    operator, backward_operator = f"slowfade::{name}", getattr(torch.ops.slowfade, f"{name}_backward")
    count = len(tensors)
    differentiable = [tensor for tensor in tensors if tensor != "lengths"]

    def shapes(*arguments: Any) -> tuple[Tensor, ...]:
        given, (*options, batch_first, keep) = dict(zip(tensors, arguments, strict=False)), arguments[count:]
        x, h, c = given["x"], given["h"], given["c"]
        steps, batch = x.shape[:2]
        line = 64 // x.element_size()
        values = 6 if name == "power_law" and not options[1] else 5
        padded = (c.shape[1] + line - 1) // line * line
        kept = x.new_empty(steps, batch, values, padded) if keep else x.new_empty(0)
        ends = (x.new_empty(batch, part.shape[1]) for part in (h, *[c] * states))
        return _sequence_like(x, h.shape[1], batch_first), *ends, kept

    def backward_shapes(*arguments: Any) -> tuple[Tensor, ...]:
        arguments = arguments[2 + states :]
        given, (*_, batch_first, wanted) = dict(zip(tensors, arguments, strict=False)), arguments[count + 2 :]
        x = given["x"]

        def gradient(tensor: str) -> Tensor:
            if given[tensor] is None or not wanted & BIT[tensor]:
                return x.new_empty(0)
            if tensor == "x":
                return _sequence_like(x, x.shape[2], batch_first)
            return x.new_empty(given[tensor].shape)

        return tuple(map(gradient, differentiable))

    def save(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(output[-1])
        ctx.options = inputs[count:]
        ctx.save_for_backward(*inputs[:count], output[0], output[-1])

    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        *saved, output, kept = ctx.saved_tensors
        given = dict(zip(tensors, saved, strict=True))
        wanted = [tensor for tensor, needed in zip(tensors, ctx.needs_input_grad, strict=False) if needed]
        outside = gradients[:-1]
        if torch.is_grad_enabled():
            say_once("slowfade differentiates a gradient on its reference engine, which is slower")
            found = _differentiable_gradients(given, ctx.options, wanted, outside)
        else:
            mask = sum(BIT[tensor] for tensor in wanted)
            results = backward_operator(*outside, *saved, output, kept, *ctx.options[:-1], mask)
            found = dict(zip(differentiable, results, strict=True))
        return tuple(found[tensor] if tensor in wanted else None for tensor in tensors) + (None,) * len(ctx.options)

    def _differentiable_gradients(
        given: dict[str, Any], options: tuple[Any, ...], wanted: list[str], outside: tuple[Tensor | None, ...]
    ) -> dict[str, Tensor | None]:
        # Views, so that the derivatives are partial ones even where one input was computed from another.
        given = {key: tensor.view_as(tensor) if key in wanted else tensor for key, tensor in given.items()}
        outputs = recompute(given, options)
        used, weights = zip(*((o, g) for o, g in zip(outputs, outside, strict=True) if g is not None), strict=True)
        inputs = [given[tensor] for tensor in wanted]
        found = torch.autograd.grad(used, inputs, weights, create_graph=True, allow_unused=True)
        return dict(zip(wanted, found, strict=True))

    torch.library.register_fake(operator, shapes)
    torch.library.register_fake(f"{operator}_backward", backward_shapes)
    torch.library.register_autograd(operator, backward, setup_context=save)
    for device in ("cpu", "cuda"):
        torch.library.register_autocast(operator, device, torch.float32)


def _recompute_power_law(given: dict[str, Any], options: tuple[Any, ...]) -> tuple[Tensor, ...]:
    epsilon, coupled, reverse, *_ = options
    weights = Weights(*(given[name] for name in ("weight_ih", "weight_hh", "bias", "weight_hr", "power")))
    state = (given["h"], given["c"], given["age"])
    kept, end = reference.run(
        given["x"], given["dt"], given["lengths"], state, weights, epsilon=epsilon, coupled=coupled, reverse=reverse
    )
    return kept["hidden"], *end


def _recompute_lstm(given: dict[str, Any], options: tuple[Any, ...]) -> tuple[Tensor, ...]:
    output, end = reference.lstm(**given, reverse=options[0])
    return output, *end


if _library is not None:
    _register("power_law", _POWER_LAW, 2, _recompute_power_law)
    _register("lstm", _LSTM, 1, _recompute_lstm)
