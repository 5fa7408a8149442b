"""LSTM (Hochreiter and Schmidhuber 1997; forget gate: Gers et al. 2000), as ``torch.nn.LSTM`` has it.

    i = σ(W_ii x + b_ii + W_hi h + b_hi)         f = σ(W_if x + b_if + W_hf h + b_hf)
    g = tanh(W_ig x + b_ig + W_hg h + b_hg)      o = σ(W_io x + b_io + W_ho h + b_ho)
    c ← f ⊙ c + i ⊙ g                            h ← o ⊙ tanh(c)

Parameters have the names, shapes, gate order (i, f, g, o) and initial distribution ``U(-1/√H, 1/√H)`` of
``nn.LSTM``, so weights go from one to the other. There are 4H(I + H + 2): like ``nn.LSTM``, and unlike most papers, we
count two biases, which is how the paper's sizes come out.

It runs on the C++ engine on a CPU, on the reference engine elsewhere.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from slowfade import engines
from slowfade.cores.core import Core, HiddenCell, State


class LSTM(Core):
    title = "LSTM"
    source = "Hochreiter & Schmidhuber 1997; Gers et al. 2000"
    summary = "the long short-term memory, equal to torch.nn.LSTM"
    formula = "4*H*(I + H + 2)"
    state_type = HiddenCell

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, batch_first: bool = False) -> None:
        super().__init__(input_size, hidden_size, num_layers, batch_first)
        for layer in range(num_layers):
            width = input_size if layer == 0 else hidden_size
            for name, shape in self.shapes(width).items():
                self.register_parameter(f"{name}_l{layer}", nn.Parameter(torch.empty(shape)))
        self.reset_parameters()

    def shapes(self, width: int) -> dict[str, tuple[int, ...]]:
        """The parameters of one layer that takes ``width`` inputs."""
        gates = 4 * self.hidden_size
        return {
            "weight_ih": (gates, width),
            "weight_hh": (gates, self.hidden_size),
            "bias_ih": (gates,),
            "bias_hh": (gates,),
        }

    @torch.no_grad()
    def reset_parameters(self) -> None:
        bound = 1 / math.sqrt(self.hidden_size)
        for parameter in self.parameters():
            parameter.uniform_(-bound, bound)

    def bias(self, layer: int) -> Float[Tensor, " gates_hidden"]:
        """All that is added to the gates' logits."""
        return getattr(self, f"bias_ih_l{layer}") + getattr(self, f"bias_hh_l{layer}")

    def start(self, layer: int, x: Float[Tensor, "time batch inputs"]) -> HiddenCell:
        zero = x.new_zeros(x.shape[1], self.hidden_size)
        return HiddenCell(zero, zero)

    def run(
        self,
        layer: int,
        x: Float[Tensor, "time batch inputs"],
        dt: Float[Tensor, "time batch"] | None,
        lengths: Int[Tensor, " batch"] | None,
        state: State,
        *,
        keep: bool,
    ) -> tuple[dict[str, Tensor], State]:
        weight_ih, weight_hh = (getattr(self, f"{name}_l{layer}") for name in ("weight_ih", "weight_hh"))
        silence, bias = self.silence_of(layer), self.bias(layer)
        if silence is not None:
            weight_hh = weight_hh * silence
        hidden, end = engines.lstm(
            "auto", x, lengths, state[0], state[1], weight_ih, weight_hh, bias, batch_first=self.batch_first
        )
        values = {"hidden": hidden}
        if keep:
            values |= _gates(F.linear(x, weight_ih, bias), hidden, state, weight_hh)
        if lengths is not None and keep:
            valid = (torch.arange(len(x), device=x.device).unsqueeze(-1) < lengths).unsqueeze(-1)
            values = {name: torch.where(valid, value, 0) for name, value in values.items()}
        if silence is not None:
            values["hidden"] = values["hidden"] * silence
            end = (end[0] * silence, end[1])
        return values, HiddenCell(*end)

    def free_decay(self, time: Float[Tensor, " time"]) -> Float[Tensor, "time hidden"]:
        """``f^t`` with ``f = σ(b_f)``: all else is silent."""
        forget = torch.sigmoid(self.bias(self.num_layers - 1).chunk(4)[1])
        return forget ** time.unsqueeze(-1)


def _gates(
    from_input: Float[Tensor, "time batch gates_hidden"],
    hidden: Float[Tensor, "time batch hidden"],
    state: State,
    weight_hh: Float[Tensor, "gates_hidden hidden"],
) -> dict[str, Float[Tensor, "time batch hidden"]]:
    """What an LSTM's gates and cell were at every step, from its output."""
    before = torch.cat([state[0].unsqueeze(0), hidden[:-1]])
    i, f, g, o = (from_input + F.linear(before, weight_hh)).chunk(4, dim=-1)
    i, f, g, o = torch.sigmoid(i), torch.sigmoid(f), torch.tanh(g), torch.sigmoid(o)
    cell, cells = state[1], []
    for kept, new in zip(f, i * g, strict=True):
        cell = kept * cell + new
        cells.append(cell)
    return {"forget": f, "input": i, "output": o, "candidate": g, "cell": torch.stack(cells) if cells else g}
