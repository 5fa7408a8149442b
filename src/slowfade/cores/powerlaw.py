"""The power-law LSTM, the subject of the paper: :class:`slowfade.PowerLawLSTM` as one network among the others.

    r = σ(U_r x + W_r h + b_r),  o = σ(U_o x + W_o h + b_o),  g = tanh(U_c x + W_c h + b_c)
    q = 1 - r
    f = ((q (a + 1) + ε) / (q (a + dt) + 1)) ^ p,  a ← q (a + dt)
    c ← f ⊙ c + (1 - f) ⊙ g,  h ← o ⊙ tanh(c)

There are 3H(I + H + 1) + H parameters: three gates with one bias each, and the powers. The authors' code resets to
``t - ε``, not to ``t``, and restarts its clock where state is carried on: ``docs/gate.md`` says what that does.
"""

from __future__ import annotations

from typing import Annotated, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from slowfade import engines, gate
from slowfade.cores.core import Core, State
from slowfade.engines import reference
from slowfade.layer import PowerLawLSTM, PowerLawTrace
from slowfade.state import PowerLawState

POWER_INIT = (0.0, 1.0)


class PowerLaw(Core):
    title = "power-law LSTM"
    source = "the paper: Slower is Better, ICML 2021"
    summary = "an LSTM whose memory fades along a power law"
    formula = "(3 if coupled else 4)*H*(I + H + 1) + (H if power == 'learned' else 0)"
    uses_time = True
    state_type = PowerLawState

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        batch_first: bool = False,
        *,
        power: Annotated[Literal["learned"] | float, "learned, one p per unit, or a number all units keep"] = "learned",
        power_init: Annotated[tuple[float, float], "the interval a learned p is first drawn from"] = POWER_INIT,
        epsilon: Annotated[float, "keeps the gate's gradient finite; below the smallest dt"] = 1e-3,
        coupled: Annotated[bool, "the input gate is 1 - f; otherwise it is a gate of its own"] = True,
    ) -> None:
        super().__init__(input_size, hidden_size, num_layers, batch_first)
        if power != "learned" and power_init != POWER_INIT:
            raise ValueError(f"power_init {power_init} needs a learned power, not power {power}")
        self.layer = PowerLawLSTM(
            input_size,
            hidden_size,
            num_layers,
            batch_first=batch_first,
            power=power,
            power_init=power_init,
            epsilon=epsilon,
            coupled=coupled,
        )

    def start(self, layer: int, x: Float[Tensor, "time batch inputs"]) -> PowerLawState:
        zero = x.new_zeros(x.shape[1], self.hidden_size, dtype=torch.promote_types(x.dtype, torch.float32))
        return PowerLawState(zero, zero, zero)

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
        weights, silence = self.layer._weights(f"l{layer}"), self.silence_of(layer)
        if silence is not None:
            weights = weights._replace(hh=weights.hh * silence)
        start = (state[0], state[1], state[2])
        epsilon, coupled = self.layer.epsilon, self.layer.coupled
        if keep:
            values, end = reference.run(
                x, dt, lengths, start, weights, epsilon=epsilon, coupled=coupled, keep=PowerLawTrace._fields
            )
        else:
            hidden, end = engines.power_law(
                self.layer.engine,
                x,
                dt,
                lengths,
                start,
                weights,
                epsilon=epsilon,
                coupled=coupled,
                batch_first=self.batch_first,
            )
            values = {"hidden": hidden}
        if silence is not None:
            values["hidden"] = values["hidden"] * silence
            end = (end[0] * silence, end[1], end[2])
        return values, PowerLawState(*end)

    def free_decay(self, time: Float[Tensor, " time"]) -> Float[Tensor, "time hidden"]:
        """``(t + 1)^-p``."""
        return gate.free_decay(time.unsqueeze(-1), self.layer.power[-1])
