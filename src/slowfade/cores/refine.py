"""UR-LSTM: an LSTM with a refine gate and uniform gate initialisation (Gu et al. 2020).

    f = σ(U_f x + W_f h + b_f)                   r = σ(U_r x + W_r h + b_r)
    g = r (1 - (1 - f)²) + (1 - r) f²            the effective forget gate: f moved towards 0 or 1, whichever r says
    c ← g ⊙ c + (1 - g) ⊙ tanh(U_c x + W_c h + b_c)
    h ← σ(U_o x + W_o h + b_o) ⊙ tanh(c)

The gate comes in three variants, named as in the paper: ``ur`` with both parts, ``u-`` without the refine gate
(``g = f``), ``-r`` without the initialisation. Uniform initialisation means ``b_f = logit(u)`` with
``u ~ U(1/H, 1 - 1/H)``, and the refine gate's bias starts at *minus* that, so that ``g`` starts about as ``f`` would;
without it ``b_f = 1`` and ``b_r = 0``. There are 4H(I + H + 1) parameters, 3H(I + H + 1) without the refine gate.

There is no official code of the LSTM. A port keeps ``logit(u)`` as a third, trained vector that both gates share; the
authors' own gate elsewhere freezes it. Here each gate's bias starts from it and is trained on.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from slowfade import checks
from slowfade.cores.core import HiddenCell
from slowfade.cores.stepped import Layer, Prepared, SteppedCore

Variant = Literal["ur", "u-", "-r"]


class RefineLSTM(SteppedCore):
    title = "UR-LSTM"
    source = "Gu, Gulcehre, Paine, Hoffman & Pascanu 2020"
    summary = "an LSTM whose forget gate is refined by a second one and starts uniformly distributed"
    formula = "(3 if variant == 'u-' else 4)*H*(I + H + 1)"
    state_type = HiddenCell

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        batch_first: bool = False,
        *,
        variant: Annotated[Variant, "ur: uniform initialisation and refine gate; u- or -r: only one of them"] = "ur",
    ) -> None:
        super().__init__(input_size, hidden_size, num_layers, batch_first)
        checks.one_of("variant", variant, ("ur", "u-", "-r"))
        self.stack(RefineLayer, variant=variant)


class RefineLayer(Layer):
    """``weight_ih``, ``weight_hh``, ``bias``; gate order forget, candidate, output and, but for ``u-``, refine."""

    state_type = HiddenCell

    def __init__(self, input_size: int, hidden_size: int, *, variant: Variant) -> None:
        super().__init__(input_size, hidden_size)
        self.variant = variant
        gates = (3 if variant == "u-" else 4) * hidden_size
        self.weight_ih = nn.Parameter(torch.empty(gates, input_size))
        self.weight_hh = nn.Parameter(torch.empty(gates, hidden_size))
        self.bias = nn.Parameter(torch.empty(gates))
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        bound = 1 / math.sqrt(self.hidden_size)
        self.weight_ih.uniform_(-bound, bound)
        self.weight_hh.uniform_(-bound, bound)
        self.bias.zero_()
        forget, _, _, *refine = self.bias.split(self.hidden_size)
        if self.variant == "-r":
            forget.fill_(1)
            return
        edge = 1 / max(self.hidden_size, 2)
        forget.uniform_(edge, 1 - edge).logit_()
        for part in refine:
            part.copy_(-forget)

    def prepare(self, x: Tensor, dt: Tensor | None) -> Prepared:
        return (F.linear(x, self.weight_ih, self.bias),), (self.weight_hh.t(),)

    def step(self, inputs: tuple[Tensor, ...], state: HiddenCell, shared: tuple[Tensor, ...]) -> HiddenCell:
        logits = torch.addmm(inputs[0], state.hidden, shared[0])
        forget, candidate, output, *refine = logits.split(self.hidden_size, dim=-1)
        g = effective_gate(forget, *refine)
        cell = torch.lerp(torch.tanh(candidate), state.cell, g)
        return HiddenCell(torch.sigmoid(output) * torch.tanh(cell), cell)

    def free_decay(self, time: Float[Tensor, " time"]) -> Float[Tensor, "time hidden"]:
        """``g^t``, with ``g`` from the biases alone."""
        forget, _, _, *refine = self.bias.split(self.hidden_size)
        return effective_gate(forget, *refine) ** time.unsqueeze(-1)


def effective_gate(forget_logit: Tensor, refine_logit: Tensor | None = None) -> Tensor:
    """``g = r (1 - (1 - f)²) + (1 - r) f² = f² + 2 r f (1 - f)``; without a refine gate ``g = f``."""
    f = torch.sigmoid(forget_logit)
    if refine_logit is None:
        return f
    return f * (f + 2 * torch.sigmoid(refine_logit) * (1 - f))
