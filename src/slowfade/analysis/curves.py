"""Learning curves, from the rows of a run's metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray


class Curve(NamedTuple):
    steps: Float[ndarray, " points"]
    values: Float[ndarray, " points"]
    solved: bool = False
    """The run ended because its task was solved: from then on it keeps its last value."""


def curve(rows: Sequence[Mapping[str, object]], measure: str, split: str = "validation") -> Curve:
    """One measure of one split over training, in the order of the steps."""
    points = sorted((row["step"], row[measure]) for row in rows if row["split"] == split and measure in row)
    steps, values = zip(*points, strict=True) if points else ((), ())
    return Curve(np.asarray(steps, dtype=float), np.asarray(values, dtype=float))


def steps_to(curve: Curve, level: float) -> float | None:
    """The first step at which a curve is at ``level`` or above; ``None`` where it never is."""
    reached = np.flatnonzero(curve.values >= level)
    return float(curve.steps[reached[0]]) if reached.size else None


def common_end(curves: Sequence[Curve]) -> float:
    """The step up to which curves can be compared.

    Those that were solved go on at their last value, so they do not count, unless all were: then it is the last step
    of all. What the others would have done after their last step nobody knows.
    """
    unsolved = [curve.steps[-1] for curve in curves if not curve.solved]
    return float(min(unsolved) if unsolved else max(curve.steps[-1] for curve in curves))


def mean_height(curve: Curve, until: float) -> float:
    """The mean of a curve over the steps up to ``until``: the higher, the sooner it was learned.

    Straight between points, flat before the first and after the last: see :func:`common_end`.
    """
    steps = np.unique(np.concatenate([[0.0], curve.steps[curve.steps < until], [until]]))
    values = np.interp(steps, curve.steps, curve.values)
    return float(np.sum(np.diff(steps) * (values[1:] + values[:-1]) / 2) / until)


def mean_curve(curves: Sequence[Curve]) -> tuple[Curve, Float[ndarray, " points"]]:
    """The mean over seeds at every step that any of them has, and the standard deviation (zero for one seed).

    It goes as far as :func:`common_end`.
    """
    steps = np.unique(np.concatenate([curve.steps for curve in curves]))
    steps = steps[steps <= common_end(curves)]
    heights = np.stack([np.interp(steps, curve.steps, curve.values) for curve in curves])
    spread = heights.std(0, ddof=1) if len(curves) > 1 else np.zeros_like(steps)
    return Curve(steps, heights.mean(0)), spread
