"""Switching units off (paper, section 5.3, figures 5 and A.5)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from slowfade.analysis.ablation import ablation_curve, marked_first, random_order, silenced
from slowfade.analysis.evaluation import measure
from slowfade.analysis.statistics import summary
from slowfade.studies import copying, resets, style
from slowfade.studies.claims import Claim, greater
from slowfade.studies.experiment import Experiment
from slowfade.studies.study import Data, Preset, Study, Trained
from slowfade.studies.table import Cell, Table
from slowfade.training import Run

DELAYS: dict[Preset, tuple[str, ...]] = {"smoke": ("5",), "laptop": ("200",), "paper": ("200", "500")}
DRAWS: dict[Preset, int] = {"smoke": 2, "laptop": 10, "paper": 10}
SEQUENCES: dict[Preset, int] = {"smoke": 16, "laptop": 256, "paper": 1000}
SILENCED = (0, 0.2, 0.4, 0.6)
"""Shares of the units that the table shows."""
RANDOM, LATER = "random", "later-reset first"


class AblationStudy(Study):
    name = "ablation"
    title = "Switching units off"
    place = "figures 5 and A.5"
    about = (
        "Units of the trained copying networks are silenced, five at a time up to 100 of 128, in random order or the "
        "later-reset units first. Paper: the power law loses least by random ablation, and most when the later-reset "
        "units go first."
    )
    scales = copying.SCALES

    def experiments(self, preset: Preset) -> list[Experiment]:
        return copying.experiments(preset, DELAYS[preset])

    def analyse(self, preset: Preset, runs: Trained) -> Data:
        found = [
            curve
            for delay in DELAYS[preset]
            for network in copying.NETWORKS
            for run in runs.of(network, delay=delay)
            for curve in _curves(run, DRAWS[preset], SEQUENCES[preset])
        ]
        return {"delays": list(DELAYS[preset]), "sequences": SEQUENCES[preset], "draws": DRAWS[preset], "found": found}

    def claims(self, data: Data) -> list[Claim]:
        claims = []
        for delay, figure in (("200", "figure 5"), ("500", "figure A.5")):
            several = len({entry["seed"] for entry in data["found"]}) > 1
            kept = {key: _kept(data, delay, *key, by_seed=several) for key in _keys(data, delay)}
            over = "seeds" if several else "orders of ablation of one network each"
            robust = kept.get(("powerlaw", RANDOM), [])
            for text, rival, name in (
                ("is more robust to random ablation than the LSTM", ("lstm", RANDOM), "LSTM"),
                ("is more robust to random ablation than chrono", ("chrono", RANDOM), "chrono"),
                ("loses more when the later-reset units go first", ("powerlaw", LATER), "later-reset first"),
            ):
                claims.append(
                    greater(
                        f"T = {delay}: the power law {text}",
                        figure,
                        robust,
                        kept.get(rival, []),
                        what="share of the whole network's accuracy kept, mean over the ablation curve",
                        names=("power law, random", name),
                        over=over,
                    )
                )
        return claims

    def tables(self, data: Data) -> list[Table]:
        rows: list[tuple[Cell, ...]] = []
        for delay in data["delays"]:
            for network, order in _keys(data, delay):
                curves = _curves_of(data, delay, network, order)
                counts, units = next((e["counts"], e["units"]) for e in data["found"] if e["network"] == network)
                at = [summary(curves[:, _nearest(counts, share * units)].tolist()) for share in SILENCED]
                kept = summary(_kept(data, delay, network, order, by_seed=False))
                rows.append((int(delay), style.label(network), order, len(curves), *at, kept))
        columns = (
            "T",
            "network",
            "order",
            "draws",
            "whole",
            *(f"{share:.0%} silent" for share in SILENCED[1:]),
            "kept",
        )
        note = (
            f"Element accuracy on {data['sequences']} test sequences, mean ± standard deviation over draws of the "
            "order (of all seeds). Kept: the mean of the curve as a share of the whole network's accuracy."
        )
        return [Table(self.name, "Accuracy with units silenced", columns, rows, note=note)]

    def figures(self, data: Data) -> dict[str, Figure]:
        figure, (panels,) = style.grid(1, len(data["delays"]), width=3.6, height=2.8)
        for panel, delay in zip(panels, data["delays"], strict=True):
            for network, order in _keys(data, delay):
                curves = _curves_of(data, delay, network, order)
                counts = next(e["counts"] for e in data["found"] if e["network"] == network)
                text = style.label(network) + (", later first" if order == LATER else "")
                style.line(
                    panel, counts, curves.mean(0), network, spread=curves.std(0), text=text, dashed=order == LATER
                )
            panel.set(title=f"T = {delay}", xlabel="units silenced", ylabel="accuracy", ylim=(0, 1.02))
            panel.margins(x=0)
            style.name_lines(panel)
        return {self.name: figure}


def _curves(run: Run, draws: int, sequences: int) -> list[Data]:
    """Curves of one run: random orders, and for the power law those with the later-reset units first."""

    def accuracy(units: Sequence[int]) -> float:
        return measure(silenced(run.model, units), run.task, "accuracy", sequences=sequences)

    units = run.config.training.hidden
    orders = [(RANDOM, random_order(units, seed=draw)) for draw in range(draws)]
    if run.config.core == "powerlaw":
        later = resets.later_of(run, sequences=sequences)
        orders += [(LATER, marked_first(later, seed=draw)) for draw in range(draws)]
    found = []
    for kind, order in orders:
        curve = ablation_curve(accuracy, order)
        found.append(
            {
                "network": run.config.core,
                "seed": run.config.training.seed,
                "delay": run.config.task_options["delay"],
                "units": units,
                "order": kind,
                "counts": curve.counts,
                "accuracy": [round(value, 5) for value in curve.values],
            }
        )
    return found


def _keys(data: Data, delay: str) -> list[tuple[str, str]]:
    """Which networks and orders there are, in the order found."""
    return list(dict.fromkeys((e["network"], e["order"]) for e in data["found"] if e["delay"] == delay))


def _curves_of(data: Data, delay: str, network: str, order: str) -> np.ndarray:
    """``(draws, counts)``."""
    key = (delay, network, order)
    return np.asarray([e["accuracy"] for e in data["found"] if (e["delay"], e["network"], e["order"]) == key])


def _kept(data: Data, delay: str, network: str, order: str, *, by_seed: bool) -> list[float]:
    """The mean of each curve over its start; the mean over the draws of each seed, or each draw."""
    key: tuple[str, str, str] = (delay, network, order)
    kept: dict[int, list[float]] = {}
    for entry in data["found"]:
        if (entry["delay"], entry["network"], entry["order"]) == key:
            share = float(np.mean(entry["accuracy"]) / entry["accuracy"][0]) if entry["accuracy"][0] else 0.0
            kept.setdefault(entry["seed"], []).append(share)
    if by_seed:
        return [float(np.mean(shares)) for shares in kept.values()]
    return [share for shares in kept.values() for share in shares]


def _nearest(counts: Sequence[int], count: float) -> int:
    return int(np.argmin(np.abs(np.asarray(counts) - count)))
