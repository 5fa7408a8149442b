"""``slowfade sweep``: networks x seeds x options."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from slowfade.errors import UserError
from slowfade.flags import one_line
from slowfade.training.command import parse
from slowfade.training.config import Config

#: Flags of `slowfade train` that a sweep sets itself, and by what.
OWN = {"core": "--cores", "seed": "--seeds", "out": "--out, the folder of all runs,"}


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
    check_names([name for (name, _), *_ in varied], [flag[2:] for flag in others if flag.startswith("--")])
    configs: dict[Path, Config] = {}
    for core, values, seed in itertools.product(sweep.cores, itertools.product(*varied), seeds(sweep.seeds)):
        assignments = [f"{name}={value}" for name, value in values]
        path = out / "-".join([core, *assignments, str(seed)]).replace("/", "_")
        flags = [f"--core={core}", f"--seed={seed}", *others, *(f"--{assignment}" for assignment in assignments)]
        if path in configs:
            raise UserError(f"{path.name} would be trained twice: name every network, seed and value once")
        configs[path] = parse([task, *flags])[0]
    return configs


def check_names(varied: Sequence[str], given: Sequence[str]) -> None:
    """A flag is set in one place: by the sweep itself, by --vary, or for all runs."""
    taken = dict(OWN)
    for name in varied:
        refuse(name, taken)
        taken[plain(name)] = f"--vary {name}=..."
    for flag in given:
        refuse(flag.partition("=")[0], taken)


def refuse(name: str, taken: Mapping[str, str]) -> None:
    if instead := taken.get(plain(name)):
        raise UserError(f"--{name} is set by {instead} in a sweep: give only that")


def plain(name: str) -> str:
    """A flag's name with its words joined in one way."""
    return name.replace("_", "-")


def alternatives(text: str) -> list[tuple[str, str]]:
    name, equals, values = text.partition("=")
    if not equals or not values:
        raise UserError(f"--vary {text} should be NAME=VALUE,VALUE,...")
    return [(name.lstrip("-"), value) for value in values.split(",")]


def seeds(text: str) -> list[int]:
    first, colon, last = text.partition(":")
    try:
        found = list(range(int(first), int(last))) if colon else [int(part) for part in text.split(",")]
    except ValueError:
        raise UserError(f"--seeds {text} should be numbers such as 0,1,2 or a range such as 0:5") from None
    if not found:
        raise UserError(f"--seeds {text} is an empty range: 0:5 is 0 to 4")
    return found
