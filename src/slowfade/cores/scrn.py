"""SCRN, the structurally constrained network (Mikolov et al. 2015): slow context units beside fast hidden ones.

    s_t = (1 - α) B x_t + α s_{t-1}                      S context units
    h_t = σ(P s_t + A x_t + R h_{t-1})                   H hidden units
    output [h_t; s_t]

α is fixed, 0.95, or learned, one ``σ(α̂)`` per context unit. There are (I + H)(H + S) parameters, S more with learned
α, and no biases.

All weights start ``N(0, 0.05²)`` as in the authors' code (``facebookarchive/SCRNNs``). That code lets the hidden units
hear the context of the step before, ``s_{t-1}``, against its own comment and the paper (``context="previous"`` does
that), and starts its state at 0.1 where we start at zero.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from slowfade import checks
from slowfade.cores.core import State
from slowfade.cores.stepped import Layer, Prepared, SteppedCore


class SCRNState(NamedTuple):
    hidden: Tensor
    context: Tensor


class SCRN(SteppedCore):
    title = "SCRN"
    source = "Mikolov et al. 2015"
    summary = "sigmoid units beside slow linear context units that average the input"
    formula = "(I + H) * (H + context_size) + (context_size if learned_alpha else 0)"
    output_formula = "H + context_size"
    state_type = SCRNState

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        batch_first: bool = False,
        *,
        context_size: Annotated[int, "how many context units"] = 40,
        alpha: Annotated[float, "how much of the context stays at each step"] = 0.95,
        learned_alpha: Annotated[bool, "learn alpha, one per context unit, starting from alpha"] = False,
        context: Annotated[Literal["current", "previous"], "which context the hidden units hear"] = "current",
    ) -> None:
        super().__init__(input_size, hidden_size, num_layers, batch_first)
        checks.one_of("context", context, ("current", "previous"))
        if context_size < 1:
            raise ValueError(f"context_size should be positive, got {context_size}")
        if not 0 < alpha < 1:
            raise ValueError(f"alpha should lie in (0, 1), got {alpha}")
        self.stack(
            SCRNLayer,
            context_size=context_size,
            alpha=alpha,
            learned_alpha=learned_alpha,
            previous=context == "previous",
        )


class SCRNLayer(Layer):
    """``weight_ih (H, I)`` (A), ``weight_hh (H, H)`` (R), ``weight_is (S, I)`` (B), ``weight_sh (H, S)`` (P)."""

    state_type = SCRNState
    reads = ("hidden", "context")

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        context_size: int,
        alpha: float,
        learned_alpha: bool,
        previous: bool,
    ) -> None:
        super().__init__(input_size, hidden_size)
        self.output_size = hidden_size + context_size
        self.context_size, self.alpha, self.previous = context_size, alpha, previous
        self.weight_ih = nn.Parameter(torch.empty(hidden_size, input_size))
        self.weight_hh = nn.Parameter(torch.empty(hidden_size, hidden_size))
        self.weight_is = nn.Parameter(torch.empty(context_size, input_size))
        self.weight_sh = nn.Parameter(torch.empty(hidden_size, context_size))
        self.alpha_logit = nn.Parameter(torch.empty(context_size)) if learned_alpha else None
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        for weight in (self.weight_ih, self.weight_hh, self.weight_is, self.weight_sh):
            weight.normal_(0, 0.05)
        if self.alpha_logit is not None:
            self.alpha_logit.fill_(math.log(self.alpha / (1 - self.alpha)))

    def start(self, x: Tensor) -> State:
        return SCRNState(x.new_zeros(x.shape[1], self.hidden_size), x.new_zeros(x.shape[1], self.context_size))

    def prepare(self, x: Tensor, dt: Tensor | None) -> Prepared:
        alpha = x.new_tensor(self.alpha) if self.alpha_logit is None else torch.sigmoid(self.alpha_logit)
        inputs = F.linear(x, self.weight_ih), F.linear(x, self.weight_is)
        return inputs, (self.weight_hh.t(), self.weight_sh.t(), alpha)

    def step(self, inputs: tuple[Tensor, ...], state: Any, shared: tuple[Tensor, ...]) -> State:
        to_hidden, to_context = inputs
        weight_hh, weight_sh, alpha = shared
        context = torch.lerp(to_context, state.context, alpha)
        heard = state.context if self.previous else context
        logit = torch.addmm(torch.addmm(to_hidden, heard, weight_sh), state.hidden, weight_hh)
        return SCRNState(torch.sigmoid(logit), context)

    def readout(self, states: dict[str, Tensor]) -> Tensor:
        return torch.cat([states["hidden"], states["context"]], dim=-1)
