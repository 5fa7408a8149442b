"""How long a study will take: measured on a few steps of each kind of run, before it starts."""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import torch

from slowfade.tasks.task import Split
from slowfade.training import Config, folder
from slowfade.training.checkpoint import POSITION
from slowfade.training.loop import Loop
from slowfade.training.progress import Watcher
from slowfade.training.run import build_fabric, subnormals_flushed

TIMED_STEPS = 3


class Speed(NamedTuple):
    """Seconds, alone on the machine."""

    step: float
    validation: float
    """A whole validation."""
    test: float
    steps: int
    """That a run has, if it does not solve its task before."""
    validations: int

    def left(self, done: int) -> float:
        """For what is left of a run after so many steps."""
        share = 1 - done / self.steps
        return share * (self.steps * self.step + self.validations * self.validation) + self.test


def speed(config: Config) -> Speed:
    """Take a few steps of a run, in memory."""
    before = torch.get_num_threads()
    torch.set_num_threads(config.training.threads or before)
    try:
        with subnormals_flushed():
            return _speed(config)
    finally:
        torch.set_num_threads(before)


def _speed(config: Config) -> Speed:
    loop = Loop(build_fabric(config, 1, launched=False), config, Path())
    loop.watcher = Watcher()
    loop.step()
    begin = time.perf_counter()
    for _ in range(TIMED_STEPS):
        loop.step()
    step = (time.perf_counter() - begin) / TIMED_STEPS
    validation, test = (_evaluation(loop, split) for split in ("validation", "test"))
    every = config.training.evaluate_every or len(loop.schedule)
    return Speed(step, validation, test, loop.steps, math.ceil(loop.steps / every))


@torch.no_grad()
def _evaluation(loop: Loop, split: Split) -> float:
    """One batch is measured, the others take as long."""
    batches = loop.task.schedule(split, loop.training.batch_size, seed=0, epoch=0)
    begin = time.perf_counter()
    loop.forward(loop.fetch(split, batches[0]), None)
    return len(batches) * (time.perf_counter() - begin)


def steps_done(path: Path) -> int:
    """How far a run has come."""
    position = folder.whole(path / folder.CHECKPOINT) / POSITION
    return folder.read_json(position)["step"] if position.exists() else 0


def duration(seconds: Sequence[float], processes: int) -> float:
    """Of several runs in so many processes, each taking the next that is left, the longest first."""
    busy = [0.0] * processes
    for one in sorted(seconds, reverse=True):
        heapq.heapreplace(busy, busy[0] + one)
    return max(busy)
