"""What every recurrent network here has in common: the interface, and the way in and out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import deepcopy
from typing import Any, ClassVar, NamedTuple, TypeVar

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence
from typing_extensions import Self

from slowfade import checks
from slowfade.sequences import Sequences, normalise

State = tuple[Tensor, ...]
"""A named tuple. In a network's ``state`` each part is ``(num_layers, B, ...)``; for one layer ``(B, ...)``."""

AnyState = TypeVar("AnyState", bound=tuple)


class Hidden(NamedTuple):
    """The state of a network that keeps nothing but its hidden units."""

    hidden: Tensor


class HiddenCell(NamedTuple):
    """The state of an LSTM."""

    hidden: Tensor
    cell: Tensor


class ParameterGroup(NamedTuple):
    """Parameters that are trained at one rate."""

    parameters: list[nn.Parameter]
    rate: float
    """Times the learning rate."""


def detach(state: AnyState) -> AnyState:
    """The same state, cut from the graph: for truncated backpropagation."""
    return rebuilt(state, [part.detach() for part in state])


def rebuilt(state: AnyState, parts: Sequence[Tensor]) -> AnyState:
    """A state of the same kind from other parts."""
    return type(state)(*parts) if hasattr(state, "_fields") else type(state)(parts)


class Core(nn.Module, ABC):
    """A recurrent network of one or more layers.

    A subclass says how one layer starts (:meth:`start`) and how it runs over time (:meth:`run`). Its options are
    keyword-only arguments of its constructor, annotated ``Annotated[type, "help"]``.
    """

    title: ClassVar[str]
    source: ClassVar[str]
    summary: ClassVar[str]
    formula: ClassVar[str]
    """The number of parameters of one layer, from ``I``, ``H`` and the options: a Python expression."""
    output_formula: ClassVar[str] = "H"
    """The width of the output, likewise."""
    uses_time: ClassVar[bool] = False
    """Whether it takes ``dt``."""
    state_type: ClassVar[type[Any]] = Hidden
    """The named tuple its state is. Its first part, if ``hidden``, is what other units and the output see."""

    output_size: int
    silence: Tensor | None

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, batch_first: bool = False) -> None:
        super().__init__()
        checks.sizes(input_size, hidden_size, num_layers)
        checks.flags(batch_first=batch_first)
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.batch_first = batch_first
        self.output_size = hidden_size
        self.register_buffer("silence", None, persistent=False)

    @classmethod
    def allows(cls, hidden_size: int, **options: Any) -> bool:
        """Whether there is such a network with that many units."""
        return True

    @abstractmethod
    def start(self, layer: int, x: Float[Tensor, "time batch inputs"]) -> State:
        """The state one layer starts from when none is given, ``(B, ...)`` each."""

    @abstractmethod
    def run(
        self,
        layer: int,
        x: Float[Tensor, "time batch inputs"],
        dt: Float[Tensor, "time batch"] | None,
        lengths: Int[Tensor, " batch"] | None,
        state: State,
        *,
        keep: bool,
    ) -> tuple[dict[str, Shaped[Tensor, "time batch features"]], State]:
        """Run one layer over time, with ``silence_of(layer)`` heeded.

        Returns:
            Every step's values by name, padded steps zero: ``hidden``, which is the output, and with ``keep`` all
            there is to see; and the state after the last valid step.
        """

    def forward(
        self,
        x: Tensor | PackedSequence,
        state: State | None = None,
        *,
        dt: Tensor | PackedSequence | None = None,
        lengths: Tensor | Sequence[int] | None = None,
    ) -> tuple[Any, Any]:
        """Run over a sequence.

        Args:
            x: ``(T, B, I)``, ``(B, T, I)`` with ``batch_first``, ``(T, I)`` unbatched, or a ``PackedSequence``.
            state: where to start; ``None`` is the network's own start.
            dt: time since the previous sample, ``(T, B)``, ``(B, T)`` with ``batch_first``, or ``(T,)``; only for
                networks with ``uses_time``. ``None`` is unit steps.
            lengths: ``(B,)``, the valid steps of right-padded rows.

        Returns:
            The output, laid out like ``x`` and zero where that was padding, and the state after the last valid step.
        """
        sequences = self._normalise(x, dt, lengths)
        values, end = self._run(sequences, self._start(sequences, state))
        return sequences.restore(values["hidden"]), end

    def trace(
        self,
        x: Tensor | PackedSequence,
        state: State | None = None,
        *,
        dt: Tensor | PackedSequence | None = None,
        lengths: Tensor | Sequence[int] | None = None,
    ) -> dict[str, Tensor]:
        """What the last layer computes at every step, by name, laid out like the output, which is ``hidden``."""
        sequences = self._normalise(x, dt, lengths)
        values, _ = self._run(sequences, self._start(sequences, state), keep=True)
        return {name: sequences.restore_layers(value.unsqueeze(0)).squeeze(0) for name, value in values.items()}

    def silenced(self, units: Sequence[int]) -> Self:
        """A copy in which these hidden units of the last layer are zero at every step, for it and for the output."""
        for unit in units:
            if not 0 <= unit < self.hidden_size:
                raise ValueError(f"units to silence should lie between 0 and {self.hidden_size - 1}, got {unit}")
        copy = deepcopy(self)
        like = next(self.parameters())
        silence = torch.ones(self.hidden_size, dtype=like.real.dtype, device=like.device)
        silence[list(units)] = 0
        copy.silence = silence if self.silence is None else silence * self.silence
        return copy

    def silence_of(self, layer: int) -> Float[Tensor, " hidden"] | None:
        """Zero for every unit of a layer to be held at zero, one for the others; ``None`` where there are none."""
        return self.silence if layer == self.num_layers - 1 else None

    def parameter_groups(self) -> list[ParameterGroup]:
        """All parameters, grouped by the rate they should be trained at."""
        return [ParameterGroup([parameter for parameter in self.parameters() if parameter.requires_grad], 1.0)]

    def penalty(self) -> Tensor | None:
        """What the network adds to the loss."""
        return None

    def after_step(self) -> None:
        """Called after every step of the optimiser."""
        return

    def free_decay(self, time: Float[Tensor, " time"]) -> Float[Tensor, "time hidden"] | None:
        """What is left of each unit's memory (last layer) after ``time`` with no input; ``None``: no closed form."""
        return None

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        text += f", num_layers={self.num_layers}" if self.num_layers > 1 else ""
        return text + (", batch_first=True" if self.batch_first else "")

    def _normalise(
        self,
        x: Tensor | PackedSequence,
        dt: Tensor | PackedSequence | None,
        lengths: Tensor | Sequence[int] | None,
    ) -> Sequences:
        if dt is not None and not self.uses_time:
            raise ValueError(f"{self.title} takes no dt: it counts steps, not time")
        return normalise(x, dt, lengths, input_size=self.input_size, batch_first=self.batch_first)

    def _start(self, sequences: Sequences, state: State | None) -> list[State]:
        """The state of every layer, rows arranged like the sequences'."""
        fresh = [self.start(layer, sequences.x) for layer in range(self.num_layers)]
        if state is None:
            return fresh
        fields = self.state_type._fields
        if not isinstance(state, (tuple, list)) or len(state) != len(fields):
            raise TypeError(f"state should be a tuple ({', '.join(fields)})")
        for name, part, wanted in zip(fields, state, fresh[0], strict=True):
            expected = (self.num_layers, *wanted.shape[0 if sequences.batched else 1 :])
            if tuple(part.shape) != expected:
                raise RuntimeError(f"state.{name} should be {expected}, got {tuple(part.shape)}")
        arranged = [sequences.arrange_state(part) for part in state]
        return [self.state_type(*(part[layer] for part in arranged)) for layer in range(self.num_layers)]

    def _run(self, sequences: Sequences, states: list[State], keep: bool = False) -> tuple[dict[str, Tensor], State]:
        x, dt, lengths, *_ = sequences
        ends = []
        for layer, state in enumerate(states):
            last = layer == self.num_layers - 1
            values, end = self.run(layer, x, dt, lengths, state, keep=keep and last)
            x = values["hidden"]
            ends.append(end)
        parts = [torch.stack(parts) for parts in zip(*ends, strict=True)]
        return values, self.state_type(*(sequences.restore_state(part) for part in parts))
