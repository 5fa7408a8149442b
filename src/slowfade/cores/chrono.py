"""Chrono LSTM: an LSTM that starts with the timescales it may need (Tallec and Ollivier 2018).

    b_f = log u,  u ~ U(1, T_max - 1),  b_i = -b_f

Everything else is the LSTM (``lstm.py``), with 4H(I + H + 2) parameters. A unit then remembers for about
``1 / (1 - σ(b_f)) = u + 1`` steps at first. The paper takes ``T_max`` = 3/2 of the delay for copying.

The logits have two biases; all of the above goes into ``bias_ih``, and ``bias_hh`` starts at zero, or the sum would be
off. There is no official code; JANET's draws ``u`` from ``U(1, T_max)`` with a fixed seed, others invert the formula or
draw for both biases. This follows the paper.
"""

from __future__ import annotations

from typing import Annotated

import torch

from slowfade.cores.lstm import LSTM


class Chrono(LSTM):
    title = "chrono LSTM"
    source = "Tallec & Ollivier 2018"
    summary = "an LSTM whose forget biases start spread over the timescales up to t_max"

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        batch_first: bool = False,
        *,
        t_max: Annotated[float, "the longest dependency expected, in steps (more than 2)"] = 300.0,
    ) -> None:
        if not t_max > 2:
            raise ValueError(f"t_max should be more than 2 steps, got {t_max}")
        self.t_max = t_max
        super().__init__(input_size, hidden_size, num_layers, batch_first)

    @torch.no_grad()
    def reset_parameters(self) -> None:
        super().reset_parameters()
        for layer in range(self.num_layers):
            getattr(self, f"bias_hh_l{layer}").zero_()
            input_, forget, candidate, output = getattr(self, f"bias_ih_l{layer}").chunk(4)
            forget.uniform_(1, self.t_max - 1).log_()
            input_.copy_(-forget)
            candidate.zero_()
            output.zero_()
