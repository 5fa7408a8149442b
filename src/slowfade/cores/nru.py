"""NRU, the non-saturating recurrent unit (Chandar et al. 2019): a memory that is written and erased, never scaled.

With ``ρ`` the ReLU or nothing, ``k`` heads and a memory of ``M = k q²`` numbers::

    h_t = ReLU(W_h [x_t; h_{t-1}; m_{t-1}] + b)                        layer norm before the ReLU if asked for
    z = [h_t; m_{t-1}]
    α, β = ρ(W_α z + b_α), ρ(W_β z + b_β)                              one number per head
    V = ρ(u₁ ⊗ u₂) as k rows of M, each over its 5-norm;  u₁, u₂ = the halves of W_v z + b_v, k q wide each
    m_t = m_{t-1} + 1/k Σ_i (α_i Vʷ_i - β_i Vᵉ_i)                      Vʷ to write, Vᵉ to erase

There are (M + H + I + 1) H + (M + H + 1)(4 k q + 2 k) parameters, 2 H more with layer norm, all from
``U(-1/√n, 1/√n)``, ``n`` the width of what they multiply.

This is the authors' code (``apsarath/NRU``), on which the published figures rest. Their paper sums over the heads
where the code takes the mean, and lets the heads see ``x_t`` too. We depart from the code in numerics only:

- A row of ``V`` is ``q`` rows of ``u₁ ⊗ u₂``, so its norm is a product of two short ones, and what all heads write is
  an outer product again. ``V`` is never made. That needs ``M = k q²``; the code takes any ``M k = s²``.
- Each factor's norm is at least 1e-6. The code's 1e-12 never acts in float32, where fifth powers vanish long before:
  a row of 1e-9 would have norm zero and be blown up a thousandfold.
- Rows whose norm is over 1e7 count as zero. What the heads write grows with what they read, so that from its initial
  values the memory grows e-fold about every thirty steps. In the code it stops where float32 overflows: norms are
  infinite then and rows zero, but gradients NaN.
"""

from __future__ import annotations

import math
from functools import reduce
from typing import Annotated, Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from slowfade.cores.core import State
from slowfade.cores.stepped import Layer, Prepared, SteppedCore

#: Norms of the heads' vectors over and under which they count as zero, and as no smaller.
CEILING, FLOOR = 1e7, 1e-6


class NRUState(NamedTuple):
    hidden: Tensor
    memory: Tensor


