"""JANET: an LSTM with nothing but its forget gate (van der Westhuizen and Lasenby 2018).

    s_t = U_f x_t + W_f h_{t-1} + b_f
    c_t = σ(s_t) ⊙ c_{t-1} + (1 - σ(s_t - β)) ⊙ tanh(U_c x_t + W_c h_{t-1} + b_c)
    h_t = c_t

β = 1 lets a little more of the new in than of the old out, so ``c`` is a convex combination only for β = 0.
There are 2H(I + H + 1) parameters.

As in the authors' code the weights start from Glorot's uniform distribution for the *stacked* matrices ``[I, 2H]``
and ``[H, 2H]``, which is narrower than one gate's own; ``b_c = 0``, ``b_f = 1``, or ``log U(1, t_max)`` where
``t_max`` is given.
"""

from __future__ import annotations

from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from slowfade.cores.core import Hidden
from slowfade.cores.stepped import Layer, Prepared, SteppedCore


class JANET(SteppedCore):
    title = "JANET"
    source = "van der Westhuizen & Lasenby 2018"
    summary = "an LSTM with only the forget gate"
    formula = "2*H*(I + H + 1)"

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        batch_first: bool = False,
        *,
        beta: Annotated[float, "how much more of the new is let in than of the old let out"] = 1.0,
        t_max: Annotated[int | None, "chrono initialisation up to this many steps; none: b_f starts at 1"] = None,
    ) -> None:
        super().__init__(input_size, hidden_size, num_layers, batch_first)
        if t_max is not None and t_max <= 1:
            raise ValueError(f"t_max should be more than 1, got {t_max}")
        self.stack(JANETLayer, beta=beta, t_max=t_max)


class JANETLayer(Layer):
    """``weight_ih (2H, I)``, ``weight_hh (2H, H)``, ``bias (2H)``; order forget, candidate."""

    def __init__(self, input_size: int, hidden_size: int, *, beta: float, t_max: int | None) -> None:
        super().__init__(input_size, hidden_size)
        self.beta, self.t_max = beta, t_max
        self.weight_ih = nn.Parameter(torch.empty(2 * hidden_size, input_size))
        self.weight_hh = nn.Parameter(torch.empty(2 * hidden_size, hidden_size))
        self.bias = nn.Parameter(torch.empty(2 * hidden_size))
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        nn.init.xavier_uniform_(self.weight_ih)
        nn.init.xavier_uniform_(self.weight_hh)
        forget, candidate = self.bias.chunk(2)
        candidate.zero_()
        if self.t_max is None:
            forget.fill_(1)
        else:
            forget.uniform_(1, self.t_max).log_()

    def prepare(self, x: Tensor, dt: Tensor | None) -> Prepared:
        return (F.linear(x, self.weight_ih, self.bias),), (self.weight_hh.t(),)

    def step(self, inputs: tuple[Tensor, ...], state: Hidden, shared: tuple[Tensor, ...]) -> Hidden:
        s, candidate = torch.addmm(inputs[0], state.hidden, shared[0]).chunk(2, dim=-1)
        return Hidden(torch.sigmoid(s) * state.hidden + torch.sigmoid(self.beta - s) * torch.tanh(candidate))

    def free_decay(self, time: Float[Tensor, " time"]) -> Float[Tensor, "time hidden"]:
        return torch.sigmoid(self.bias[: self.hidden_size]) ** time.unsqueeze(-1)
