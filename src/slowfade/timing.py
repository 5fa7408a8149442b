"""How speed is measured: those to be compared take turns in one process, and each round gives one ratio."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median
from typing import NamedTuple, TypeVar

Key = TypeVar("Key")


class Spread(NamedTuple):
    median: float
    smallest: float
    largest: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        return cls(median(values), min(values), max(values))


def interleaved(steps: Mapping[Key, Callable[[], object]]) -> Iterator[dict[Key, float]]:
    """Rounds without end: the seconds each step took when all took turns. The first round only warms up."""
    while True:
        yield {name: timed(step) for name, step in steps.items()}


def timed(step: Callable[[], object]) -> float:
    start = time.perf_counter()
    step()
    return time.perf_counter() - start