class NRU(SteppedCore):
    title = "NRU"
    source = "Chandar et al. 2019"
    summary = "a ReLU network with a memory that heads write to and erase from, without a saturating gate"
    formula = (
        "(memory_size + H + I + 1) * H + (memory_size + H + 1) * (4 * sqrt(memory_size * heads) + 2 * heads)"
        " + (2 * H if layer_norm else 0)"
    )
    state_type = NRUState

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        batch_first: bool = False,
        *,
        memory_size: Annotated[int, "numbers in the memory: heads times a square"] = 256,
        heads: Annotated[int, "how many vectors write, and how many erase, at each step"] = 4,
        use_relu: Annotated[bool, "ReLU on the heads' strengths and vectors"] = False,
        layer_norm: Annotated[bool, "layer norm before the hidden units' ReLU"] = False,
    ) -> None:
        super().__init__(input_size, hidden_size, num_layers, batch_first)
        if heads < 1 or memory_size < 1 or heads * math.isqrt(memory_size // heads) ** 2 != memory_size:
            raise ValueError(f"memory_size should be heads = {heads} times a square, got {memory_size}")
        self.stack(NRULayer, memory_size=memory_size, heads=heads, use_relu=use_relu, layer_norm=layer_norm)


class NRULayer(Layer):
    """``weight_ih (H, I)``, ``weight_hh (H, H + M)``, ``bias (H)``; ``weight_heads (2k + 4kq, H + M)``, ``bias_heads``.

    The rows of the heads: α, β, u₁ to write, u₁ to erase, u₂ to write, u₂ to erase.
    """

    state_type = NRUState

    def __init__(
        self, input_size: int, hidden_size: int, *, memory_size: int, heads: int, use_relu: bool, layer_norm: bool
    ) -> None:
        super().__init__(input_size, hidden_size)
        self.memory_size, self.heads, self.use_relu = memory_size, heads, use_relu
        self.width = math.isqrt(memory_size * heads)
        rows = 2 * heads + 4 * self.width
        self.weight_ih = nn.Parameter(torch.empty(hidden_size, input_size))
        self.weight_hh = nn.Parameter(torch.empty(hidden_size, hidden_size + memory_size))
        self.bias = nn.Parameter(torch.empty(hidden_size))
        self.weight_heads = nn.Parameter(torch.empty(rows, hidden_size + memory_size))
        self.bias_heads = nn.Parameter(torch.empty(rows))
        self.norm = nn.LayerNorm(hidden_size) if layer_norm else None
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        heard = self.hidden_size + self.memory_size
        for parameter in (self.weight_ih, self.weight_hh, self.bias):
            parameter.uniform_(-1, 1).div_(math.sqrt(heard + self.input_size))
        for parameter in (self.weight_heads, self.bias_heads):
            parameter.uniform_(-1, 1).div_(math.sqrt(heard))

    def start(self, x: Tensor) -> State:
        return NRUState(x.new_zeros(x.shape[1], self.hidden_size), x.new_zeros(x.shape[1], self.memory_size))

    def prepare(self, x: Tensor, dt: Tensor | None) -> Prepared:
        signs = x.new_tensor([1, -1]).view(2, 1, 1) / self.heads
        return (F.linear(x, self.weight_ih, self.bias),), (self.weight_hh.t(), self.weight_heads.t(), signs)

    def step(self, inputs: tuple[Tensor, ...], state: Any, shared: tuple[Tensor, ...]) -> State:
        weight_hh, weight_heads, signs = shared
        logit = torch.addmm(inputs[0], torch.cat([state.hidden, state.memory], dim=-1), weight_hh)
        hidden = torch.relu(logit if self.norm is None else self.norm(logit))
        if self.silence is not None:
            hidden = hidden * self.silence
        heads = torch.addmm(self.bias_heads, torch.cat([hidden, state.memory], dim=-1), weight_heads)
        return NRUState(hidden, state.memory + self.written(heads, signs))

    def written(self, heads: Tensor, signs: Tensor) -> Tensor:
        """``1/k Σ_i (α_i Vʷ_i - β_i Vᵉ_i)``, ``(B, M)``, from what the heads say."""
        strength, first, second = heads.split([2 * self.heads, 2 * self.width, 2 * self.width], dim=-1)
        strength = strength.unflatten(-1, (2, self.heads, 1))
        factors = [(first.unflatten(-1, (2, self.heads, -1)), second.unflatten(-1, (2, -1)))]
        if self.use_relu:
            strength = torch.relu(strength)
            # ReLU(u₁ ⊗ u₂) is the outer product of the positive parts and, elsewhere, that of the negative ones.
            factors = [(torch.relu(sign * u1), torch.relu(sign * u2)) for u1, u2 in factors for sign in (1, -1)]
        norm = reduce(either, (product_of_norms(*pair) for pair in factors))
        share = signs * torch.where(norm < CEILING, strength / norm, 0.0)
        return reduce(torch.add, (torch.bmm((share * u1).sum(2).mT, u2) for u1, u2 in factors)).flatten(1)


def product_of_norms(first: Tensor, second: Tensor) -> Tensor:
    """The 5-norm of every head's row of ``u₁ ⊗ u₂``: ``(B, 2, k, q)`` and ``(B, 2, kq)`` give ``(B, 2, k, 1)``."""
    short = (torch.linalg.vector_norm(u, 5, dim=-1, keepdim=True) for u in (first, second.unsqueeze(2)))
    return torch.mul(*(norm.clamp_min(FLOOR) for norm in short))


def either(a: Tensor, b: Tensor) -> Tensor:
    """``(a⁵ + b⁵)^(1/5)``, safe for small numbers."""
    large, small = torch.maximum(a, b), torch.minimum(a, b)
    return large * (1 + (small / large) ** 5) ** 0.2
