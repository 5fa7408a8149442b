"""Many runs: those that are not finished are trained, as many at a time as there is room for."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

from slowfade.training import folder
from slowfade.training.config import Config
from slowfade.training.pools import pool
from slowfade.training.progress import duration, title, words
from slowfade.training.run import check_same


def train_all(
    configs: Mapping[Path, Config], *, processes: int | None = None, on: str = "local", quiet: bool = False
) -> dict[Path, str]:
    """Train runs, each in its folder; go on with those that were interrupted, pass over those that are finished.

    Args:
        configs: what to train, by folder.
        processes: how many at the same time on this machine; ``None``: one per core, with one thread each.
        on: ``local``, ``ray`` or ``ray://address:port``.
        quiet: show nothing.

    Returns:
        Why runs failed, in one line each, by folder. All others are finished.
    """
    waiting, failures = [], {}
    for path, config in configs.items():
        if folder.finished(path):
            check_same(config, path)
        else:
            waiting.append(path)
    console = Console(quiet=quiet)
    watcher = (Terminal if console.is_terminal and not quiet else Lines)(console, configs, len(waiting))
    if not waiting:
        return {}
    runs = pool(on, processes)
    try:
        with watcher:
            while waiting or watcher.running:
                while waiting and len(watcher.running) < runs.capacity:
                    path = waiting.pop(0)
                    runs.start(path, configs[path])
                    watcher.started(path)
                for path, error in runs.ended():
                    if error is not None:
                        failures[path] = error
                    watcher.ended(path, error)
                watcher.look()
                time.sleep(0.2)
    finally:
        runs.close()
    return failures


class Lines:
    """How a sweep goes: a line for every run that starts or ends."""

    def __init__(self, console: Console, configs: Mapping[Path, Config], waiting: int) -> None:
        self.console, self.configs, self.over = console, configs, len(configs) - waiting
        self.running: list[Path] = []
        done = f", {self.over} of them finished already" if self.over else ""
        self.say(f"{len(configs)} runs{done}")

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass

    def started(self, path: Path) -> None:
        self.running.append(path)
        self.say(f"{path}: {title(self.configs[path])}")

    def ended(self, path: Path, error: str | None) -> None:
        self.running.remove(path)
        self.over += 1
        outcome = f"failed: {error}" if error else f"test {words(folder.read_json(path / folder.RESULT)['test'])}"
        self.say(f"{path}: {outcome}")

    def look(self) -> None:
        pass

    def say(self, text: str) -> None:
        self.console.print(f"[{self.over}/{len(self.configs)}] {text}", markup=False, highlight=False, soft_wrap=True)


class Terminal(Lines):
    """The same, with a bar for each run that is being trained."""

    def __enter__(self) -> None:
        self.live = Live(console=self.console, refresh_per_second=4, transient=True)
        self.live.start()
        self.looked = 0.0

    def __exit__(self, *_: object) -> None:
        self.live.stop()

    def look(self) -> None:
        if time.monotonic() - self.looked < 1:
            return
        self.looked = time.monotonic()
        table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
        for path in self.running[:20]:
            table.add_row(path.name, *progress(path))
        self.live.update(table)


def progress(path: Path) -> tuple[ProgressBar | str, ...]:
    """How far a run is, from its folder: a bar, the step, what was last measured, the time left."""
    log, row = folder.last_row(path / folder.LOG), folder.last_row(path / folder.METRICS)
    if log is None:
        return ("starting",)
    step, steps, seconds = log["step"], log["steps"], log["seconds"]
    left = f"{duration((steps - step) * seconds / step)} left" if step else ""
    return ProgressBar(steps, step, width=20), f"{step}/{steps}", words(row) if row else "", left
