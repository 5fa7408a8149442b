"""Sentiment of film reviews: IMDB (paper, section 4.4)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from slowfade import data
from slowfade.tasks.options import at_least
from slowfade.tasks.stream import Stream
from slowfade.tasks.task import Batch, Measure, Settings, Split, Task, Vectors


@dataclass(frozen=True)
class Sentiment(Task):
    """Tell favourable film reviews from the others.

    A review is its first 400 words as frozen GloVe vectors. Shorter ones are padded on the right, and the network is
    read after the last word, so that padding does not count. Words beyond the dictionary, and words of it that have no
    vector, all get the mean vector of the dictionary. A random tenth of the training reviews, always the same, is for
    validation.
    """

    words: int = 400
    """Where reviews are cut."""
    dictionary: int = 25_000
    """How many words are known, the most frequent of the training reviews."""

    every_step = False
    output_size = 1
    reads = "words"

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(1, words=self.words, dictionary=self.dictionary)

    @property
    def settings(self) -> Settings:
        return Settings(
            hidden_size=128,
            epochs=20,
            batch_size=64,
            clip_norm=1.0,
            dropout=0.2,
            core_options={"chrono": {"t_max": self.words}},
            core_settings={"powerlaw": {"hidden_size": 154, "learning_rate": 5e-4}},
        )

    @cached_property
    def reviews(self) -> data.Reviews:
        return data.load("imdb")

    @cached_property
    def encoding(self) -> Vectors:
        """The dictionary's vectors, and in a last row the mean of those found, for unknown words."""
        vectors, found = data.word_vectors(self.reviews.vocabulary[: self.dictionary])
        mean = vectors[found].mean(0, keepdims=True)
        return Vectors(torch.from_numpy(np.concatenate([np.where(found[:, None], vectors, mean), mean])))

    @property
    def input_names(self) -> list[str]:
        return [*self.reviews.vocabulary[: self.dictionary], "(unknown)"]

    @property
    def output_names(self) -> list[str]:
        return ["against", "for"]

    def size(self, split: Split) -> int:
        return len(self._members[split])

    def review_lengths(self, split: Split) -> Int[Tensor, " reviews"]:
        """How many words each review has, cut or not."""
        return torch.from_numpy(np.diff(self._texts(split).offsets)[self._members[split]])

    def batch(self, split: Split, numbers: Int[Tensor, " batch"]) -> Batch:
        texts, members = self._texts(split), self._members[split][numbers.numpy()]
        start = texts.offsets[members][:, None]
        lengths = np.minimum(texts.offsets[members + 1] - start[:, 0], self.words)
        steps = np.arange(lengths.max(initial=0))
        words = texts.words[np.minimum(start + steps, len(texts.words) - 1)]
        unknown = len(self.encoding.table) - 1
        words[(words < 0) | (words > unknown) | (steps >= lengths[:, None])] = unknown
        return Batch(
            torch.from_numpy(words.astype(np.int64)),
            torch.from_numpy(texts.labels[members].astype(np.int64)),
            torch.from_numpy(lengths),
        )

    def loss(self, prediction: Float[Tensor, "batch 1"], batch: Batch) -> Measure:
        """Binary cross entropy in nats."""
        losses = F.binary_cross_entropy_with_logits(prediction[:, 0], batch.targets.float(), reduction="none")
        return Measure.of(losses)

    def measures(self, prediction: Float[Tensor, "batch 1"], batch: Batch) -> dict[str, Measure]:
        return {"accuracy": Measure.of((prediction[:, 0] > 0) == batch.targets)}

    def _texts(self, split: Split) -> data.Texts:
        return self.reviews.test if split == "test" else self.reviews.train

    @cached_property
    def _members(self) -> dict[Split, Int[np.ndarray, " reviews"]]:
        """The reviews of each split."""
        count = len(self.reviews.train.labels)
        order = Stream(0, "sentiment validation").uniforms(torch.arange(count), 1)[:, 0].argsort()
        return {
            "train": np.sort(order[count // 10 :]),
            "validation": np.sort(order[: count // 10]),
            "test": np.arange(len(self.reviews.test.labels)),
        }
