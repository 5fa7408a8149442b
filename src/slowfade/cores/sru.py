"""SRU, the *statistical* recurrent unit (Oliva et al. 2017): moving averages of learned statistics at several rates.

For every rate α in a fixed bank A there is an average of the same statistics φ; μ is all of them, side by side::

    r_t = ReLU(W_r μ_{t-1} + b_r)
    φ_t = ReLU(W_φ [x_t; r_t] + b_φ)
    μ_t^(α) = α μ_{t-1}^(α) + (1 - α) φ_t                    for every α
    o_t = ReLU(W_o μ_t + b_o)                                without the ReLU if asked for

The state is μ alone; the output is only read from it. A bank of exponentials, so a useful contrast to a power law.
With R recurrent statistics and m rates there are (m H + 1) R + (I + R + 1) H + (m H + 1) H parameters: weights from
``U(-0.1, 0.1)``, biases zero, as in the authors' code (``junieroliva/recurrent``).

There are as many outputs as statistics. In the authors' code too: it names a number of outputs but makes
``num_stats``. PyPI's ``sru`` is another network, the *simple* recurrent unit.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from slowfade.cores.core import State
from slowfade.cores.stepped import Layer, Prepared, SteppedCore


class SRUState(NamedTuple):
    means: Tensor
    """``(B, m, H)``, one row of averages per rate."""


class SRU(SteppedCore):
    title = "SRU"
    source = "Oliva et al. 2017"
    summary = "moving averages of learned statistics at several fixed rates (the statistical recurrent unit)"
    formula = (
        "(len(alphas) * H + 1) * recurrent_statistics + (I + recurrent_statistics + 1) * H + (len(alphas) * H + 1) * H"
    )
    state_type = SRUState

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        batch_first: bool = False,
        *,
        alphas: Annotated[tuple[float, ...], "the rates: how much of an average stays at each step"] = (
            0.0,
            0.25,
            0.5,
            0.9,
            0.99,
        ),
        recurrent_statistics: Annotated[int, "how many numbers the averages feed back; 0: none"] = 16,
        linear_output: Annotated[bool, "no ReLU on the output"] = False,
    ) -> None:
        super().__init__(input_size, hidden_size, num_layers, batch_first)
        if not alphas or not all(0 <= alpha < 1 for alpha in alphas):
            raise ValueError(f"alphas should be one or more numbers in [0, 1), got {alphas}")
        if recurrent_statistics < 0:
            raise ValueError(f"recurrent_statistics should be 0 or more, got {recurrent_statistics}")
        self.stack(
            SRULayer, alphas=tuple(alphas), recurrent_statistics=recurrent_statistics, linear_output=linear_output
        )


class SRULayer(Layer):
    """``weight_recurrent (R, mH)``, ``weight_ih (H, I)``, ``weight_rh (H, R)``, ``weight_output (H, mH)``, biases."""

    state_type = SRUState
    reads = ("means",)

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        alphas: tuple[float, ...],
        recurrent_statistics: int,
        linear_output: bool,
    ) -> None:
        super().__init__(input_size, hidden_size)
        self.alphas, self.linear_output = alphas, linear_output
        means = len(alphas) * hidden_size
        self.weight_recurrent = nn.Parameter(torch.empty(recurrent_statistics, means))
        self.bias_recurrent = nn.Parameter(torch.empty(recurrent_statistics))
        self.weight_ih = nn.Parameter(torch.empty(hidden_size, input_size))
        self.weight_rh = nn.Parameter(torch.empty(hidden_size, recurrent_statistics))
        self.bias = nn.Parameter(torch.empty(hidden_size))
        self.weight_output = nn.Parameter(torch.empty(hidden_size, means))
        self.bias_output = nn.Parameter(torch.empty(hidden_size))
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        for weight in (self.weight_recurrent, self.weight_ih, self.weight_rh, self.weight_output):
            weight.uniform_(-0.1, 0.1)
        for bias in (self.bias_recurrent, self.bias, self.bias_output):
            bias.zero_()

    def start(self, x: Tensor) -> State:
        return SRUState(x.new_zeros(x.shape[1], len(self.alphas), self.hidden_size))

    def prepare(self, x: Tensor, dt: Tensor | None) -> Prepared:
        alphas = x.new_tensor(self.alphas).unsqueeze(-1)
        return (F.linear(x, self.weight_ih, self.bias),), (self.weight_recurrent.t(), self.weight_rh.t(), alphas)

    def step(self, inputs: tuple[Tensor, ...], state: Any, shared: tuple[Tensor, ...]) -> State:
        weight_recurrent, weight_rh, alphas = shared
        fed_back = torch.relu(torch.addmm(self.bias_recurrent, state.means.flatten(1), weight_recurrent))
        statistics = torch.relu(torch.addmm(inputs[0], fed_back, weight_rh))
        return SRUState(torch.lerp(statistics.unsqueeze(1), state.means, alphas))

    def readout(self, states: dict[str, Tensor]) -> Tensor:
        output = F.linear(states["means"].flatten(-2), self.weight_output, self.bias_output)
        output = output if self.linear_output else torch.relu(output)
        return output if self.silence is None else output * self.silence
