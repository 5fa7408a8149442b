"""The copy memory task (paper, section 4.1 and figure 3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from slowfade.analysis.curves import common_end, steps_to
from slowfade.analysis.statistics import summary
from slowfade.studies import learning, style
from slowfade.studies.claims import Claim, Verdict, greater, untested
from slowfade.studies.experiment import Experiment
from slowfade.studies.study import Data, Preset, Scale, Study, Trained
from slowfade.studies.table import Cell, Table
from slowfade.tasks.copying import TARGETS
from slowfade.training import Run

NETWORKS = ("powerlaw", "chrono", "lstm")

#: A run has learned the task once it has this element accuracy (paper, section 5.2: "over 99%").
LEARNED = 0.99
#: Element accuracy of guessing one of the eight symbols. The paper has 1/9 (appendix A.4).
CHANCE = 1 / TARGETS
#: Clearly above chance: a run has learned something.
BEGUN = 2 * CHANCE

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
    "paper": Scale(
        5,
        departure="the paper does not say how many seeds figure 3 has (five here, as in A.2), whether gradients "
        "are clipped (here at a norm of 1), nor when it stops (here once 99.9 % of sequences are right, else after "
        "the 1,000 epochs of section 5.1)",
    ),
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


CURVES = (
    "Element accuracy and loss on validation over training: the mean over seeds, with a standard deviation as a band "
    "where there are several."
)


class CopyingStudy(Study):
    name = "copying"
    title = "Copying over a long delay"
    place = "figure 3"
    about = (
        "Ten symbols are to be kept over T steps and said again. Which networks learn it, and how soon? "
        "Paper: the power law learns at every T, sooner than chrono at 200 and 500; the plain LSTM fails at 500."
    )
    captions = (CURVES,)
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
        faster = [("200", "lstm"), ("200", "chrono"), ("500", "chrono")]
        return [
            *(_converges_faster(data, delay, slower, self.place) for delay, slower in faster),
            *(learns(data, delay, "powerlaw", self.place) for delay in ("200", "500", "1000")),
            learns(data, "500", "lstm", self.place, claimed=False),
        ]

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
            rows.append((delay, style.label(network), learning.seeds(entries), *_row(entries)))
    columns = ("T", "network", "seeds", "accuracy", "all ten right", "loss", "steps to 0.5", "to 0.9", "to 0.99")
    note = (
        "The paper shows curves only. Mean ± standard deviation over seeds. Steps: the first validation at that "
        "accuracy, mean over the seeds that came so far, whose number stands behind."
    )
    return Table(name, title, columns, rows, digits=3, note=note)


def learns(data: Data, delay: str, network: str, place: str, *, claimed: bool = True) -> Claim:
    """That a network learns the task in every run; or, as ``claimed`` says, in none."""
    text = f"T = {delay}: the {style.label(network)} network {'learns' if claimed else 'does not learn'} the task"
    test = f"element accuracy of at least {LEARNED} on validation, in {'every' if claimed else 'no'} seed"
    entries = [entry for entry in data["curves"] if (entry["delay"], entry["network"]) == (delay, network)]
    best = [max(entry["curves"]["accuracy"][1]) for entry in entries if entry["curves"]["accuracy"][1]]
    if not best:
        return untested(text, place, test)
    evidence = f"best accuracy {min(best):.3f} to {max(best):.3f}, n = {len(best)}"
    learned = [value >= LEARNED for value in best]
    # That a run has learned stays so; that one has not may be for want of steps.
    decided = all(learned) if claimed else any(learned)
    if not decided and not learning.whole_budget(data, entries):
        return untested(text, place, test, f"{evidence}, before the paper's budget was spent")
    return Claim(text, place, test, Verdict.HOLDS if decided == claimed else Verdict.FAILS, evidence, len(best))


def if_learned(claim: Claim, accuracy: Mapping[str, Sequence[float]], whole_budget: bool) -> Claim:
    """A claim about trained networks, not tested unless all runs of all of them have learned the task.

    One that has not has nothing to lose or to carry over. After a shorter budget than the paper's, which can show
    directions only, having clearly begun to learn is enough.

    Args:
        accuracy: of the whole networks on the delay they were trained on, by network.
    """
    if claim.verdict is Verdict.UNTESTED:
        return claim
    found = ", ".join(f"{style.label(network)} {min(values):.3f}" for network, values in accuracy.items())
    level = LEARNED if whole_budget else BEGUN
    if min(min(values) for values in accuracy.values()) < level:
        return claim._replace(verdict=Verdict.UNTESTED, evidence=f"not every network had learned: accuracy {found}")
    return claim._replace(evidence=f"{claim.evidence}; accuracy of the whole networks: {found}")


def best_accuracy(run: Run) -> float:
    """On validation: what the weights that are analysed came to."""
    return max(row["accuracy"] for row in run.metrics if row["split"] == "validation")


def _converges_faster(data: Data, delay: str, slower: str, place: str) -> Claim:
    curves = learning.pick(data["curves"], "accuracy", delay=delay)
    fast, slow = curves.get("powerlaw", []), curves.get(slower, [])
    claim = greater(
        f"T = {delay}: the power law converges faster than the {style.label(slower)} network",
        place,
        *learning.heights(fast, slow),
        what="mean height of the validation accuracy curve",
        names=("power law", style.label(slower)),
    )
    if claim.verdict is Verdict.UNTESTED:
        return claim
    until = common_end([*fast, *slow])
    best = max(float(curve.values[curve.steps <= until].max(initial=0)) for curve in [*fast, *slow])
    if best >= BEGUN:
        return claim
    return claim._replace(
        verdict=Verdict.UNTESTED, evidence=f"neither has begun to learn: {best:.3f} by step {until:,.0f}"
    )


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
