"""The power-law forget gate: the paper's equations, once, as plain functions on tensors.

The paper keeps a reference time ``k_t`` and absolute time ``t``. We keep the *age* ``a_t = t - k_t``, the time since
a unit last let new information in. It is the same gate (``docs/gate.md`` derives it) without a clock, and it stays
accurate however long the sequence is. For a sample that comes ``dt`` after the one before::

    r_t = σ(U_r x_t + W_r h_{t-1} + b_r)                                  reset
    q_t = 1 - r_t                                                         how much of the age is kept
    a_t = q_t (a_{t-1} + dt)                                              age, a_0 = 0
    f_t = ((q_t (a_{t-1} + 1) + ε) / (a_t + 1)) ** p                      forget; dt = 1: ((a_t + ε) / (a_t + 1)) ** p
    c_t = f_t c_{t-1} + i_t g_t                                           i_t = 1 - f_t, or a gate of its own
    h_t = o_t tanh(c_t)

Every function is elementwise and broadcasts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

__all__ = [
    "Forgetting",
    "PowerInit",
    "advance_age",
    "elapsed",
    "forget",
    "free_decay",
    "initial_power_logit",
    "log_forget",
    "power_law_gate",
    "reference_time",
    "reset_and_keep",
    "values_visible",
]

PowerInit = str | float | tuple[float, float]

#: Uniform draws stay this far from 0 and 1, where their logit is infinite.
POWER_MARGIN = 1e-6


class Forgetting(NamedTuple):
    """What the gate decides at one step."""

    reset: Float[Tensor, "*shape"]
    """``r``, how much new information is let in."""
    forget: Float[Tensor, "*shape"]
    """``f``, the share of the old cell that stays."""
    admit: Float[Tensor, "*shape"]
    """``1 - f``, the share of the candidate that enters when coupled; accurate where ``f`` is nearly 1."""
    age: Float[Tensor, "*shape"]
    """``a_t``, the age after this step."""


def reset_and_keep(logit: Float[Tensor, "*shape"]) -> tuple[Float[Tensor, "*shape"], Float[Tensor, "*shape"]]:
    """``r = σ(z)`` (paper, eq. 6) and ``q = 1 - r = σ(-z)``, each without the cancellation of ``1 - σ(z)``."""
    return torch.sigmoid(logit), torch.sigmoid(-logit)


def advance_age(age: Tensor, keep: Tensor, dt: Tensor | float = 1.0) -> Tensor:
    """``a_t = q_t (a_{t-1} + dt)``: the paper's ``k_t = r_t t + (1 - r_t) k_{t-1}`` (eq. 5) for ``a = t - k``."""
    return keep * (age + dt)


def log_forget(
    age: Tensor, reset: Tensor, keep: Tensor, power: Tensor | float, epsilon: float, dt: Tensor | float = 1.0
) -> Tensor:
    """``log f_t = p log((q (a + 1) + ε) / (q (a + dt) + 1))`` with ``a = a_{t-1}``.

    This is the paper's ``f_t = ((t - k_t + 1) / (t - Δt - k̃_t + 1 + ε)) ** -p`` (appendix A.1), which for unit steps is
    ``((t - k_t + 1) / (t - k_t + ε)) ** -p`` (section 3.3).

    An old memory forgets so little that the ratio is nearly 1 and its logarithm would be all rounding error.
    There we take ``log1p`` of (numerator - denominator) / denominator, a difference that ``r`` and ``q`` give exactly.
    """
    denominator = keep * (age + dt) + 1
    ratio = (keep * (age + 1) + epsilon) / denominator
    excess = (epsilon - (reset + keep * dt)) / denominator
    near_one = ratio > 0.5
    # Each branch sees a harmless value where the other is taken, so that neither can put a NaN into the gradient.
    return power * torch.where(
        near_one,
        torch.log1p(torch.where(near_one, excess, 0.0)),
        torch.log(torch.where(near_one, 1.0, ratio)),
    )


def forget(log_f: Float[Tensor, "*shape"]) -> tuple[Float[Tensor, "*shape"], Float[Tensor, "*shape"]]:
    """``f`` and ``1 - f`` from ``log f``; ``expm1`` keeps the digits of ``1 - f`` that a subtraction would lose."""
    return torch.exp(log_f), -torch.expm1(log_f)


