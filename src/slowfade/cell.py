"""One step of the power-law LSTM, and its forget gate alone, as modules for networks of one's own."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from slowfade import checks, parameters
from slowfade.engines import Weights
from slowfade.engines.reference import power_law_step
from slowfade.gate import Forgetting, PowerInit, power_law_gate
from slowfade.sequences import check_state, check_type, interval
from slowfade.state import PowerLawState, parts


class PowerLawForgetGate(nn.Module):
    """A forget gate whose memory fades along a power law, for any recurrent network.

        >>> gate = PowerLawForgetGate(20)
        >>> reset_logit, memory, candidate = torch.randn(3, 5, 20)
        >>> decision = gate(reset_logit)
        >>> memory = decision.forget * memory + decision.admit * candidate
        >>> decision = gate(reset_logit, decision.age)          # the next step

    The network makes the reset gate's pre-activation and carries the age on; ``examples/power_law_gru.py`` puts the
    gate into a GRU.

    Args:
        size: units, each with a power of its own.
        power, power_init, epsilon: as in :class:`slowfade.PowerLawLSTM`.
    """

    def __init__(
        self,
        size: int,
        *,
        power: str | float = "learned",
        power_init: PowerInit = "uniform",
        epsilon: float = 1e-3,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        checks.sizes(size, size)
        checks.gate_options(power, power_init, epsilon)
        checks.floating("dtype", dtype)
        self.size, self.power_init, self.epsilon = size, power_init, float(epsilon)
        parameters.register(self, {}, size, power, device=device, dtype=dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        parameters.initialise(self, self.size, self.power_init)

    @property
    def power(self) -> Float[Tensor, " size"]:
        """The decay exponent ``p`` of every unit."""
        return parameters.power(self)

    def forward(
        self, logit: Float[Tensor, "*batch size"], age: Tensor | None = None, dt: Tensor | float | None = None
    ) -> Forgetting:
        """``(reset, forget, admit, age)`` of one step; ``age=None`` at the start, ``dt`` ``(*batch)`` or a number."""
        if logit.shape[-1] != self.size:
            raise RuntimeError(f"the reset logit should have {self.size} features, got {logit.shape[-1]}")
        # Half precision cannot count past a few hundred steps.
        logit = logit.to(torch.promote_types(logit.dtype, torch.float32))
        age = torch.zeros_like(logit) if age is None else age.to(logit.dtype)
        if age.shape != logit.shape:
            raise RuntimeError(f"the age should be {tuple(logit.shape)} like the logit, got {tuple(age.shape)}")
        step_dt = 1.0 if dt is None else interval(dt, logit).unsqueeze(-1)
        return power_law_gate(logit, age, self.power.to(age.dtype), epsilon=self.epsilon, dt=step_dt)

    def extra_repr(self) -> str:
        return f"{self.size}, epsilon={self.epsilon}"


class PowerLawLSTMCell(nn.Module):
    """One step of :class:`slowfade.PowerLawLSTM`. Use it where you would use ``torch.nn.LSTMCell``.

        >>> cell = PowerLawLSTMCell(10, 20)
        >>> state = None
        >>> for x_t in torch.randn(6, 3, 10):
        ...     state = cell(x_t, state)
        >>> state.h.shape
        torch.Size([3, 20])

    Parameters ``weight_ih (3H, I)``, ``weight_hh (3H, H)``, ``bias (3H)`` and ``power_logit (H)``, as one layer of the
    LSTM has them, without the suffix.
    """

    weight_ih: Tensor
    weight_hh: Tensor
    bias: Tensor | None

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        *,
        power: str | float = "learned",
        power_init: PowerInit = "uniform",
        epsilon: float = 1e-3,
        coupled: bool = True,
    ) -> None:
        super().__init__()
        checks.sizes(input_size, hidden_size)
        checks.flags(bias=bias, coupled=coupled)
        checks.gate_options(power, power_init, epsilon)
        checks.floating("dtype", dtype)
        self.input_size, self.hidden_size = input_size, hidden_size
        self.power_init, self.epsilon, self.coupled = power_init, float(epsilon), coupled
        gates = (3 if coupled else 4) * hidden_size
        shapes = {
            "weight_ih": (gates, input_size),
            "weight_hh": (gates, hidden_size),
            "bias": (gates,) if bias else None,
        }
        parameters.register(self, shapes, hidden_size, power, device=device, dtype=dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weights and biases from ``U(-1/√H, 1/√H)``, powers as ``power_init`` says."""
        parameters.initialise(self, self.hidden_size, self.power_init)

    @property
    def power(self) -> Float[Tensor, " hidden"]:
        """The decay exponent ``p`` of every unit."""
        return parameters.power(self)

    def forward(
        self,
        x: Float[Tensor, "*batch inputs"],
        state: tuple[Tensor, ...] | None = None,
        dt: Float[Tensor, "*batch"] | float | None = None,
    ) -> PowerLawState:
        """The state after ``x``: ``(B, I)`` or ``(I,)`` gives ``(B, H)`` or ``(H,)``; ``state.h`` is the output."""
        if x.dim() not in (1, 2):
            raise ValueError(f"x should be (B, I) or (I,), got {x.dim()}-D")
        if x.shape[-1] != self.input_size:
            raise RuntimeError(f"x should have input_size = {self.input_size} features, got {x.shape[-1]}")
        check_type(x, self.weight_ih.dtype, RuntimeError)
        shape = (*x.shape[:-1], self.hidden_size)
        if state is None:
            zero = x.new_zeros(shape, dtype=torch.promote_types(self.weight_ih.dtype, torch.float32))
            state = (zero, zero, zero)
        h, c, age = (
            check_state(name, part, shape, self.weight_ih)
            for name, part in zip(PowerLawState._fields, parts(state), strict=True)
        )
        weights = Weights(self.weight_ih, self.weight_hh, self.bias, None, self.power)
        step = power_law_step(
            F.linear(x, self.weight_ih, self.bias),
            h,
            c,
            age,
            weights,
            epsilon=self.epsilon,
            coupled=self.coupled,
            dt=1.0 if dt is None else interval(dt, x).unsqueeze(-1),
        )
        return PowerLawState(step.hidden, step.cell, step.age)

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}, epsilon={self.epsilon}, coupled={self.coupled}"
