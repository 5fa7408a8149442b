"""Language modelling by characters (paper, section 4.3 and table 2)."""

from __future__ import annotations

from matplotlib.figure import Figure

from slowfade.studies import learning, style
from slowfade.studies.claims import Claim, beyond, greater
from slowfade.studies.comparison import comparison
from slowfade.studies.experiment import Experiment
from slowfade.studies.published import published, value
from slowfade.studies.study import Data, Preset, Scale, Study, Trained
from slowfade.studies.table import Table

NETWORKS = ("lstm", "powerlaw")
CONDITIONS = {"ptb-150": ("ptb", 150), "ptb-500": ("ptb", 500), "text8-500": ("text8", 500)}
RUN: dict[Preset, tuple[str, ...]] = {"smoke": ("ptb-150",), "laptop": ("ptb-150",), "paper": tuple(CONDITIONS)}

#: Rows quoted from Chandar et al., who trained 20 epochs at about 2.15 million parameters.
QUOTED = ("lstm", "chrono", "gru", "janet", "goru", "eurnn", "nru")
BUDGET = {"budget": 2_150_000, "epochs": 20}
#: Fewer layers of rotations would make so many parameters of tens of thousands of units; so many make 1,928.
QUOTED_OPTIONS = {"eurnn": {"capacity": 1024}}


SCALES: dict[Preset, Scale] = {
    "smoke": Scale(
        1,
        {"hidden": 8, "batch_size": 8, "max_steps": 2},
        departure="two steps of tiny networks: the figures mean nothing",
    ),
    "laptop": Scale(
        1,
        {"epochs": 2},
        departure="Penn Treebank in chunks of 150 only, one seed, 2 epochs instead of 50; quoted rows not run again",
    ),
    "paper": Scale(5, departure="the paper does not say whether gradients are clipped (here at a norm of 1)"),
}


class CharactersStudy(Study):
    name = "characters"
    title = "The next character"
    place = "table 2"
    about = (
        "Language models of Penn Treebank and text8, in bits per character, at equal numbers of parameters. Paper: the "
        "power law needs 0.006 to 0.007 bits less than the LSTM on Penn Treebank and 0.008 on text8, and less than all "
        "others."
    )
    scales = SCALES
    data = ("ptb",)
    captions = (
        "Bits per character on validation over training: the mean over seeds, with a standard deviation as a "
        "band where there are several.",
    )

    def datasets(self, preset: Preset) -> tuple[str, ...]:
        return tuple(dict.fromkeys(CONDITIONS[condition][0] for condition in RUN[preset]))

    def experiments(self, preset: Preset) -> list[Experiment]:
        scale = self.scales[preset]
        own = [
            Experiment("characters", network, seed, _options(condition), {}, scale.training)
            for condition in RUN[preset]
            for network in NETWORKS
            for seed in range(scale.seeds)
        ]
        again = [
            Experiment(
                "characters",
                network,
                seed,
                _options("ptb-150"),
                QUOTED_OPTIONS.get(network, {}),
                {**scale.training, **BUDGET},
            )
            for network in (QUOTED if preset == "paper" else ())
            for seed in range(scale.seeds)
        ]
        return own + again

    def analyse(self, preset: Preset, runs: Trained) -> Data:
        found, curves = [], []
        for condition in RUN[preset]:
            for network in NETWORKS:
                these = runs.of(network, **_options(condition))
                if preset == "paper":
                    these = these.of(network, epochs=50)
                found.append(_entry(network, condition, False, these))
                curves += learning.collect(these, {"bits": "validation"}, condition=condition)
        if preset == "paper":
            for network in QUOTED:
                found.append(_entry(network, "ptb-150", True, runs.of(network, epochs=20, **_options("ptb-150"))))
        return {"conditions": list(RUN[preset]), "found": found, "curves": curves}

    def claims(self, data: Data) -> list[Claim]:
        bits = {(e["network"], e["condition"]): e["bits"] for e in data["found"] if not e["quoted"]}
        claims = [
            greater(
                f"{condition}: the power law needs fewer bits per character than the LSTM",
                self.place,
                bits.get(("lstm", condition), []),
                bits.get(("powerlaw", condition), []),
                what="test bits per character",
                names=("LSTM", "power law"),
                digits=4,
                published=value(self.name, network="lstm", condition=condition)
                - value(self.name, network="powerlaw", condition=condition),
            )
            for condition in CONDITIONS
        ]
        best = min((number for number in published(self.name) if number.source), key=lambda number: number.value)
        return [
            *claims,
            beyond(
                "ptb-150: the power law needs fewer bits per character than every network quoted",
                self.place,
                bits.get(("powerlaw", "ptb-150"), []),
                best.value,
                best.row,
                what="test bits per character",
                above=False,
                digits=4,
            ),
        ]

    def tables(self, data: Data) -> list[Table]:
        bits = {(e["network"], e["condition"], e["quoted"]): e["bits"] for e in data["found"]}
        ours = {
            (number.row, number.condition): bits.get((number.network, number.condition, number.source is not None), [])
            for number in published(self.name)
        }
        note = (
            "Test bits per character at the epoch with the lowest validation loss, mean ± standard deviation. Rows "
            "that the paper quotes are run again for 20 epochs at 2.15 million parameters, as their source did."
        )
        return [comparison(self.name, "The next character", ours, digits=3, note=note)]

    def figures(self, data: Data) -> dict[str, Figure]:
        figure, (panels,) = style.grid(1, len(data["conditions"]), width=3.6, height=2.6)
        for panel, condition in zip(panels, data["conditions"], strict=True):
            learning.draw(panel, learning.pick(data["curves"], "bits", condition=condition))
            panel.set(title=condition, ylabel="validation bits per character")
            style.name_lines(panel)
        return {self.name: figure}


def _options(condition: str) -> dict[str, object]:
    corpus, length = CONDITIONS[condition]
    return {"corpus": corpus, "length": length}


def _entry(network: str, condition: str, quoted: bool, runs: Trained) -> Data:
    return {"network": network, "condition": condition, "quoted": quoted, "bits": runs.measured("test", "bits")}
