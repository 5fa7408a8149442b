"""When units reset (paper, section 5.2 and figure A.4).

A unit's age ``a_t = t - k_t`` says how long ago it last let new information in. In the copying task most units keep
their age near zero, while a few let it grow through the whole delay: the paper's *later-reset units*, which do not
reset before reproduction starts.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


def later_reset_units(
    age: Float[Tensor, "batch time units"], first: int, last: int, *, share: float = 0.5, sequences: float = 0.5
) -> Bool[Tensor, " units"]:
    """Units that do not reset from step ``first`` to step ``last``.

    The rule: at ``last`` a unit is at least ``share`` as old as if it had never reset since ``first`` (``age >= share
    (last - first)``, that is ``k <= last - share (last - first)``), in at least ``sequences`` of the sequences. Resets
    are soft, so there must be a threshold; one half asks that ``k`` has stayed in the first half of the wait. The
    age at ``last`` alone decides: an earlier full reset would have made it small.

    Args:
        age: of every unit at every step.
        first, last: steps, counted from 0; in copying the last symbol to remember, and the last step of the delay.
    """
    if not 0 <= first < last < age.shape[1]:
        raise ValueError(f"first and last should be steps in order within {age.shape[1]}, got {first} and {last}")
    old = age[:, last] >= share * (last - first)
    return old.double().mean(0) >= sequences


def reset_order(age: Float[Tensor, "batch time units"], last: int) -> Int[Tensor, " units"]:
    """Units sorted for a heat map: those that are oldest at step ``last`` first."""
    return torch.argsort(age[:, last].mean(0), descending=True, stable=True)


def reference_times(age: Float[Tensor, "batch time units"]) -> Float[Tensor, "batch time units"]:
    """The paper's ``k_t = t - a_t`` for unit steps, ``t`` from 1 at the first step."""
    time = torch.arange(1, age.shape[1] + 1, dtype=age.dtype, device=age.device)
    return time[:, None] - age
