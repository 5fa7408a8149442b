"""LMU, the Legendre memory unit (Voelker, Kajić and Eliasmith 2019): a sliding window in orthogonal polynomials.

    u_t = e_xᵀ x_t + e_hᵀ h_{t-1} + e_mᵀ m_{t-1}                    one number
    m_t = Ā m_{t-1} + B̄ u_t                                         d numbers, the last θ steps of u
    h_t = tanh(W_x x_t + W_h h_{t-1} + W_m m_t)

    θ ṁ = A m + B u,  A_ij = (2i + 1) (-1 if i < j else (-1)^(i-j+1)),  B_i = (2i + 1) (-1)^i

``Ā`` and ``B̄`` are the exact solution over one step of constant u (zero-order hold), fixed. The window then is
``u(t - s) ≈ Σ_i m_i(t) P_i(2 s/θ - 1)``, P the Legendre polynomials. There are I + H + d + H (I + H + d) parameters.

The equations and initial values are those of the first 2019 code (``abr/neurips2019`` at ``28d1ea5``): e_x and e_h
LeCun uniform, e_m = 0, all W Glorot normal (untruncated here), no bias. With ``init="window"`` they are those of its
pixel-by-pixel digits: e_x = 1, e_h = e_m = 0, W_x = W_h = 0. Later versions, ``keras-lmu`` among them, have other
parameters. ``Ā`` is made in float64: single precision loses it for large d. All of the recurrence but the tanh is
linear, so a step is one product with one matrix, made once per sequence.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import Float64
from torch import Tensor, nn

from slowfade import checks
from slowfade.cores.core import State
from slowfade.cores.stepped import Layer, Prepared, SteppedCore


class LMUState(NamedTuple):
    hidden: Tensor
    memory: Tensor


class LMU(SteppedCore):
    title = "LMU"
    source = "Voelker et al. 2019"
    summary = "tanh units beside a linear memory that holds a sliding window as Legendre polynomials"
    formula = "I + H + order + H * (I + H + order)"
    state_type = LMUState

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        batch_first: bool = False,
        *,
        order: Annotated[int, "d, how many polynomials the memory holds"] = 256,
        theta: Annotated[float, "θ, how many steps the window spans"] = 784.0,
        init: Annotated[
            Literal["standard", "window"], "window: at first the units hear the window and nothing else"
        ] = ("standard"),
    ) -> None:
        super().__init__(input_size, hidden_size, num_layers, batch_first)
        checks.one_of("init", init, ("standard", "window"))
        if order < 1 or not theta > 0:
            raise ValueError(f"order and theta should be positive, got {order} and {theta}")
        self.stack(LMULayer, order=order, theta=float(theta), init=init)


class LMULayer(Layer):
    """``encoder_x (I)``, ``encoder_h (H)``, ``encoder_m (d)``; ``weight_x (H, I)``, ``weight_h``, ``weight_m``."""

    state_type = LMUState

    def __init__(self, input_size: int, hidden_size: int, *, order: int, theta: float, init: str) -> None:
        super().__init__(input_size, hidden_size)
        self.order, self.theta, self.init = order, theta, init
        self.encoder_x = nn.Parameter(torch.empty(input_size))
        self.encoder_h = nn.Parameter(torch.empty(hidden_size))
        self.encoder_m = nn.Parameter(torch.empty(order))
        self.weight_x = nn.Parameter(torch.empty(hidden_size, input_size))
        self.weight_h = nn.Parameter(torch.empty(hidden_size, hidden_size))
        self.weight_m = nn.Parameter(torch.empty(hidden_size, order))
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        self.encoder_m.zero_()
        nn.init.xavier_normal_(self.weight_m)
        if self.init == "window":
            self.encoder_x.fill_(1)
            for zero in (self.encoder_h, self.weight_x, self.weight_h):
                zero.zero_()
        else:
            self.encoder_x.uniform_(-1, 1).mul_(math.sqrt(3 / self.input_size))
            self.encoder_h.uniform_(-1, 1).mul_(math.sqrt(3 / self.hidden_size))
            nn.init.xavier_normal_(self.weight_x)
            nn.init.xavier_normal_(self.weight_h)

    def start(self, x: Tensor) -> State:
        return LMUState(x.new_zeros(x.shape[1], self.hidden_size), x.new_zeros(x.shape[1], self.order))

    def prepare(self, x: Tensor, dt: Tensor | None) -> Prepared:
        a, b = (torch.from_numpy(part).to(x) for part in window(self.order, self.theta))
        # How the new memory depends on the old memory, the units and the input; then, through it, how the units do.
        memory = [torch.outer(e, b) for e in (self.encoder_x, self.encoder_h, self.encoder_m)]
        memory[2] = memory[2] + a.t()
        weights = (self.weight_x, self.weight_h)
        from_x, from_h, from_m = (
            torch.cat([m @ self.weight_m.t() + (weights[i].t() if i < 2 else 0), m], dim=-1)
            for i, m in enumerate(memory)
        )
        return (x @ from_x,), (torch.cat([from_h, from_m]),)

    def step(self, inputs: tuple[Tensor, ...], state: Any, shared: tuple[Tensor, ...]) -> State:
        both = torch.addmm(inputs[0], torch.cat([state.hidden, state.memory], dim=-1), shared[0])
        hidden, memory = both.split([self.hidden_size, self.order], dim=-1)
        return LMUState(torch.tanh(hidden), memory)


@lru_cache
def window(order: int, theta: float) -> tuple[Float64[np.ndarray, "order order"], Float64[np.ndarray, " order"]]:
    """``Ā, B̄`` of the window: ``expm([[A, B], [0, 0]] / θ)`` is ``[[Ā, B̄], [0, 1]]``."""
    i = np.arange(order)
    sign = np.where(i[:, None] < i, -1.0, (-1.0) ** (i[:, None] - i + 1))
    system = np.zeros((order + 1, order + 1))
    system[:-1, :-1] = (2 * i[:, None] + 1) * sign
    system[:-1, -1] = (2 * i + 1) * (-1.0) ** i
    solution = torch.linalg.matrix_exp(torch.from_numpy(system / theta)).numpy()
    return solution[:-1, :-1].copy(), solution[:-1, -1].copy()
