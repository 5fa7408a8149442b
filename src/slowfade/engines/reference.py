"""The reference engine: the recurrence in plain PyTorch, on any device, in any dtype, differentiable without end.

Every other engine is held to this one. It reads as the paper does; the gate itself is in ``slowfade.gate``.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from slowfade.gate import power_law_gate, reference_time
from slowfade.sequences import valid_steps
from slowfade.state import State


class Weights(NamedTuple):
    """The parameters of one layer in one direction; gate order reset, output, cell (and input, if not coupled)."""

    ih: Float[Tensor, "gates_hidden inputs"]
    hh: Float[Tensor, "gates_hidden recurrent"]
    bias: Float[Tensor, " gates_hidden"] | None
    hr: Float[Tensor, "projected hidden"] | None
    power: Float[Tensor, " hidden"]


class Step(NamedTuple):
    """Everything one step computes, by name; ``(B, H)`` each (``hidden``: ``(B, P)`` with a projection)."""

    reset: Tensor
    age: Tensor
    reference_time: Tensor
    """The paper's ``k_t``, on the clock of the ``time`` given."""
    forget: Tensor
    input: Tensor
    output: Tensor
    candidate: Tensor
    cell: Tensor
    hidden: Tensor


def power_law_step(
    from_input: Float[Tensor, "*batch gates_hidden"],
    hidden: Float[Tensor, "*batch recurrent"],
    cell: Float[Tensor, "*batch hidden"],
    age: Float[Tensor, "*batch hidden"],
    weights: Weights,
    *,
    epsilon: float,
    coupled: bool,
    dt: Tensor | float = 1.0,
    time: Tensor | float = 0.0,
) -> Step:
    """One step of the power-law LSTM, given ``from_input = U x_t + b``; ``time`` only dates the reference time."""
    # State, age and gate keep full precision where autocast or the weights make the products short.
    logits = (from_input + F.linear(hidden.to(weights.hh.dtype), weights.hh)).to(cell.dtype)
    reset_logit, output_logit, candidate_logit, *input_logit = logits.chunk(3 if coupled else 4, dim=-1)
    gate = power_law_gate(reset_logit, age, weights.power.to(cell.dtype), epsilon=epsilon, dt=dt)
    candidate = torch.tanh(candidate_logit)
    input_ = gate.admit if coupled else torch.sigmoid(input_logit[0])
    output = torch.sigmoid(output_logit)
    cell = gate.forget * cell + input_ * candidate
    hidden = output * torch.tanh(cell)
    if weights.hr is not None:
        hidden = F.linear(hidden.to(weights.hr.dtype), weights.hr).to(cell.dtype)
    return Step(
        gate.reset,
        gate.age,
        reference_time(gate.age, time),
        gate.forget,
        input_,
        output,
        candidate,
        cell,
        hidden,
    )


