"""Copying over delays that vary from sequence to sequence (paper, appendix B and figure A.1)."""

from __future__ import annotations

from typing import Any

import torch
from matplotlib.figure import Figure

from slowfade.analysis.evaluation import batches
from slowfade.analysis.resets import reference_times, reset_order
from slowfade.studies import copying, heatmap, learning
from slowfade.studies.claims import Claim
from slowfade.studies.experiment import Experiment
from slowfade.studies.study import Data, Preset, Scale, Study, Trained
from slowfade.studies.table import Table
from slowfade.tasks.copying import COPIED

DELAYS: dict[Preset, tuple[str, ...]] = {"smoke": ("3:6",), "laptop": ("20:50",), "paper": ("200:500", "200:1000")}


SCALES: dict[Preset, Scale] = {
    **copying.SCALES,
    "laptop": Scale(1, {"max_steps": 8_000}, departure="T from 20 to 50 instead of 200 to 500, one seed, 8,000 steps"),
}


class VariableCopyingStudy(Study):
    name = "variable-copying"
    title = "Copying over delays that vary"
    place = "figure A.1"
    about = (
        "Each sequence draws its own T. Paper: the power law and chrono learn it, the plain LSTM has difficulty, and "
        "the power law's units wait for the signal however long that takes."
    )
    scales = SCALES
    captions = (
        copying.CURVES,
        "Reference time of every unit of the power-law network on a short and a long sequence "
        "of the test; the dotted line is where reproduction starts.",
    )

    def experiments(self, preset: Preset) -> list[Experiment]:
        scale = self.scales[preset]
        return [
            Experiment("copying", network, seed, {"delay": delay, **scale.task_options}, {}, scale.training)
            for delay in DELAYS[preset]
            for network in copying.NETWORKS
            for seed in range(scale.seeds)
        ]

    def analyse(self, preset: Preset, runs: Trained) -> Data:
        measures = {"accuracy": "validation", "sequence_accuracy": "validation", "loss": "validation"}
        curves = [
            entry
            for delay in DELAYS[preset]
            for network in copying.NETWORKS
            for entry in learning.collect(runs.of(network, delay=delay), measures, delay=delay)
        ]
        shown = runs.of("powerlaw", delay=DELAYS[preset][-1])
        return {
            "delays": list(DELAYS[preset]),
            "whole_budget": preset == "paper",
            "curves": curves,
            "maps": [_reference_times(run) for run in shown[:1]],
        }

    def claims(self, data: Data) -> list[Claim]:
        return [
            claim
            for delay in data["delays"]
            for claim in (
                copying.learns(data, delay, "powerlaw", self.place),
                copying.learns(data, delay, "chrono", self.place),
                copying.learns(data, delay, "lstm", self.place, claimed=False),
            )
        ]

    def tables(self, data: Data) -> list[Table]:
        return [copying.table(data, self.name, "Copying, T drawn for each sequence: the best validation of each run")]

    def figures(self, data: Data) -> dict[str, Figure]:
        titles = [(delay, "T from " + delay.replace(":", " to ")) for delay in data["delays"]]
        figures = {"variable-copying": copying.draw(data, "delay", titles)}
        if data["maps"]:
            figures["variable-copying-resets"] = heatmap.draw(
                [(f"T = {found['delay']}", found) for found in data["maps"][0]["sequences"]]
            )
        return figures


@torch.no_grad()
def _reference_times(run: Any) -> Data:
    """``k_t`` of a trained network on the test sequences with the shortest and the longest delay of the first few."""
    (batch,) = batches(run.task, 64)
    age = run.model.core.trace(run.model.encoder(batch.inputs), lengths=batch.lengths)["age"]
    length = batch.lengths
    assert length is not None
    rows = [int(length.argmin()), int(length.argmax())]
    ends = {row: int(length[row]) - COPIED - 1 for row in rows}
    order = reset_order(age[rows[1:]], ends[rows[1]])
    return {
        "sequences": [
            {
                "delay": int(length[row]) - 2 * COPIED,
                "seed": run.config.training.seed,
                **heatmap.packed(reference_times(age[row : row + 1, : int(length[row])])[0], order, ends[row]),
            }
            for row in rows
        ]
    }
