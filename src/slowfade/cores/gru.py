"""GRU (Cho et al. 2014), as ``torch.nn.GRU`` has it, or with the reset before the product.

    r = σ(W_ir x + b_ir + W_hr h + b_hr)         z = σ(W_iz x + b_iz + W_hz h + b_hz)
    n = tanh(W_in x + b_in + r ⊙ (W_hn h + b_hn))             after (``nn.GRU``, cuDNN)
    n = tanh(W_in x + b_in + W_hn (r ⊙ h) + b_hn)             before
    h ← (1 - z) ⊙ n + z ⊙ h

``z`` is the share of the *old* state, as in PyTorch, TensorFlow and Cho et al.; Chung et al. (2014) have it the other
way round. Gate order (r, z, n) and ``U(-1/√H, 1/√H)`` are those of ``nn.GRU``; there are 3H(I + H + 2) parameters.
"""

from __future__ import annotations

import math
from typing import Annotated

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from slowfade.cores.core import Hidden, State
from slowfade.cores.stepped import Layer, Prepared, SteppedCore


class GRU(SteppedCore):
    title = "GRU"
    source = "Cho et al. 2014"
    summary = "the gated recurrent unit, equal to torch.nn.GRU"
    formula = "3*H*(I + H + 2)"

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        batch_first: bool = False,
        *,
        reset_after: Annotated[bool, "the reset gate acts after the recurrent product (nn.GRU), not before it"] = True,
    ) -> None:
        super().__init__(input_size, hidden_size, num_layers, batch_first)
        self.stack(GRULayer, reset_after=reset_after)


class GRULayer(Layer):
    """``weight_ih (3H, I)``, ``weight_hh (3H, H)``, ``bias_ih (3H)``, ``bias_hh (3H)``."""

    def __init__(self, input_size: int, hidden_size: int, *, reset_after: bool) -> None:
        super().__init__(input_size, hidden_size)
        self.reset_after = reset_after
        self.weight_ih = nn.Parameter(torch.empty(3 * hidden_size, input_size))
        self.weight_hh = nn.Parameter(torch.empty(3 * hidden_size, hidden_size))
        self.bias_ih = nn.Parameter(torch.empty(3 * hidden_size))
        self.bias_hh = nn.Parameter(torch.empty(3 * hidden_size))
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        bound = 1 / math.sqrt(self.hidden_size)
        for parameter in self.parameters():
            parameter.uniform_(-bound, bound)

    def run(
        self,
        x: Float[Tensor, "time batch inputs"],
        dt: Float[Tensor, "time batch"] | None,
        lengths: Int[Tensor, " batch"] | None,
        state: State,
        *,
        keep: bool,
    ) -> tuple[dict[str, Tensor], State]:
        if not self.reset_after or len(x) == 0:
            return super().run(x, dt, lengths, state, keep=keep)
        # The state is the output, so padding can be run over and cut off afterwards: no packing.
        start = state[0] if self.silence is None else state[0] * self.silence
        weight_hh = self.weight_hh if self.silence is None else self.weight_hh * self.silence
        weights = [self.weight_ih, weight_hh, self.bias_ih, self.bias_hh]
        hidden, _ = torch.gru(x, start.unsqueeze(0), weights, True, 1, 0.0, True, False, False)
        if self.silence is not None:
            hidden = hidden * self.silence
        if lengths is None:
            return {"hidden": hidden}, Hidden(hidden[-1])
        last = (lengths - 1).clamp(min=0).view(1, -1, 1).expand(1, -1, self.hidden_size)
        end = torch.where(lengths.unsqueeze(-1) > 0, hidden.gather(0, last).squeeze(0), start)
        valid = torch.arange(len(x), device=x.device).unsqueeze(-1) < lengths
        return {"hidden": torch.where(valid.unsqueeze(-1), hidden, 0)}, Hidden(end)

    def prepare(self, x: Tensor, dt: Tensor | None) -> Prepared:
        # Without the reset in between, both biases are one.
        logits = F.linear(x, self.weight_ih, self.bias_ih + self.bias_hh)
        gates, candidate = logits.split([2 * self.hidden_size, self.hidden_size], dim=-1)
        to_gates, to_candidate = self.weight_hh.split([2 * self.hidden_size, self.hidden_size])
        return (gates, candidate), (to_gates.t(), to_candidate.t())

    def step(self, inputs: tuple[Tensor, ...], state: Hidden, shared: tuple[Tensor, ...]) -> Hidden:
        """With the reset before the product; the other way is :meth:`run`'s."""
        gates, candidate = inputs
        to_gates, to_candidate = shared
        r, z = torch.sigmoid(torch.addmm(gates, state.hidden, to_gates)).chunk(2, dim=-1)
        n = torch.tanh(torch.addmm(candidate, r * state.hidden, to_candidate))
        return Hidden((1 - z) * n + z * state.hidden)

    def free_decay(self, time: Float[Tensor, " time"]) -> Float[Tensor, "time hidden"]:
        """``z^t`` with ``z = σ(b_z)``: the unit hears neither input nor the others."""
        z = torch.sigmoid((self.bias_ih + self.bias_hh).chunk(3)[1])
        return z ** time.unsqueeze(-1)
