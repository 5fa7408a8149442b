"""``slowfade demo``: three networks learn to remember, and one page shows what they learned."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table

import slowfade
from slowfade.analysis.curves import curve, steps_to
from slowfade.analysis.power import initial_power, trained_power
from slowfade.analysis.resets import reference_times, reset_order
from slowfade.errors import UserError
from slowfade.report.environment import environment
from slowfade.report.page import inline
from slowfade.studies import heatmap, style
from slowfade.studies.resets import ages
from slowfade.tasks.copying import COPIED
from slowfade.training import Config, Run, configure, folder, open_run, train_all
from slowfade.training.command import one_line

NETWORKS = ("powerlaw", "chrono", "lstm")
DELAY = 60
TRAINING: dict[str, Any] = {"hidden": 64, "max_steps": 4000, "evaluate_every": 250, "log_every": 50}
TASK = {"delay": str(DELAY), "validation_sequences": 500}


@dataclass
class Demo:
    """Train a power-law LSTM, an LSTM and a chrono LSTM to copy ten symbols after a delay, and show how they fared.

    It takes about five minutes on two cores and needs no network. Started again, it goes on where it stopped.
    """

    out: Path = Path("runs/demo")
    """Where the runs and the page go."""


def main(arguments: list[str]) -> int:
    out = one_line(Demo, arguments, prog="slowfade demo").out
    console = Console()
    console.print(
        f"Ten symbols, a wait of {DELAY} steps, then say them again. "
        f"Three networks of {TRAINING['hidden']} units learn it side by side.\n",
        highlight=False,
    )
    configs = {out / name: config(name) for name in NETWORKS}
    if failures := train_all(configs):
        raise UserError("; ".join(f"{path}: {error}" for path, error in failures.items()))
    runs = [open_run(path) for path in configs]
    console.print()
    console.print(table(runs))
    page = out / "index.html"
    folder.write(page, render(runs).encode())
    console.print(f"\nLearning curves, what the units remember, and for how long: {page.resolve()}", soft_wrap=True)
    return 0


def config(network: str) -> Config:
    return configure("copying", network, task_options=TASK, **TRAINING)


def rows(runs: list[Run]) -> tuple[list[str], list[list[str]]]:
    """The table, for the terminal and the page."""
    head = ["network", "parameters", "symbols right", "sequences right", "loss", "steps to 50 %"]
    body = []
    for run in runs:
        result = run.result
        assert result is not None
        test = result["test"]
        half = steps_to(curve(run.metrics, "accuracy"), 0.5)
        body.append(
            [
                style.label(run.config.core),
                f"{result['parameters']:,}",
                f"{test['accuracy']:.1%}",
                f"{test['sequence_accuracy']:.1%}",
                f"{test['loss']:.4f}",
                "not reached" if half is None else f"{half:,.0f}",
            ]
        )
    return head, body


def table(runs: list[Run]) -> Table:
    head, body = rows(runs)
    found = Table(title=f"Copying ten symbols after {DELAY} steps: 500 test sequences", title_justify="left", box=None)
    for name in head:
        found.add_column(name, justify="left" if name == "network" else "right")
    for run, cells in zip(runs, body, strict=True):
        found.add_row(*cells, style=style.colour(run.config.core))
    return found


def render(runs: list[Run]) -> str:
    """The page; all that it shows is in it."""
    head, body = rows(runs)
    first = next(run for run in runs if run.config.core == "powerlaw")
    figures = {"curves": curves(runs), "resets": resets(first), "powers": powers(first)}
    return (
        environment()
        .get_template("demo.html.j2")
        .render(
            delay=DELAY,
            settings=TRAINING,
            colours=[style.colour(run.config.core) for run in runs],
            head=head,
            body=body,
            figures={name: inline(svg(figure), name) for name, figure in figures.items()},
            version=slowfade.__version__,
        )
    )


def curves(runs: list[Run]) -> Figure:
    """How often a symbol is said right, over training."""
    with style.styled():
        figure, ((panel,),) = style.grid(width=6.4, height=2.8)
        for run in runs:
            found = curve(run.metrics, "accuracy")
            style.line(panel, found.steps, found.values, run.config.core)
        panel.axhline(1 / 8, color=style.MUTED, linewidth=0.8, linestyle=":")
        panel.set(xlabel="steps of training", ylabel="symbols right", ylim=(0, 1.02), xlim=(0, TRAINING["max_steps"]))
        panel.yaxis.set_major_formatter("{x:.0%}")
        style.name_lines(panel)
        return figure


def resets(run: Run) -> Figure:
    """When each unit last let something in, over one test sequence."""
    age = ages(run, 100)
    end = age.shape[1] - COPIED - 1
    with style.styled():
        return heatmap.draw([("", heatmap.packed(reference_times(age[:1])[0], reset_order(age, end), end))])


def powers(run: Run) -> Figure:
    """The decay exponents, as drawn and as learned."""
    bins = np.linspace(0, 1, 21).tolist()
    with style.styled():
        figure, ((panel,),) = style.grid(width=4.2, height=2.4)
        panel.hist(initial_power(run.config).numpy(), bins, color=style.MUTED, alpha=0.45, label="before training")
        panel.hist(
            trained_power(run.model.core).numpy(),
            bins,
            histtype="step",
            linewidth=1.6,
            color=style.colour("powerlaw"),
            label="after training",
        )
        panel.set(xlabel="decay exponent $p$", ylabel="units", xlim=(0, 1))
        panel.legend(frameon=False)
        return figure


def svg(figure: Figure) -> str:
    text = io.StringIO()
    with style.styled():
        figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()
