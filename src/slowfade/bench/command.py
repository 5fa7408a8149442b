"""``slowfade bench``: how fast the engines are, side by side, in ratios to ``nn.LSTM``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean
from typing import Annotated, Any

import torch
import tyro
from rich.console import Console
from rich.progress import track
from rich.table import Table

from slowfade.bench.contestants import CONTESTANTS, USUAL, YARDSTICK
from slowfade.bench.measure import MODES, Timing, measure
from slowfade.bench.shapes import SHAPES
from slowfade.cores import cost
from slowfade.engines import cpu
from slowfade.errors import UserError
from slowfade.training import folder
from slowfade.training.command import one_line
from slowfade.training.machine import machine, versions

CORES = "--cores"


@dataclass(frozen=True)
class Arguments:
    """Speed of the engines on the shapes of the paper's tasks, beside PyTorch's own networks.

    In every round all take their turn, in one process. What counts is the median of the ratios to nn.LSTM's time in
    the same round; behind it stand the smallest and the largest. Output and gradients are first compared with float64:
    for a wrong result no speed is shown. With --cores: what each network of the paper costs (see --cores --help).
    """

    shapes: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """Which shapes. All, if none is named."""
    contestants: tuple[str, ...] = USUAL
    """Who is timed. `all`: everyone; the reference engine and its compiled steps take long."""
    threads: tuple[int, ...] = ()
    """With how many threads, one after the other. None named: PyTorch's own choice."""
    rounds: int = 7
    """How often each is timed."""
    json: Path | None = None
    """Also write the figures to this file."""
    list: bool = False
    """List the shapes and the contestants."""


def main(arguments: list[str]) -> int:
    if CORES in arguments:
        return cost.main([argument for argument in arguments if argument != CORES])
    chosen: Arguments = one_line(Arguments, arguments, prog="slowfade bench")
    console = Console(highlight=False)
    if chosen.list:
        show_list(console)
        return 0
    shapes = known("shape", chosen.shapes or tuple(SHAPES), SHAPES)
    names = known("contestant", CONTESTANTS if chosen.contestants == ("all",) else chosen.contestants, CONTESTANTS)
    for option, values in {"rounds": (chosen.rounds,), "threads": chosen.threads}.items():
        if min(values, default=1) < 1:
            raise UserError(f"{option} should be at least 1, got {min(values)}")
    if reason := cpu.why_not(torch.empty(0)):
        raise UserError(f"there is nothing to compare: {reason}")
    if chosen.json and not chosen.json.parent.is_dir():
        raise UserError(f"{chosen.json.parent} is no folder to write {chosen.json.name} into")
    before = torch.get_num_threads()
    timings: list[Timing] = []
    try:
        for threads in chosen.threads or (before,):
            for shape in shapes:
                rounds = measure(shape, names, threads, chosen.rounds)
                title = f"{shape}, {threads} threads"
                *_, last = track(rounds, title, chosen.rounds + 1, console=console, transient=True)
                timings += last
                show(last, console)
                if chosen.json:
                    folder.write_json(chosen.json, as_json(timings, chosen.rounds))
            show_means([timing for timing in timings if timing.threads == threads], console)
    finally:
        torch.set_num_threads(before)
    return 0 if all(timing.right for timing in timings) else 1


def known(what: str, names: Sequence[str] | dict[str, Any], there: dict[str, Any]) -> list[str]:
    if unknown := [name for name in names if name not in there]:
        raise UserError(f"there is no {what} {unknown[0]!r}; there are {', '.join(there)}")
    return list(names)


def show(timings: Sequence[Timing], console: Console) -> None:
    """One shape with one number of threads."""
    first = timings[0]
    threads = f"{first.threads} thread{'s' if first.threads > 1 else ''}"
    table = Table("", "", "ms", "x nn.LSTM", "GFLOP/s", box=None)
    for column in table.columns:
        column.no_wrap = True
    for column in table.columns[2:]:
        column.justify = "right"
    for mode in MODES:
        several = [timing for timing in timings if timing.mode == mode]
        for timing in several:
            table.add_row(mode if timing is several[0] else "", timing.contestant, *cells(timing))
    console.print(f"\n[bold]{first.shape}[/bold]: {SHAPES[first.shape]}; {threads}")
    console.print(table)


def cells(timing: Timing) -> tuple[str, str, str]:
    if not timing.right:
        return ("", f"wrong result: error {timing.error:.0e}", "")
    assert timing.milliseconds is not None
    assert timing.speedup is not None
    milliseconds, low, high = timing.milliseconds.median, timing.speedup.smallest, timing.speedup.largest
    digits = min(3, max(0, 2 - math.floor(math.log10(milliseconds))))
    return (
        f"{milliseconds:.{digits}f}",
        f"{timing.speedup.median:.2f} ({low:.2f} to {high:.2f})",
        f"{timing.gflops:.0f} ({timing.share:.0%})",
    )


def show_means(timings: Sequence[Timing], console: Console) -> None:
    """Over all shapes: how many times as fast as ``nn.LSTM`` each is, in the geometric mean, and where it is worst."""
    table = Table("all shapes", *(f"{mode}: mean (least)" for mode in MODES), box=None)
    for name in dict.fromkeys(timing.contestant for timing in timings):
        if name == YARDSTICK:
            continue
        row = []
        for mode in MODES:
            ratios = [
                timing.speedup.median
                for timing in timings
                if timing.speedup and (timing.contestant, timing.mode) == (name, mode)
            ]
            row.append(f"{geometric_mean(ratios):.2f} ({min(ratios):.2f})" if ratios else "")
        table.add_row(name, *row)
    console.print(table)
    console.print(
        "x nn.LSTM: times as fast, the median (smallest to largest) over the rounds. "
        "GFLOP/s: of the matrix products needed, and their share of a large product's rate.",
        style="dim",
    )


def as_json(timings: Sequence[Timing], rounds: int) -> dict[str, Any]:
    return {
        "versions": versions(),
        "machine": machine(),
        "engine": cpu.variant(),
        "rounds": rounds,
        "timings": [
            {
                **timing._asdict(),
                "milliseconds": timing.milliseconds and timing.milliseconds._asdict(),
                "speedup": timing.speedup and timing.speedup._asdict(),
            }
            for timing in timings
        ],
    }


def show_list(console: Console) -> None:
    for title, summaries in (
        ("shapes", {name: str(shape) for name, shape in SHAPES.items()}),
        ("contestants", {name: contestant.summary for name, contestant in CONTESTANTS.items()}),
    ):
        console.print(f"[bold]{title}[/bold]")
        for name, summary in summaries.items():
            console.print(f"  {name:{max(map(len, summaries))}}  {summary}")
