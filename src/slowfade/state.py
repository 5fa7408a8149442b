"""What a power-law LSTM carries from one step to the next."""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

State = tuple[Tensor, Tensor, Tensor]
"""``(h, c, age)``, as the engines hand it on for one layer and direction."""


class PowerLawState(NamedTuple):
    """All a power-law LSTM remembers: carry it on, and nothing else, to go on where a sequence stopped.

    Each is ``(num_layers * directions, B, H)``, without ``B`` for unbatched input; in a cell ``(B, H)`` or ``(H,)``.
    """

    h: Float[Tensor, "*shape recurrent"]
    """Hidden state; ``proj_size`` wide where there is a projection."""
    c: Float[Tensor, "*shape hidden"]
    """Cell."""
    age: Float[Tensor, "*shape hidden"]
    """Time since each unit last let new information in: the paper's ``t - k_t``."""

    def detach(self) -> PowerLawState:
        """The same values, cut from the graph: for truncated backpropagation."""
        return PowerLawState(*(part.detach() for part in self))


def parts(state: tuple[Tensor, ...]) -> State:
    """``(h, c, age)`` of a state as a user gives it; ``(h, c)`` alone means age 0."""
    sequence = isinstance(state, (tuple, list)) and len(state) in (2, 3)
    if not sequence or not all(isinstance(part, Tensor) for part in state):
        raise TypeError("state should be a PowerLawState, or a tuple (h, c) or (h, c, age) of tensors")
    h, c, age = state if len(state) == 3 else (*state, torch.zeros_like(state[1]))
    return h, c, age
