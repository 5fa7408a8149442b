"""``slowfade runs``: the runs in a folder."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console
from rich.table import Table

from slowfade.errors import UserError
from slowfade.training import folder
from slowfade.training.command import one_line
from slowfade.training.progress import measures
from slowfade.training.run import Run, open_run


@dataclass
class Listing:
    """List the runs in a folder and the folders below it: how far they are, and what they came to."""

    folder: Annotated[Path, tyro.conf.Positional] = Path("runs")
    """Where to look."""


def main(arguments: list[str]) -> int:
    root = one_line(Listing, arguments, prog="slowfade runs").folder
    if not root.is_dir():
        raise UserError(f"there is no folder {root}")
    runs = find(root)
    if not runs:
        raise UserError(f"there are no runs in {root}")
    Console().print(table(root, runs))
    return 0


def find(root: Path) -> list[Run]:
    """All runs below a folder, by name."""
    found = []
    for parent, folders, files in os.walk(root):
        if folder.CONFIG in files and folder.LOCK in files:
            found.append(open_run(parent))
            folders.clear()
    return sorted(found, key=lambda run: run.path)


def table(root: Path, runs: list[Run]) -> Table:
    result = Table(box=None, header_style="bold")
    for name in ("run", "task", "network", "units", "seed", "state", "step"):
        result.add_column(name, justify="right" if name in ("units", "seed", "step") else "left")
    result.add_column("measured last")
    for run in runs:
        config, training = run.config, run.config.training
        last = folder.last_row(run.path / folder.LOG)
        result.add_row(
            str(run.path.relative_to(root)),
            config.task,
            config.core,
            str(training.hidden),
            str(training.seed),
            state(run),
            f"{last['step']}/{last['steps']}" if last else "",
            outcome(run),
        )
    return result


def state(run: Run) -> str:
    """In a word; and why a run stopped, where it said so."""
    colour = {"finished": "green", "running": "cyan", "stopped": "yellow"}[run.state]
    reason = ""
    if run.state == "stopped":
        last = folder.last_row(run.path / folder.LOG)
        reason = f" ({last['reason'].split(' of ')[0]})" if last and "reason" in last else " (killed)"
    return f"[{colour}]{run.state}[/]{reason}"


def outcome(run: Run) -> str:
    if run.result:
        row = run.result["test"]
    else:
        validations = [row for row in run.metrics if row["split"] == "validation"]
        if not validations:
            return ""
        row = validations[-1]
    return f"{row['split']} " + "  ".join(f"{name} {value:.4g}" for name, value in measures(row).items())
