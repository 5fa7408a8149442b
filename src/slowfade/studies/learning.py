"""Learning curves of a study's runs: as data, and drawn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from matplotlib.axes import Axes

from slowfade.analysis.curves import Curve, curve, mean_curve, mean_height
from slowfade.studies import style
from slowfade.studies.study import Data
from slowfade.training import Run

DIGITS = 6


def collect(runs: Iterable[Run], measures: Mapping[str, str], **condition: Any) -> list[Data]:
    """One entry per run: ``{"network", "seed", "curves": {measure: [steps, values]}, **condition}``.

    Args:
        measures: which, and the split of each.
    """
    entries = []
    for run in runs:
        found = {name: curve(run.metrics, name, split) for name, split in measures.items()}
        entries.append(
            {
                "network": run.config.core,
                "seed": run.config.training.seed,
                "curves": {
                    name: [steps.astype(int).tolist(), [round(value, DIGITS) for value in values.tolist()]]
                    for name, (steps, values) in found.items()
                },
                **condition,
            }
        )
    return entries


def pick(entries: Iterable[Data], measure: str, **condition: Any) -> dict[str, list[Curve]]:
    """The curves of one measure by network, as far as there are any."""
    found: dict[str, list[Curve]] = {}
    for entry in entries:
        if all(entry[name] == value for name, value in condition.items()):
            points = curve_of(entry, measure)
            if points.steps.size:
                found.setdefault(entry["network"], []).append(points)
    return found


def curve_of(entry: Data, measure: str) -> Curve:
    """One curve of one run."""
    rows = [{"step": step, "split": "", measure: value} for step, value in zip(*entry["curves"][measure], strict=True)]
    return curve(rows, measure, "")


def heights(curves: Mapping[str, list[Curve]]) -> dict[str, list[float]]:
    """The mean height of every curve over the steps that the longest has, by network: how soon each learned.

    Those that ended early keep their last value: they ended because the task was solved.
    """
    last = max((curve.steps[-1] for several in curves.values() for curve in several), default=0)
    return {network: [mean_height(curve, last) for curve in several] for network, several in curves.items()}


def draw(axes: Axes, curves: Mapping[str, list[Curve]]) -> None:
    """A line per network, the mean over seeds, with the standard deviation as a band."""
    thousands = max((curve.steps[-1] for several in curves.values() for curve in several), default=0) >= 2000
    scale = 1000 if thousands else 1
    for network, several in curves.items():
        mean, spread = mean_curve(several)
        style.line(axes, mean.steps / scale, mean.values, network, spread=spread)
    axes.set_xlabel("training steps, thousands" if thousands else "training steps")
    axes.margins(x=0)
