"""Networks that are stepped through time in Python: one scan for all, with layers, lengths and silenced units."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, cast

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn
from typing_extensions import Self

from slowfade.cores.core import Core, Hidden, State
from slowfade.sequences import autocasting

Prepared = tuple[tuple[Tensor, ...], tuple[Tensor, ...]]
"""What each step takes, as tensors over time; and what all steps share."""


class Layer(nn.Module, ABC):
    """One layer of a stepped network. A subclass brings its parameters and four functions.

    ``start`` makes the first state, ``prepare`` does all that can be done for the whole sequence at once, ``step``
    is the recurrence, ``readout`` makes the output from the states it names in ``reads``.
    """

    state_type: ClassVar[type[Any]] = Hidden
    reads: ClassVar[tuple[str, ...]] = ("hidden",)
    """The parts of the state that the output is read from."""

    output_size: int
    silence: Tensor | None

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.output_size = input_size, hidden_size, hidden_size
        self.register_buffer("silence", None, persistent=False)

    def start(self, x: Float[Tensor, "time batch inputs"]) -> State:
        """The state before the first step: zero."""
        zero = x.new_zeros(x.shape[1], self.hidden_size)
        return self.state_type(*(zero for _ in self.state_type._fields))

    @abstractmethod
    def prepare(self, x: Float[Tensor, "time batch inputs"], dt: Float[Tensor, "time batch"] | None) -> Prepared:
        """All that can be done once for the whole sequence."""

    @abstractmethod
    def step(self, inputs: tuple[Tensor, ...], state: Any, shared: tuple[Tensor, ...]) -> State:
        """The state after one step. Silenced units are set to zero after it.

        ``self.silence`` is only for a network in which a unit is heard within the step that made it.
        """

    def readout(self, states: dict[str, Shaped[Tensor, "time batch *shape"]]) -> Float[Tensor, "time batch outputs"]:
        """The output of every step, from the parts of the state in ``reads``, silenced units already zero."""
        return states["hidden"]

    def free_decay(self, time: Float[Tensor, " time"]) -> Float[Tensor, "time hidden"] | None:
        """As :meth:`slowfade.cores.core.Core.free_decay`."""
        return None

    def run(
        self,
        x: Float[Tensor, "time batch inputs"],
        dt: Float[Tensor, "time batch"] | None,
        lengths: Int[Tensor, " batch"] | None,
        state: State,
        *,
        keep: bool,
    ) -> tuple[dict[str, Tensor], State]:
        """The recurrence over time, as :meth:`slowfade.cores.core.Core.run` defines it."""
        steps = x.shape[0]
        valid = None if lengths is None else torch.arange(steps, device=x.device).unsqueeze(-1) < lengths
        inputs, shared = self.prepare(x, dt)
        state = self._hold(state)
        names = self.state_type._fields if keep else self.reads
        kept: dict[str, list[Tensor]] = {name: [] for name in names}
        for t, now in enumerate(zip(*(part.unbind(0) for part in inputs), strict=True)):
            after = self._hold(self.step(now, state, shared))
            state = after if valid is None else _where(valid[t], after, state)
            for name, values in kept.items():
                values.append(getattr(state, name))
        stacked = {
            name: torch.stack(values) if values else getattr(state, name).new_empty(0, *getattr(state, name).shape)
            for name, values in kept.items()
        }
        found = {**stacked, "hidden": self.readout(stacked)} if keep else {"hidden": self.readout(stacked)}
        if valid is not None:
            found = {name: torch.where(_fit(valid, value), value, 0) for name, value in found.items()}
        return found, state

    def _hold(self, state: State) -> State:
        if self.silence is None or "hidden" not in self.state_type._fields:
            return state
        return state._replace(hidden=state.hidden * self.silence)  # type: ignore[attr-defined]


class SteppedCore(Core):
    """A core made of :class:`Layer`; the constructor of a subclass ends with ``self.stack(ItsLayer, **options)``."""

    def stack(self, layer: type[Layer], **options: Any) -> None:
        """Make the layers, each as wide as the one below gives."""
        layers: list[Layer] = []
        for _ in range(self.num_layers):
            layers.append(layer(layers[-1].output_size if layers else self.input_size, self.hidden_size, **options))
        self.layers = nn.ModuleList(layers)
        self.output_size = layers[-1].output_size

    def layer(self, index: int) -> Layer:
        return cast("Layer", self.layers[index])

    def start(self, layer: int, x: Float[Tensor, "time batch inputs"]) -> State:
        return self.layer(layer).start(self._full(x))

    def run(
        self,
        layer: int,
        x: Float[Tensor, "time batch inputs"],
        dt: Float[Tensor, "time batch"] | None,
        lengths: Int[Tensor, " batch"] | None,
        state: State,
        *,
        keep: bool,
    ) -> tuple[dict[str, Tensor], State]:
        x = self._full(x)
        with torch.autocast(x.device.type, enabled=False):
            return self.layer(layer).run(x, dt, lengths, state, keep=keep)

    def _full(self, x: Tensor) -> Tensor:
        """Under autocast these networks keep the precision of their weights: roundings add up over the steps."""
        return x.to(next(self.parameters()).dtype) if autocasting(x.device.type) else x

    def silenced(self, units: Sequence[int]) -> Self:
        copy = super().silenced(units)
        copy.layer(-1).silence = copy.silence
        return copy

    def free_decay(self, time: Float[Tensor, " time"]) -> Float[Tensor, "time hidden"] | None:
        return self.layer(-1).free_decay(time)


def _where(valid: Tensor, after: State, before: State) -> State:
    """Rows that are done keep their state."""
    return type(after)(*(torch.where(_fit(valid, new), new, old) for new, old in zip(after, before, strict=True)))


def _fit(mask: Tensor, value: Tensor) -> Tensor:
    """A mask with as many dimensions as what it masks."""
    return mask.reshape(*mask.shape, *[1] * (value.dim() - mask.dim()))
