"""Switching units off (paper, section 5.3, figures 5 and A.5). Works on any core."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import NamedTuple

import torch
from jaxtyping import Bool
from torch import Tensor

from slowfade.training.model import Model


class Ablation(NamedTuple):
    counts: list[int]
    """How many units were silent."""
    values: list[float]
    """What was measured with so many silent."""


def ablation_curve(
    measure: Callable[[Sequence[int]], float], order: Sequence[int], *, step: int = 5, most: int = 100
) -> Ablation:
    """``measure(units)`` with the first 0, ``step``, 2 ``step``, ... up to ``most`` units of ``order`` silenced."""
    counts = list(range(0, min(most, len(order)) + 1, step))
    return Ablation(counts, [measure(order[:count]) for count in counts])


def random_order(units: int, *, seed: int) -> list[int]:
    """All units in an order drawn at random."""
    return torch.randperm(units, generator=torch.Generator().manual_seed(seed)).tolist()


def marked_first(marked: Bool[Tensor, " units"], *, seed: int) -> list[int]:
    """All units in an order drawn at random, but the marked ones (say, those that reset later) before the others."""
    order = random_order(len(marked), seed=seed)
    return sorted(order, key=lambda unit: not marked[unit])


def silenced(model: Model, units: Sequence[int]) -> Model:
    """A copy of a model in which some hidden units of the last layer are zero at every step."""
    copy = deepcopy(model)
    copy.core = copy.core.silenced(units)
    return copy
