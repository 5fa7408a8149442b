"""Networks trained on one delay, tested on others (paper, appendix C and figure A.2)."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from slowfade.analysis.generalisation import accuracy_at_delay
from slowfade.analysis.statistics import summary
from slowfade.studies import copying, style
from slowfade.studies.claims import LEVEL, Claim, Verdict, direction, greater, untested
from slowfade.studies.experiment import Experiment
from slowfade.studies.study import Data, Preset, Study, Trained
from slowfade.studies.table import Cell, Table
from slowfade.tasks.copying import COPIED

TRAINED: dict[Preset, tuple[str, ...]] = {"smoke": ("5",), "laptop": ("200",), "paper": ("200", "500")}
TESTED: dict[Preset, tuple[int, ...]] = {
    "smoke": (3, 5, 40),
    "laptop": (50, 100, 150, 200, 300, 500, 700, 1000, 1500, 2000),
    "paper": (50, 100, 150, 200, 300, 400, 500, 700, 1000, 1500, 2000),
}
SEQUENCES: dict[Preset, int] = {"smoke": 16, "laptop": 512, "paper": 2000}


class GeneralisationStudy(Study):
    name = "generalisation"
    title = "From one delay to others"
    place = "figure A.2"
    about = (
        "Networks trained to copy over one delay are tested on others, 50 to 2000. Paper, trained at 200: all stay "
        "above chance; the LSTM is best on shorter delays, chrono on longer, the power law between."
    )
    scales = copying.SCALES
    captions = (
        "Element accuracy against the delay tested: the mean over seeds, with a standard deviation as "
        "a band where there are several; dotted, chance; the upright line is the delay trained on.",
    )

    def experiments(self, preset: Preset) -> list[Experiment]:
        return copying.experiments(preset, TRAINED[preset])

    def analyse(self, preset: Preset, runs: Trained) -> Data:
        return {
            "sequences": SEQUENCES[preset],
            "tested": list(TESTED[preset]),
            "whole_budget": preset == "paper",
            "found": [
                {
                    "network": network,
                    "trained": int(trained),
                    "seed": run.config.training.seed,
                    "whole": copying.best_accuracy(run),
                    "accuracy": [
                        accuracy_at_delay(run.model, delay, sequences=SEQUENCES[preset]) for delay in TESTED[preset]
                    ],
                }
                for trained in TRAINED[preset]
                for network in copying.NETWORKS
                for run in runs.of(network, delay=trained)
            ],
        }

    def claims(self, data: Data) -> list[Claim]:
        claims = []
        for trained in (200, 500):
            claims.append(_gated(_above_chance(data, trained, self.place), data, trained))
        for text, trained, side, winner in (
            ("the LSTM generalises best to shorter delays", 200, "shorter", "lstm"),
            ("chrono generalises best to longer delays", 200, "longer", "chrono"),
            ("the power law generalises best to shorter delays", 500, "shorter", "powerlaw"),
        ):
            means = _means(data, trained, side)
            rivals = [network for network in means if network != winner]
            best = max(rivals, key=lambda network: summary(means[network]).mean, default="")
            claim = greater(
                f"trained at {trained}: {text}",
                self.place,
                means.get(winner, []),
                means.get(best, []),
                what=f"mean accuracy over the {side} delays, against the better of the others",
                names=(style.label(winner), style.label(best) if best else "others"),
            )
            claims.append(_gated(claim, data, trained))
        claims.append(_gated(_between(data, self.place), data, 200))
        return claims

    def tables(self, data: Data) -> list[Table]:
        rows: list[tuple[Cell, ...]] = []
        for trained in sorted({entry["trained"] for entry in data["found"]}):
            for network in copying.NETWORKS:
                accuracies = _accuracies(data, trained).get(network)
                if accuracies is not None:
                    whole = summary(_whole(data, trained)[network])
                    rows.append((trained, style.label(network), len(accuracies), whole, *map(summary, accuracies.T)))
        columns = ("trained at", "network", "seeds", "validation", *(f"T = {delay}" for delay in data["tested"]))
        note = (
            f"Element accuracy on {data['sequences']} new sequences of each delay, mean ± standard deviation over "
            "seeds. Guessing among the eight symbols gives 0.125; the paper takes 1/9 for chance."
        )
        return [Table(self.name, "Copying over delays not trained on", columns, rows, note=note)]

    def figures(self, data: Data) -> dict[str, Figure]:
        trained = sorted({entry["trained"] for entry in data["found"]})
        figure, (panels,) = style.grid(1, max(len(trained), 1), height=2.6)
        for panel, delay in zip(panels, trained, strict=False):
            for network, accuracies in _accuracies(data, delay).items():
                spread = accuracies.std(0, ddof=1) if len(accuracies) > 1 else None
                style.line(panel, data["tested"], accuracies.mean(0), network, spread=spread, marker="o")
            panel.axhline(copying.CHANCE, color=style.MUTED, linewidth=0.8, linestyle=":")
            panel.axvline(delay, color=style.MUTED, linewidth=0.8)
            panel.set_xscale("log")
            panel.set_xticks(data["tested"][::2], [str(value) for value in data["tested"][::2]])
            panel.minorticks_off()
            panel.set(title=f"trained at T = {delay}", xlabel="T tested", ylabel="accuracy", ylim=(0, 1.02))
            style.name_lines(panel)
        return {self.name: figure}


def _accuracies(data: Data, trained: int) -> Mapping[str, np.ndarray]:
    """``(seeds, delays)`` by network."""
    found: dict[str, list[list[float]]] = {}
    for entry in data["found"]:
        if entry["trained"] == trained:
            found.setdefault(entry["network"], []).append(entry["accuracy"])
    return {network: np.asarray(values) for network, values in found.items()}


def _whole(data: Data, trained: int) -> dict[str, list[float]]:
    """Accuracy of each network on the delay it was trained on."""
    found: dict[str, list[float]] = {}
    for entry in data["found"]:
        if entry["trained"] == trained:
            found.setdefault(entry["network"], []).append(entry["whole"])
    return found


def _means(data: Data, trained: int, side: str) -> dict[str, list[float]]:
    """Of each run, over the shorter or the longer delays."""
    tested = np.asarray(data["tested"])
    chosen = tested < trained if side == "shorter" else tested > trained
    return {network: values[:, chosen].mean(1).tolist() for network, values in _accuracies(data, trained).items()}


def _gated(claim: Claim, data: Data, trained: int) -> Claim:
    return copying.if_learned(claim, _whole(data, trained), data["whole_budget"])


def _above_chance(data: Data, trained: int, place: str) -> Claim:
    text = f"trained at {trained}: all networks are above chance at every delay"
    elements = data["sequences"] * COPIED
    # Of a binomial, near enough normal with thousands of elements.
    margin = 1.645 * math.sqrt(copying.CHANCE * (1 - copying.CHANCE) / elements)
    test = (
        f"element accuracy above 1/8 (guessing; the paper has 1/9) by more than guesses on {elements} elements "
        f"would be, one-sided at {LEVEL:.0%}, in every run at every delay"
    )
    lowest = [min(entry["accuracy"]) for entry in data["found"] if entry["trained"] == trained]
    if not lowest:
        return untested(text, place, test)
    runs = min(map(len, _whole(data, trained).values()))
    evidence = f"lowest accuracy {min(lowest):.3f}, margin {margin:.3f}"
    above = min(lowest) - copying.CHANCE
    verdict = Verdict.UNCLEAR if abs(above) <= margin else Verdict.HOLDS if above > 0 else Verdict.FAILS
    return Claim(text, place, test, verdict, evidence, runs)


def _between(data: Data, place: str) -> Claim:
    text = "trained at 200: the power law falls between the LSTM and chrono"
    test = "order of the mean accuracies over the shorter delays, and over the longer ones; no test"
    found, verdicts, runs = [], [], []
    for side, first, last in (("shorter", "lstm", "chrono"), ("longer", "chrono", "lstm")):
        means = _means(data, 200, side)
        if not {first, "powerlaw", last} <= means.keys():
            return untested(text, place, test)
        high, middle, low = (summary(means[network]).mean for network in (first, "powerlaw", last))
        found.append(f"{side}: {style.label(first)} {high:.3f}, power law {middle:.3f}, {style.label(last)} {low:.3f}")
        verdicts += [direction(high, middle), direction(middle, low)]
        runs += [len(values) for values in means.values()]
    worst = max(verdicts, key=[Verdict.LEANS, Verdict.UNCLEAR, Verdict.AGAINST].index)
    return Claim(text, place, test, worst, "; ".join(found), min(runs))
