"""GORU, the gated orthogonal recurrent unit (Jing et al. 2017): a GRU around an orthogonal matrix.

    r = σ(U_r x_t + W_r h_{t-1} + b_r)
    g = σ(U_g x_t + W_g h_{t-1} + b_g)
    c = modReLU(U_c x_t + r ⊙ (Q h_{t-1}); b_c)          modReLU(z) = ReLU(|z| + 0.001 + b) sign(z)
    h_t = g ⊙ h_{t-1} + (1 - g) ⊙ c

``Q`` is a product of layers of rotations, :class:`slowfade.cores.orthogonal.RotationLayers`, real and without phases.
With N angles, N = H log2(H) / 2 in the FFT style and N = capacity (H - 1) / 2 in the tunable one, there are
3 H I + 2 H² + 3 H + N parameters. They start as in the authors' code (``jingli9111/GORU-tensorflow``): U and W
``U(-0.01, 0.01)``, angles ``U(-π, π)``, b_r = 2, b_c = 0.01. That code gives b_g no initialiser, which makes it
TensorFlow's default, ``U(-√(3/H), √(3/H))``; here it is a number, 0. Its successor (``RUM-Tensorflow``) starts b_c at
2. The code walks through the layers at every step; here they become one matrix per sequence.
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

OFFSET = 0.001


class GORU(SteppedCore):
    title = "GORU"
    source = "Jing et al. 2017"
    summary = "a gated recurrent unit whose candidate hears the state through an orthogonal matrix"
    formula = "3*H*I + 2*H*H + 3*H + (capacity * (H - 1) // 2 if style == 'tunable' else H * log2(H) // 2)"

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        batch_first: bool = False,
        *,
        style: Annotated[Literal["tunable", "fft"], "which units the rotations pair"] = "fft",
        capacity: Annotated[
            int, "tunable: how many layers of rotations, even; hidden_size spans all matrices"
        ] = CAPACITY,
        reset_bias: Annotated[float, "where b_r starts"] = 2.0,
        update_bias: Annotated[float, "where b_g starts"] = 0.0,
        modrelu_bias: Annotated[float, "where b_c starts"] = 0.01,
    ) -> None:
        super().__init__(input_size, hidden_size, num_layers, batch_first)
        self.stack(GORULayer, style=style, capacity=capacity, biases=(modrelu_bias, reset_bias, update_bias))

    @classmethod
    def allows(cls, hidden_size: int, **options: Any) -> bool:
        return rotatable(hidden_size, options["style"], options["capacity"])


class GORULayer(Layer):
    """``weight_ih (3H, I)``, ``bias (3H)``, order candidate, reset, update; ``weight_hh (2H, H)``, order reset, update.

    The candidate's bias is the modReLU's. ``rotations`` holds the angles.
    """

    def __init__(
        self, input_size: int, hidden_size: int, *, style: str, capacity: int, biases: tuple[float, float, float]
    ) -> None:
        super().__init__(input_size, hidden_size)
        self.biases = biases
        self.rotations = RotationLayers(hidden_size, style, capacity, complex_valued=False)
        self.weight_ih = nn.Parameter(torch.empty(3 * hidden_size, input_size))
        self.weight_hh = nn.Parameter(torch.empty(2 * hidden_size, hidden_size))
        self.bias = nn.Parameter(torch.empty(3 * hidden_size))
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        self.rotations.reset_parameters()
        self.weight_ih.uniform_(-0.01, 0.01)
        self.weight_hh.uniform_(-0.01, 0.01)
        for bias, value in zip(self.bias.chunk(3), self.biases, strict=True):
            bias.fill_(value)

    def prepare(self, x: Tensor, dt: Tensor | None) -> Prepared:
        size = self.hidden_size
        candidate = F.linear(x, self.weight_ih[:size])
        gates = F.linear(x, self.weight_ih[size:], self.bias[size:])
        return (candidate, gates), (torch.cat([self.weight_hh, self.rotations()]).t(), self.bias[:size])

    def step(self, inputs: tuple[Tensor, ...], state: Any, shared: tuple[Tensor, ...]) -> State:
        from_input, gates_from_input = inputs
        weight, bias = shared
        gates, turned = (state.hidden @ weight).split([2 * self.hidden_size, self.hidden_size], dim=-1)
        reset, update = torch.sigmoid(gates_from_input + gates).chunk(2, dim=-1)
        candidate = modrelu(torch.addcmul(from_input, reset, turned), bias, offset=OFFSET)
        return Hidden(torch.lerp(candidate, state.hidden, update))
