"""nnRNN, the non-normal network (Kerg et al. 2019): orthogonal, plus a feed-forward part that need not be.

    h_t = modReLU(U x_t + h_{t-1} V; b)          modReLU(z) = ReLU(|z| + b) sign(z)
    V = P (Λ + T) Pᵀ                             the real Schur form
    P = expm(A), A skew-symmetric;  Λ: 2x2 blocks γ_i Rot(θ_i) on the diagonal;  T: free above those blocks

The loss gets ``δ Σ (γ_i - 1)² + ½ decay Σ T²``; the second is what weight decay on T alone does. There are
H (H - 1) / 2 + H + H (H - 2) / 2 + H I + H parameters: A, γ and θ, T, U, b. They start with γ = 1, θ ~ U(0, 2π), T = 0
(``V`` orthogonal), U Glorot normal, b ``U(-0.01, 0.01)``, A block-diagonal. A is trained at a tenth of the others'
rate.

Where we depart from the released code (``nnRNN/nnRNN_release``): there ``T`` also writes into the 2x2 blocks, which the
paper's does not; ``P`` and ``A`` are two parameters, the first updated by hand from the second, where we differentiate
through the exponential; a published version starts ``P`` from uninitialised memory; and of its H angles half are idle.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from slowfade.cores.activations import modrelu
from slowfade.cores.core import Hidden, ParameterGroup, State
from slowfade.cores.orthogonal import SkewExponential, UpperTriangle, slow_rotations
from slowfade.cores.stepped import Layer, Prepared, SteppedCore


class NNRNN(SteppedCore):
    title = "nnRNN"
    source = "Kerg et al. 2019"
    summary = "an orthogonal network in Schur form, with a free feed-forward part above the rotations"
    formula = "H * (H - 1) // 2 + H + H * (H - 2) // 2 + H * I + H"

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        batch_first: bool = False,
        *,
        init: Annotated[Literal["henaff", "cayley"], "how the basis P starts"] = "cayley",
        modulus_penalty: Annotated[float, "δ, what moduli γ other than 1 cost"] = 1e-4,
        decay: Annotated[float, "weight decay on the feed-forward part T"] = 1e-6,
    ) -> None:
        super().__init__(input_size, hidden_size, num_layers, batch_first)
        if hidden_size % 2:
            raise ValueError(f"hidden_size should be even, got {hidden_size}")
        self.modulus_penalty, self.decay = modulus_penalty, decay
        self.stack(NNRNNLayer, init=init)

    @classmethod
    def allows(cls, hidden_size: int, **options: Any) -> bool:
        return hidden_size % 2 == 0

    def parameter_groups(self) -> list[ParameterGroup]:
        return slow_rotations(self)

    def penalty(self) -> Tensor:
        layers = [cast("NNRNNLayer", layer) for layer in self.layers]
        moduli = torch.stack([(layer.gamma - 1).square().sum() for layer in layers]).sum()
        feed_forward = torch.stack([layer.feed_forward.entries.square().sum() for layer in layers]).sum()
        return self.modulus_penalty * moduli + self.decay / 2 * feed_forward


class NNRNNLayer(Layer):
    """``weight_ih (H, I)``, ``bias (H)``, ``gamma`` and ``theta (H/2)``, entries of ``basis`` and ``feed_forward``."""

    def __init__(self, input_size: int, hidden_size: int, *, init: str) -> None:
        super().__init__(input_size, hidden_size)
        self.init = init
        self.weight_ih = nn.Parameter(torch.empty(hidden_size, input_size))
        self.bias = nn.Parameter(torch.empty(hidden_size))
        self.gamma = nn.Parameter(torch.empty(hidden_size // 2))
        self.theta = nn.Parameter(torch.empty(hidden_size // 2))
        self.basis = SkewExponential(hidden_size)
        self.feed_forward = UpperTriangle(hidden_size, block=2)
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        nn.init.xavier_normal_(self.weight_ih)
        self.bias.uniform_(-0.01, 0.01)
        self.gamma.fill_(1)
        self.theta.uniform_(0, 2 * math.pi)
        self.basis.reset_parameters(self.init)
        self.feed_forward.entries.zero_()

    def matrix(self) -> Tensor:
        """``V``."""
        along, across = self.gamma * torch.cos(self.theta), self.gamma * torch.sin(self.theta)
        below = torch.diag(torch.stack([across, torch.zeros_like(across)], dim=-1).flatten()[:-1], -1)
        turned = torch.diag(along.repeat_interleave(2)) + below - below.t()
        basis = self.basis()
        return basis @ (turned + self.feed_forward()) @ basis.t()

    def prepare(self, x: Tensor, dt: Tensor | None) -> Prepared:
        return (F.linear(x, self.weight_ih),), (self.matrix(),)

    def step(self, inputs: tuple[Tensor, ...], state: Any, shared: tuple[Tensor, ...]) -> State:
        return Hidden(modrelu(torch.addmm(inputs[0], state.hidden, shared[0]), self.bias))
