"""What a task is: sequences in, targets, a loss, measures, and the paper's settings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Literal, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from slowfade.tasks.options import known_choices

Split = Literal["train", "validation", "test"]
SPLITS: tuple[Split, ...] = ("train", "validation", "test")


class Batch(NamedTuple):
    """Some sequences of a task, batch first."""

    inputs: Tensor
    """``(B, T)`` symbols (integers) or ``(B, T, F)`` numbers."""
    targets: Tensor
    """``(B, T)`` where every step is predicted, else ``(B,)``: classes (integers) or numbers."""
    lengths: Int[Tensor, " batch"] | None = None
    """Valid steps of right-padded rows."""
    dt: Float[Tensor, "batch time"] | None = None
    """Time since the previous sample, for networks that can use it."""


class Measure(NamedTuple):
    """A mean that can be continued over batches and processes: a sum and how many it sums."""

    total: Tensor
    count: Tensor  # type: ignore[assignment]

    @classmethod
    def of(cls, values: Tensor) -> Measure:
        """The mean of all these values."""
        return cls(values.sum(), torch.full((), values.numel(), device=values.device))

    def __add__(self, other: Measure) -> Measure:  # type: ignore[override]
        return Measure(self.total + other.total, self.count + other.count)

    @property
    def mean(self) -> Tensor:
        return self.total / self.count


class Symbols(NamedTuple):
    """Inputs are symbols: one-hot, or a learned embedding ``width`` wide."""

    count: int  # type: ignore[assignment]
    width: int | None = None


class Numbers(NamedTuple):
    """Inputs are numbers, given to the network as they are."""

    width: int


class Vectors(NamedTuple):
    """Inputs are symbols with frozen vectors of their own."""

    table: Float[Tensor, "symbols width"]


Encoding = Symbols | Numbers | Vectors


class Settings(NamedTuple):
    """How the paper trains on a task: the defaults of the command line."""

    hidden_size: int
    epochs: int
    batch_size: int = 128
    num_layers: int = 1
    optimizer: Literal["adam", "rmsprop"] = "adam"
    learning_rate: float = 1e-3
    clip_norm: float | None = None
    dropout: float = 0.0
    """On the core's output."""
    best: str = "loss"
    """The validation measure that picks the best epoch."""
    solved: float | None = None
    """Training stops early once the validation measure ``solved_by`` has come this far."""
    solved_by: str | None = None
    """``None`` is the measure ``best``."""
    core_options: Mapping[str, Mapping[str, object]] = MappingProxyType({})
    """Options a network takes on this task unless told otherwise: ``{"chrono": {"t_max": 300}}``."""
    core_settings: Mapping[str, Mapping[str, Any]] = MappingProxyType({})
    """What is set otherwise for one network: ``{"powerlaw": {"hidden_size": 154}}``."""

    def for_core(self, core: str) -> Settings:
        """The settings for one network."""
        return self._replace(**self.core_settings.get(core, {}))


@dataclass(frozen=True)
class Task(ABC):
    """A task. The fields of a subclass are its options, each a flag of the command line.

    Sequences are numbered within a split, and a number always names the same sequence: whatever the batch size, the
    number of workers or of processes.
    """

    every_step: ClassVar[bool]
    """A prediction at every step, or one after the last valid step."""
    carries_state: ClassVar[bool] = False
    """Consecutive batches continue the same sequences: truncated backpropagation with the state carried on."""
    lower_is_better: ClassVar[tuple[str, ...]] = ("loss",)
    """Of the measures; of all others higher is."""
    reads: ClassVar[Literal["characters", "words"] | None] = None
    """A text can be an input: its characters or its words, by their names."""

    def __post_init__(self) -> None:
        known_choices(self)

    @property
    @abstractmethod
    def settings(self) -> Settings:
        """The paper's settings, for these options."""

    @property
    @abstractmethod
    def encoding(self) -> Encoding:
        """What the inputs are."""

    @property
    @abstractmethod
    def output_size(self) -> int:
        """How many numbers a prediction has."""

    @property
    def input_names(self) -> list[str] | None:
        """What to call the symbols that go in; ``None``: they are numbers."""
        return None

    @property
    def output_names(self) -> list[str] | None:
        """What to call the classes that come out; ``None``: it is a number."""
        return [str(n) for n in range(self.output_size)]

    @abstractmethod
    def size(self, split: Split) -> int:
        """How many sequences a split has."""

    @abstractmethod
    def batch(self, split: Split, numbers: Int[Tensor, " batch"]) -> Batch:
        """The sequences of these numbers."""

    def schedule(self, split: Split, batch_size: int, *, seed: int, epoch: int) -> list[Int[Tensor, " batch"]]:
        """Which sequences come when: shuffled for training, the last batch of an epoch left out if it is not full."""
        size = self.size(split)
        if split != "train":
            return list(torch.arange(size).split(batch_size))
        generator = torch.Generator().manual_seed(hash_of(seed, epoch))
        order = torch.randperm(size, generator=generator)
        whole = max(size // batch_size, 1) * batch_size
        return list(order[:whole].split(batch_size))

    def loss(self, prediction: Float[Tensor, "batch *time outputs"], batch: Batch) -> Measure:
        """Cross entropy in nats, summed over all that is predicted."""
        return cross_entropy(prediction, batch.targets)

    @abstractmethod
    def measures(self, prediction: Float[Tensor, "batch *time outputs"], batch: Batch) -> dict[str, Measure]:
        """What is reported beside the loss, by name."""

    def merit(self, name: str, value: float) -> float:
        """A value of a measure as a number that is the higher the better."""
        return -value if name in self.lower_is_better else value


#: Targets of padded steps; cross entropy passes them over.
NO_TARGET = -100


def cross_entropy(prediction: Float[Tensor, "*shape classes"], targets: Int[Tensor, "*shape"]) -> Measure:
    total = F.cross_entropy(prediction.flatten(0, -2), targets.flatten(), ignore_index=NO_TARGET, reduction="sum")
    return Measure(total, (targets != NO_TARGET).sum())


def accuracy(prediction: Float[Tensor, "*shape classes"], targets: Int[Tensor, "*shape"]) -> Measure:
    """The share of targets that the largest output names."""
    valid = targets != NO_TARGET
    return Measure(((prediction.argmax(-1) == targets) & valid).sum(), valid.sum())


def hash_of(*numbers: int) -> int:
    """One seed from several numbers; neighbours give unrelated seeds."""
    state = 0x9E3779B97F4A7C15
    for number in numbers:
        state = (state ^ number) * 0xBF58476D1CE4E5B9 % 2**64
        state ^= state >> 31
    return state % 2**63
