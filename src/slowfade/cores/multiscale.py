"""Multi-timescale LSTM: fixed exponential timescales that add up to a power law (Mahto, Vo, Turek and Huth 2021).

    b_f = -log(e^{1/T} - 1),  b_i = -b_f,  T ~ InverseGamma(0.56, 1), one per unit

so that with no input a unit forgets as ``σ(b_f)^t = e^{-t/T}``. These biases are not trained. Everything else is the
LSTM (``lstm.py``). A second bias would undo the first's constancy, so there is one, for the candidate and the output
gate: 4H(I + H) + 2H parameters. The timescales are a buffer, ``timescale_l0 (H)``.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from slowfade.cores.lstm import LSTM

SHAPE = 0.56
"""Of the inverse gamma distribution, as fitted to the decay of information in English text by its authors."""


class Multiscale(LSTM):
    title = "multi-timescale LSTM"
    source = "Mahto, Vo, Turek & Huth 2021"
    summary = "an LSTM with fixed forget biases drawn so that its units together fade along a power law"
    formula = "4*H*(I + H) + 2*H"

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, batch_first: bool = False) -> None:
        super().__init__(input_size, hidden_size, num_layers, batch_first)
        # 1/T is Gamma(0.56, 1); the smallest are cut where their logarithm would be infinite.
        rates = torch.distributions.Gamma(SHAPE, 1.0).sample((num_layers, hidden_size)).clamp(min=1e-12)
        for layer in range(num_layers):
            self.register_buffer(f"timescale_l{layer}", 1 / rates[layer])

    def shapes(self, width: int) -> dict[str, tuple[int, ...]]:
        return {
            "weight_ih": (4 * self.hidden_size, width),
            "weight_hh": (4 * self.hidden_size, self.hidden_size),
            "bias": (2 * self.hidden_size,),
        }

    def bias(self, layer: int) -> Float[Tensor, " gates_hidden"]:
        forget = forget_bias(getattr(self, f"timescale_l{layer}"))
        return torch.cat([-forget, forget, getattr(self, f"bias_l{layer}")])


def forget_bias(timescale: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """``-log(e^{1/T} - 1)``, without overflow for a small ``T``."""
    rate = 1 / timescale
    return -(rate + torch.log(-torch.expm1(-rate)))
