"""What is timed: the shapes of the paper's tasks and of streams, and sequences of random numbers of such a shape."""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence


class Shape(NamedTuple):
    batch: int
    steps: int
    inputs: int
    hidden: int
    layers: int = 1
    shortest: int | None = None
    """Rows are padded: their lengths are drawn evenly between this and ``steps``. ``None``: all are whole."""
    timed: bool = False
    """Every step has its ``dt``, for the networks that take one."""
    stepwise: bool = False
    """The steps come one by one, each in a call of its own that is given the state; forward only."""

    def flops(self, gates: int, valid_steps: int, *, training: bool) -> int:
        """Of the matrix products over so many steps of a row, all rows counted together.

        Training takes as many again for the gradients of the weights, and for those of what goes into them: the hidden
        state before, and the layer below. Nobody asks for the gradient of the data.
        """
        widths = [self.inputs] + [self.hidden] * (self.layers - 1)
        forward = sum(2 * gates * self.hidden * (width + self.hidden) for width in widths)
        backward = 2 * forward - 2 * gates * self.hidden * self.inputs
        return (forward + backward if training else forward) * valid_steps

    def __str__(self) -> str:
        units = f"{self.layers} layers of {self.hidden}" if self.layers > 1 else str(self.hidden)
        text = f"batch {self.batch}, {self.steps} steps, {self.inputs} inputs, {units} units"
        text += f", lengths {self.shortest} to {self.steps}" if self.shortest else ""
        text += ", dt" if self.timed else ""
        return text + (", a call for each step" if self.stepwise else "")


SHAPES = {
    "copying-200": Shape(128, 220, 10, 128),
    "copying-500": Shape(128, 520, 10, 128),
    "copying-1000": Shape(128, 1020, 10, 128),
    "pixels-256": Shape(100, 784, 1, 256),
    "pixels-512": Shape(100, 784, 1, 512),
    "characters": Shape(128, 150, 50, 828),
    "text": Shape(128, 180, 20, 580, layers=2),
    "reviews": Shape(64, 400, 100, 154, shortest=50),
    "frequency": Shape(32, 125, 1, 110, shortest=15, timed=True),
    "streaming": Shape(1, 1000, 10, 128),
    "step": Shape(1, 100, 10, 128, stepwise=True),
}


class Problem(NamedTuple):
    """A batch of sequences, time-major."""

    x: Float[Tensor, "time batch inputs"]
    dt: Float[Tensor, "time batch"] | None
    lengths: Int[Tensor, " batch"] | None

    @property
    def valid(self) -> Float[Tensor, "time batch 1"]:
        """1 where a step is one of its row's, 0 where it is padding."""
        steps, batch = self.x.shape[:2]
        lengths = torch.full((batch,), steps) if self.lengths is None else self.lengths
        return (torch.arange(steps).unsqueeze(-1) < lengths).to(self.x.dtype).unsqueeze(-1)

    def packed(self) -> Tensor | PackedSequence:
        """``x`` as ``nn.LSTM`` wants it: packed where rows are padded."""
        return self.x if self.lengths is None else pack_padded_sequence(self.x, self.lengths, enforce_sorted=False)

    def rows(self, which: Int[Tensor, " rows"]) -> Problem:
        """Some rows of it, in float64."""
        dt = None if self.dt is None else self.dt[:, which].double()
        return Problem(self.x[:, which].double(), dt, None if self.lengths is None else self.lengths[which])


def draw(shape: Shape) -> Problem:
    """Random sequences of this shape, the same every time. The first row is whole."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(shape.steps, shape.batch, shape.inputs, generator=generator)
    dt = 2 * torch.rand(shape.steps, shape.batch, generator=generator) if shape.timed else None
    if shape.shortest is None:
        return Problem(x, dt, None)
    lengths = torch.randint(shape.shortest, shape.steps + 1, (shape.batch,), generator=generator)
    lengths[0] = shape.steps
    return Problem(x, dt, lengths)
