"""The adding problem (Hochreiter and Schmidhuber 1997, experiment 4): add two marked numbers far apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from slowfade.tasks.options import at_least
from slowfade.tasks.stream import Stream
from slowfade.tasks.task import Batch, Measure, Numbers, Settings, Split, Task

FIRST = 10
"""The first marked number is one of so many."""
TOLERANCE = 0.04


@dataclass(frozen=True)
class Adding(Task):
    """Add two marked numbers.

    Each step is a pair: a number from U(-1, 1), and a marker that is 1 at two steps, -1 at the first and the last, else
    0. One mark is among the first ten steps, the other among the first T/2 - 1. What is asked after the last step is
    0.5 + (X1 + X2) / 4; the first step counts as zero where it is chosen. Sequences are T to T + T/10 steps long.
    A sequence is right when the error is below 0.04; always saying 0.5 has a mean squared error of 1/24.
    """

    length: int = 100
    """T, the shortest length; the longest is a tenth longer."""
    train_sequences: int = 100_000
    """How many sequences an epoch has."""
    validation_sequences: int = 10_000
    """How many sequences are validated on, and how many are tested on."""
    data_seed: int = 0
    """Another seed gives other sequences."""

    every_step = False
    encoding = Numbers(2)
    output_size = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(1, train_sequences=self.train_sequences, validation_sequences=self.validation_sequences)
        at_least(2 * FIRST + 2, length=self.length)

    @property
    def longest(self) -> int:
        return self.length + self.length // 10

    @property
    def settings(self) -> Settings:
        return Settings(
            hidden_size=128,
            epochs=100,
            clip_norm=1.0,
            best="accuracy",
            solved=0.999,
            core_options={"chrono": {"t_max": self.longest}},
        )

    @property
    def output_names(self) -> None:
        return None

    def size(self, split: Split) -> int:
        return self.train_sequences if split == "train" else self.validation_sequences

    def batch(self, split: Split, numbers: Int[Tensor, " batch"]) -> Batch:
        lengths = self.length + self._integers(split, "length", numbers, self.longest - self.length + 1)
        first = self._integers(split, "first", numbers, FIRST)
        # Among the steps still unmarked: those from the first mark on move up by one.
        second = self._integers(split, "second", numbers, self.length // 2 - 2)
        second += second >= first
        steps = int(lengths.max(initial=self.length))
        values = 2 * Stream(self.data_seed, f"adding {split} values").uniforms(numbers, steps) - 1

        markers = np.zeros_like(values)
        for marked, marker in ((first, 1), (second, 1), (lengths - 1, -1), (np.zeros_like(first), -1)):
            np.put_along_axis(markers, marked, marker, axis=1)
        targets = 0.5 + (values * (markers == 1)).sum(1) / 4
        inputs = np.stack([values, markers], axis=-1) * (np.arange(steps) < lengths)[..., None]
        return Batch(
            torch.from_numpy(inputs.astype(np.float32)),
            torch.from_numpy(targets.astype(np.float32)),
            torch.from_numpy(lengths[:, 0]),
        )

    def loss(self, prediction: Float[Tensor, "batch 1"], batch: Batch) -> Measure:
        """The squared error."""
        return Measure.of((prediction[:, 0] - batch.targets).square())

    def measures(self, prediction: Float[Tensor, "batch 1"], batch: Batch) -> dict[str, Measure]:
        """Accuracy: the error is below 0.04."""
        return {"accuracy": Measure.of((prediction[:, 0] - batch.targets).abs() < TOLERANCE)}

    def _integers(self, split: Split, kind: str, numbers: Int[Tensor, " batch"], high: int) -> np.ndarray:
        return Stream(self.data_seed, f"adding {split} {kind}").integers(numbers, 1, high)
