"""The GPU engine: the CUDA implementation of the operators that ``slowfade.engines.cpu`` tells PyTorch about.

Shapes, gradients, autocast and double backward are therefore the same on both devices. The kernels themselves
(``slowfade.engines.triton_kernels``) are imported, and compiled, when a sequence on a GPU first needs them.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from slowfade.engines import cpu

if TYPE_CHECKING:
    from slowfade.engines.triton_kernels import Gradients

__all__ = ["why_not"]

Found = list[Tensor]
Given = Tensor | None


def why_not(x: Tensor, *others: Tensor | None, projected: bool = False) -> str | None:
    """Why the engine cannot take these tensors; ``None`` where it can. ``x`` is cast to the others' type."""
    if x.device.type != "cuda":
        return f"the Triton engine runs on CUDA devices, and x is on {x.device}"
    if find_spec("triton") is None:
        return "the Triton engine needs the package triton"
    if not cpu.variants():
        return "the Triton engine runs under the operators of the C++ engine, which was not built"
    if projected:
        return "the Triton engine has no projection (proj_size)"
    for tensor in others:
        if tensor is not None and tensor.dtype != torch.float32:
            return f"the Triton engine computes in float32, not in {tensor.dtype}"
    return cpu.transformed("Triton")


def _power_law(
    x: Tensor, dt: Given, lengths: Given, h: Tensor, c: Tensor, age: Tensor, ih: Tensor, hh: Tensor, bias: Given,
    hr: Given, power: Tensor, epsilon: float, coupled: bool, reverse: bool, batch_first: bool, keep: bool,
) -> tuple[Tensor, ...]:  # fmt: skip
    from slowfade.engines import triton_kernels as kernels

    cell = kernels.POWER_LAW_COUPLED if coupled else kernels.POWER_LAW
    problem = kernels.Problem(cell.value, x, dt, lengths, h, c, age, ih, hh, bias, power, epsilon, reverse, batch_first)
    return tuple(kernels.run_forward(problem, keep))


def _power_law_backward(
    doutput: Given, dh: Given, dc: Given, dage: Given, x: Tensor, dt: Given, lengths: Given, h: Tensor, c: Tensor,
    age: Tensor, ih: Tensor, hh: Tensor, bias: Given, hr: Given, power: Tensor, output: Tensor, kept: Tensor,
    epsilon: float, coupled: bool, reverse: bool, batch_first: bool, wanted: int,
) -> tuple[Tensor, ...]:  # fmt: skip
    from slowfade.engines import triton_kernels as kernels

    cell = kernels.POWER_LAW_COUPLED if coupled else kernels.POWER_LAW
    problem = kernels.Problem(cell.value, x, dt, lengths, h, c, age, ih, hh, bias, power, epsilon, reverse, batch_first)
    found = kernels.run_backward(problem, output, kept, doutput, dh, dc, dage)
    return _only(found, wanted, ("x", "dt", "h", "c", "age", "ih", "hh", "bias", "hr", "power"), x)


def _lstm(
    x: Tensor, lengths: Given, h: Tensor, c: Tensor, ih: Tensor, hh: Tensor, bias: Given, hr: Given, reverse: bool,
    batch_first: bool, keep: bool,
) -> tuple[Tensor, ...]:  # fmt: skip
    from slowfade.engines import triton_kernels as kernels

    problem = kernels.Problem(
        kernels.LSTM.value, x, None, lengths, h, c, None, ih, hh, bias, None, 0.0, reverse, batch_first
    )
    return tuple(kernels.run_forward(problem, keep))


def _lstm_backward(
    doutput: Given, dh: Given, dc: Given, x: Tensor, lengths: Given, h: Tensor, c: Tensor, ih: Tensor, hh: Tensor,
    bias: Given, hr: Given, output: Tensor, kept: Tensor, reverse: bool, batch_first: bool, wanted: int,
) -> tuple[Tensor, ...]:  # fmt: skip
    from slowfade.engines import triton_kernels as kernels

    problem = kernels.Problem(
        kernels.LSTM.value, x, None, lengths, h, c, None, ih, hh, bias, None, 0.0, reverse, batch_first
    )
    found = kernels.run_backward(problem, output, kept, doutput, dh, dc, None)
    return _only(found, wanted, ("x", "h", "c", "ih", "hh", "bias", "hr"), x)


def _only(found: Gradients, wanted: int, names: tuple[str, ...], like: Tensor) -> tuple[Tensor, ...]:
    """The gradients asked for, in the operator's order; empty where there is none."""
    gradients = (getattr(found, name, None) if wanted & cpu.BIT[_FULL.get(name, name)] else None for name in names)
    return tuple(like.new_empty(0) if gradient is None else gradient for gradient in gradients)


_FULL = {"ih": "weight_ih", "hh": "weight_hh", "hr": "weight_hr"}

if cpu.variants():
    _implementations = torch.library.Library("slowfade", "IMPL", "CUDA")
    for _name, _function in {
        "power_law": _power_law,
        "power_law_backward": _power_law_backward,
        "lstm": _lstm,
        "lstm_backward": _lstm_backward,
    }.items():
        _implementations.impl(_name, _function)
