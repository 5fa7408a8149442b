"""``slowfade sweep``: networks x seeds x options."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from slowfade.errors import UserError
from slowfade.training.command import one_line, parse
from slowfade.training.config import Config


@dataclass
class Sweep:
    """Train many runs of TASK: every network with every seed and every combination of --vary. All other flags are
    those of `slowfade train TASK`. Runs that are finished are not run again, others go on where they stopped."""

    cores: tuple[str, ...] = ("powerlaw",)
    """The networks."""
    seeds: str = "0"
    """Such as 0,1,2 or 0:5, which leaves 5 out."""
    vary: Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME=VALUE,...")] = ()
    """Flags to give several values, such as delay=100,200 hidden=64,128."""
    out: Path | None = None
    """The folder of all runs. None: runs/TASK."""
    processes: int | None = None
    """How many runs at the same time. None: one per core, with one thread each."""
    on: str = "local"
    """This machine; `ray`, a local cluster; or `ray://ADDRESS:PORT`. A cluster's machines share the runs' folders."""
    quiet: bool = False
    """Show nothing."""


def main(arguments: list[str]) -> int:
    if not arguments or arguments[0].startswith("-"):
        arguments = ["TASK", "--help"]
    task, *flags = arguments
    sweep, others = one_line(Sweep, flags, prog=f"slowfade sweep {task}", return_unknown_args=True)
    configs = expand(task, sweep, others)
    from slowfade.training.sweep import train_all

    failures = train_all(configs, processes=sweep.processes, on=sweep.on, quiet=sweep.quiet)
    for path, error in failures.items():
        print(f"slowfade: {path} failed: {error}", file=sys.stderr)
    return 1 if failures else 0


def expand(task: str, sweep: Sweep, others: Sequence[str]) -> dict[Path, Config]:
    """What to train, by folder: just what `slowfade train` would make of the same flags."""
    out = sweep.out or Path("runs") / task
    varied = [alternatives(text) for text in sweep.vary]
    configs = {}
    for core, values, seed in itertools.product(sweep.cores, itertools.product(*varied), seeds(sweep.seeds)):
        assignments = [f"{name}={value}" for name, value in values]
        path = out / "-".join([core, *assignments, str(seed)]).replace("/", "_")
        flags = [f"--core={core}", f"--seed={seed}", *others, *(f"--{assignment}" for assignment in assignments)]
        configs[path] = parse([task, *flags])[0]
    return configs


def alternatives(text: str) -> list[tuple[str, str]]:
    name, equals, values = text.partition("=")
    if not equals or not values:
        raise UserError(f"--vary {text} should be NAME=VALUE,VALUE,...")
    return [(name.lstrip("-"), value) for value in values.split(",")]


def seeds(text: str) -> list[int]:
    first, colon, last = text.partition(":")
    try:
        return list(range(int(first), int(last))) if colon else [int(part) for part in text.split(",")]
    except ValueError:
        raise UserError(f"--seeds {text} should be numbers such as 0,1,2 or a range such as 0:5") from None
