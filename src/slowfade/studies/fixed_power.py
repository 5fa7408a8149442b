"""Copying with p fixed (paper, section 5.1 and figure A.3)."""

from __future__ import annotations

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure
from scipy import stats

from slowfade.analysis.curves import mean_curve, steps_to
from slowfade.analysis.statistics import summary
from slowfade.studies import copying, learning, style
from slowfade.studies.claims import LEVEL, Claim, Verdict, probability, untested
from slowfade.studies.experiment import Experiment
from slowfade.studies.study import Data, Preset, Scale, Study, Trained
from slowfade.studies.table import Cell, Table

POWERS: dict[Preset, tuple[float, ...]] = {
    "smoke": (0.3, 1.5),
    "laptop": (0.1, 0.3, 0.6, 1.0, 1.5),
    "paper": (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.5, 2.0),
}
DELAYS: dict[Preset, str] = {"smoke": "5", "laptop": "50", "paper": "200"}


SCALES: dict[Preset, Scale] = {
    **copying.SCALES,
    "laptop": Scale(1, {"max_steps": 5_000}, departure="T = 50 instead of 200, one seed, 5,000 steps"),
    "paper": Scale(1, departure="the paper does not say which values of p it took, nor how many seeds: one each"),
}


class FixedPowerStudy(Study):
    name = "fixed-power"
    title = "Copying with p fixed"
    place = "section 5.1, figure A.3"
    about = (
        "All units keep one p throughout training. Paper: the smaller p, the sooner the task is learned; with p of 1 "
        "or more it is hardly learned at all."
    )
    scales = SCALES

    def experiments(self, preset: Preset) -> list[Experiment]:
        scale, delay = self.scales[preset], DELAYS[preset]
        return [
            Experiment(
                "copying", "powerlaw", seed, {"delay": delay, **scale.task_options}, {"power": power}, scale.training
            )
            for power in POWERS[preset]
            for seed in range(scale.seeds)
        ]

    def analyse(self, preset: Preset, runs: Trained) -> Data:
        curves = [
            entry
            for power in POWERS[preset]
            for entry in learning.collect(runs.of("powerlaw", power=power), {"accuracy": "validation"}, power=power)
        ]
        return {
            "delay": int(DELAYS[preset]),
            "powers": list(POWERS[preset]),
            "whole_budget": preset == "paper",
            "curves": curves,
        }

    def claims(self, data: Data) -> list[Claim]:
        return [_smaller_is_sooner(data, self.place), _large_do_not_learn(data, self.place)]

    def tables(self, data: Data) -> list[Table]:
        rows: list[tuple[Cell, ...]] = []
        for power in data["powers"]:
            curves = learning.pick(data["curves"], "accuracy", power=power).get("powerlaw", [])
            if not curves:
                rows.append((power, 0, None, None, "not run"))
                continue
            best = summary([curve.values.max() for curve in curves])
            reached = [steps for curve in curves if (steps := steps_to(curve, 0.5)) is not None]
            height = summary(_heights(data)[power])
            rows.append(
                (power, len(curves), best, height, f"{summary(reached).mean:,.0f}" if reached else "not reached")
            )
        columns = ("p", "seeds", "best accuracy", "mean height of the curve", "steps to 0.5")
        return [Table(self.name, f"Copying over T = {data['delay']} with p fixed", columns, rows, digits=3)]

    def figures(self, data: Data) -> dict[str, Figure]:
        figure, ((panel,),) = style.grid(width=4.2, height=2.8)
        shades = colormaps["viridis"](np.linspace(0.0, 0.85, len(data["powers"])))
        for power, shade in zip(data["powers"], shades, strict=True):
            curves = learning.pick(data["curves"], "accuracy", power=power).get("powerlaw", [])
            if curves:
                mean, spread = mean_curve(curves)
                steps = mean.steps / 1000
                panel.plot(
                    steps, mean.values, color=shade, linestyle="-" if power < 1 else "--", label=f"p = {power:g}"
                )
                panel.fill_between(
                    steps, mean.values - spread, mean.values + spread, color=shade, alpha=0.2, linewidth=0
                )
        panel.set(xlabel="training steps, thousands", ylabel="accuracy", title=f"T = {data['delay']}")
        panel.margins(x=0)
        style.name_lines(panel)
        return {self.name: figure}


def _heights(data: Data) -> dict[float, list[float]]:
    """How soon each run learned, by p."""
    last = max((entry["curves"]["accuracy"][0][-1] for entry in data["curves"]), default=0)
    found: dict[float, list[float]] = {}
    for entry in data["curves"]:
        height = learning.mean_height(learning.curve_of(entry, "accuracy"), float(last))
        found.setdefault(entry["power"], []).append(height)
    return found


def _smaller_is_sooner(data: Data, place: str) -> Claim:
    text = "the smaller p, the sooner the task is learned"
    test = f"rank correlation (Spearman) of p with the mean height of the accuracy curve is negative, at {LEVEL:.0%}"
    pairs = [(power, height) for power, several in _heights(data).items() for height in several]
    if len(pairs) < 4:
        return untested(text, place, test, f"{len(pairs)} runs are too few")
    result = stats.spearmanr(*zip(*pairs, strict=True))
    correlation, p = float(result.statistic), float(result.pvalue)
    evidence = f"rank correlation {correlation:.2f}, {probability(p)}, n = {len(pairs)}"
    if not p < LEVEL:
        return Claim(text, place, test, Verdict.UNCLEAR, evidence)
    return Claim(text, place, test, Verdict.HOLDS if correlation < 0 else Verdict.FAILS, evidence)


def _large_do_not_learn(data: Data, place: str) -> Claim:
    text = "networks with p of 1 or more have difficulty learning the task, those with smaller p learn it"
    test = f"best accuracy of at least {copying.LEARNED} in every run with p < 1 and in none with p of 1 or more"
    best = {entry["power"]: max(entry["curves"]["accuracy"][1]) for entry in data["curves"]}
    small = [value for power, value in best.items() if power < 1]
    large = [value for power, value in best.items() if power >= 1]
    if not small or not large:
        return untested(text, place, test)
    evidence = f"p < 1: {min(small):.3f} to {max(small):.3f}; p of 1 or more: {min(large):.3f} to {max(large):.3f}"
    if min(small) >= copying.LEARNED > max(large):
        return Claim(text, place, test, Verdict.HOLDS, evidence)
    if not data["whole_budget"] and max(large) < copying.LEARNED:
        leans = Verdict.LEANS if min(small) > max(large) else Verdict.AGAINST
        return Claim(text, place, test, leans, f"{evidence}, when our shorter budget ended")
    return Claim(text, place, test, Verdict.FAILS, evidence)
