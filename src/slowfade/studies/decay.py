"""How memory fades, and the gate's gradient (paper, figure 1 and section 3.3)."""

from __future__ import annotations

import numpy as np
import torch
from matplotlib.figure import Figure

from slowfade.analysis.decay import (
    exponential_decay,
    exponential_half_life,
    measured_decay,
    power_law_decay,
    power_law_half_life,
)
from slowfade.analysis.evaluation import batches
from slowfade.analysis.gradient import forget_by_reset
from slowfade.studies import copying, style
from slowfade.studies.claims import Claim, Verdict
from slowfade.studies.experiment import Experiment
from slowfade.studies.study import Data, Preset, Study, Trained
from slowfade.studies.table import Cell, Table
from slowfade.tasks.copying import COPIED
from slowfade.training import Run

RATE, POWER, STEPS = 0.97, 0.3, 200
"""The paper's figure 1."""
LATER = (1, 10, 50, 100, 200, 1000)
DELAYS: dict[Preset, str] = {"smoke": "5", "laptop": "200", "paper": "200"}
QUANTILES = (0.1, 0.5, 0.9)


class DecayStudy(Study):
    name = "decay"
    title = "How memory fades"
    place = "figure 1, section 3.3"
    about = (
        "With nothing coming in, an LSTM's memory fades exponentially and the power-law LSTM's along a power law. "
        "In closed form as in figure 1, and as the trained copying networks really keep their cells over the delay. "
        "And the gradient of the gate with respect to the reset, which has no bound unless ε is above 0."
    )
    scales = copying.SCALES
    captions = (
        "Left, in closed form. Right, the share of each cell after the last symbol that is still in it: the median "
        "unit, and the middle 80 % of units as a band; thin and dashed, the closed form of the trained networks.",
        "The gradient of the forget gate with respect to the reset, the nearer the unit comes to resetting wholly.",
    )

    def experiments(self, preset: Preset) -> list[Experiment]:
        return copying.experiments(preset, [DELAYS[preset]], seeds=1)

    def analyse(self, preset: Preset, runs: Trained) -> Data:
        time = torch.arange(STEPS + 1, dtype=torch.float64)
        return {
            "time": time.int().tolist(),
            "exponential": exponential_decay(time, RATE).tolist(),
            "power_law": power_law_decay(time, POWER).tolist(),
            "measured": [_measured(run) for network in copying.NETWORKS for run in runs.of(network, seed=0)],
        }

    def claims(self, data: Data) -> list[Claim]:
        exponential, power_law = data["exponential"][-1], data["power_law"][-1]
        return [
            Claim(
                "memory decays much slower along the power law (p = 0.3) than exponentially (f = 0.97)",
                "figure 1",
                "closed form: what is left after 200 steps",
                Verdict.HOLDS if power_law > exponential else Verdict.FAILS,
                f"{power_law:.3f} against {exponential:.4f}",
                runs=None,
            ),
            _diverges(),
        ]

    def tables(self, data: Data) -> list[Table]:
        time = torch.tensor(LATER, dtype=torch.float64)
        rows: list[tuple[Cell, ...]] = []
        for rate in (0.9, RATE, 0.995):
            rows.append(
                (f"exponential, f = {rate:g}", *exponential_decay(time, rate).tolist(), exponential_half_life(rate))
            )
        for power in (0.1, POWER, 0.5, 1.0):
            rows.append(
                (f"power law, p = {power:g}", *power_law_decay(time, power).tolist(), power_law_half_life(power))
            )
        note = "Closed forms f ** t and (t + 1) ** -p."
        return [
            Table(
                "decay",
                "What is left of a memory after t steps without input",
                ("", *(f"t = {later}" for later in LATER), "half-life"),
                rows,
                digits=3,
                note=note,
            )
        ]

    def figures(self, data: Data) -> dict[str, Figure]:
        return {"decay": _decay(data), "gradient": _gradient()}


