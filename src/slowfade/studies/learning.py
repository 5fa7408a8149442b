"""Learning curves of a study's runs: as data, and drawn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from slowfade.analysis.curves import Curve, common_end, curve, mean_curve, mean_height
from slowfade.studies import style
from slowfade.studies.study import Data
from slowfade.training import Run

DIGITS = 6
UNFINISHED = "unfinished"


def collect(runs: Iterable[Run], measures: Mapping[str, str], **condition: Any) -> list[Data]:
    """One entry per run: ``{"network", "seed", "outcome", "curves": {measure: [steps, values]}, **condition}``.

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
                "outcome": run.result["outcome"] if run.result else UNFINISHED,
                "curves": {
                    name: [steps.astype(int).tolist(), [round(value, DIGITS) for value in values.tolist()]]
                    for name, (steps, values, _) in found.items()
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
    return curve(rows, measure, "")._replace(solved=entry["outcome"] == "solved")


def heights(*groups: Sequence[Curve]) -> list[list[float]]:
    """How soon each run of each group learned: the mean height of its curve over the steps all can be compared on."""
    curves = [curve for group in groups for curve in group]
    until = common_end(curves) if curves else 0.0
    return [[mean_height(curve, until) for curve in group] for group in groups]


def seeds(entries: Sequence[Data]) -> str:
    """How many runs there are, and how many of them have not ended."""
    unfinished = sum(entry["outcome"] == UNFINISHED for entry in entries)
    return f"{len(entries)} ({unfinished} {UNFINISHED})" if unfinished else str(len(entries))


def whole_budget(data: Data, entries: Iterable[Data]) -> bool:
    """Whether runs were given all the steps that the paper's had."""
    return data["whole_budget"] and all(entry["outcome"] != UNFINISHED for entry in entries)


def draw(axes: Axes, curves: Mapping[str, list[Curve]]) -> None:
    """A line per network, the mean over seeds, with the standard deviation as a band."""
    scale = step_axis(axes, [curve for several in curves.values() for curve in several])
    for network, several in curves.items():
        (steps, values, _), spread = mean_curve(several)
        style.line(axes, steps / scale, values, network, spread=spread)


def step_axis(axes: Axes, curves: Iterable[Curve]) -> int:
    """An axis of training steps, in thousands where they are many; what to divide steps by."""
    thousands = max((curve.steps[-1] for curve in curves), default=0) >= 2000
    axes.set_xlabel("training steps, thousands" if thousands else "training steps")
    axes.xaxis.set_major_locator(MaxNLocator("auto", integer=not thousands))
    axes.margins(x=0)
    return 1000 if thousands else 1
