"""Copying with p fixed (paper, section 5.1 and figure A.3)."""

from __future__ import annotations

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from scipy import stats

from slowfade.analysis.curves import mean_curve, steps_to
from slowfade.analysis.statistics import summary
from slowfade.studies import copying, learning, style
from slowfade.studies.claims import LEVEL, Claim, Verdict, direction, probability, untested
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
#: Of small and of large p: both to be seen on a light and on a dark page.
SHADES = LinearSegmentedColormap.from_list("powers", [style.COLOURS["powerlaw"], "#9a7a9a", style.COLOURS["lstm"]])


class FixedPowerStudy(Study):
    name = "fixed-power"
    title = "Copying with p fixed"
    place = "section 5.1, figure A.3"
    about = (
        "All units keep one p throughout training. Paper: the smaller p, the sooner the task is learned; with p of 1 "
        "or more it is hardly learned at all."
    )
    scales = SCALES
    captions = (
        "Element accuracy on validation over training, by p (dashed: 1 or more): the mean over seeds, with "
        "a standard deviation as a band where there are several.",
    )

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
                rows.append((f"{power:g}", 0, None, None, "not run"))
                continue
            seeds = learning.seeds([entry for entry in data["curves"] if entry["power"] == power])
            best = summary([curve.values.max() for curve in curves])
            reached = [steps for curve in curves if (steps := steps_to(curve, 0.5)) is not None]
            height = summary(_heights(data)[power])
            rows.append(
                (f"{power:g}", seeds, best, height, f"{summary(reached).mean:,.0f}" if reached else "not reached")
            )
        columns = ("p", "seeds", "best accuracy", "mean height of the curve", "steps to 0.5")
        return [Table(self.name, f"Copying over T = {data['delay']} with p fixed", columns, rows, digits=3)]

    def figures(self, data: Data) -> dict[str, Figure]:
        figure, ((panel,),) = style.grid(width=4.2, height=2.8)
        shades = SHADES(np.linspace(0, 1, len(data["powers"])))
        every = {power: learning.pick(data["curves"], "accuracy", power=power) for power in data["powers"]}
        scale = learning.step_axis(panel, [curve for found in every.values() for curve in found.get("powerlaw", [])])
        for power, shade in zip(data["powers"], shades, strict=True):
            if curves := every[power].get("powerlaw"):
                mean, spread = mean_curve(curves)
                style.line(
                    panel,
                    mean.steps / scale,
                    mean.values,
                    "powerlaw",
                    spread=spread,
                    text=f"p = {power:g}",
                    dashed=power >= 1,
                    shade=shade,
                )
        panel.set(ylabel="accuracy", title=f"T = {data['delay']}", ylim=(0, 1.02))
        style.name_lines(panel)
        return {self.name: figure}


def _heights(data: Data) -> dict[float, list[float]]:
    """How soon each run learned, by p."""
    found = {power: learning.pick(data["curves"], "accuracy", power=power) for power in data["powers"]}
    curves = {power: networks["powerlaw"] for power, networks in found.items() if networks}
    return dict(zip(curves, learning.heights(*curves.values()), strict=True))


def _best(data: Data) -> dict[float, list[float]]:
    """What each run came to, by p."""
    found: dict[float, list[float]] = {}
    for entry in data["curves"]:
        if values := entry["curves"]["accuracy"][1]:
            found.setdefault(entry["power"], []).append(max(values))
    return found


def _smaller_is_sooner(data: Data, place: str) -> Claim:
    text = f"T = {data['delay']}: the smaller p, the sooner the task is learned"
    test = f"rank correlation (Spearman) of p with the mean height of the accuracy curve is negative, at {LEVEL:.0%}"
    pairs = [(power, height) for power, several in _heights(data).items() for height in several]
    if len(pairs) < 4:
        return untested(text, place, test, f"{len(pairs)} runs are too few")
    if not _begun(data):
        return untested(text, place, test, "no run has begun to learn")
    result = stats.spearmanr(*zip(*pairs, strict=True))
    correlation, p = float(result.statistic), float(result.pvalue)
    evidence = f"rank correlation {correlation:.2f}, {probability(p)}, n = {len(pairs)}"
    if not p < LEVEL:
        return Claim(text, place, test, Verdict.UNCLEAR, evidence, len(pairs))
    return Claim(text, place, test, Verdict.HOLDS if correlation < 0 else Verdict.FAILS, evidence, len(pairs))


def _large_do_not_learn(data: Data, place: str) -> Claim:
    text = f"T = {data['delay']}: networks with p of 1 or more have difficulty learning, those with smaller p learn"
    test = f"best accuracy of at least {copying.LEARNED} in every run with p < 1 and in none with p of 1 or more"
    best = _best(data)
    small = [value for power, values in best.items() if power < 1 for value in values]
    large = [value for power, values in best.items() if power >= 1 for value in values]
    if not small or not large:
        return untested(text, place, test)
    runs = min(len(small), len(large))
    evidence = f"p < 1: {min(small):.3f} to {max(small):.3f}; p of 1 or more: {min(large):.3f} to {max(large):.3f}"
    if max(large) >= copying.LEARNED:
        return Claim(text, place, test, Verdict.FAILS, evidence, runs)
    if learning.whole_budget(data, data["curves"]):
        return Claim(
            text, place, test, Verdict.HOLDS if min(small) >= copying.LEARNED else Verdict.FAILS, evidence, runs
        )
    evidence += ", before the paper's budget was spent"
    if not _begun(data):
        return untested(text, place, test, evidence)
    # The ranges apart are a direction; where they meet, nothing is said unless the means point the other way.
    verdict = direction(min(small), max(large))
    if verdict is Verdict.AGAINST and summary(small).mean >= summary(large).mean:
        verdict = Verdict.UNCLEAR
    return Claim(text, place, test, verdict, evidence, runs)


def _begun(data: Data) -> bool:
    """Whether any run is clearly above chance."""
    return max(value for values in _best(data).values() for value in values) >= copying.BEGUN