def _measured(run: Run) -> Data:
    """The share of each cell after the last symbol that is still in it, step by step, until the signal comes."""
    (batch,) = batches(run.task, 64)
    kept = measured_decay(run.model.core, run.model.encoder(batch.inputs), COPIED - 1)
    kept = kept[: batch.inputs.shape[1] - 2 * COPIED]
    values = torch.quantile(kept, torch.tensor(QUANTILES, dtype=kept.dtype), dim=1)
    closed = run.model.core.free_decay(torch.arange(len(kept), dtype=torch.float32))
    return {
        "network": run.config.core,
        "quantiles": [[round(value, 6) for value in row.tolist()] for row in values],
        "closed": None if closed is None else [round(value, 6) for value in closed.detach().median(1).values.tolist()],
    }


def _diverges() -> Claim:
    """Looked at, not derived: the derivation is in the analysis."""
    reset = 1 - torch.logspace(-3, -12, 10, dtype=torch.float64)
    age = torch.tensor(100.0, dtype=torch.float64)
    without, with_epsilon = (forget_by_reset(age, reset, POWER, epsilon).abs() for epsilon in (0.0, 1e-3))
    grows = bool((without.diff() > 0).all() and without[-1] > 1e6 * without[0] / 10)
    bounded = bool(with_epsilon.max() < 2 * with_epsilon[-1])
    return Claim(
        "the gate's gradient diverges as a unit resets, for p < 1, and ε = 0.001 cures it",
        "section 3.3",
        "closed form at p = 0.3, age 100, as 1 - r goes from 1e-3 to 1e-12",
        Verdict.HOLDS if grows and bounded else Verdict.FAILS,
        f"ε = 0: from {without[0]:.3g} to {without[-1]:.3g}; ε = 0.001: at most {with_epsilon.max():.3g}",
        runs=None,
    )


def _decay(data: Data) -> Figure:
    figure, ((closed, measured),) = style.grid(1, 2, width=3.4, height=2.6)
    time = np.asarray(data["time"])
    style.line(closed, time, data["exponential"], "lstm", text="$0.97^t$")
    style.line(closed, time, data["power_law"], "powerlaw", text="$(t + 1)^{-0.3}$")
    closed.set(title="closed form", xlabel="steps without input", ylabel="share of the memory left", ylim=(0, 1.02))
    for entry in data["measured"]:
        low, middle, high = (np.asarray(values) for values in entry["quantiles"])
        steps = np.arange(len(middle))
        style.line(measured, steps, middle, entry["network"])
        measured.fill_between(steps, low, high, color=style.colour(entry["network"]), alpha=0.15, linewidth=0)
        if entry["closed"]:
            measured.plot(steps, entry["closed"], "--", color=style.colour(entry["network"]), linewidth=0.8)
    measured.set(title="measured on the trained networks", xlabel="steps of the delay", ylim=(0, 1.02))
    measured.set_ylabel("share of the cell left, median unit")
    for panel in (closed, measured):
        panel.margins(x=0)
        style.name_lines(panel)
    return figure


def _gradient() -> Figure:
    """``|∂f/∂r|`` against how nearly a unit resets."""
    figure, ((panel,),) = style.grid(width=4.2, height=2.6)
    keep = torch.logspace(0, -8, 200, dtype=torch.float64)
    age = torch.tensor(100.0, dtype=torch.float64)
    for epsilon, dashed in ((0.0, True), (1e-3, False)):
        gradient = forget_by_reset(age, 1 - keep, POWER, epsilon).abs()
        style.line(panel, keep, gradient, "powerlaw", text=f"ε = {epsilon:g}", dashed=dashed)
    panel.set(xscale="log", yscale="log", xlabel="1 − r", ylabel="|∂f/∂r|", title="p = 0.3, age 100")
    panel.invert_xaxis()
    panel.margins(x=0)
    style.name_lines(panel)
    return figure