def power_law_gate(
    logit: Tensor, age: Tensor, power: Tensor | float, *, epsilon: float = 1e-3, dt: Tensor | float = 1.0
) -> Forgetting:
    """The whole gate: from the reset gate's pre-activation and the age before, to ``f``, ``1 - f`` and the age after.

    Args:
        logit: ``U_r x_t + W_r h_{t-1} + b_r``.
        age: ``a_{t-1}``, zero at the start of a sequence.
        power: the decay exponent ``p``, one per unit.
        epsilon: keeps the gradient finite where a unit resets; below the smallest ``dt``.
        dt: time since the previous sample.
    """
    reset, keep = reset_and_keep(logit)
    f, admit = forget(log_forget(age, reset, keep, power, epsilon, dt))
    return Forgetting(reset, f, admit, advance_age(age, keep, dt))


def reference_time(age: Tensor, time: Tensor | float) -> Tensor:
    """The paper's ``k_t = t - a_t``."""
    return time - age


def free_decay(time: Tensor, power: Tensor | float) -> Tensor:
    """What is left of a memory after ``time`` with the reset closed and no input: ``(t + 1) ** -p`` (paper, eq. 3)."""
    return (time + 1) ** -power


def initial_power_logit(
    init: PowerInit, size: int, *, device: torch.device | None = None, dtype: torch.dtype | None = None
) -> Float[Tensor, " size"]:
    """``p̂ = logit(p)`` with ``p ~ U(0, 1)`` ("uniform"), ``p`` the given number, or ``p ~ U(low, high)``."""
    power = torch.empty(size, device=device, dtype=dtype).uniform_(*power_init_range(init))
    return torch.logit(power.clamp(POWER_MARGIN, 1 - POWER_MARGIN))


def power_init_range(init: PowerInit) -> tuple[float, float]:
    """The interval that ``init`` draws ``p`` from; ``ValueError`` where it is not one."""
    match init:
        case "uniform":
            return 0.0, 1.0
        case bool():
            pass
        case float() | int() if 0 < init < 1:
            return float(init), float(init)
        case (float() | int() as low, float() | int() as high) if 0 <= low < high <= 1:
            return float(low), float(high)
    raise ValueError(f"power_init should be 'uniform', a number in (0, 1) or a pair 0 <= low < high <= 1, got {init!r}")


def elapsed(
    timestamps: Tensor,
    start: Tensor | float | None = None,
    *,
    batch_first: bool = False,
    lengths: Tensor | Sequence[int] | None = None,
) -> Float[Tensor, "*shape"]:
    """Time since the previous sample, from timestamps in increasing order.

    Args:
        timestamps: ``(T, B)``, ``(B, T)`` with ``batch_first``, or ``(T,)``.
        start: when the state the sequence starts from was made; a number or ``(B,)``. ``None``: at the first sample,
            whose ``dt`` is then 0.
        lengths: ``(B,)``, the valid timestamps of right-padded rows. What follows may be anything; its ``dt`` is 0.

    Returns:
        ``dt``, shaped like ``timestamps``, ready for ``layer(x, dt=dt)``.
    """
    if timestamps.dim() not in (1, 2):
        raise ValueError(f"timestamps should be (T,), (T, B) or (B, T), got {timestamps.dim()} dimensions")
    # Integers become float64, which counts them exactly; float32 would lose the seconds of a clock counting from 1970.
    times = timestamps if timestamps.is_floating_point() else timestamps.double()
    axis = 1 if batch_first and times.dim() == 2 else 0
    first = times.narrow(axis, 0, min(1, times.shape[axis]))
    if start is not None:
        begin = torch.as_tensor(start, dtype=times.dtype, device=times.device)
        first = (begin.unsqueeze(axis) if begin.dim() == 1 and times.dim() == 2 else begin).expand_as(first)
    dt = torch.diff(times, dim=axis, prepend=first)
    if lengths is not None:
        counts = torch.as_tensor(lengths, device=times.device).unsqueeze(axis)
        where = torch.arange(times.shape[axis], device=times.device).unsqueeze(1 - axis)
        dt = torch.where(where < counts, dt, 0.0)
    if values_visible(dt) and bool((dt < 0).any()):
        raise ValueError("timestamps should not decrease, and should not lie before start")
    return dt if timestamps.is_floating_point() else dt.to(torch.get_default_dtype())


def values_visible(tensor: Tensor) -> bool:
    """Whether values can be looked at: not while a graph is being traced, nor under a ``torch.func`` transform."""
    transformed = torch._C._functorch.peek_interpreter_stack() is not None
    return not (torch.compiler.is_compiling() or transformed or tensor.is_meta)
