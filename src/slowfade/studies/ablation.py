"""Switching units off (paper, section 5.3, figures 5 and A.5)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from slowfade.analysis.ablation import ablation_curve, marked_first, random_order, silenced
from slowfade.analysis.evaluation import measure
from slowfade.analysis.statistics import summary
from slowfade.studies import copying, resets, style
from slowfade.studies.claims import Claim, greater, greater_within
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
KEPT = "accuracy above chance kept, as a share of the whole network's, mean over the ablation curve"
"""Below chance nothing is kept: a network may say the dummy where a symbol is due, which is worse than guessing."""


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
    captions = (
        "Element accuracy against units silenced: the mean over orders of ablation and seeds, with their "
        "standard deviation as a band; dotted, chance.",
    )

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
        return {
            "delays": list(DELAYS[preset]),
            "sequences": SEQUENCES[preset],
            "draws": DRAWS[preset],
            "whole_budget": preset == "paper",
            "found": found,
        }

    def claims(self, data: Data) -> list[Claim]:
        claims = []
        for delay, figure in (("200", "figure 5"), ("500", "figure A.5")):
            kept = {key: _kept(data, delay, *key) for key in _keys(data, delay)}
            whole = {
                network: _curves_of(data, delay, network, RANDOM)[:, 0].tolist()
                for network, order in kept
                if order == RANDOM
            }
            random, later = (kept.get(("powerlaw", order), {}) for order in (RANDOM, LATER))
            for rival, name in (("lstm", "the LSTM"), ("chrono", "chrono")):
                claim = greater(
                    f"T = {delay}: the power law is more robust to random ablation than {name}",
                    figure,
                    *(
                        [float(np.mean(run)) for run in runs.values()]
                        for runs in (random, kept.get((rival, RANDOM), {}))
                    ),
                    what=KEPT,
                    names=("power law", style.label(rival)),
                )
                compared = {network: whole.get(network, []) for network in ("powerlaw", rival)}
                claims.append(copying.if_learned(claim, compared, data["whole_budget"]))
            claim = greater_within(
                f"T = {delay}: the power law loses more when the later-reset units go first",
                figure,
                [(run, later.get(seed, [])) for seed, run in random.items()],
                what=KEPT,
                names=("random order", LATER),
                over="draws of the order",
                paired=True,
                lacking="a network has no later-reset units",
            )
            claims.append(copying.if_learned(claim, {"powerlaw": whole.get("powerlaw", [])}, data["whole_budget"]))
        return claims

    def tables(self, data: Data) -> list[Table]:
        rows: list[tuple[Cell, ...]] = []
        for delay in data["delays"]:
            for network, order in _keys(data, delay):
                curves = _curves_of(data, delay, network, order)
                counts, units = next((e["counts"], e["units"]) for e in data["found"] if e["network"] == network)
                at = [summary(curves[:, _nearest(counts, share * units)].tolist()) for share in SILENCED]
                learned = curves[:, 0].min() >= copying.BEGUN
                kept = summary([share for run in _kept(data, delay, network, order).values() for share in run])
                rows.append((int(delay), style.label(network), order, len(curves), *at, kept if learned else None))
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
            f"order (of all seeds). Kept: {KEPT}; chance is 1/8, and a network below {copying.BEGUN:.2f} has "
            "nothing to keep."
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
            panel.axhline(copying.CHANCE, color=style.MUTED, linewidth=0.8, linestyle=":")
            panel.xaxis.set_major_locator(MaxNLocator("auto", integer=True))
            panel.set(title=f"T = {delay}", xlabel="units silenced", ylabel="accuracy", ylim=(0, 1.02))
            panel.margins(x=0)
            style.name_lines(panel)
        return {self.name: figure}


def _curves(run: Run, draws: int, sequences: int) -> list[Data]:
    """Curves of one run: random orders, and for the power law those with the later-reset units first, if it has any."""

    def accuracy(units: Sequence[int]) -> float:
        return measure(silenced(run.model, units), run.task, "accuracy", sequences=sequences)

    units = run.config.training.hidden
    orders = [(RANDOM, random_order(units, seed=draw)) for draw in range(draws)]
    if run.config.core == "powerlaw":
        later = resets.later_of(run, sequences=sequences)
        orders += [(LATER, marked_first(later, seed=draw)) for draw in range(draws) if later.any()]
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


def _kept(data: Data, delay: str, network: str, order: str) -> dict[int, list[float]]:
    """Of each seed's network, what each draw of the order left: see ``KEPT``."""
    key: tuple[str, str, str] = (delay, network, order)
    kept: dict[int, list[float]] = {}
    for entry in data["found"]:
        if (entry["delay"], entry["network"], entry["order"]) == key:
            above = np.maximum(np.asarray(entry["accuracy"]) - copying.CHANCE, 0)
            kept.setdefault(entry["seed"], []).append(float(above.mean() / above[0]) if above[0] else 0.0)
    return kept


def _nearest(counts: Sequence[int], count: float) -> int:
    return int(np.argmin(np.abs(np.asarray(counts) - count)))
