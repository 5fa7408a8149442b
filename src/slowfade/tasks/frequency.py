"""Frequency discrimination (paper, section 5.4; Neil et al. 2016)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float, Float64, Int
from torch import Tensor

from slowfade.tasks.options import at_least
from slowfade.tasks.sampled import sampled
from slowfade.tasks.stream import Stream
from slowfade.tasks.task import Batch, Measure, Numbers, Settings, Split, Task, accuracy

SHORTEST, LONGEST = 15, 125
"""Bounds of a wave's duration, and of how many points of it are seen when they are drawn."""
STEPS = {"sync-1": 1.0, "sync-0.1": 0.1}


@dataclass(frozen=True)
class Frequency(Task):
    """Tell sine waves with a period between 5 and 6 from others.

    Class 1 has periods from U(5, 6), class 0 from U(1, 5) or U(6, 100), each half of the time; odd numbers are class 1.
    A wave lasts U(15, 125), starts at a time between 0 and 125 less its duration, and is sin(2π t / T - s) with a phase
    s from U(0, duration). Every epoch has new sequences.
    """

    sampling: Literal["sync-1", "sync-0.1", "async"] = "async"
    """Points one apart, a tenth apart, or 15 to 124 of them at random times."""
    time_input: bool = False
    """Give the time as a second input. Networks that take dt get it in any case."""
    train_sequences: int = 5000
    """How many sequences an epoch has."""
    validation_sequences: int = 500
    """How many sequences are validated on, and how many are tested on."""
    data_seed: int = 0
    """Another seed gives other sequences."""

    every_step = False
    output_size = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(1, train_sequences=self.train_sequences, validation_sequences=self.validation_sequences)

    @property
    def settings(self) -> Settings:
        return Settings(
            hidden_size=110,
            epochs=70,
            batch_size=32,
            best="accuracy",
            core_options={
                "powerlaw": {"epsilon": 1e-5},
                "chrono": {"t_max": round(LONGEST / STEPS.get(self.sampling, 1.0))},
            },
        )

    @property
    def encoding(self) -> Numbers:
        return Numbers(1 + self.time_input)

    @property
    def output_names(self) -> list[str]:
        return ["another period", "period 5 to 6"]

    def size(self, split: Split) -> int:
        return self.train_sequences if split == "train" else self.validation_sequences

    def schedule(self, split: Split, batch_size: int, *, seed: int, epoch: int) -> list[Int[Tensor, " batch"]]:
        """As in all tasks, but the numbers of training go on from epoch to epoch."""
        batches = super().schedule(split, batch_size, seed=seed, epoch=epoch)
        return [numbers + epoch * self.size(split) for numbers in batches] if split == "train" else batches

    def batch(self, split: Split, numbers: Int[Tensor, " batch"]) -> Batch:
        draws = Stream(self.data_seed, f"frequency {split} waves").uniforms(numbers, 4).T[..., None]
        targets = numbers % 2
        periods = np.where(targets.numpy()[:, None] == 1, 5 + draws[0], _other_period(draws[0]))
        duration = SHORTEST + (LONGEST - SHORTEST) * draws[1]
        start = (LONGEST - duration) * draws[2]
        phase = duration * draws[3]

        times, lengths = self._times(split, numbers, start, duration)
        waves = np.sin(2 * np.pi / periods * times - phase)
        return sampled(waves[..., None], times, lengths, targets, time_input=self.time_input)

    def measures(self, prediction: Float[Tensor, "batch 2"], batch: Batch) -> dict[str, Measure]:
        return {"accuracy": accuracy(prediction, batch.targets)}

    def _times(
        self,
        split: Split,
        numbers: Int[Tensor, " batch"],
        start: Float64[np.ndarray, "batch 1"],
        duration: Float64[np.ndarray, "batch 1"],
    ) -> tuple[Float64[np.ndarray, "batch time"], Int[np.ndarray, " batch"]]:
        """When the points are seen, and how many they are; times past the last point are any."""
        if self.sampling != "async":
            step = STEPS[self.sampling]
            lengths = np.ceil(duration[:, 0] / step).astype(np.int64)
            return start + step * np.arange(lengths.max(initial=0)), lengths
        points = Stream(self.data_seed, f"frequency {split} points").integers(numbers, 1, high=LONGEST - SHORTEST)
        lengths = SHORTEST + points[:, 0]
        where = Stream(self.data_seed, f"frequency {split} times").uniforms(numbers, int(lengths.max(initial=0)))
        where[np.arange(where.shape[1]) >= lengths[:, None]] = 1.0
        where.sort(axis=1)
        return start + duration * where, lengths


def _other_period(uniform: Float64[np.ndarray, "batch 1"]) -> Float64[np.ndarray, "batch 1"]:
    """From U(0, 1) to U(1, 5) for the lower half, to U(6, 100) for the upper."""
    return np.where(uniform < 0.5, 1 + 4 * (2 * uniform), 6 + 94 * (2 * uniform - 1))
