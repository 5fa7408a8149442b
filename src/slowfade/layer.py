"""The power-law LSTM: what users import."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import PackedSequence

from slowfade import checks, engines, parameters
from slowfade.engines import Weights, reference
from slowfade.gate import PowerInit
from slowfade.sequences import Sequences, autocasting, backward_intervals, check_state, check_type, interval, normalise
from slowfade.state import PowerLawState, parts


class PowerLawTrace(NamedTuple):
    """Every gate and state of every step, each ``(num_layers * directions, T, B, H)``.

    ``(num_layers * directions, B, T, H)`` with ``batch_first``, without ``B`` for unbatched input. Padded steps are
    zero. In the backward direction time runs backwards, as the layer does, but every step stands where its input is.
    """

    reset: Tensor
    age: Tensor
    reference_time: Tensor
    """The paper's ``k_t``, on a clock that stood at 0 when the state was made."""
    forget: Tensor
    input: Tensor
    output: Tensor
    candidate: Tensor
    cell: Tensor
    hidden: Tensor
    """``proj_size`` wide where there is a projection."""


class PowerLawLSTM(nn.Module):
    """An LSTM whose cells forget along a power law. Use it where you would use ``torch.nn.LSTM``.

        >>> layer = PowerLawLSTM(10, 20, batch_first=True)
        >>> output, state = layer(torch.randn(3, 50, 10))
        >>> output.shape
        torch.Size([3, 50, 20])

    At each step, ``dt`` after the one before (``docs/gate.md`` tells where this comes from)::

        r = σ(U_r x + W_r h + b_r),  o = σ(U_o x + W_o h + b_o),  g = tanh(U_c x + W_c h + b_c)
        q = 1 - r
        f = ((q (a + 1) + ε) / (q (a + dt) + 1)) ** p,  a ← q (a + dt)
        c ← f c + (1 - f) g,  h ← o tanh(c)

    Args:
        input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, proj_size, device, dtype: as in
            ``torch.nn.LSTM``.
        power: "learned", one ``p = σ(p̂)`` per unit; or a number ``>= 0`` that all units keep.
        power_init: where a learned ``p`` starts: "uniform" on (0, 1), a number, or an interval to draw from.
        epsilon: keeps the gate's gradient finite where a unit resets. Must be smaller than the smallest ``dt``.
        coupled: the input gate is ``1 - f`` (the default), or a gate of its own.
        engine: "auto" takes the fastest that can run; "reference", "cpu" or "triton" insist.

    Parameters, per layer and direction: ``weight_ih_l0 (3H, I)``, ``weight_hh_l0 (3H, H)``, ``bias_l0 (3H)`` with gate
    order reset, output, cell (a fourth block, input, with ``coupled=False``), ``weight_hr_l0 (P, H)`` with a
    projection, and ``power_logit_l0 (H)``, or a buffer ``fixed_power_l0 (H)`` where it is fixed.
    """

    weight_ih_l0: Tensor

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        *,
        power: str | float = "learned",
        power_init: PowerInit = "uniform",
        epsilon: float = 1e-3,
        coupled: bool = True,
        engine: str = "auto",
    ) -> None:
        super().__init__()
        checks.sizes(input_size, hidden_size, num_layers, proj_size)
        checks.flags(bias=bias, batch_first=batch_first, bidirectional=bidirectional, coupled=coupled)
        checks.dropout(dropout, num_layers)
        checks.gate_options(power, power_init, epsilon)
        checks.one_of("engine", engine, engines.ENGINES)
        checks.floating("dtype", dtype)
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        self.power_option, self.power_init, self.epsilon = power, power_init, float(epsilon)
        self.coupled, self.engine = coupled, engine
        self.directions = 2 if bidirectional else 1
        self.output_size = (proj_size or hidden_size) * self.directions

        gates = (3 if coupled else 4) * hidden_size
        for layer in range(num_layers):
            width = input_size if layer == 0 else self.output_size
            for suffix in self._suffixes(layer):
                shapes: dict[str, tuple[int, ...] | None] = {
                    "weight_ih": (gates, width),
                    "weight_hh": (gates, proj_size or hidden_size),
                    "bias": (gates,) if bias else None,
                    "weight_hr": (proj_size, hidden_size) if proj_size else None,
                }
                parameters.register(self, shapes, hidden_size, power, f"_{suffix}", device=device, dtype=dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weights and biases from ``U(-1/√H, 1/√H)``, powers as ``power_init`` says."""
        parameters.initialise(self, self.hidden_size, self.power_init)

    def flatten_parameters(self) -> None:
        """Nothing: ``nn.LSTM`` has it for cuDNN, and scripts call it. Parameters here are never copied into one."""

    @property
    def power(self) -> Float[Tensor, "layers hidden"]:
        """The decay exponent ``p`` of every unit, one row per layer and direction."""
        return torch.stack(
            [parameters.power(self, f"_{suffix}") for n in range(self.num_layers) for suffix in self._suffixes(n)]
        )

    def forward(
        self,
        x: Tensor | PackedSequence,
        state: tuple[Tensor, ...] | None = None,
        *,
        dt: Tensor | PackedSequence | None = None,
        lengths: Tensor | Sequence[int] | None = None,
    ) -> tuple[Tensor | PackedSequence, PowerLawState]:
        """Run over a sequence.

        Args:
            x: ``(T, B, I)``, ``(B, T, I)`` with ``batch_first``, ``(T, I)`` unbatched, or a ``PackedSequence``.
            state: where to start; ``None`` is zero, ``(h, c)`` alone means age 0.
            dt: time since the previous sample: ``(T, B)``, ``(B, T)`` with ``batch_first``, ``(T,)``, or packed like
                ``x``. ``None`` is unit steps. The first ``dt`` is the time since the state was made.
            lengths: ``(B,)``, the valid steps of right-padded rows.

        Returns:
            The output, laid out like ``x`` and zero where that was padding, and the state after the last valid step.
        """
        sequences = self._normalise(x, dt, lengths)
        output, end = self._run(sequences, self._start(sequences, state))
        return sequences.restore(output), self._end(sequences, end)

    def step(
        self,
        x_t: Float[Tensor, "*batch inputs"],
        state: tuple[Tensor, ...] | None = None,
        dt_t: Float[Tensor, "*batch"] | float | None = None,
    ) -> tuple[Float[Tensor, "*batch features"], PowerLawState]:
        """One step of a stream: ``(B, I)`` or ``(I,)``, as from a sequence of one step."""
        if self.bidirectional:
            raise RuntimeError("a bidirectional layer needs the whole sequence: it cannot step")
        if x_t.dim() not in (1, 2):
            raise ValueError(f"x_t should be (B, I) or (I,), got {x_t.dim()}-D")
        step_dt = None if dt_t is None else interval(dt_t, x_t).unsqueeze(0)
        # One step of a batch is a time-major sequence whatever batch_first says; without a batch it is (1, I).
        sequences = normalise(x_t.unsqueeze(0), step_dt, input_size=self.input_size, batch_first=False)
        check_type(sequences.x, self.weight_ih_l0.dtype, ValueError)
        output, end = self._run(sequences, self._start(sequences, state))
        return (output if sequences.batched else output.squeeze(1)).squeeze(0), self._end(sequences, end)

    def trace(
        self,
        x: Tensor | PackedSequence,
        state: tuple[Tensor, ...] | None = None,
        *,
        dt: Tensor | PackedSequence | None = None,
        lengths: Tensor | Sequence[int] | None = None,
    ) -> PowerLawTrace:
        """Every gate and state of every step, by name, from the reference engine. Arguments as in :meth:`forward`.

        A ``PackedSequence`` gives padded traces, time-major, with the rows in the user's order.
        """
        sequences = self._normalise(x, dt, lengths)
        runs: list[dict[str, Tensor]] = []
        self._run(sequences, self._start(sequences, state), runs)
        return PowerLawTrace(
            *(sequences.restore_layers(torch.stack([run[name] for run in runs])) for name in PowerLawTrace._fields)
        )

    def extra_repr(self) -> str:
        options = {
            "num_layers": (self.num_layers, 1),
            "bias": (self.bias, True),
            "batch_first": (self.batch_first, False),
            "dropout": (self.dropout, 0.0),
            "bidirectional": (self.bidirectional, False),
            "proj_size": (self.proj_size, 0),
            "power": (self.power_option, "learned"),
            "power_init": (self.power_init, "uniform"),
            "epsilon": (self.epsilon, 1e-3),
            "coupled": (self.coupled, True),
            "engine": (self.engine, "auto"),
        }
        changed = [f"{name}={value!r}" for name, (value, default) in options.items() if value != default]
        return ", ".join([str(self.input_size), str(self.hidden_size), *changed])

    def _suffixes(self, layer: int) -> list[str]:
        return [f"l{layer}", f"l{layer}_reverse"][: self.directions]

    def _weights(self, suffix: str) -> Weights:
        ih, hh, bias, hr = (
            getattr(self, f"{name}_{suffix}") for name in ("weight_ih", "weight_hh", "bias", "weight_hr")
        )
        return Weights(ih, hh, bias, hr, parameters.power(self, f"_{suffix}"))

    def _normalise(
        self,
        x: Tensor | PackedSequence,
        dt: Tensor | PackedSequence | None,
        lengths: Tensor | Sequence[int] | None,
    ) -> Sequences:
        sequences = normalise(x, dt, lengths, input_size=self.input_size, batch_first=self.batch_first)
        check_type(sequences.x, self.weight_ih_l0.dtype, ValueError)
        return sequences

    def _start(self, sequences: Sequences, state: tuple[Tensor, ...] | None) -> PowerLawState:
        """The state to start from, rows arranged like the sequences', in the precision the recurrence keeps."""
        x = sequences.x
        rows = (self.num_layers * self.directions, x.shape[1])
        widths = {"h": self.proj_size or self.hidden_size, "c": self.hidden_size, "age": self.hidden_size}
        if state is None:
            dtype = torch.promote_types(self.weight_ih_l0.dtype, torch.float32)
            return PowerLawState(*(x.new_zeros(*rows, width, dtype=dtype) for width in widths.values()))
        arranged = []
        for (name, width), part in zip(widths.items(), parts(state), strict=True):
            expected = (*rows, width) if sequences.batched else (rows[0], width)
            arranged.append(sequences.arrange_state(check_state(name, part, expected, self.weight_ih_l0)))
        return PowerLawState(*arranged)

    def _end(self, sequences: Sequences, state: PowerLawState) -> PowerLawState:
        return PowerLawState(*(sequences.restore_state(part) for part in state))

    def _run(
        self, sequences: Sequences, state: PowerLawState, runs: list[dict[str, Tensor]] | None = None
    ) -> tuple[Float[Tensor, "time batch features"], PowerLawState]:
        """All layers and directions; every step's values go into ``runs`` where it is given."""
        x, dt, lengths, *_ = sequences
        ends = []
        for layer in range(self.num_layers):
            outputs = []
            for reverse, suffix in enumerate(self._suffixes(layer)):
                h, c, age = (part[layer * self.directions + reverse] for part in state)
                intervals = backward_intervals(dt, lengths) if reverse and dt is not None else dt
                weights = self._weights(suffix)
                if runs is None:
                    output, end = engines.power_law(
                        self.engine,
                        x,
                        intervals,
                        lengths,
                        (h, c, age),
                        weights,
                        epsilon=self.epsilon,
                        coupled=self.coupled,
                        reverse=bool(reverse),
                        batch_first=sequences.batch_first,
                    )
                else:
                    kept, end = reference.run(
                        x,
                        intervals,
                        lengths,
                        (h, c, age),
                        weights,
                        epsilon=self.epsilon,
                        coupled=self.coupled,
                        reverse=bool(reverse),
                        keep=PowerLawTrace._fields,
                    )
                    output = kept["hidden"]
                    runs.append(kept)
                outputs.append(output)
                ends.append(end)
            x = torch.cat(outputs, dim=-1) if self.bidirectional else outputs[0]
            if layer < self.num_layers - 1:
                x = F.dropout(x, self.dropout, self.training)
        device = x.device.type
        dtype = sequences.x.dtype
        if autocasting(device) and dtype != torch.float64:
            dtype = torch.get_autocast_dtype(device)
        return x.to(dtype), PowerLawState(*(torch.stack(part) for part in zip(*ends, strict=True)))
