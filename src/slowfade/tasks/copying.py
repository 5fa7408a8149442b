"""The copy memory task: keep ten symbols over a delay, then say them again (paper, section 4.1)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from slowfade.errors import UserError
from slowfade.tasks.options import at_least
from slowfade.tasks.stream import Stream
from slowfade.tasks.task import NO_TARGET, Batch, Measure, Settings, Split, Symbols, Task, accuracy

TARGETS = 8
"""The paper's m: the target symbols are 0 to 7."""
COPIED = 10
"""The paper's n: how many of them are to be kept."""
DUMMY, SIGNAL = TARGETS, TARGETS + 1


@dataclass(frozen=True)
class Copying(Task):
    """Keep ten symbols over a delay, then say them again when the signal comes.

        input    a b c d e f g h i j  -  -  ...  -  !  -  -  -  -  -  -  -  -  -
        target   -  -  -  -  -  -  -  -  -  -  -  -  ...  -  a b c d e f g h i j

    Ten target symbols, T dummies, the signal and nine dummies go in; T + 10 dummies and the ten symbols should come
    out. A network without memory has a loss of 10 ln 8 / (T + 20).
    """

    delay: str = "200"
    """T: a number of steps, or a range such as 200:500 from which each sequence draws its own."""
    train_sequences: int = 100_000
    """How many sequences an epoch has."""
    validation_sequences: int = 10_000
    """How many sequences are validated on, and how many are tested on."""
    data_seed: int = 0
    """Another seed gives other sequences."""

    every_step = True
    encoding = Symbols(TARGETS + 2)
    output_size = TARGETS + 2

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(1, train_sequences=self.train_sequences, validation_sequences=self.validation_sequences)
        object.__setattr__(self, "delay", str(self.delay))
        at_least(1, delay=self.delays[0])

    @cached_property
    def delays(self) -> tuple[int, int]:
        """The shortest and the longest delay."""
        first, colon, last = self.delay.partition(":")
        try:
            delays = int(first), int(last if colon else first)
        except ValueError:
            raise UserError(f"--delay {self.delay} should be a number such as 200 or a range such as 200:500") from None
        if delays[0] > delays[1]:
            raise UserError(f"--delay {self.delay} should go from the smaller to the larger")
        return delays

    @property
    def settings(self) -> Settings:
        return Settings(
            hidden_size=128,
            epochs=1000,
            optimizer="rmsprop",
            clip_norm=1.0,
            best="accuracy",
            solved=0.999,
            solved_by="sequence_accuracy",
            core_options={"chrono": {"t_max": 3 * self.delays[1] / 2}},
        )

    @property
    def input_names(self) -> list[str]:
        return [*"abcdefgh", "-", "!"]

    @property
    def output_names(self) -> list[str]:
        return self.input_names

    def size(self, split: Split) -> int:
        return self.train_sequences if split == "train" else self.validation_sequences

    def batch(self, split: Split, numbers: Int[Tensor, " batch"]) -> Batch:
        symbols = self._stream(split, "symbols").integers(numbers, COPIED, high=TARGETS)
        shortest, longest = self.delays
        delay = shortest + self._stream(split, "delay").integers(numbers, 1, high=longest - shortest + 1)
        lengths = delay + 2 * COPIED
        steps = np.arange(lengths.max(initial=shortest + 2 * COPIED))

        inputs = np.full((len(symbols), len(steps)), DUMMY)
        inputs[:, :COPIED] = symbols
        np.put_along_axis(inputs, COPIED + delay, SIGNAL, axis=1)
        targets = np.full_like(inputs, DUMMY)
        np.put_along_axis(targets, delay + COPIED + np.arange(COPIED), symbols, axis=1)
        if shortest == longest:
            return Batch(torch.from_numpy(inputs), torch.from_numpy(targets))
        targets[steps >= lengths] = NO_TARGET
        return Batch(torch.from_numpy(inputs), torch.from_numpy(targets), torch.from_numpy(lengths[:, 0]))

    def measures(self, prediction: Float[Tensor, "batch time outputs"], batch: Batch) -> dict[str, Measure]:
        """Element accuracy, the paper's "accuracy": of the ten. Sequence accuracy: all ten right."""
        if batch.lengths is None:
            prediction, targets = prediction[:, -COPIED:], batch.targets[:, -COPIED:]
        else:
            steps = batch.lengths[:, None] + torch.arange(-COPIED, 0, device=batch.targets.device)
            rows = torch.arange(len(steps), device=steps.device)[:, None]
            prediction, targets = prediction[rows, steps], batch.targets[rows, steps]
        whole = (prediction.argmax(-1) == targets).all(-1)
        return {
            "accuracy": accuracy(prediction, targets),
            "sequence_accuracy": Measure.of(whole),
        }

    def _stream(self, split: Split, kind: str) -> Stream:
        return Stream(self.data_seed, f"copying {split} {kind}")
