"""Networks trained on one delay, tested on others (paper, appendix C and figure A.2)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from slowfade.analysis.generalisation import accuracy_at_delay
from slowfade.analysis.statistics import summary
from slowfade.studies import copying, style
from slowfade.studies.claims import Claim, greater, true_of_all, untested
from slowfade.studies.experiment import Experiment
from slowfade.studies.study import Data, Preset, Study, Trained
from slowfade.studies.table import Cell, Table

TRAINED: dict[Preset, tuple[str, ...]] = {"smoke": ("5",), "laptop": ("200",), "paper": ("200", "500")}
TESTED: dict[Preset, tuple[int, ...]] = {
    "smoke": (3, 5, 40),
    "laptop": (50, 100, 150, 200, 300, 500, 700, 1000, 1500, 2000),
    "paper": (50, 100, 150, 200, 300, 400, 500, 700, 1000, 1500, 2000),
}
SEQUENCES: dict[Preset, int] = {"smoke": 16, "laptop": 512, "paper": 2000}
CHANCE = 1 / 9
"""As the paper has it."""


class GeneralisationStudy(Study):
    name = "generalisation"
    title = "From one delay to others"
    place = "figure A.2"
    about = (
        "Networks trained to copy over one delay are tested on others, 50 to 2000. Paper, trained at 200: all stay "
        "above chance; the LSTM is best on shorter delays, chrono on longer, the power law between."
    )
    scales = copying.SCALES

    def experiments(self, preset: Preset) -> list[Experiment]:
        return copying.experiments(preset, TRAINED[preset])

    def analyse(self, preset: Preset, runs: Trained) -> Data:
        return {
            "sequences": SEQUENCES[preset],
            "tested": list(TESTED[preset]),
            "found": [
                {
                    "network": network,
                    "trained": int(trained),
                    "seed": run.config.training.seed,
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
        tested = np.asarray(data["tested"])
        claims = []
        for trained in (200, 500):
            found = [entry for entry in data["found"] if entry["trained"] == trained]
            lowest = [min(entry["accuracy"]) for entry in found]
            evidence = f"lowest accuracy {min(lowest):.3f}" if lowest else ""
            claims.append(
                true_of_all(
                    f"trained at {trained}: all networks are above chance at every delay",
                    self.place,
                    "element accuracy above 1/9 (the paper's chance) in every run at every delay",
                    [value > CHANCE for value in lowest],
                    evidence,
                )
            )
        for text, trained, side, winner, losers in (
            ("the LSTM generalises best to shorter delays", 200, "shorter", "lstm", ("powerlaw", "chrono")),
            ("chrono generalises best to longer delays", 200, "longer", "chrono", ("powerlaw", "lstm")),
            ("the power law generalises best to shorter delays", 500, "shorter", "powerlaw", ("chrono", "lstm")),
        ):
            chosen = tested < trained if side == "shorter" else tested > trained
            means = _means(data, trained, chosen)
            text = f"trained at {trained}: {text}"
            what = f"mean accuracy over the {side} delays"
            present = [network for network in losers if means.get(network)]
            if not present:
                claims.append(untested(text, self.place, what))
                continue
            rival = max(present, key=lambda network: summary(means[network]).mean)
            claims.append(
                greater(
                    text,
                    self.place,
                    means.get(winner, []),
                    means[rival],
                    what=f"{what}, against the better of the others",
                    names=(copying.NAMES[winner], copying.NAMES[rival]),
                )
            )
        return claims

    def tables(self, data: Data) -> list[Table]:
        rows: list[tuple[Cell, ...]] = []
        for trained in sorted({entry["trained"] for entry in data["found"]}):
            for network in copying.NETWORKS:
                accuracies = _accuracies(data, trained).get(network)
                if accuracies is not None:
                    rows.append((trained, style.label(network), len(accuracies), *map(summary, accuracies.T)))
        columns = ("trained at", "network", "seeds", *(f"T = {delay}" for delay in data["tested"]))
        note = f"Element accuracy on {data['sequences']} new sequences of each delay."
        return [Table(self.name, "Copying over delays not trained on", columns, rows, note=note)]

    def figures(self, data: Data) -> dict[str, Figure]:
        trained = sorted({entry["trained"] for entry in data["found"]})
        figure, (panels,) = style.grid(1, max(len(trained), 1), height=2.6)
        for panel, delay in zip(panels, trained, strict=False):
            for network, accuracies in _accuracies(data, delay).items():
                spread = accuracies.std(0, ddof=1) if len(accuracies) > 1 else None
                style.line(panel, data["tested"], accuracies.mean(0), network, spread=spread, marker="o")
            panel.axhline(CHANCE, color=style.MUTED, linewidth=0.8, linestyle=":")
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


def _means(data: Data, trained: int, chosen: np.ndarray) -> dict[str, list[float]]:
    return {network: values[:, chosen].mean(1).tolist() for network, values in _accuracies(data, trained).items()}
