"""EURNN, the efficient unitary network (Jing et al. 2017): a unitary matrix made of 2x2 rotations.

    h_t = modReLU(W h_{t-1} + U x_t; b)          complex h; the output is Re h
    W = D L_n ... L_2 L_1                        layers of rotations, :class:`slowfade.cores.orthogonal.RotationLayers`

``modReLU(z) = ReLU(n + b) z / n`` with ``n = |z| + 0.01``: the small number is inside the modulus, unlike elsewhere.
Real-valued there are no phases and no ``D``, ``W`` is orthogonal, and ``modReLU(z) = ReLU(n + b) sign(z)``.

With N angles, N = capacity (H - 1) / 2 in the tunable style and N = H log2(H) / 2 in the FFT style, there are
2 N + H + 2 H I + H parameters; real-valued N + H I + H. Angles start ``U(-π, π)``, U ``U(-0.01, 0.01)``, b = 0.

The equations are those of the authors' code (``jingli9111/EUNN-tensorflow``), which puts the phase on a pair's second
unit where their paper has it on the first output; the family of matrices is the same. The code is also found with 1e-5
inside the modulus, angles ``U(-0.01, 0.01)`` and b = -0.01. The ``torch_eunn`` package joins the last unit to the first
in every other layer, which neither does. The code walks through the layers at every step; here they become one matrix
per sequence as long as that is cheaper.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from slowfade.cores.activations import modrelu
from slowfade.cores.core import Hidden, State
from slowfade.cores.orthogonal import CAPACITY, RotationLayers, rotatable
from slowfade.cores.stepped import Layer, Prepared, SteppedCore

OFFSET = 0.01


#: Units per layer of rotations up to which one dense product is cheaper than the layers (CPU, forward and backward).
DENSE_UNITS = 128


class EURNN(SteppedCore):
    title = "EURNN"
    source = "Jing et al. 2017"
    summary = "complex units turned by a unitary matrix that is a product of 2x2 rotations"
    formula = (
        "(2 if complex_valued else 1) * ((capacity * (H - 1) // 2 if style == 'tunable' else H * log2(H) // 2) + H * I)"
        " + (2 if complex_valued else 1) * H"
    )

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        batch_first: bool = False,
        *,
        style: Annotated[Literal["tunable", "fft"], "which units the rotations pair"] = "tunable",
        capacity: Annotated[
            int, "tunable: how many layers of rotations, even; hidden_size spans all matrices"
        ] = CAPACITY,
        complex_valued: Annotated[bool, "complex units; otherwise real ones and an orthogonal matrix"] = True,
    ) -> None:
        super().__init__(input_size, hidden_size, num_layers, batch_first)
        self.stack(EURNNLayer, style=style, capacity=capacity, complex_valued=complex_valued)

    @classmethod
    def allows(cls, hidden_size: int, **options: Any) -> bool:
        return rotatable(hidden_size, options["style"], options["capacity"])


class EURNNLayer(Layer):
    """``weight_ih (2H, I)``, real parts first (``(H, I)`` real-valued), ``bias (H)``, the angles of ``rotations``."""

    def __init__(self, input_size: int, hidden_size: int, *, style: str, capacity: int, complex_valued: bool) -> None:
        super().__init__(input_size, hidden_size)
        self.complex_valued = complex_valued
        self.rotations = RotationLayers(hidden_size, style, capacity, complex_valued=complex_valued)
        self.weight_ih = nn.Parameter(torch.empty((2 if complex_valued else 1) * hidden_size, input_size))
        self.bias = nn.Parameter(torch.empty(hidden_size))
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        self.rotations.reset_parameters()
        self.weight_ih.uniform_(-0.01, 0.01)
        self.bias.zero_()

    def start(self, x: Tensor) -> State:
        dtype = x.dtype.to_complex() if self.complex_valued else x.dtype
        return Hidden(x.new_zeros(x.shape[1], self.hidden_size, dtype=dtype))

    def prepare(self, x: Tensor, dt: Tensor | None) -> Prepared:
        from_input = F.linear(x, self.weight_ih)
        if self.complex_valued:
            from_input = torch.complex(*from_input.chunk(2, dim=-1))
        layers, units = self.rotations.angle.shape
        return (from_input,), self.rotations.factors() if units > DENSE_UNITS * layers else (self.rotations().t(),)

    def step(self, inputs: tuple[Tensor, ...], state: Any, shared: tuple[Tensor, ...]) -> State:
        if len(shared) == 2:
            z = inputs[0] + self.rotations.turned(state.hidden, *shared)
        else:
            z = torch.addmm(inputs[0], state.hidden, *shared)
        return Hidden(modrelu(z, self.bias, offset=OFFSET, guard=OFFSET))

    def readout(self, states: dict[str, Tensor]) -> Tensor:
        return states["hidden"].real
