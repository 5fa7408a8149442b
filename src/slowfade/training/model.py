"""A model: an input encoder, a recurrent core, a linear head."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from slowfade.cores.core import Core
from slowfade.tasks.task import Batch, Encoding, Numbers, Symbols, Vectors

State = tuple[Tensor, ...]


class Encoder(nn.Module):
    """What a core is given: numbers as they are; symbols as vectors, one-hot, learned, or frozen ones of their own."""

    table: Tensor | None

    def __init__(self, encoding: Encoding) -> None:
        super().__init__()
        table: Tensor | None = None
        self.embedding: nn.Embedding | None = None
        match encoding:
            case Numbers(width):
                self.output_size = width
            case Symbols(count, None):
                self.output_size, table = count, torch.eye(count)
            case Symbols(count, int(width)):
                self.output_size, self.embedding = width, nn.Embedding(count, width)
            case Vectors():
                self.output_size, table = encoding.table.shape[1], encoding.table
        # The task makes the table again, so that it need not be stored with the weights.
        self.register_buffer("table", table, persistent=False)

    def forward(self, inputs: Tensor) -> Float[Tensor, "batch time features"]:
        if self.embedding is not None:
            return self.embedding(inputs.long())
        return inputs if self.table is None else F.embedding(inputs.long(), self.table)


class Model(nn.Module):
    """``prediction = W h + b`` of every step, or of the last valid one.

    Args:
        encoder: makes numbers of the inputs.
        core: batch first.
        output_size: how many numbers a prediction has.
        every_step: predict at every step, or once, after the last valid step.
        dropout: on the core's output.
    """

    def __init__(self, encoder: Encoder, core: Core, output_size: int, every_step: bool, dropout: float = 0.0) -> None:
        super().__init__()
        self.encoder, self.core = encoder, core
        self.head = nn.Linear(core.output_size, output_size)
        self.every_step, self.dropout = every_step, dropout

    def forward(self, batch: Batch, state: State | None = None) -> tuple[Float[Tensor, "batch *time outputs"], State]:
        """Predictions for a batch, and the state to go on from where the sequences continue."""
        options = {"lengths": batch.lengths}
        if self.core.uses_time:
            options["dt"] = batch.dt
        output, state = self.core(self.encoder(batch.inputs), state, **options)
        if not self.every_step:
            output = last_valid(output, batch.lengths)
        return self.head(F.dropout(output, self.dropout, self.training)), state


def last_valid(output: Float[Tensor, "batch time features"], lengths: Tensor | None) -> Float[Tensor, "batch features"]:
    """The output at the last valid step of each row."""
    if lengths is None:
        return output[:, -1]
    return output[torch.arange(len(output), device=output.device), lengths.to(output.device) - 1]
