"""Phased LSTM: a peephole LSTM whose units are updated only while an oscillation opens them (Neil et al. 2016).

    i = σ(W_xi x + W_hi h + w_ci ⊙ c + b_i)      f = σ(W_xf x + W_hf h + w_cf ⊙ c + b_f)
    g = tanh(W_xc x + W_hc h + b_c)              c̃ = f ⊙ c + i ⊙ g
    o = σ(W_xo x + W_ho h + w_co ⊙ c̃ + b_o)      h̃ = o ⊙ tanh(c̃)
    φ = ((t - s) mod τ) / τ                      κ = 2φ/R if φ ≤ R/2;  2 - 2φ/R if R/2 < φ ≤ R;  αφ otherwise
    c ← κ ⊙ c̃ + (1 - κ) ⊙ c                      h ← κ ⊙ h̃ + (1 - κ) ⊙ h

Each unit learns its period τ, shift s and open ratio R. α leaks a little gradient through closed units in training and
is 0 otherwise. The time ``t`` is carried in the state and grows by ``dt``, by 1 without; a fresh state stands at 0.
There are 4H(I + H + 1) + 3H + 3H parameters, the latter two the peepholes and the rhythm.

Weights and peepholes start from N(0, 0.1²), ``b_i`` at -0.1, other biases at 0, ``log τ`` from ``U(1, 3)``, ``s`` from
``U(0, 100)``. The authors' code adds ``s`` instead of taking it away, which turns its sign and nothing else; their
PyTorch port has no peepholes and leaks in evaluation too.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from slowfade.cores.core import State
from slowfade.cores.stepped import Layer, Prepared, SteppedCore

#: Periods and open ratios are trained, and may come to zero on the way; they divide as no smaller than this.
FLOOR = 1e-6


class PhasedState(NamedTuple):
    hidden: Tensor
    cell: Tensor
    time: Float[Tensor, "*shape 1"]


class PhasedLSTM(SteppedCore):
    title = "phased LSTM"
    source = "Neil, Pfeiffer & Liu 2016"
    summary = "an LSTM whose units are updated only in the open phase of an oscillation of their own"
    formula = "4*H*(I + H + 1) + (6*H if peepholes else 3*H)"
    uses_time = True
    state_type = PhasedState

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        batch_first: bool = False,
        *,
        period: Annotated[tuple[float, float], "periods start log-uniform between e to these powers"] = (1.0, 3.0),
        shift: Annotated[float, "shifts start uniform between 0 and this"] = 100.0,
        ratio: Annotated[float, "the share of its period a unit is open for, at first"] = 0.05,
        leak: Annotated[float, "the slope of a closed unit's opening, in training"] = 1e-3,
        peepholes: Annotated[bool, "let the gates see the cell"] = True,
    ) -> None:
        super().__init__(input_size, hidden_size, num_layers, batch_first)
        if not period[0] <= period[1]:
            raise ValueError(f"period should be (low, high) with low <= high, got {period}")
        if not 0 < ratio <= 1:
            raise ValueError(f"ratio should lie in (0, 1], got {ratio}")
        self.stack(PhasedLayer, period=period, shift=shift, ratio=ratio, leak=leak, peepholes=peepholes)


class PhasedLayer(Layer):
    """``weight_ih (4H, I)``, ``weight_hh (4H, H)``, ``bias (4H)`` (order i, f, g, o), ``peephole (3, H)`` (i, f, o),
    ``period``, ``shift``, ``ratio`` ``(H)`` each."""

    state_type = PhasedState

    peephole: Tensor | None

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        period: tuple[float, float],
        shift: float,
        ratio: float,
        leak: float,
        peepholes: bool,
    ) -> None:
        super().__init__(input_size, hidden_size)
        self.initial_period, self.initial_shift, self.initial_ratio, self.leak = period, shift, ratio, leak
        self.weight_ih = nn.Parameter(torch.empty(4 * hidden_size, input_size))
        self.weight_hh = nn.Parameter(torch.empty(4 * hidden_size, hidden_size))
        self.bias = nn.Parameter(torch.empty(4 * hidden_size))
        self.register_parameter("peephole", nn.Parameter(torch.empty(3, hidden_size)) if peepholes else None)
        self.period = nn.Parameter(torch.empty(hidden_size))
        self.shift = nn.Parameter(torch.empty(hidden_size))
        self.ratio = nn.Parameter(torch.empty(hidden_size))
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        self.weight_ih.normal_(0, 0.1)
        self.weight_hh.normal_(0, 0.1)
        if self.peephole is not None:
            self.peephole.normal_(0, 0.1)
        self.bias.zero_()[: self.hidden_size] = -0.1
        self.period.uniform_(*self.initial_period).exp_()
        self.shift.uniform_(0, self.initial_shift)
        self.ratio.fill_(self.initial_ratio)

    def start(self, x: Float[Tensor, "time batch inputs"]) -> PhasedState:
        zero = x.new_zeros(x.shape[1], self.hidden_size)
        return PhasedState(zero, zero, x.new_zeros(x.shape[1], 1, dtype=torch.promote_types(x.dtype, torch.float32)))

    def run(
        self,
        x: Float[Tensor, "time batch inputs"],
        dt: Float[Tensor, "time batch"] | None,
        lengths: Int[Tensor, " batch"] | None,
        state: State,
        *,
        keep: bool,
    ) -> tuple[dict[str, Tensor], State]:
        # The openness of all steps is found at once, so what goes on to `prepare` is absolute time.
        elapsed = state[2].new_ones(x.shape[:2]) if dt is None else dt.to(state[2].dtype)
        return super().run(x, state[2].squeeze(-1) + elapsed.cumsum(0), lengths, state, keep=keep)

    def openness(self, time: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape hidden"]:
        """``κ`` of every unit at these times."""
        period, ratio = (rhythm.abs().clamp_min(FLOOR) for rhythm in (self.period, self.ratio))
        phase = torch.remainder(time.unsqueeze(-1) - self.shift, period) / period
        rise = 2 * phase / ratio
        closed = (self.leak if self.training else 0.0) * phase
        return torch.where(phase <= ratio / 2, rise, torch.where(phase <= ratio, 2 - rise, closed))

    def prepare(self, x: Tensor, time: Tensor | None) -> Prepared:
        assert time is not None
        logits = F.linear(x, self.weight_ih, self.bias)
        return (logits, self.openness(time).to(x.dtype), time.unsqueeze(-1)), (self.weight_hh.t(),)

    def step(self, inputs: tuple[Tensor, ...], state: PhasedState, shared: tuple[Tensor, ...]) -> PhasedState:
        from_input, kappa, time = inputs
        i, f, g, o = torch.addmm(from_input, state.hidden, shared[0]).chunk(4, dim=-1)
        if self.peephole is not None:
            i, f = i + self.peephole[0] * state.cell, f + self.peephole[1] * state.cell
        cell = torch.sigmoid(f) * state.cell + torch.sigmoid(i) * torch.tanh(g)
        if self.peephole is not None:
            o = o + self.peephole[2] * cell
        hidden = torch.sigmoid(o) * torch.tanh(cell)
        return PhasedState(torch.lerp(state.hidden, hidden, kappa), torch.lerp(state.cell, cell, kappa), time)

    def free_decay(self, time: Float[Tensor, " time"]) -> Float[Tensor, "time hidden"]:
        """``e^{-γt}`` where samples come once per unit of time, at moments anywhere in the cycle, with ``f = σ(b_f)``.

        A sample at openness ``κ`` keeps ``1 - κ (1 - f)`` of the cell, and ``γ`` is the mean of ``-log`` of that over
        the cycle: ``R ∫₀¹ -log(1 - u (1 - f)) du = R (1 + f log f / (1 - f))``.
        """
        logit = self.bias.chunk(4)[1]
        rate = self.ratio.abs() * (1 + F.logsigmoid(logit) * torch.exp(logit))
        return torch.exp(-rate * time.unsqueeze(-1))
