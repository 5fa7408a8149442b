"""When units reset, and the p they learn (paper, section 5.2 and figure A.4)."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Bool
from matplotlib.figure import Figure
from torch import Tensor

from slowfade.analysis.evaluation import batches
from slowfade.analysis.power import initial_power, trained_power
from slowfade.analysis.resets import later_reset_units, reference_times, reset_order
from slowfade.analysis.statistics import cohens_d, summary, t_test
from slowfade.studies import copying, heatmap, style
from slowfade.studies.claims import Claim, Verdict, greater, probability, untested
from slowfade.studies.experiment import Experiment
from slowfade.studies.published import published
from slowfade.studies.study import Data, Preset, Study, Trained
from slowfade.studies.table import Cell, Table
from slowfade.tasks.copying import COPIED
from slowfade.training import Run

DELAYS: dict[Preset, tuple[str, ...]] = {"smoke": ("5", "8"), "laptop": ("200",), "paper": ("200", "500")}
SEQUENCES = 128
SHARES = (0.25, 0.5, 0.75, 0.9)
RULE = (
    "a unit resets later if just before reproduction it is at least half as old as if it had not reset since the last "
    "symbol, in at least half of the sequences"
)


class ResetsStudy(Study):
    name = "resets"
    title = "When units reset, and the p they learn"
    place = "section 5.2, figure A.4"
    about = (
        "How do single units of the power-law network keep information over the delay? Paper: about a fifth of them do "
        "not reset before reproduction; these have small p; and p is smaller after training on T = 500 than on 200."
    )
    scales = copying.SCALES

    def experiments(self, preset: Preset) -> list[Experiment]:
        return copying.experiments(preset, DELAYS[preset], ["powerlaw"])

    def analyse(self, preset: Preset, runs: Trained) -> Data:
        return {
            "delays": list(DELAYS[preset]),
            "found": [_found(run) for delay in DELAYS[preset] for run in runs.of("powerlaw", delay=delay)],
        }

    def claims(self, data: Data) -> list[Claim]:
        claims = []
        for delay in ("200", "500"):
            found = [entry for entry in data["found"] if entry["delay"] == delay]
            claims.append(_a_fifth(delay, found))
            claims.append(_smaller_power(delay, found))
        before = [p for entry in data["found"] if entry["delay"] == "200" for p in entry["initial"]]
        after = [p for entry in data["found"] if entry["delay"] == "200" for p in entry["trained"]]
        claims.append(
            greater(
                "T = 200: p shifts slightly to the right by training",
                "figure A.4",
                after,
                before,
                what="p after and before",
                names=("after", "before"),
                over="units",
            )
        )
        claims.append(
            greater(
                "p is larger after T = 200 than after T = 500",
                "section 5.2",
                after,
                [p for entry in data["found"] if entry["delay"] == "500" for p in entry["trained"]],
                what="p of the trained networks",
                names=("T = 200", "T = 500"),
                over="units",
            )
        )
        return claims

    def tables(self, data: Data) -> list[Table]:
        return [_comparison(data), _counts(data)]

    def figures(self, data: Data) -> dict[str, Figure]:
        first = {entry["delay"]: entry for entry in reversed(data["found"])}
        shown = [first[delay] for delay in data["delays"] if delay in first]
        if not shown:
            return {}
        maps = heatmap.draw([(f"T = {entry['delay']}", entry["map"]) for entry in shown])
        return {"resets": maps, "powers": _powers(data)}


@torch.no_grad()
def ages(run: Run, sequences: int) -> Tensor:
    """Ages ``(batch, time, units)`` of a trained power-law network on test sequences."""
    return torch.cat(
        [run.model.core.trace(run.model.encoder(batch.inputs))["age"] for batch in batches(run.task, sequences)]
    )


def later_of(run: Run, *, sequences: int = SEQUENCES, share: float = 0.5) -> Bool[Tensor, " units"]:
    """The later-reset units of a network trained on copying with one delay."""
    return _later(ages(run, min(sequences, SEQUENCES)), share)


def _later(age: Tensor, share: float = 0.5) -> Bool[Tensor, " units"]:
    """From the last of the ten symbols to the last step before the signal."""
    return later_reset_units(age, COPIED - 1, age.shape[1] - COPIED - 1, share=share)


def _found(run: Run) -> Data:
    age = ages(run, SEQUENCES)
    later = _later(age)
    end = age.shape[1] - COPIED - 1
    order = reset_order(age, end)
    order = torch.cat([order[later[order]], order[~later[order]]])
    return {
        "delay": run.config.task_options["delay"],
        "seed": run.config.training.seed,
        "accuracy": max(row["accuracy"] for row in run.metrics if row["split"] == "validation"),
        "initial": _rounded(initial_power(run.config)),
        "trained": _rounded(trained_power(run.model.core)),
        "later": later.tolist(),
        "later_by_share": {str(share): int(_later(age, share).sum()) for share in SHARES},
        "map": heatmap.packed(reference_times(age[:1])[0], order, end, later),
    }


def _rounded(power: Tensor) -> list[float]:
    return [round(p, 6) for p in power.tolist()]


def _a_fifth(delay: str, found: list[Data]) -> Claim:
    text = f"T = {delay}: around a fifth of the units reset later"
    test = f"between 10 % and 30 % in every seed; {RULE}"
    if not found:
        return untested(text, "section 5.2", test)
    shares = [float(np.mean(entry["later"])) for entry in found]
    holds = all(0.1 <= share <= 0.3 for share in shares)
    counts = ", ".join(str(sum(entry["later"])) for entry in found)
    evidence = f"{counts} of {len(found[0]['later'])} units"
    return Claim(text, "section 5.2", test, Verdict.HOLDS if holds else Verdict.FAILS, evidence)


def _smaller_power(delay: str, found: list[Data]) -> Claim:
    marked = [(p, later) for entry in found for p, later in zip(entry["trained"], entry["later"], strict=True)]
    return greater(
        f"T = {delay}: later-reset units have smaller p than the others",
        "section 5.2",
        [p for p, later in marked if not later],
        [p for p, later in marked if later],
        what="p of the trained network",
        names=("others", "later-reset"),
        over="units",
    )


def _comparison(data: Data) -> Table:
    powers = {
        delay: [p for entry in data["found"] if entry["delay"] == delay for p in entry["trained"]]
        for delay in ("200", "500")
    }
    ours: dict[str, Cell] = {}
    for delay, values in powers.items():
        if values:
            ours[f"delay {delay}"] = summary(values)
            ours[f"later {delay}"] = summary([sum(e["later"]) for e in data["found"] if e["delay"] == delay])
    if all(powers.values()):
        student = t_test(powers["200"], powers["500"], equal_variance=True)
        ours["t"], ours["d"] = student.t, cohens_d(powers["200"], powers["500"])
    rows: list[tuple[Cell, ...]] = []
    for number in published("resets"):
        mine = ours.get(number.condition)
        value = getattr(mine, "mean", mine)
        difference = value - number.value if isinstance(value, float) else None
        rows.append((number.row, number.place, number.value, "not run" if mine is None else mine, difference))
    note = "p: mean ± standard deviation over units of all seeds; t: Student's test over units, as the paper's; "
    note += f"later-reset units: {RULE}."
    return Table(
        "resets", "Learned p and later-reset units", ("", "place", "published", "ours", "difference"), rows, note=note
    )


def _counts(data: Data) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (
            int(entry["delay"]),
            entry["seed"],
            entry["accuracy"],
            *(entry["later_by_share"][str(share)] for share in SHARES),
            summary(entry["initial"]),
            summary(entry["trained"]),
            f"{(paired := t_test(entry['trained'], entry['initial'])).t:.2f}, {probability(paired.p)}",
        )
        for entry in data["found"]
    ]
    columns = ("T", "seed", "accuracy", *(f"later, {share:.0%}" for share in SHARES), "p before", "p after", "Welch")
    note = "Later: units that reset later, at other thresholds than one half. Welch's test compares p after and before."
    return Table("resets-runs", "Each network", columns, rows, note=note)


def _powers(data: Data) -> Figure:
    """Histograms of p before and after, later-reset units marked."""
    delays = [delay for delay in data["delays"] if any(entry["delay"] == delay for entry in data["found"])]
    figure, rows = style.grid(len(delays), 2, height=2.0)
    edges = np.linspace(0, 1, 21).tolist()
    for (before, after), delay in zip(rows, delays, strict=True):
        entries = [entry for entry in data["found"] if entry["delay"] == delay]
        initial = np.concatenate([entry["initial"] for entry in entries])
        trained = np.concatenate([entry["trained"] for entry in entries])
        later = np.concatenate([entry["later"] for entry in entries])
        before.hist(initial, edges, color=style.MUTED)
        after.hist([trained[later], trained[~later]], edges, stacked=True, color=[style.COLOURS["chrono"], style.MUTED])
        after.set_title(f"T = {delay}, after training")
        before.set_title(f"T = {delay}, before training")
        after.text(
            0.98,
            0.95,
            "later-reset units",
            color=style.COLOURS["chrono"],
            transform=after.transAxes,
            ha="right",
            va="top",
            size=8,
        )
        after.text(0.98, 0.85, "the others", color=style.MUTED, transform=after.transAxes, ha="right", va="top", size=8)
        for panel in (before, after):
            panel.set(xlabel="$p$", ylabel="units", xlim=(0, 1))
    return figure