def run(
    x: Float[Tensor, "time batch inputs"],
    dt: Float[Tensor, "time batch"] | None,
    lengths: Int[Tensor, " batch"] | None,
    state: State,
    weights: Weights,
    *,
    epsilon: float,
    coupled: bool,
    reverse: bool = False,
    keep: tuple[str, ...] = ("hidden",),
) -> tuple[dict[str, Float[Tensor, "time batch features"]], State]:
    """Run one layer in one direction over time.

    Args:
        x: any strides; a batch-first tensor comes as its transposed view.
        dt: ``None`` for unit steps.
        lengths: valid steps of right-padded rows. Padded steps keep the state and give zeros.
        state: ``(h, c, age)`` before the first step, ``(B, P or H)``, ``(B, H)``, ``(B, H)``.
        reverse: from the last valid step to the first; what a step gives stays where its input is.
        keep: the fields of :class:`Step` to hand back for every step.

    Returns:
        The fields asked for, by name, and ``(h, c, age)`` after the last valid step.
    """
    steps, batch = x.shape[:2]
    hidden, cell, age = state
    order = reversed_order(steps, batch, lengths, x.device) if reverse else None
    if order is not None:
        x = x.take_along_dim(order.unsqueeze(-1), dim=0)
        dt = None if dt is None else dt.take_along_dim(order, dim=0)
    from_input = F.linear(without_padding(x, lengths).to(weights.ih.dtype), weights.ih, weights.bias)
    time: Tensor | float = 0.0
    kept: dict[str, list[Tensor]] = {name: [] for name in keep}
    for t in range(steps):
        step_dt = 1.0 if dt is None else dt[t].unsqueeze(-1).to(age.dtype)
        time = time + step_dt
        step = power_law_step(
            from_input[t], hidden, cell, age, weights, epsilon=epsilon, coupled=coupled, dt=step_dt, time=time
        )
        if lengths is None:
            hidden, cell, age = step.hidden, step.cell, step.age
        else:
            valid = (t < lengths).unsqueeze(-1)
            hidden = torch.where(valid, step.hidden, hidden)
            cell = torch.where(valid, step.cell, cell)
            age = torch.where(valid, step.age, age)
            step = Step(*(torch.where(valid, value, 0.0) for value in step))
        for name, values in kept.items():
            values.append(getattr(step, name))
    empty = {name: state[0] if name == "hidden" else state[1] for name in keep}
    stacked = {
        name: torch.stack(values) if values else empty[name].new_empty(0, *empty[name].shape)
        for name, values in kept.items()
    }
    if order is not None:
        stacked = {name: values.take_along_dim(order.unsqueeze(-1), dim=0) for name, values in stacked.items()}
    return stacked, (hidden, cell, age)


def lstm(
    x: Float[Tensor, "time batch inputs"],
    lengths: Int[Tensor, " batch"] | None,
    h: Float[Tensor, "batch recurrent"],
    c: Float[Tensor, "batch hidden"],
    weight_ih: Float[Tensor, "gates_hidden inputs"],
    weight_hh: Float[Tensor, "gates_hidden recurrent"],
    bias: Float[Tensor, " gates_hidden"] | None = None,
    weight_hr: Float[Tensor, "recurrent hidden"] | None = None,
    *,
    reverse: bool = False,
) -> tuple[Float[Tensor, "time batch recurrent"], tuple[Tensor, Tensor]]:
    """The LSTM with ``nn.LSTM``'s equations and gate order (input, forget, cell, output), both biases added up."""
    steps, batch = x.shape[:2]
    order = reversed_order(steps, batch, lengths, x.device) if reverse else None
    if order is not None:
        x = x.take_along_dim(order.unsqueeze(-1), dim=0)
    from_input = F.linear(without_padding(x, lengths), weight_ih, bias)
    outputs = []
    for t in range(steps):
        i, f, g, o = (from_input[t] + F.linear(h, weight_hh)).chunk(4, dim=-1)
        cell = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        hidden = torch.sigmoid(o) * torch.tanh(cell)
        if weight_hr is not None:
            hidden = F.linear(hidden, weight_hr)
        valid = torch.ones_like(h[:, :1], dtype=torch.bool) if lengths is None else (t < lengths).unsqueeze(-1)
        h, c = torch.where(valid, hidden, h), torch.where(valid, cell, c)
        outputs.append(torch.where(valid, hidden, 0.0))
    output = torch.stack(outputs) if outputs else h.new_zeros(0, *h.shape)
    return (output if order is None else output.take_along_dim(order.unsqueeze(-1), dim=0)), (h, c)


def without_padding(
    x: Float[Tensor, "time batch inputs"], lengths: Int[Tensor, " batch"] | None
) -> Float[Tensor, "time batch inputs"]:
    """Zeros where rows are padded: whatever stood there, were it not a number, should not come into a gradient."""
    return x if lengths is None else torch.where(valid_steps(len(x), lengths).unsqueeze(-1), x, 0.0)


def reversed_order(
    steps: int, batch: int, lengths: Int[Tensor, " batch"] | None, device: torch.device
) -> Int[Tensor, "time batch"]:
    """Which step comes when, backwards: ``len - 1, ..., 0``, the padding left in place. Its own inverse."""
    forward = torch.arange(steps, device=device).unsqueeze(-1).expand(steps, batch)
    if lengths is None:
        return forward.flip(0)
    return torch.where(forward < lengths, lengths - 1 - forward, forward)
