"""What a power-law LSTM carries from one step to the next."""

from __future__ import annotations

from typing import NamedTuple

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
