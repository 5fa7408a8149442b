"""uRNN, the unitary evolution network (Arjovsky, Shah and Bengio 2016), restricted-capacity unitary matrix.

    h_t = modReLU(W h_{t-1} + V x_t; b)          complex h
    W = D₃ R₂ F⁻¹ D₂ Π R₁ F D₁

``F`` is the unitary Fourier transform, ``D_j = diag(e^{iθ_j})``, ``Π`` a fixed random permutation, and ``R_j``
reflects: ``R z = z - 2 v̄ (vᵀ z) / ‖v‖²``, without a conjugate in ``vᵀ z``, as in the authors' code
(``amarshah/complex_RNN``). ``modReLU(z) = ReLU(|z| + b) z / (|z| + 1e-5)``. The output is ``[Re h; Im h]``, 2H wide.
The first state is learned.

There are 2 H I + 10 H parameters: V, three θ, two complex v, b and the first state. They start as in the code: V and v
from Glorot's uniform distribution for shapes (I, 2H) and (2, 2H), θ ~ U(-π, π), b ~ U(-0.01, 0.01), the first state
``U(-√(3/2H), √(3/2H))``. The code walks through the factors at every step; here they become one matrix per sequence as
long as that is cheaper.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from slowfade.cores.activations import modrelu
from slowfade.cores.core import Hidden, State
from slowfade.cores.orthogonal import phase
from slowfade.cores.stepped import Layer, Prepared, SteppedCore

#: Up to here a step is cheaper with ``W`` as one dense matrix than factor by factor (CPU, forward and backward).
DENSE_UNITS = 256


class URNN(SteppedCore):
    title = "uRNN"
    source = "Arjovsky et al. 2016"
    summary = "complex units turned by a unitary matrix of Fourier transforms, phases and reflections"
    formula = "2*H*I + 10*H"
    output_formula = "2*H"

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, batch_first: bool = False) -> None:
        super().__init__(input_size, hidden_size, num_layers, batch_first)
        self.stack(URNNLayer)


class URNNLayer(Layer):
    """``weight_ih (2H, I)``, ``theta (3, H)``, ``reflections (2, 2, H)``, ``bias (H)``, ``first (2, H)``.

    Complex ones are real and imaginary parts, in this order.
    """

    permutation: Tensor

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__(input_size, hidden_size)
        self.output_size = 2 * hidden_size
        self.weight_ih = nn.Parameter(torch.empty(2 * hidden_size, input_size))
        self.theta = nn.Parameter(torch.empty(3, hidden_size))
        self.reflections = nn.Parameter(torch.empty(2, 2, hidden_size))
        self.bias = nn.Parameter(torch.empty(hidden_size))
        self.first = nn.Parameter(torch.empty(2, hidden_size))
        self.register_buffer("permutation", torch.randperm(hidden_size))
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        bounds = {
            self.weight_ih: math.sqrt(6 / (self.input_size + 2 * self.hidden_size)),
            self.reflections: math.sqrt(6 / (2 + 2 * self.hidden_size)),
            self.theta: math.pi,
            self.bias: 0.01,
            self.first: math.sqrt(3 / (2 * self.hidden_size)),
        }
        for parameter, bound in bounds.items():
            parameter.uniform_(-bound, bound)

    def turned(self, z: Tensor) -> Tensor:
        """``W z`` for every row ``z``, factor by factor."""
        d1, d2, d3 = phase(self.theta)
        v1, v2 = torch.complex(*self.reflections.unbind(1))
        z = reflected(torch.fft.fft(d1 * z, norm="ortho"), v1)
        z = d2 * z[..., self.permutation]
        return d3 * reflected(torch.fft.ifft(z, norm="ortho"), v2)

    def start(self, x: Tensor) -> State:
        return Hidden(torch.complex(*self.first).expand(x.shape[1], -1))

    def prepare(self, x: Tensor, dt: Tensor | None) -> Prepared:
        real, imaginary = F.linear(x, self.weight_ih).chunk(2, dim=-1)
        if self.hidden_size > DENSE_UNITS:
            return (torch.complex(real, imaginary),), ()
        unit_vectors = torch.eye(self.hidden_size, dtype=x.dtype.to_complex(), device=x.device)
        return (torch.complex(real, imaginary),), (self.turned(unit_vectors),)

    def step(self, inputs: tuple[Tensor, ...], state: Any, shared: tuple[Tensor, ...]) -> State:
        z = torch.addmm(inputs[0], state.hidden, shared[0]) if shared else inputs[0] + self.turned(state.hidden)
        return Hidden(modrelu(z, self.bias, guard=1e-5))

    def readout(self, states: dict[str, Tensor]) -> Tensor:
        return torch.cat([states["hidden"].real, states["hidden"].imag], dim=-1)


def reflected(z: Tensor, v: Tensor) -> Tensor:
    """``z - 2 v̄ (vᵀ z) / ‖v‖²`` for every row ``z``."""
    return z - (z @ v).unsqueeze(-1) * (v.conj() * (2 / v.abs().square().sum()))
