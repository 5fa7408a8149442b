"""The power-law LSTM as its authors ran it: a loop over time in TorchScript, with the paper's reference time ``k_t``.

    k_t = r_t t + (1 - r_t) k_{t-1}                          eq. 5
    f_t = ((t - k_t + 1) / (t - k_t + ε)) ** -p              section 3.3
    f_t = ((t - k_t + 1) / (t - Δt - k̃_t + 1 + ε)) ** -p,  k̃_t = r_t (t - Δt + 1) + (1 - r_t) k_{t-Δt}     appendix A.1

``t`` and ``k_t`` grow while the gate hangs on their difference, so in float32 the result gets worse with every step;
``docs/gate.md`` says by how much, and what this package computes instead.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

from slowfade import PowerLawLSTM

LoopState = tuple[Tensor, Tensor, Tensor, float | Tensor]
"""``h``, ``c`` and ``k`` of every layer, ``(layers, B, H)`` each, and the time ``t`` of the step before."""


class PaperLoop(nn.Module):
    """The layer's own parameters, in the authors' loop. Padding is run through like any other step: they had none."""

    def __init__(self, layer: PowerLawLSTM) -> None:
        super().__init__()
        self.layer = layer

    def forward(
        self, x: Tensor, state: LoopState | None = None, *, dt: Tensor | None = None
    ) -> tuple[Tensor, LoopState]:
        loops, layer = scripted(), self.layer
        if state is None:
            zero = x.new_zeros(layer.num_layers, x.shape[1], layer.hidden_size)
            state = (zero, zero, zero, 0.0 if dt is None else x.new_zeros(x.shape[1], 1))
        *before, start = state
        after = []
        for number, parts in enumerate(zip(*before, strict=True)):
            weights = layer._weights(f"l{number}")
            last = (weights.ih, weights.hh, weights.bias, weights.power, layer.epsilon)
            if dt is None:
                x, *parts, t = loops["unit"](x, *parts, start, *last)
            else:
                x, *parts, t = loops["variable"](x, dt, *parts, start, *last)
            after.append(parts)
        h, c, k = (torch.stack(part) for part in zip(*after, strict=True))
        return x, (h, c, k, t)


def unit_steps(
    x: Tensor,
    h: Tensor,
    c: Tensor,
    k: Tensor,
    t: float,
    weight_ih: Tensor,
    weight_hh: Tensor,
    bias: Tensor,
    power: Tensor,
    epsilon: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor, float]:
    outputs: list[Tensor] = []
    for x_t in x:
        t += 1.0
        logits = torch.mm(x_t, weight_ih.t()) + torch.mm(h, weight_hh.t()) + bias
        reset, output, candidate = logits.chunk(3, 1)
        r = torch.sigmoid(reset)
        k = r * t + (1 - r) * k
        f = ((t - k + 1) / (t - k + epsilon)) ** -power
        c = f * c + (1 - f) * torch.tanh(candidate)
        h = torch.sigmoid(output) * torch.tanh(c)
        outputs.append(h)
    return torch.stack(outputs), h, c, k, t


def variable_steps(
    x: Tensor,
    dt: Tensor,
    h: Tensor,
    c: Tensor,
    k: Tensor,
    t: Tensor,
    weight_ih: Tensor,
    weight_hh: Tensor,
    bias: Tensor,
    power: Tensor,
    epsilon: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    outputs: list[Tensor] = []
    for x_t, dt_t in zip(x, dt.unsqueeze(-1)):  # noqa: B905  TorchScript's zip has no strict
        before, t = t, t + dt_t
        logits = torch.mm(x_t, weight_ih.t()) + torch.mm(h, weight_hh.t()) + bias
        reset, output, candidate = logits.chunk(3, 1)
        r = torch.sigmoid(reset)
        k_tilde = r * (before + 1) + (1 - r) * k
        k = r * t + (1 - r) * k
        f = ((t - k + 1) / (before - k_tilde + 1 + epsilon)) ** -power
        c = f * c + (1 - f) * torch.tanh(candidate)
        h = torch.sigmoid(output) * torch.tanh(c)
        outputs.append(h)
    return torch.stack(outputs), h, c, k, t


@cache
def scripted() -> dict[str, Callable[..., Any]]:
    """Both loops, compiled."""
    with warnings.catch_warnings():
        # Deprecated it is; the authors' code is older than that.
        warnings.filterwarnings("ignore", "`torch.jit.script` is", DeprecationWarning)
        return {"unit": torch.jit.script(unit_steps), "variable": torch.jit.script(variable_steps)}
