"""Frequency discrimination, with and without the time as an input (paper, section 5.4, table 3, figure A.6)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from matplotlib.figure import Figure

from slowfade.analysis.statistics import summary
from slowfade.studies import learning, style
from slowfade.studies.claims import Claim, greater, true_of_all, untested
from slowfade.studies.comparison import comparison
from slowfade.studies.experiment import Experiment
from slowfade.studies.published import published, value
from slowfade.studies.study import Data, Preset, Scale, Study, Trained
from slowfade.studies.table import Table

NETWORKS = ("lstm", "chrono", "powerlaw")
SAMPLINGS: dict[Preset, tuple[str, ...]] = {
    "smoke": ("async",),
    "laptop": ("sync-1", "async"),
    "paper": ("sync-1", "sync-0.1", "async"),
}
TIMES = {"time": True, "no time": False}


SCALES: dict[Preset, Scale] = {
    "smoke": Scale(
        2,
        {"hidden": 8, "batch_size": 16, "max_steps": 2, "evaluate_every": 1},
        {"train_sequences": 64, "validation_sequences": 32},
        "a few steps of tiny networks, random times only: the figures mean nothing",
    ),
    "laptop": Scale(
        3, {"epochs": 40}, departure="three seeds instead of five, 40 epochs instead of 70, Δt = 0.1 not run"
    ),
    "paper": Scale(
        5,
        departure="the paper does not say the batch size (32 here), the number of sequences (5,000 new ones each epoch "
        "here), nor chrono's longest time (the longest wave in steps here)",
    ),
}


class FrequencyStudy(Study):
    name = "frequency"
    title = "Telling frequencies apart, by samples at regular and irregular times"
    place = "table 3"
    about = (
        "Is the period of a sine wave between 5 and 6? Samples come one apart, a tenth apart, or at random times; the "
        "time is an input or not. Paper: without it only the power law, whose gate knows the time, does well on "
        "random times."
    )
    scales = SCALES
    captions = (
        "Validation accuracy and training loss over training, samples at random times: the mean over seeds, "
        "with a standard deviation as a band where there are several.",
    )

    def experiments(self, preset: Preset) -> list[Experiment]:
        scale = self.scales[preset]
        return [
            Experiment(
                "frequency",
                network,
                seed,
                {"sampling": sampling, "time_input": time_input, **scale.task_options},
                {},
                scale.training,
            )
            for sampling in SAMPLINGS[preset]
            for time_input in TIMES.values()
            for network in NETWORKS
            for seed in range(scale.seeds)
        ]

    def analyse(self, preset: Preset, runs: Trained) -> Data:
        return {
            "found": [
                {
                    "network": network,
                    "condition": f"{sampling}, {name}",
                    "accuracy": runs.of(network, sampling=sampling, time_input=time_input).measured(
                        "test", "accuracy", 100
                    ),
                }
                for sampling in SAMPLINGS[preset]
                for name, time_input in TIMES.items()
                for network in NETWORKS
            ],
            "curves": [
                entry
                for name, time_input in TIMES.items()
                for network in NETWORKS
                for entry in learning.collect(
                    runs.of(network, sampling="async", time_input=time_input),
                    {"loss": "train", "accuracy": "validation"},
                    time=name,
                )
            ],
        }

    def claims(self, data: Data) -> list[Claim]:
        what = "test accuracy in percent"
        better = [
            *((("powerlaw", "async, no time"), (rival, "async, no time")) for rival in ("lstm", "chrono")),
            *(((network, "async, time"), (network, "async, no time")) for network in ("lstm", "chrono")),
            (("powerlaw", "async, no time"), ("powerlaw", "async, time")),
            *(((network, "sync-0.1, no time"), ("lstm", "sync-0.1, no time")) for network in ("powerlaw", "chrono")),
        ]
        return [
            *(_better(data, high, low, self.place, what) for high, low in better),
            *(_alike(data, f"sync-1, {time}", NETWORKS, 1, self.place) for time in TIMES),
            # As far apart as the paper's own numbers are, 1.9 and 1.6 points.
            *(_alike(data, "async, time", ("powerlaw", rival), 2, self.place) for rival in ("lstm", "chrono")),
        ]

    def tables(self, data: Data) -> list[Table]:
        found = {(entry["network"], entry["condition"]): entry["accuracy"] for entry in data["found"]}
        ours = {
            (number.row, number.condition): found.get((number.network, number.condition), [])
            for number in published(self.name)
        }
        note = "Test accuracy in percent at the epoch with the best validation accuracy, mean ± standard deviation."
        return [comparison(self.name, "Frequency discrimination", ours, digits=2, note=note)]

    def figures(self, data: Data) -> dict[str, Figure]:
        figure, axes = style.grid(2, len(TIMES))
        for column, name in enumerate(TIMES):
            for row, (measure, label) in enumerate((("accuracy", "validation accuracy"), ("loss", "training loss"))):
                panel = axes[row][column]
                learning.draw(panel, learning.pick(data["curves"], measure, time=name))
                panel.set_ylabel(label)
                if row == 0:
                    panel.set_title(f"random times, {'with time as input' if TIMES[name] else 'without'}")
                style.name_lines(panel)
        return {self.name: figure}


def _accuracy(data: Data, network: str, condition: str) -> list[float]:
    found = (e["accuracy"] for e in data["found"] if (e["network"], e["condition"]) == (network, condition))
    return next(found, [])


def _better(data: Data, high: tuple[str, str], low: tuple[str, str], place: str, what: str) -> Claim:
    """That one network in one condition is better than another."""
    if high[1] == low[1]:
        names = (style.label(high[0]), style.label(low[0]))
        text = f"{high[1]}: the {names[0]} network is better than the {names[1]} network"
    else:
        names = ("with", "without") if high[1] == "async, time" else ("without", "with")
        text = f"async: the {style.label(high[0])} network is better {names[0]} the time as an input than {names[1]}"
    margin = value("frequency", network=high[0], condition=high[1]) - value(
        "frequency", network=low[0], condition=low[1]
    )
    return greater(
        text, place, _accuracy(data, *high), _accuracy(data, *low), what=what, names=names, digits=2, published=margin
    )


def _alike(data: Data, condition: str, networks: Sequence[str], points: int, place: str) -> Claim:
    """That networks do equally well."""
    names = "all networks" if len(networks) > 2 else " and ".join(style.label(network) for network in networks)
    text = f"{condition}: {names} do equally well"
    test = f"the means of test accuracy differ by at most {points} {'points' if points > 1 else 'point'}; no test"
    found = {network: _accuracy(data, network, condition) for network in networks}
    if not all(found.values()):
        return untested(text, place, test)
    means = {network: summary(accuracies).mean for network, accuracies in found.items()}
    widest = max(abs(means[a] - means[b]) for a, b in combinations(means, 2))
    evidence = ", ".join(f"{style.label(network)} {mean:.2f}" for network, mean in means.items())
    claim = true_of_all(text, place, test, [widest <= points], evidence)
    return claim._replace(runs=min(map(len, found.values())))
