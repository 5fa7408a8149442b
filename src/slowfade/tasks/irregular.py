"""Real sequences sampled at irregular times: intensive-care records, or digits seen at random moments."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from jaxtyping import Float, Float64, Int
from torch import Tensor
from torch.nn import functional as F

from slowfade.errors import UserError
from slowfade.tasks.options import at_least
from slowfade.tasks.patients import Patients
from slowfade.tasks.pixels import CLASSES, PIXELS, Digits
from slowfade.tasks.sampled import sampled
from slowfade.tasks.stream import Stream
from slowfade.tasks.task import Batch, Measure, Numbers, Settings, Split, Task, accuracy, cross_entropy

LONGEST_RECORD = 203
"""Steps."""
GLIMPSES = 196
"""A quarter of the pixels."""


class Glimpses:
    """Digits seen in part. An image takes 784 units of time, a unit per pixel, and is seen at random moments of them.

    Where on the image a glimpse falls shows in its time only.
    """

    width = 1
    output_size = CLASSES

    def __init__(self, steps: int) -> None:
        self.digits, self.steps = Digits(), steps

    def size(self, split: Split) -> int:
        return len(self.digits.labels[split])

    def sequences(
        self, split: Split, numbers: Int[Tensor, " batch"]
    ) -> tuple[
        Float[np.ndarray, "batch time 1"],
        Float64[np.ndarray, "batch time"],
        Int[np.ndarray, " batch"],
        Int[Tensor, " batch"],
    ]:
        """Values, times, lengths, targets."""
        times = PIXELS * Stream(0, f"irregular {split}").uniforms(numbers, self.steps)
        times.sort(axis=1)
        values = np.take_along_axis(self.digits.rows(split, numbers), times.astype(np.int64), axis=1) / 255
        lengths = np.full(len(numbers), self.steps)
        return values[..., None], times, lengths, self.digits.targets(split, numbers)


@dataclass(frozen=True)
class Irregular(Task):
    """Classify what was sampled at irregular times.

    physionet: who died in hospital, from 48 hours of measurements in intensive care (PhysioNet Challenge 2012).
    pixels: which digit it is, seen at random moments of its reading.
    """

    source: Literal["physionet", "pixels"] = "physionet"
    """Records of patients (time in hours), or MNIST (time in pixels)."""
    time_input: bool = False
    """Give the time as an input too. Networks that take dt get it in any case."""
    glimpses: int = GLIMPSES
    """With --source pixels: at how many moments an image is seen."""

    every_step = False

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(1, glimpses=self.glimpses)
        if self.glimpses != GLIMPSES and self.source != "pixels":
            raise UserError(f"--glimpses {self.glimpses} needs --source pixels")

    @property
    def settings(self) -> Settings:
        return Settings(
            hidden_size=128,
            epochs=30,
            batch_size=64,
            clip_norm=1.0,
            core_options={
                # Smaller than most gaps between random moments; records are a minute or more apart.
                "powerlaw": {"epsilon": 1e-5 if self.source == "pixels" else 1e-3},
                "chrono": {"t_max": self.glimpses if self.source == "pixels" else LONGEST_RECORD},
            },
        )

    @cached_property
    def sequences(self) -> Patients | Glimpses:
        return Patients() if self.source == "physionet" else Glimpses(self.glimpses)

    @property
    def encoding(self) -> Numbers:
        return Numbers(self.sequences.width + self.time_input)

    @property
    def output_size(self) -> int:
        return self.sequences.output_size

    @property
    def output_names(self) -> list[str]:
        return ["survived", "died"] if self.source == "physionet" else [str(digit) for digit in range(CLASSES)]

    def size(self, split: Split) -> int:
        return self.sequences.size(split)

    def batch(self, split: Split, numbers: Int[Tensor, " batch"]) -> Batch:
        return sampled(*self.sequences.sequences(split, numbers), time_input=self.time_input)

    def loss(self, prediction: Float[Tensor, "batch outputs"], batch: Batch) -> Measure:
        """Cross entropy in nats."""
        if self.source == "pixels":
            return cross_entropy(prediction, batch.targets)
        losses = F.binary_cross_entropy_with_logits(prediction[:, 0], batch.targets.float(), reduction="none")
        return Measure.of(losses)

    def measures(self, prediction: Float[Tensor, "batch outputs"], batch: Batch) -> dict[str, Measure]:
        if self.source == "pixels":
            return {"accuracy": accuracy(prediction, batch.targets)}
        return {
            "accuracy": Measure.of((prediction[:, 0] > 0) == batch.targets),
            "auroc": ranked_right(prediction[:, 0], batch.targets),
        }


def ranked_right(scores: Float[Tensor, " batch"], targets: Int[Tensor, " batch"]) -> Measure:
    """The share of pairs, one of each class, in which class 1 has the higher score: the area under the ROC curve.

    Over several batches it is the mean over the pairs within batches, which estimates the area without bias.
    """
    pairs = (targets[:, None] == 1) & (targets == 0)
    higher = (scores[:, None] > scores) + 0.5 * (scores[:, None] == scores)
    return Measure((higher * pairs).sum(), pairs.sum())
