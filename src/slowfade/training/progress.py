"""Who watches a run: the terminal, a log of times, TensorBoard."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from slowfade.training import folder
from slowfade.training.checkpoint import Position
from slowfade.training.config import Config

Row = Mapping[str, Any]


class Watcher:
    """Sees what happens in a run, and does nothing."""

    def begin(self, position: Position, steps: int) -> None:
        """The run starts, or goes on from ``position``, and has so many steps."""

    def stepped(self, step: int) -> None:
        """A step was taken."""

    def row(self, row: Row) -> None:
        """Something was measured."""

    def saved(self, position: Position) -> None:
        """A checkpoint was written."""

    def end(self, reason: str) -> None:
        """The run is over: "finished", or why not."""


class Journal(Watcher):
    """``log.jsonl``: when what happened. Times differ between runs that are otherwise the same, so they stand here."""

    def __init__(self, path: Path) -> None:
        self.rows = folder.Rows(path / folder.LOG)
        self.step, self.steps, self.began, self.before = 0, 0, time.monotonic(), 0.0

    def begin(self, position: Position, steps: int) -> None:
        self.step, self.steps, self.began, self.before = position.step, steps, time.monotonic(), position.seconds
        self.write("resumed" if position.step else "started")

    def stepped(self, step: int) -> None:
        self.step = step

    def row(self, row: Row) -> None:
        self.write(row["split"])

    def saved(self, position: Position) -> None:
        self.write("checkpoint")

    def end(self, reason: str) -> None:
        # Where the disk is full there is nothing to add to what ended the run.
        with contextlib.suppress(OSError):
            self.write("ended", reason=reason)
        with contextlib.suppress(OSError):
            self.rows.close()

    def write(self, event: str, **more: Any) -> None:
        seconds = round(self.before + time.monotonic() - self.began, 3)
        now = datetime.now(timezone.utc).isoformat(timespec="seconds")
        where = {"step": self.step, "steps": self.steps, "seconds": seconds}
        self.rows.append({"at": now, "event": event, **where, **more})


class Lines(Watcher):
    """Plain lines, for logs: every evaluation, and a sign of life twice a minute."""

    def __init__(self, console: Console, config: Config, path: Path) -> None:
        self.console, self.config, self.path = console, config, path
        self.said = time.monotonic()

    def begin(self, position: Position, steps: int) -> None:
        self.steps, self.start, self.began = steps, position.step, time.monotonic()
        goes_on = f", going on after step {position.step}" if position.step else ""
        self.say(f"{title(self.config)}: {steps} steps, in {self.path}{goes_on}")

    def row(self, row: Row) -> None:
        if row["split"] == "train" and time.monotonic() - self.said < 30:
            return
        step, pace, left = row["step"], "", ""
        speed = (step - self.start) / max(time.monotonic() - self.began, 1e-9)
        if speed > 0 and row["split"] != "test":
            pace = f"{speed * self.config.training.batch_size:.0f} sequences/s"
            left = f"{duration((self.steps - step) / speed)} left"
        self.say("  ".join(filter(None, [f"step {step}/{self.steps}", row["split"], words(row), pace, left])))

    def end(self, reason: str) -> None:
        if reason == "finished":
            self.say(f"finished: {self.path}")
        elif reason == "interrupted":
            self.say(f"stopped: the same command goes on from here ({self.path})")

    def say(self, text: str) -> None:
        self.said = time.monotonic()
        self.console.print(text, highlight=False, soft_wrap=True)


class Live(Lines):
    """A bar on a terminal, and a line for every evaluation."""

    def __init__(self, console: Console, config: Config, path: Path) -> None:
        super().__init__(console, config, path)
        self.bar = Bar(
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TextColumn("{task.fields[pace]}", style="cyan"),
            TextColumn("{task.fields[values]}"),
            TimeRemainingColumn(compact=True),
            console=console,
            refresh_per_second=4,
            speed_estimate_period=120,
        )

    def begin(self, position: Position, steps: int) -> None:
        super().begin(position, steps)
        self.task = self.bar.add_task("", total=steps, completed=position.step, pace="", values="")
        self.bar.start()

    def stepped(self, step: int) -> None:
        speed = (step - self.start) / max(time.monotonic() - self.began, 1e-9)
        self.bar.update(self.task, completed=step, pace=f"{speed * self.config.training.batch_size:.0f} sequences/s")

    def row(self, row: Row) -> None:
        if row["split"] == "train":
            self.bar.update(self.task, values=words(row))
        else:
            super().row(row)

    def end(self, reason: str) -> None:
        self.bar.stop()
        super().end(reason)


class Board(Watcher):
    """TensorBoard's event files."""

    def __init__(self, path: Path) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self.writer = SummaryWriter(path / "tensorboard")

    def row(self, row: Row) -> None:
        for name, value in measures(row).items():
            self.writer.add_scalar(f"{name}/{row['split']}", value, row["step"])

    def end(self, reason: str) -> None:
        self.writer.close()


class Watchers(Watcher):
    """Several of them."""

    def __init__(self, *watchers: Watcher) -> None:
        self.all = watchers

    def begin(self, position: Position, steps: int) -> None:
        for watcher in self.all:
            watcher.begin(position, steps)

    def stepped(self, step: int) -> None:
        for watcher in self.all:
            watcher.stepped(step)

    def row(self, row: Row) -> None:
        for watcher in self.all:
            watcher.row(row)

    def saved(self, position: Position) -> None:
        for watcher in self.all:
            watcher.saved(position)

    def end(self, reason: str) -> None:
        for watcher in self.all:
            watcher.end(reason)


def watchers(config: Config, path: Path, quiet: bool) -> Watchers:
    """Those that a run has."""
    found: list[Watcher] = [Journal(path)]
    if not quiet:
        console = Console()
        found.append((Live if console.is_terminal else Lines)(console, config, path))
    if config.training.tensorboard:
        found.append(Board(path))
    return Watchers(*found)


def measures(row: Row) -> dict[str, float]:
    """What was measured, without where and when."""
    return {name: value for name, value in row.items() if name not in ("step", "epoch", "split")}


def words(row: Row) -> str:
    return "  ".join(f"{name.replace('_', ' ')} {value:.4g}" for name, value in measures(row).items())


def title(config: Config) -> str:
    return f"{config.core} ({config.training.hidden} units) on {config.task}, seed {config.training.seed}"


def duration(seconds: float) -> str:
    minutes, hours = round(seconds / 60), seconds / 3600
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 90 else f"{hours:.1f} h"
