"""How memory fades: in closed form where nothing comes in, and as a trained network really does it.

The *free regime* (paper, section 2.2): no input after ``t_0``, and what leaks through the hidden state is ignored. Then
an LSTM keeps ``f_0 ** t`` of its cell and a power-law LSTM ``(t + 1) ** -p``.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor

from slowfade.cores.core import Core
from slowfade.gate import free_decay as power_law_decay

__all__ = [
    "exponential_decay",
    "exponential_half_life",
    "measured_decay",
    "power_law_decay",
    "power_law_half_life",
    "retained",
]


def exponential_decay(time: Tensor, rate: Tensor | float) -> Tensor:
    """What is left in an LSTM's cell after ``time`` steps of the free regime: ``f_0 ** t`` (paper, eq. 2)."""
    return rate**time


def exponential_half_life(rate: float) -> float:
    """Steps after which ``f_0 ** t`` is one half."""
    return math.log(0.5) / math.log(rate) if rate < 1 else math.inf


def power_law_half_life(power: float) -> float:
    """Steps after which ``(t + 1) ** -p`` is one half: ``2 ** (1 / p) - 1``."""
    return 2 ** (1 / power) - 1 if power > 1e-3 else math.inf


def retained(forget: Float[Tensor, "time ..."], start: int = 0) -> Float[Tensor, "later ..."]:
    """How much of the cell after step ``start`` is still in the cell at each later step: ``Π f_s``, 1 at ``start``.

    This is exact for any cell ``c_t = f_t c_{t-1} + i_t g_t``, whatever came in meanwhile: what enters is added, and
    what was there before is multiplied by ``f``.
    """
    kept = forget[start + 1 :].double().cumprod(0)
    return torch.cat([torch.ones_like(forget[:1], dtype=kept.dtype), kept])


@torch.no_grad()
def measured_decay(
    core: Core, x: Float[Tensor, "batch time inputs"], start: int, *, dt: Float[Tensor, "batch time"] | None = None
) -> Float[Tensor, "later units"]:
    """What a trained network keeps of its cells as they were after step ``start`` of real input, mean over the batch.

    Args:
        core: one whose trace has a forget gate (``powerlaw``, ``lstm``, ``chrono``, ``multiscale``).
        x: what the core is given, batch first whatever the core was built for.
    """
    if not core.batch_first:
        x, dt = x.transpose(0, 1), None if dt is None else dt.transpose(0, 1)
    trace = core.trace(x, dt=dt) if core.uses_time else core.trace(x)
    if "forget" not in trace:
        raise ValueError(f"{type(core).__name__} has no forget gate to measure: its trace has {', '.join(trace)}")
    forget = trace["forget"].transpose(0, 1) if core.batch_first else trace["forget"]
    return retained(forget, start).mean(1)
