"""Accuracy by length of the sequence (paper, figure 4)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike


class Bin(NamedTuple):
    """Sequences of ``low <= length < high``."""

    low: int
    high: int
    accuracy: float
    standard_error: float
    """Of a proportion: ``sqrt(m (1 - m) / n)``."""
    n: int


def accuracy_by_length(correct: ArrayLike, lengths: ArrayLike, edges: Sequence[int]) -> list[Bin]:
    """Mean and standard error over all sequences in each bin; bins without sequences are left out.

    Args:
        correct: ``(N,)``, whether each sequence was classified rightly; over several seeds, all of them in a row.
        lengths: ``(N,)``.
        edges: increasing; ``K + 1`` of them make ``K`` bins.
    """
    hits, lengths = np.asarray(correct, dtype=float), np.asarray(lengths)
    bins = []
    for low, high in pairwise(edges):
        inside = hits[(lengths >= low) & (lengths < high)]
        if inside.size:
            mean = float(inside.mean())
            bins.append(Bin(low, high, mean, math.sqrt(mean * (1 - mean) / inside.size), inside.size))
    return bins
