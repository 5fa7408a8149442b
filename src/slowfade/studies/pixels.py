"""Digits read pixel by pixel (paper, section 4.2 and table 1)."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from slowfade.studies import learning, style
from slowfade.studies.claims import Claim, beyond, greater, true_of_all
from slowfade.studies.comparison import comparison
from slowfade.studies.experiment import Experiment
from slowfade.studies.published import PIXEL_ORDERS, published, value
from slowfade.studies.study import Data, Preset, Scale, Study, Trained
from slowfade.studies.table import Table

Row = tuple[str, str, dict[str, Any]]
"""As printed, network, training."""

#: The paper's own rows, and those it quotes with the sizes of the papers they come from.
OWN: list[Row] = [
    ("LSTM 256 (ours)", "lstm", {"hidden": 256}),
    ("pLSTM 256", "powerlaw", {"hidden": 256}),
    ("LSTM 512 (ours)", "lstm", {"hidden": 512}),
    ("pLSTM 512", "powerlaw", {"hidden": 512}),
]
QUOTED: list[Row] = [
    ("ExpRNN", "exprnn", {"hidden": 170, "optimizer": "rmsprop", "learning_rate": 7e-4, "epochs": 70}),
    ("JANET", "janet", {"hidden": 128, "batch_size": 200, "clip_norm": 5.0, "epochs": 100}),
    ("NRU", "nru", {"hidden": 212, "batch_size": 100, "clip_norm": 1.0}),
    ("SRU", "sru", {"hidden": 64}),
    ("URNN", "urnn", {"hidden": 512, "optimizer": "rmsprop", "learning_rate": 1e-4, "batch_size": 50, "epochs": 200}),
]
TRAINED = 50
"""Percent: a run above has not failed to converge."""
ROWS: dict[Preset, list[Row]] = {"smoke": OWN[:2], "laptop": OWN[:2], "paper": [*OWN, *QUOTED]}


SCALES: dict[Preset, Scale] = {
    "smoke": Scale(
        1,
        {"hidden": 8, "batch_size": 500, "max_steps": 2},
        departure="two steps of tiny networks: the figures mean nothing",
    ),
    "laptop": Scale(1, {"epochs": 3}, departure="256 units only, one seed, 3 epochs; quoted networks not run again"),
    "paper": Scale(
        3,
        departure="the paper does not say how many epochs (100 here), the batch size (128 here), nor whether "
        "gradients are clipped (here at a norm of 1)",
    ),
}


class PixelsStudy(Study):
    name = "pixels"
    title = "Digits, pixel by pixel"
    place = "table 1"
    about = (
        "Which digit is it, read as 784 pixels one after the other, in order or permuted? Paper: the power law is "
        "above the LSTM in both, and above all others quoted on permuted pixels."
    )
    scales = SCALES
    captions = (
        "Validation accuracy over training at 256 units: the mean over seeds, with a standard deviation as a band "
        "where there are several.",
    )
    data = ("mnist",)

    def experiments(self, preset: Preset) -> list[Experiment]:
        scale = self.scales[preset]
        return [
            Experiment("pixels", network, seed, {"permuted": order == "permuted"}, {}, {**training, **scale.training})
            for order in PIXEL_ORDERS
            for _, network, training in ROWS[preset]
            for seed in range(scale.seeds)
        ]

    def analyse(self, preset: Preset, runs: Trained) -> Data:
        found, curves = [], []
        for row, network, training in ROWS[preset]:
            for order in PIXEL_ORDERS:
                sizes = {**training, **self.scales[preset].training}
                these = runs.of(network, permuted=order == "permuted", hidden=sizes["hidden"])
                entry = {"row": row, "condition": order, "accuracy": these.measured("test", "accuracy", 100)}
                found.append(entry)
                if row in ("LSTM 256 (ours)", "pLSTM 256"):
                    curves += learning.collect(these, {"accuracy": "validation"}, order=order)
        return {"whole_budget": preset == "paper", "found": found, "curves": curves}

    def claims(self, data: Data) -> list[Claim]:
        found = {(entry["row"], entry["condition"]): entry["accuracy"] for entry in data["found"]}
        claims = [
            greater(
                f"{size} units, {order}: the power law is above the LSTM",
                self.place,
                found.get((f"pLSTM {size}", order), []),
                found.get((f"LSTM {size} (ours)", order), []),
                what="test accuracy in percent",
                names=("power law", "LSTM"),
                digits=2,
                published=value(self.name, row=f"pLSTM {size}", condition=order)
                - value(self.name, row=f"LSTM {size} (ours)", condition=order),
            )
            for order in PIXEL_ORDERS
            for size in (256, 512)
        ]
        best = max(
            (number for number in published(self.name) if number.source and number.condition == "permuted"),
            key=lambda number: number.value,
        )
        above = beyond(
            "permuted: the power law is above every network quoted",
            self.place,
            found.get(("pLSTM 512", "permuted"), []),
            best.value,
            best.row,
            what="test accuracy in percent of 512 units",
            above=True,
            digits=2,
        )
        every = [accuracy for (row, _), several in found.items() if row.startswith("pLSTM") for accuracy in several]
        trained = true_of_all(
            "every run of the power law trains successfully",
            "section 4.2",
            f"test accuracy above {TRAINED} % (guessing: 10 %) in every run; the paper does not say what success is",
            [accuracy > TRAINED for accuracy in every],
            f"{min(every, default=0):.2f} to {max(every, default=0):.2f}, n = {len(every)}",
            whole_budget=data["whole_budget"],
        )
        return [*claims, above, trained]

    def tables(self, data: Data) -> list[Table]:
        ours = {(entry["row"], entry["condition"]): entry["accuracy"] for entry in data["found"]}
        note = (
            "Test accuracy in percent at the epoch with the best validation accuracy, mean ± standard deviation. The "
            "paper's own are means over runs that trained successfully only; ours are over all runs."
        )
        return [comparison(self.name, "Digits, pixel by pixel", ours, digits=2, note=note)]

    def figures(self, data: Data) -> dict[str, Figure]:
        figure, (panels,) = style.grid(1, len(PIXEL_ORDERS), height=2.6)
        for panel, order in zip(panels, PIXEL_ORDERS, strict=True):
            learning.draw(panel, learning.pick(data["curves"], "accuracy", order=order))
            panel.set(title=f"{order}, 256 units", ylabel="validation accuracy")
            style.name_lines(panel)
        return {self.name: figure}
