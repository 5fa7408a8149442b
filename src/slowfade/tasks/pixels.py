"""Digits read pixel by pixel: sequential and permuted MNIST (paper, section 4.2)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float, Int, UInt8
from numpy.random import RandomState
from torch import Tensor

from slowfade import data
from slowfade.errors import UserError
from slowfade.tasks.task import Batch, Measure, Numbers, Settings, Split, Task, accuracy

PIXELS = 28 * 28
CLASSES = 10


class Digits:
    """MNIST as rows of pixels. The last sixth of its training images, 10,000, is for validation."""

    def __init__(self) -> None:
        mnist = data.load("mnist")
        kept = len(mnist.train_images) - len(mnist.train_images) // 6
        self.images: dict[Split, UInt8[np.ndarray, "images 28 28"]] = {
            "train": mnist.train_images[:kept],
            "validation": mnist.train_images[kept:],
            "test": mnist.test_images,
        }
        self.labels: dict[Split, UInt8[np.ndarray, " images"]] = {
            "train": mnist.train_labels[:kept],
            "validation": mnist.train_labels[kept:],
            "test": mnist.test_labels,
        }

    def rows(self, split: Split, numbers: Int[Tensor, " batch"]) -> UInt8[np.ndarray, "batch 784"]:
        return self.images[split][numbers.numpy()].reshape(-1, PIXELS)

    def targets(self, split: Split, numbers: Int[Tensor, " batch"]) -> Int[Tensor, " batch"]:
        return torch.from_numpy(self.labels[split][numbers.numpy()].astype(np.int64))


@dataclass(frozen=True)
class Pixels(Task):
    """Name a digit read pixel by pixel: 784 steps of one number from 0 to 1."""

    permuted: bool = False
    """Read the pixels in another order, the same for all images."""
    permutation: Literal["92916", "lmu", "nru"] = "92916"
    """Which order, with --permuted: that of the URNN and expRNN papers, of the LMU's or of the NRU's."""

    every_step = False
    encoding = Numbers(1)
    output_size = CLASSES

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.permutation != "92916" and not self.permuted:
            raise UserError(f"--permutation {self.permutation} needs --permuted")

    @property
    def settings(self) -> Settings:
        return Settings(
            hidden_size=256,
            epochs=100,
            clip_norm=1.0,
            best="accuracy",
            core_options={"chrono": {"t_max": PIXELS}},
        )

    @cached_property
    def digits(self) -> Digits:
        return Digits()

    @cached_property
    def order(self) -> Int[np.ndarray, 784]:
        """Step ``t`` reads pixel ``order[t]``."""
        if not self.permuted:
            return np.arange(PIXELS)
        if self.permutation == "nru":
            # Drawn after a shuffle of the 60,000 training images.
            state = RandomState(50)
            state.permutation(60_000)
            return state.permutation(PIXELS)
        return RandomState({"92916": 92916, "lmu": 0}[self.permutation]).permutation(PIXELS)

    def size(self, split: Split) -> int:
        return len(self.digits.labels[split])

    def batch(self, split: Split, numbers: Int[Tensor, " batch"]) -> Batch:
        rows = self.digits.rows(split, numbers)[:, self.order]
        inputs = torch.from_numpy(rows).unsqueeze(-1).float() / 255
        return Batch(inputs, self.digits.targets(split, numbers))

    def measures(self, prediction: Float[Tensor, "batch 10"], batch: Batch) -> dict[str, Measure]:
        return {"accuracy": accuracy(prediction, batch.targets)}
