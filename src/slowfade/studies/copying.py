"""The copy memory task (paper, section 4.1 and figure 3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from matplotlib.figure import Figure

from slowfade.analysis.curves import steps_to
from slowfade.analysis.statistics import summary
from slowfade.studies import learning, style
from slowfade.studies.claims import Claim, Verdict, greater, untested
from slowfade.studies.experiment import Experiment
from slowfade.studies.study import Data, Preset, Scale, Study, Trained
from slowfade.studies.table import Cell, Table

NETWORKS = ("powerlaw", "chrono", "lstm")
NAMES = {"powerlaw": "power law", "chrono": "chrono", "lstm": "LSTM"}

#: A run has learned the task once it has this element accuracy (paper, section 5.2: "over 99%").
LEARNED = 0.99

SCALES: dict[Preset, Scale] = {
    "smoke": Scale(
        2,
        {"hidden": 16, "batch_size": 16, "max_steps": 2, "evaluate_every": 1},
        {"train_sequences": 64, "validation_sequences": 32},
        "a few steps of tiny networks on delays of 5 and 8: the figures mean nothing",
    ),
    "laptop": Scale(
        1, {"max_steps": 20_000}, departure="T = 200 only, one seed, at most 20,000 steps (26 epochs instead of 1,000)"
    ),
    "paper": Scale(5),
}
DELAYS: dict[Preset, tuple[str, ...]] = {"smoke": ("5", "8"), "laptop": ("200",), "paper": ("200", "500", "1000")}


def experiments(
    preset: Preset, delays: Iterable[str], networks: Iterable[str] = NETWORKS, seeds: int | None = None
) -> list[Experiment]:
    """Copying runs; every study that asks for the same shares them."""
    scale = SCALES[preset]
    return [
        Experiment("copying", network, seed, {"delay": delay, **scale.task_options}, {}, scale.training)
        for delay in delays
        for network in networks
        for seed in range(seeds or scale.seeds)
    ]


class CopyingStudy(Study):
    name = "copying"
    title = "Copying over a long delay"
    place = "figure 3"
    about = (
        "Ten symbols are to be kept over T steps and said again. Which networks learn it, and how soon? "
        "Paper: the power law learns at every T, sooner than chrono at 200 and 500; the plain LSTM fails at 500."
    )
    scales = SCALES

    def experiments(self, preset: Preset) -> list[Experiment]:
        return experiments(preset, DELAYS[preset])

    def analyse(self, preset: Preset, runs: Trained) -> Data:
        measures = {"accuracy": "validation", "sequence_accuracy": "validation", "loss": "validation"}
        curves = [
            entry
            for delay in DELAYS[preset]
            for network in NETWORKS
            for entry in learning.collect(runs.of(network, delay=delay), measures, delay=delay)
        ]
        return {"delays": list(DELAYS[preset]), "whole_budget": preset == "paper", "curves": curves}

    def claims(self, data: Data) -> list[Claim]:
        place = self.place
        soon = "mean height of the validation accuracy curve"
        claims = []
        for delay, slower in (("200", "lstm"), ("200", "chrono"), ("500", "chrono")):
            high = learning.heights(learning.pick(data["curves"], "accuracy", delay=delay))
            claims.append(
                greater(
                    f"T = {delay}: the power law converges faster than the {NAMES[slower]} network",
                    place,
                    high.get("powerlaw", []),
                    high.get(slower, []),
                    what=soon,
                    names=("power law", NAMES[slower]),
                )
            )
        claims += [learns(data, delay, "powerlaw", place) for delay in ("200", "500", "1000")]
        claims.append(fails_to_learn(data, "500", "lstm", place))
        return claims

    def tables(self, data: Data) -> list[Table]:
        return [table(data, self.name, "Copying: the best validation of each run")]

    def figures(self, data: Data) -> dict[str, Figure]:
        return {"copying": draw(data, "delay", [(delay, f"T = {delay}") for delay in data["delays"]])}


def table(data: Data, name: str, title: str) -> Table:
    """What each network came to, and how soon."""
    rows: list[tuple[Cell, ...]] = []
    for delay in data["delays"]:
        for network in NETWORKS:
            entries = [e for e in data["curves"] if (e["delay"], e["network"]) == (delay, network)]
            rows.append((delay, style.label(network), len(entries), *_row(entries)))
    columns = ("T", "network", "seeds", "accuracy", "all ten right", "loss", "steps to 0.5", "to 0.9", "to 0.99")
    note = (
        "The paper shows curves only. Mean ± standard deviation over seeds. Steps: the first validation at that "
        "accuracy, mean over the seeds that came so far, whose number stands behind."
    )
    return Table(name, title, columns, rows, digits=3, note=note)


def learns(data: Data, delay: str, network: str, place: str) -> Claim:
    """That a network learns the task, in every run."""
    text = f"T = {delay}: the {NAMES[network]} network learns the task"
    test = f"element accuracy of at least {LEARNED} on validation, in every seed"
    best = _best(data, delay, network)
    if not best:
        return untested(text, place, test)
    evidence = f"best accuracy {min(best):.3f} to {max(best):.3f}, n = {len(best)}"
    if min(best) >= LEARNED:
        return Claim(text, place, test, Verdict.HOLDS, evidence)
    if not data["whole_budget"]:
        return untested(text, place, test, f"{evidence}, when our shorter budget ended")
    return Claim(text, place, test, Verdict.FAILS, evidence)


def fails_to_learn(data: Data, delay: str, network: str, place: str) -> Claim:
    """That a network does not learn the task, in any run."""
    text = f"T = {delay}: the {NAMES[network]} network does not learn the task"
    test = f"element accuracy below {LEARNED} on validation after the paper's budget, in every seed"
    best = _best(data, delay, network)
    if not best:
        return untested(text, place, test)
    evidence = f"best accuracy {min(best):.3f} to {max(best):.3f}, n = {len(best)}"
    if max(best) >= LEARNED:
        return Claim(text, place, test, Verdict.FAILS, evidence)
    if not data["whole_budget"]:
        return untested(text, place, test, f"{evidence}, when our shorter budget ended")
    return Claim(text, place, test, Verdict.HOLDS, evidence)


def draw(data: Data, key: str, conditions: Sequence[tuple[Any, str]]) -> Figure:
    """Accuracy above, validation loss below; a column per condition."""
    figure, axes = style.grid(2, len(conditions))
    for column, (condition, title) in enumerate(conditions):
        for row, (measure, label) in enumerate((("accuracy", "accuracy"), ("loss", "validation loss"))):
            panel = axes[row][column]
            curves = learning.pick(data["curves"], measure, **{key: condition})
            learning.draw(panel, curves)
            panel.set_ylabel(label)
            if measure == "accuracy":
                panel.set_title(title)
                panel.set_ylim(0, 1.02)
            elif curves:
                panel.set_yscale("log")
            style.name_lines(panel)
    return figure


def _best(data: Data, delay: str, network: str) -> list[float]:
    curves = learning.pick(data["curves"], "accuracy", delay=delay).get(network, [])
    return [float(curve.values.max()) for curve in curves]


def _row(entries: list[Data]) -> list[Cell]:
    if not entries:
        return [None] * 6
    curves = {
        name: [learning.curve_of(entry, name) for entry in entries]
        for name in ("accuracy", "sequence_accuracy", "loss")
    }
    cells: list[Cell] = [
        summary([curve.values.max() for curve in curves["accuracy"]]),
        summary([curve.values.max() for curve in curves["sequence_accuracy"]]),
        summary([curve.values.min() for curve in curves["loss"]]),
    ]
    for level in (0.5, 0.9, 0.99):
        reached = [steps for curve in curves["accuracy"] if (steps := steps_to(curve, level)) is not None]
        cells.append(f"{summary(reached).mean:,.0f} ({len(reached)})" if reached else "not reached")
    return cells
