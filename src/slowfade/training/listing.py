"""``slowfade runs``: the runs in a folder."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from slowfade.errors import UserError
from slowfade.flags import one_line
from slowfade.training import folder
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
    paths = find(root)
    if not paths:
        raise UserError(f"there are no runs in {root}")
    # A terminal says how wide it is; a file or a pipe takes whole lines.
    Console(width=None if sys.stdout.isatty() else 200).print(table(root, paths))
    return 0


def find(root: Path) -> list[Path]:
    """The folders of all runs below a folder, by name."""
    found = []
    for parent, folders, files in os.walk(root):
        if folder.CONFIG in files and folder.LOCK in files:
            found.append(Path(parent))
            folders.clear()
    return sorted(found)


def table(root: Path, paths: list[Path]) -> Table:
    result = Table(box=None, header_style="bold")
    result.add_column("run", no_wrap=True)
    result.add_column("task")
    result.add_column("network")
    result.add_column("units", justify="right")
    result.add_column("seed", justify="right")
    result.add_column("state")
    result.add_column("step", justify="right", no_wrap=True)
    result.add_column("measured last", no_wrap=True)
    for path in paths:
        try:
            cells = row(open_run(path))
        except UserError as error:
            cells = ["", "", "", "", f"[red]damaged[/] ({escape(str(error))})"]
        result.add_row(escape(str(path.relative_to(root))), *cells)
    return result


def row(run: Run) -> list[str]:
    config, training = run.config, run.config.training
    last = folder.last_row(run.path / folder.LOG)
    return [
        config.task,
        config.core,
        str(training.hidden),
        str(training.seed),
        state(run),
        f"{last['step']}/{last['steps']}" if last else "",
        outcome(run),
    ]


def state(run: Run) -> str:
    """In a word; and why a run stopped, where it said so."""
    colour = {"finished": "green", "running": "cyan", "stopped": "yellow"}[run.state]
    reason = ""
    if run.state == "stopped":
        last = folder.last_row(run.path / folder.LOG)
        reason = f" ({last['reason'].split(' of ')[0]})" if last and "reason" in last else " (killed)"
    return f"[{colour}]{run.state}[/]{reason}"


def outcome(run: Run) -> str:
    """What the run is judged by, as it was measured last."""
    rows = [row for row in run.metrics if row["split"] != "train"]
    best = run.config.training.best
    return f"{rows[-1]['split']} {best.replace('_', ' ')} {rows[-1][best]:.4g}" if rows else ""
