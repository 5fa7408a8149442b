"""Film reviews (paper, section 4.4 and figure 4)."""

from __future__ import annotations

from itertools import pairwise
from typing import cast

import numpy as np
import torch
from matplotlib.figure import Figure

from slowfade.analysis.evaluation import correct
from slowfade.analysis.lengths import Bin, accuracy_by_length
from slowfade.studies import style
from slowfade.studies.claims import Claim, greater
from slowfade.studies.comparison import comparison
from slowfade.studies.experiment import Experiment
from slowfade.studies.published import published, value
from slowfade.studies.study import Data, Preset, Scale, Study, Trained
from slowfade.studies.table import Table
from slowfade.tasks.sentiment import Sentiment

NETWORKS = ("lstm", "chrono", "powerlaw")
EDGES = (0, 50, 100, 150, 200, 250, 300, 400, 600, 5000)
LONG = 150
"""Words: from here on the paper finds the power law better."""


SCALES: dict[Preset, Scale] = {
    "smoke": Scale(
        1,
        {"hidden": 8, "batch_size": 500, "max_steps": 2},
        {"words": 10},
        "two steps of tiny networks on the first ten words: the figures mean nothing",
    ),
    "laptop": Scale(2, {"epochs": 5}, departure="two seeds instead of three, 5 epochs instead of 20"),
    "paper": Scale(
        3,
        departure="the paper does not say the batch size (64 here), whether gradients are clipped (here at a norm "
        "of 1), nor chrono's longest time (the 400 words here)",
    ),
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
    captions = (
        "Test accuracy by length of the review: over all reviews and seeds, with the standard error as a band, "
        "as in the paper.",
    )
    data = ("imdb", "glove")

    def experiments(self, preset: Preset) -> list[Experiment]:
        scale = self.scales[preset]
        return [
            Experiment("sentiment", network, seed, scale.task_options, {}, scale.training)
            for network in NETWORKS
            for seed in range(scale.seeds)
        ]

    def analyse(self, preset: Preset, runs: Trained) -> Data:
        return {"found": [_found(network, runs.of(network)) for network in NETWORKS]}

    def claims(self, data: Data) -> list[Claim]:
        accuracy = {entry["network"]: entry["accuracy"] for entry in data["found"]}
        claims = [
            greater(
                f"the power law is above the {style.label(rival)} network",
                "section 4.4",
                accuracy["powerlaw"],
                accuracy[rival],
                what="test accuracy in percent",
                names=("power law", style.label(rival)),
                digits=2,
                published=value(self.name, network="powerlaw") - value(self.name, network=rival),
            )
            for rival in ("lstm", "chrono")
        ]
        gains = {entry["network"]: entry["long_over_short"] for entry in data["found"]}
        return [
            *claims,
            greater(
                f"the power law gains on the LSTM in reviews of {LONG} words or more, not in shorter ones",
                "figure 4",
                gains["powerlaw"],
                gains["lstm"],
                what=f"test accuracy in percent on reviews of {LONG} words or more, less that on shorter ones",
                names=("power law", "LSTM"),
                digits=2,
            ),
        ]

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
def _found(network: str, runs: Trained) -> Data:
    """Of one network: accuracy of each seed, on all reviews and on long ones less short ones, and by length."""
    found: Data = {"network": network, "accuracy": runs.measured("test", "accuracy", 100), "long_over_short": []}
    hits, lengths = [], []
    for run in runs:
        if run.result is None:  # not among the accuracies either
            continue
        task = cast(Sentiment, run.task)
        hits.append(correct(run.model, task))
        lengths.append(task.review_lengths("test").numpy())
        long = lengths[-1] >= LONG
        if long.any() and not long.all():
            found["long_over_short"].append(100 * float(hits[-1][long].mean() - hits[-1][~long].mean()))
    bins = accuracy_by_length(np.concatenate(hits), np.concatenate(lengths), EDGES) if hits else []
    return {**found, "bins": [bin._asdict() for bin in bins]}


def _words(low: float, high: float) -> str:
    return f"{low:g}-{high - 1:g}" if high < EDGES[-1] else f"{low:g} or more"
