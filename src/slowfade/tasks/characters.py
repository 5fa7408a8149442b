"""Language modelling by characters: Penn Treebank and text8 (paper, section 4.3)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from slowfade import data
from slowfade.tasks.options import at_least
from slowfade.tasks.task import NO_TARGET, Batch, Measure, Settings, Split, Symbols, Task

EMBEDDING = 20
"""With this width the paper's 716 and 828 units make its 2.15 million parameters."""
EVALUATION_STREAMS = 10


@dataclass(frozen=True)
class Characters(Task):
    """Predict the next character.

    The text is cut into chunks, and a batch takes one chunk from each of its streams. A stream is a contiguous part of
    the text, so that the state carried on after a chunk belongs to the next: truncated backpropagation through time.
    """

    corpus: Literal["ptb", "text8"] = "ptb"
    """Penn Treebank (50 symbols, 5 million characters) or text8 (27 symbols, 90 million)."""
    length: int = 150
    """How many characters a chunk has, and so how far back the gradient goes; the paper has 150 and 500."""

    every_step = True
    carries_state = True
    lower_is_better = ("loss", "bits")
    reads = "characters"

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(1, length=self.length)

    @property
    def settings(self) -> Settings:
        paper = Settings(
            hidden_size=716,
            epochs=50,
            clip_norm=1.0,
            core_options={"chrono": {"t_max": self.length}},
            core_settings={"powerlaw": {"hidden_size": 828}},
        )
        if self.corpus == "ptb":
            return paper
        return paper._replace(hidden_size=513, num_layers=2, core_settings={"powerlaw": {"hidden_size": 593}})

    @cached_property
    def text(self) -> data.Text:
        return data.load(self.corpus)

    @property
    def encoding(self) -> Symbols:
        return Symbols(len(self.text.alphabet), EMBEDDING)

    @property
    def output_size(self) -> int:
        return len(self.text.alphabet)

    @property
    def input_names(self) -> list[str]:
        return ["↵" if symbol == "\n" else symbol for symbol in self.text.alphabet]

    @property
    def output_names(self) -> list[str]:
        return self.input_names

    def size(self, split: Split) -> int:
        """How many chunks, the last of them perhaps not full."""
        return -(-self._predicted(split) // self.length)

    def schedule(self, split: Split, batch_size: int, *, seed: int, epoch: int) -> list[Int[Tensor, " batch"]]:
        """Stream after stream has its share of the chunks in a row; each batch takes the next of every stream.

        Numbers beyond the last chunk fill the last stream up. There are few streams in evaluation, since each starts
        without a state, which training gets over and a measurement should not.
        """
        streams = batch_size if split == "train" else min(batch_size, EVALUATION_STREAMS)
        batches = -(-self.size(split) // streams)
        streams = -(-self.size(split) // batches)
        return list(torch.arange(streams * batches).view(streams, batches).T.contiguous())

    def batch(self, split: Split, numbers: Int[Tensor, " batch"]) -> Batch:
        """Inputs and, one further, targets; there is none past the end of the text."""
        symbols = getattr(self.text, split)
        last = self._predicted(split) - 1
        where = numbers.numpy()[:, None] * self.length + np.arange(self.length)
        inputs = symbols[np.minimum(where, last)].astype(np.int64)
        targets = symbols[np.minimum(where, last) + 1].astype(np.int64)
        targets[where > last] = NO_TARGET
        return Batch(torch.from_numpy(inputs), torch.from_numpy(targets))

    def measures(self, prediction: Float[Tensor, "batch time symbols"], batch: Batch) -> dict[str, Measure]:
        """Bits: the loss per character in bits, the paper's BPC."""
        loss = self.loss(prediction, batch)
        return {"bits": Measure(loss.total / math.log(2), loss.count)}

    def _predicted(self, split: Split) -> int:
        """All characters but the first are predicted."""
        return len(getattr(self.text, split)) - 1
