"""Film reviews (paper, section 4.4 and figure 4)."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import cast

import numpy as np
import torch
from matplotlib.figure import Figure
from scipy import stats

from slowfade.analysis.evaluation import correct
from slowfade.analysis.lengths import Bin, accuracy_by_length
from slowfade.studies import style
from slowfade.studies.claims import LEVEL, Claim, Verdict, greater, probability, untested
from slowfade.studies.comparison import comparison
from slowfade.studies.experiment import Experiment
from slowfade.studies.published import published
from slowfade.studies.study import Data, Preset, Scale, Study, Trained
from slowfade.studies.table import Table
from slowfade.tasks.sentiment import Sentiment
from slowfade.training import Run

NETWORKS = ("lstm", "chrono", "powerlaw")
NAMES = {"lstm": "LSTM", "chrono": "chrono", "powerlaw": "power law"}
EDGES = (0, 50, 100, 150, 200, 250, 300, 400, 600, 5000)
LONG = 150
"""Words: from here on the paper finds the power law better."""


SCALES: dict[Preset, Scale] = {
    "smoke": Scale(
        1,
        {"hidden": 8, "batch_size": 8, "max_steps": 2},
        departure="two steps of tiny networks: the figures mean nothing",
    ),
    "laptop": Scale(2, {"epochs": 5}, departure="two seeds instead of three, 5 epochs instead of 20"),
    "paper": Scale(3),
}


class SentimentStudy(Study):
    name = "sentiment"
    title = "Film reviews, for or against"
    place = "section 4.4, figure 4"
    about = (
        "Is a review of up to 400 words for or against? Paper: the power law is above LSTM and chrono, by reviews of "
        "more than 150 words."
    )
    scales = SCALES
    data = ("imdb", "glove")

    def experiments(self, preset: Preset) -> list[Experiment]:
        scale = self.scales[preset]
        return [
            Experiment("sentiment", network, seed, scale.task_options, {}, scale.training)
            for network in NETWORKS
            for seed in range(scale.seeds)
        ]

    def analyse(self, preset: Preset, runs: Trained) -> Data:
        return {
            "found": [
                {
                    "network": network,
                    "accuracy": runs.of(network).measured("test", "accuracy", 100),
                    "bins": [bin._asdict() for bin in _bins(list(runs.of(network)))],
                }
                for network in NETWORKS
            ]
        }

    def claims(self, data: Data) -> list[Claim]:
        accuracy = {entry["network"]: entry["accuracy"] for entry in data["found"]}
        claims = [
            greater(
                f"the power law is above the {NAMES[rival]} network",
                "section 4.4",
                accuracy["powerlaw"],
                accuracy[rival],
                what="test accuracy in percent",
                names=("power law", NAMES[rival]),
                digits=2,
            )
            for rival in ("lstm", "chrono")
        ]
        bins = {entry["network"]: [Bin(**bin) for bin in entry["bins"]] for entry in data["found"]}
        return [*claims, _gains_on_long(bins)]

    def tables(self, data: Data) -> list[Table]:
        accuracy = {entry["network"]: entry["accuracy"] for entry in data["found"]}
        ours = {(number.row, number.condition): accuracy[number.network] for number in published(self.name)}
        note = "Test accuracy in percent at the epoch with the lowest validation loss, mean ± standard deviation."
        rows = [
            (
                style.label(entry["network"]),
                _words(bin["low"], bin["high"]),
                *(100 * bin[key] for key in ("accuracy", "standard_error")),
                bin["n"],
            )
            for entry in data["found"]
            for bin in entry["bins"]
        ]
        columns = ("network", "words", "accuracy", "standard error", "reviews, all seeds")
        return [
            comparison(self.name, "Film reviews", ours, digits=2, note=note),
            Table("sentiment-lengths", "Accuracy by length of the review", columns, rows),
        ]

    def figures(self, data: Data) -> dict[str, Figure]:
        figure, ((panel,),) = style.grid(width=4.4, height=2.8)
        for entry in data["found"]:
            bins = [Bin(**bin) for bin in entry["bins"]]
            if bins:
                where = [EDGES.index(int(bin.low)) for bin in bins]
                heights = [100 * bin.accuracy for bin in bins]
                errors = [100 * bin.standard_error for bin in bins]
                style.line(panel, where, heights, entry["network"], spread=errors, marker="o")
        panel.set_xticks(range(len(EDGES) - 1), [_words(*edges) for edges in pairwise(EDGES)])
        panel.tick_params(axis="x", rotation=35)
        panel.set(xlabel="words in the review", ylabel="test accuracy, %")
        style.name_lines(panel)
        return {self.name: figure}


@torch.no_grad()
def _bins(runs: list[Run]) -> list[Bin]:
    """Over all test reviews and all seeds."""
    if not runs:
        return []
    task = cast(Sentiment, runs[0].task)
    hits = np.concatenate([correct(run.model, task) for run in runs])
    lengths = np.tile(task.review_lengths("test"), len(runs))
    return accuracy_by_length(hits, lengths, EDGES)


def _words(low: float, high: float) -> str:
    return f"{low:g}-{high - 1:g}" if high < EDGES[-1] else f"{low:g} or more"


def _gains_on_long(bins: dict[str, list[Bin]]) -> Claim:
    text = f"the power law gains on the LSTM in reviews of {LONG} words or more, not in shorter ones"
    test = (
        f"the gain in accuracy on reviews of {LONG} words or more, less that on shorter ones, is above 0: z-test with "
        f"binomial errors over all reviews and seeds, one-sided at {LEVEL:.0%}"
    )
    if not bins.get("powerlaw") or not bins.get("lstm"):
        return untested(text, "figure 4", test)
    gains, variance = {}, 0.0
    for long in (True, False):
        powerlaw, lstm = (
            _pooled([bin for bin in bins[name] if (bin.low >= LONG) == long]) for name in ("powerlaw", "lstm")
        )
        gains[long] = powerlaw[0] - lstm[0]
        variance += powerlaw[1] + lstm[1]
    z = (gains[True] - gains[False]) / math.sqrt(variance)
    p = float(stats.norm.sf(z))
    evidence = (
        f"gain {100 * gains[True]:.2f} points on long reviews, {100 * gains[False]:.2f} on short ones, z = {z:.2f}"
    )
    evidence += f", {probability(p)}"
    if p < LEVEL:
        return Claim(text, "figure 4", test, Verdict.HOLDS, evidence)
    if p > 1 - LEVEL:
        return Claim(text, "figure 4", test, Verdict.FAILS, evidence)
    return Claim(text, "figure 4", test, Verdict.UNCLEAR, evidence)


def _pooled(bins: list[Bin]) -> tuple[float, float]:
    """Accuracy over several bins and the variance of that."""
    n = sum(bin.n for bin in bins)
    mean = sum(bin.accuracy * bin.n for bin in bins) / n
    return mean, mean * (1 - mean) / n
