"""When units reset, and the p they learn (paper, section 5.2 and figure A.4)."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Bool
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from torch import Tensor

from slowfade.analysis.evaluation import batches
from slowfade.analysis.power import initial_power, trained_power
from slowfade.analysis.resets import later_reset_units, reference_times, reset_order
from slowfade.analysis.statistics import Summary, cohens_d, paired_t_test, summary, t_test
from slowfade.studies import copying, heatmap, style
from slowfade.studies.claims import Claim, greater, greater_within, probability, true_of_all
from slowfade.studies.experiment import Experiment
from slowfade.studies.published import published, value
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
    captions = (
        "Reference time of every unit over one test sequence of the first seed's network: a row that keeps its "
        "colour does not reset. Above the line, later-reset units; the dotted line is where reproduction starts.",
        "How many units have which p, before and after training, all seeds together.",
    )

    def experiments(self, preset: Preset) -> list[Experiment]:
        return copying.experiments(preset, DELAYS[preset], ["powerlaw"])

    def analyse(self, preset: Preset, runs: Trained) -> Data:
        return {
            "delays": list(DELAYS[preset]),
            "whole_budget": preset == "paper",
            "found": [
                _found(run, shown=number == 0)
                for delay in DELAYS[preset]
                for number, run in enumerate(runs.of("powerlaw", delay=delay))
            ],
        }

    def claims(self, data: Data) -> list[Claim]:
        found = {delay: [entry for entry in data["found"] if entry["delay"] == delay] for delay in ("200", "500")}
        claims = [
            (claim, entries)
            for delay, entries in found.items()
            for claim in (_a_fifth(delay, entries), _smaller_power(delay, entries))
        ]
        shift = greater_within(
            "T = 200: p shifts slightly to the right by training",
            "figure A.4",
            [(entry["trained"], entry["initial"]) for entry in found["200"]],
            what="p after and before",
            names=("after", "before"),
            over="units",
            paired=True,
        )
        larger = greater(
            "p is larger after T = 200 than after T = 500",
            "section 5.2",
            *([float(np.mean(entry["trained"])) for entry in entries] for entries in found.values()),
            what="mean p of each trained network",
            names=("T = 200", "T = 500"),
            published=value("resets", condition="delay 200") - value("resets", condition="delay 500"),
        )
        claims += [(shift, found["200"]), (larger, [entry for entries in found.values() for entry in entries])]
        return [
            copying.if_learned(claim, {"powerlaw": [entry["accuracy"] for entry in entries]}, data["whole_budget"])
            for claim, entries in claims
        ]

    def tables(self, data: Data) -> list[Table]:
        return [_comparison(data), _counts(data)]

    def figures(self, data: Data) -> dict[str, Figure]:
        shown = [entry for entry in data["found"] if entry["map"]]
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


def _found(run: Run, *, shown: bool) -> Data:
    age = ages(run, SEQUENCES)
    later = _later(age)
    end = age.shape[1] - COPIED - 1
    order = reset_order(age, end)
    order = torch.cat([order[later[order]], order[~later[order]]])
    return {
        "delay": run.config.task_options["delay"],
        "seed": run.config.training.seed,
        "accuracy": copying.best_accuracy(run),
        "initial": _rounded(initial_power(run.config)),
        "trained": _rounded(trained_power(run.model.core)),
        "later": later.tolist(),
        "later_by_share": {str(share): int(_later(age, share).sum()) for share in SHARES},
        "map": heatmap.packed(reference_times(age[:1])[0], order, end, later) if shown else None,
    }


def _rounded(power: Tensor) -> list[float]:
    return [round(p, 6) for p in power.tolist()]


def _a_fifth(delay: str, found: list[Data]) -> Claim:
    shares = [float(np.mean(entry["later"])) for entry in found]
    counts = ", ".join(str(sum(entry["later"])) for entry in found)
    return true_of_all(
        f"T = {delay}: around a fifth of the units reset later",
        "section 5.2",
        f"between 10 % and 30 % in every seed; {RULE}",
        [0.1 <= share <= 0.3 for share in shares],
        f"{counts} of {len(found[0]['later'])} units" if found else "",
    )


def _smaller_power(delay: str, found: list[Data]) -> Claim:
    def sides(entry: Data) -> tuple[list[float], list[float]]:
        power, later = np.asarray(entry["trained"]), np.asarray(entry["later"])
        return power[~later].tolist(), power[later].tolist()

    return greater_within(
        f"T = {delay}: later-reset units have smaller p than the others",
        "section 5.2",
        [sides(entry) for entry in found],
        what="p of the trained network",
        names=("others", "later-reset"),
        over="units",
        paired=False,
        lacking="a network has no later-reset units, or no others",
    )


def _comparison(data: Data) -> Table:
    found = {delay: [entry for entry in data["found"] if entry["delay"] == delay] for delay in ("200", "500")}
    ours: dict[str, Cell] = {}
    for delay, entries in found.items():
        if entries:
            ours[f"delay {delay}"] = summary([np.mean(entry["trained"]) for entry in entries])
            ours[f"later {delay}"] = summary([sum(entry["later"]) for entry in entries])
    seeds = {delay: {entry["seed"]: entry["trained"] for entry in entries} for delay, entries in found.items()}
    if pairs := [(seeds["200"][seed], seeds["500"][seed]) for seed in seeds["200"] if seed in seeds["500"]]:
        ours["t"] = summary([t_test(*pair, equal_variance=True).t for pair in pairs])
        ours["d"] = summary([cohens_d(*pair) for pair in pairs])
    rows: list[tuple[Cell, ...]] = []
    for number in published("resets"):
        mine = ours.get(number.condition)
        difference = mine.mean - number.value if isinstance(mine, Summary) else None
        rows.append((number.row, number.place, number.value, "not run" if mine is None else mine, difference))
    note = (
        "Mean ± standard deviation over seeds. t and d: of the units of one network trained at 200 against those "
        f"of one at 500, as the paper's; Student's test. Later-reset units: {RULE}."
    )
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
            f"{(paired := paired_t_test(entry['trained'], entry['initial'])).t:.2f}, {probability(paired.p)}",
        )
        for entry in data["found"]
    ]
    columns = ("T", "seed", "accuracy", *(f"later, {share:.0%}" for share in SHARES), "p before", "p after", "paired t")
    note = (
        "Later: units that reset later, at other thresholds than one half too. p: mean ± standard deviation over "
        "units. The paired t-test compares p of the same units after and before; the paper has no test of that."
    )
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
        for height, text, colour in (
            (0.9, "later-reset units", style.COLOURS["chrono"]),
            (0.8, "the others", style.MUTED),
        ):
            after.annotate(text, (1.02, height), xycoords="axes fraction", color=colour, size=8, annotation_clip=False)
        for panel in (before, after):
            panel.yaxis.set_major_locator(MaxNLocator("auto", integer=True))
            panel.set(xlabel="$p$", ylabel="units", xlim=(0, 1))
    return figure
