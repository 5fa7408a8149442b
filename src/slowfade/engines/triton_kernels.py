"""The GPU engine's kernels: the recurrence over a whole sequence in one launch, forward and backward.

A program takes a few rows of the batch through all steps. What does not depend on the step before (the inputs' product,
the weights' gradients) is left to large matrix products around the kernel. The cells are those of ``csrc/cell.h``.
"""

# Kernels take pointers and blocks, which have no Python types.
# mypy: disallow_untyped_defs=False

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.nn import functional as F

POWER_LAW_COUPLED, POWER_LAW, LSTM = tl.constexpr(0), tl.constexpr(1), tl.constexpr(2)

#: Rows of a program; a matrix product on the tensor cores takes no fewer.
ROWS = 16
#: Depth of a tile of the recurrent product, and the warps of a program.
DEPTH, WARPS = 32, 8
#: Products as three in TF32, which together are as exact as one in float32.
PRECISION = "tf32x3"


# ---- elementary functions; the hardware's exponential and logarithm are inexact where the result is near 0


@triton.jit
def log1p_near(x):
    """``log(1 + x)`` for ``x`` in [-0.5, 1]: ``2 artanh(x / (2 + x))`` by its series."""
    s = x / (2 + x)
    z = s * s
    series = 1.0 / 17
    series = series * z + 1.0 / 15
    series = series * z + 1.0 / 13
    series = series * z + 1.0 / 11
    series = series * z + 1.0 / 9
    series = series * z + 1.0 / 7
    series = series * z + 1.0 / 5
    series = series * z + 1.0 / 3
    return 2 * s + 2 * s * z * series


@triton.jit
def expm1(x):
    small = tl.where(tl.abs(x) < 0.5, x, 0.0)
    series = 1.0 / 40320
    series = series * small + 1.0 / 5040
    series = series * small + 1.0 / 720
    series = series * small + 1.0 / 120
    series = series * small + 1.0 / 24
    series = series * small + 1.0 / 6
    series = series * small + 0.5
    return tl.where(tl.abs(x) < 0.5, small + small * small * series, tl.exp(x) - 1)


@triton.jit
def tanh(x):
    t = expm1(2 * tl.minimum(tl.maximum(x, -9.02), 9.02))
    return t / (t + 2)


@triton.jit
def sigmoid(x):
    return 1 / (1 + tl.exp(tl.minimum(-x, 88.0)))


@triton.jit
def power_law_gate(logit, age, power, dt, epsilon):
    """``keep, reset, numerator, denominator, excess, log ratio, log f``; ``slowfade.gate`` has the equations."""
    # Past this bound the unit has reset entirely, and a larger exponential would only make infinity times zero.
    e = tl.exp(tl.minimum(logit, 80.0))
    keep = 1 / (1 + e)
    reset = e * keep
    numerator = keep * (age + 1) + epsilon
    denominator = keep * (age + dt) + 1
    ratio = numerator / denominator
    excess = (epsilon - (reset + keep * dt)) / denominator
    near_one = ratio > 0.5
    log_ratio = tl.where(near_one, log1p_near(tl.where(near_one, excess, 0.0)), tl.log(tl.where(near_one, 1.0, ratio)))
    return keep, reset, numerator, denominator, excess, log_ratio, power * log_ratio


# ---- the kernels


@triton.jit
def forward_kernel(
    from_input, time_i, batch_i,  # (T, B, G H): U x + b
    recurrent,  # (H, G H): the recurrent weights, transposed
    unit,  # (H): the power
    dt, time_dt, batch_dt,  # (T, B)
    lengths,  # (B)
    h,  # (2, B, H): the hidden state before and after a step, in turns
    c, age,  # (B, H): in and out
    output, time_o, batch_o,  # (T, B, H)
    kept,  # (T, B, V, P)
    steps, batch, hidden, padded, epsilon,
    CELL: tl.constexpr, GATES: tl.constexpr, VALUES: tl.constexpr, HAS_DT: tl.constexpr, KEEP: tl.constexpr,
    REVERSE: tl.constexpr, ROWS: tl.constexpr, UNITS: tl.constexpr, DEPTH: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    rows = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    there = rows < batch
    length = tl.load(lengths + rows, mask=there, other=0)
    for s in range(0, tl.max(length, 0)):
        time = tl.where(REVERSE, length - 1 - s, s).to(tl.int64)
        valid = there & (s < length)
        before = h + (s % 2) * batch * hidden
        after = h + ((s + 1) % 2) * batch * hidden
        wait = tl.full((ROWS,), 1.0, tl.float32)
        if HAS_DT:
            wait = tl.load(dt + time * time_dt + rows * batch_dt, mask=valid, other=1.0)
        wait = wait[:, None]
        for first in range(0, hidden, UNITS):
            units = first + tl.arange(0, UNITS)
            real = units < hidden
            tile = valid[:, None] & real[None, :]
            inputs = from_input + time[:, None] * time_i + rows[:, None] * batch_i + units[None, :]
            z0 = tl.load(inputs, mask=tile, other=0.0)
            z1 = tl.load(inputs + hidden, mask=tile, other=0.0)
            z2 = tl.load(inputs + 2 * hidden, mask=tile, other=0.0)
            if GATES == 4:
                z3 = tl.load(inputs + 3 * hidden, mask=tile, other=0.0)
            for k0 in range(0, hidden, DEPTH):
                k = k0 + tl.arange(0, DEPTH)
                state = tl.load(
                    before + rows[:, None] * hidden + k[None, :],
                    mask=there[:, None] & (k < hidden)[None, :],
                    other=0.0,
                )
                weights = recurrent + k[:, None].to(tl.int64) * (GATES * hidden) + units[None, :]
                inside = (k < hidden)[:, None] & real[None, :]
                z0 = tl.dot(state, tl.load(weights, mask=inside, other=0.0), z0, input_precision=PRECISION)
                z1 = tl.dot(state, tl.load(weights + hidden, mask=inside, other=0.0), z1, input_precision=PRECISION)
                z2 = tl.dot(state, tl.load(weights + 2 * hidden, mask=inside, other=0.0), z2, input_precision=PRECISION)
                if GATES == 4:
                    w3 = tl.load(weights + 3 * hidden, mask=inside, other=0.0)
                    z3 = tl.dot(state, w3, z3, input_precision=PRECISION)
            here = rows[:, None] * hidden + units[None, :]
            cell = tl.load(c + here, mask=tile, other=0.0)
            keep_at = kept + (time[:, None] * batch + rows[:, None]) * (VALUES * padded) + units[None, :]
            if CELL == LSTM:
                input_gate = sigmoid(z0)
                forget = sigmoid(z1)
                candidate = tanh(z2)
                output_gate = sigmoid(z3)
                cell = forget * cell + input_gate * candidate
                if KEEP:
                    tl.store(keep_at, input_gate, mask=tile)
                    tl.store(keep_at + padded, forget, mask=tile)
                    tl.store(keep_at + 2 * padded, candidate, mask=tile)
                    tl.store(keep_at + 3 * padded, output_gate, mask=tile)
            else:
                power = tl.load(unit + units, mask=real, other=1.0)[None, :]
                old = tl.load(age + here, mask=tile, other=0.0)
                keep, _, _, _, _, _, log_f = power_law_gate(z0, old, power, wait, epsilon)
                output_gate = sigmoid(z1)
                candidate = tanh(z2)
                input_gate = sigmoid(z3) if CELL == POWER_LAW else -expm1(log_f)
                cell = tl.exp(log_f) * cell + input_gate * candidate
                old = keep * (old + wait)
                tl.store(age + here, old, mask=tile)
                if KEEP:
                    tl.store(keep_at, z0, mask=tile)
                    tl.store(keep_at + padded, output_gate, mask=tile)
                    tl.store(keep_at + 2 * padded, candidate, mask=tile)
                    if CELL == POWER_LAW:
                        tl.store(keep_at + 3 * padded, input_gate, mask=tile)
                    tl.store(keep_at + (VALUES - 1) * padded, old, mask=tile)
            value = output_gate * tanh(cell)
            tl.store(c + here, cell, mask=tile)
            if KEEP:
                cell_at: tl.constexpr = VALUES - 1 if CELL == LSTM else VALUES - 2
                tl.store(keep_at + cell_at * padded, cell, mask=tile)
            tl.store(output + time[:, None] * time_o + rows[:, None] * batch_o + units[None, :], value, mask=tile)
            stays = tl.load(before + here, mask=there[:, None] & real[None, :], other=0.0)
            tl.store(after + here, tl.where(valid[:, None], value, stays), mask=there[:, None] & real[None, :])
        # The next step reads what other threads of this program have just written.
        tl.debug_barrier()


@triton.jit
def backward_kernel(
    doutput, time_d, batch_d,  # (T, B, H)
    recurrent,  # (G H, H)
    unit,  # (H)
    dt, time_dt, batch_dt,  # (T, B)
    lengths,  # (B)
    c_start, age_start,  # (B, H)
    kept,  # (T, B, V, P)
    dz,  # (T, B, G H): out
    dh, dc, dage,  # (B, H): in, the gradients after the last step; out, before the first
    dunit,  # (B, H): out
    ddt,  # (T, B): out
    steps, batch, hidden, padded, epsilon,
    CELL: tl.constexpr, GATES: tl.constexpr, VALUES: tl.constexpr, HAS_DT: tl.constexpr, HAS_DOUTPUT: tl.constexpr,
    REVERSE: tl.constexpr, ROWS: tl.constexpr, UNITS: tl.constexpr, DEPTH: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    rows = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    there = rows < batch
    length = tl.load(lengths + rows, mask=there, other=0)
    last = tl.max(length, 0)
    for back in range(0, last):
        s = last - 1 - back
        time = tl.where(REVERSE, length - 1 - s, s).to(tl.int64)
        time_before = tl.where(REVERSE, time + 1, time - 1)
        valid = there & (s < length)
        later = tl.full((ROWS,), s, tl.int32) > 0
        wait = tl.full((ROWS,), 1.0, tl.float32)
        if HAS_DT:
            wait = tl.load(dt + time * time_dt + rows * batch_dt, mask=valid, other=1.0)
        wait = wait[:, None]
        total_ddt = tl.zeros((ROWS,), tl.float32)
        for first in range(0, hidden, UNITS):
            units = first + tl.arange(0, UNITS)
            real = units < hidden
            tile = valid[:, None] & real[None, :]
            here = rows[:, None] * hidden + units[None, :]
            keep_at = kept + (time[:, None] * batch + rows[:, None]) * (VALUES * padded) + units[None, :]
            keep_before = kept + (time_before[:, None] * batch + rows[:, None]) * (VALUES * padded) + units[None, :]
            cell_at: tl.constexpr = VALUES - 1 if CELL == LSTM else VALUES - 2
            v0 = tl.load(keep_at, mask=tile, other=0.0)
            v1 = tl.load(keep_at + padded, mask=tile, other=0.0)
            v2 = tl.load(keep_at + 2 * padded, mask=tile, other=0.0)
            if GATES == 4:
                v3 = tl.load(keep_at + 3 * padded, mask=tile, other=0.0)
            cell = tl.load(keep_at + cell_at * padded, mask=tile, other=0.0)
            cell_before = tl.load(keep_before + cell_at * padded, mask=tile & later[:, None], other=0.0)
            cell_before += tl.load(c_start + here, mask=tile & ~later[:, None], other=0.0)
            grad = tl.load(dh + here, mask=tile, other=0.0)
            if HAS_DOUTPUT:
                outside = doutput + time[:, None] * time_d + rows[:, None] * batch_d + units[None, :]
                grad += tl.load(outside, mask=tile, other=0.0)
            dcell = tl.load(dc + here, mask=tile, other=0.0)
            squashed = tanh(cell)
            to = dz + (time[:, None] * batch + rows[:, None]) * (GATES * hidden) + units[None, :]
            if CELL == LSTM:
                dcell += grad * v3 * (1 - squashed * squashed)
                tl.store(to, dcell * v2 * v0 * (1 - v0), mask=tile)
                tl.store(to + hidden, dcell * cell_before * v1 * (1 - v1), mask=tile)
                tl.store(to + 2 * hidden, dcell * v0 * (1 - v2 * v2), mask=tile)
                tl.store(to + 3 * hidden, grad * squashed * v3 * (1 - v3), mask=tile)
                tl.store(dc + here, dcell * v1, mask=tile)
            else:
                power = tl.load(unit + units, mask=real, other=1.0)[None, :]
                age_before = tl.load(keep_before + (VALUES - 1) * padded, mask=tile & later[:, None], other=0.0)
                age_before += tl.load(age_start + here, mask=tile & ~later[:, None], other=0.0)
                keep, reset, numerator, denominator, excess, log_ratio, log_f = power_law_gate(
                    v0, age_before, power, wait, epsilon
                )
                forget = tl.exp(log_f)
                dcell += grad * v1 * (1 - squashed * squashed)
                if CELL == POWER_LAW:
                    input_gate = v3
                    dforget = dcell * cell_before
                    tl.store(to + 3 * hidden, dcell * v2 * v3 * (1 - v3), mask=tile)
                else:
                    input_gate = -expm1(log_f)
                    dforget = dcell * (cell_before - v2)
                # Multiplied out as in csrc/cell.h, so that nearly equal numbers are never subtracted.
                dlog = dforget * forget
                dratio = dlog * power / (numerator * denominator)
                dold = tl.load(dage + here, mask=tile, other=0.0)
                dkeep = dratio * ((age_before + 1) - epsilon * (age_before + wait)) + dold * (age_before + wait)
                tl.store(to, -dkeep * keep * reset, mask=tile)
                tl.store(to + hidden, grad * squashed * v1 * (1 - v1), mask=tile)
                tl.store(to + 2 * hidden, dcell * input_gate * (1 - v2 * v2), mask=tile)
                tl.store(dc + here, dcell * forget, mask=tile)
                tl.store(dage + here, keep * (dold - dratio * excess * denominator), mask=tile)
                summed = tl.load(dunit + here, mask=tile, other=0.0)
                tl.store(dunit + here, summed + dlog * log_ratio, mask=tile)
                if HAS_DT:
                    total_ddt += tl.sum(tl.where(tile, keep * (dold - dratio * numerator), 0.0), 1)
        if HAS_DT:
            tl.store(ddt + time * batch + rows, total_ddt, mask=valid)
        tl.debug_barrier()
        for first in range(0, hidden, UNITS):
            units = first + tl.arange(0, UNITS)
            real = units < hidden
            total = tl.zeros((ROWS, UNITS), tl.float32)
            for k0 in range(0, GATES * hidden, DEPTH):
                k = k0 + tl.arange(0, DEPTH)
                inside = k < GATES * hidden
                grad = tl.load(
                    dz + (time[:, None] * batch + rows[:, None]) * (GATES * hidden) + k[None, :],
                    mask=valid[:, None] & inside[None, :],
                    other=0.0,
                )
                weights = recurrent + k[:, None].to(tl.int64) * hidden + units[None, :]
                total = tl.dot(
                    grad,
                    tl.load(weights, mask=inside[:, None] & real[None, :], other=0.0),
                    total,
                    input_precision=PRECISION,
                )
            tl.store(dh + rows[:, None] * hidden + units[None, :], total, mask=valid[:, None] & real[None, :])
        tl.debug_barrier()


# ---- around the kernels


class Problem(NamedTuple):
    """What forward and backward of every cell have in common; tensors as the operators of the C++ engine take them."""

    cell: int
    x: Tensor
    dt: Tensor | None
    lengths: Tensor | None
    h: Tensor
    c: Tensor
    age: Tensor | None
    ih: Tensor
    hh: Tensor
    bias: Tensor | None
    power: Tensor | None
    epsilon: float
    reverse: bool
    batch_first: bool

    @property
    def gates(self) -> int:
        return 3 if self.cell == POWER_LAW_COUPLED.value else 4

    @property
    def values(self) -> int:
        return 6 if self.cell == POWER_LAW.value else 5

    @property
    def padded(self) -> int:
        """Units as they are kept, in whole lines; the operators' fake implementation says the same."""
        return -(-self.hh.shape[1] // 16) * 16

    def valid_steps(self) -> Tensor:
        steps, batch = self.x.shape[:2]
        return self.x.new_full((batch,), steps, dtype=torch.int64) if self.lengths is None else self.lengths

    def intervals(self) -> tuple[Tensor, int, int]:
        return (self.x, 0, 0) if self.dt is None else (self.dt, self.dt.stride(0), self.dt.stride(1))

    def options(self) -> dict[str, Any]:
        return {
            "CELL": self.cell,
            "GATES": self.gates,
            "VALUES": self.values,
            "HAS_DT": self.dt is not None,
            "REVERSE": self.reverse,
            "ROWS": ROWS,
            "UNITS": units_of_a_tile(self.hh.shape[1]),
            "DEPTH": DEPTH,
            "PRECISION": PRECISION,
            "num_warps": WARPS,
        }


def run_forward(p: Problem, keep: bool) -> list[Tensor]:
    """``output, h, c (, age), kept``."""
    steps, batch = p.x.shape[:2]
    hidden = p.hh.shape[1]
    from_input = F.linear(p.x, p.ih, p.bias)
    shape = (batch, steps, hidden) if p.batch_first else (steps, batch, hidden)
    output = p.x.new_empty(shape) if p.lengths is None else p.x.new_zeros(shape)
    output = output.transpose(0, 1) if p.batch_first else output
    h = torch.stack((p.h, p.h))
    c = p.c.clone(memory_format=torch.contiguous_format)
    age = c if p.age is None else p.age.clone(memory_format=torch.contiguous_format)
    kept = p.x.new_empty((steps, batch, p.values, p.padded) if keep else (0,))
    lengths = p.valid_steps()
    if steps and batch:
        forward_kernel[(triton.cdiv(batch, ROWS),)](
            from_input, from_input.stride(0), from_input.stride(1), p.hh.t().contiguous(),
            c if p.power is None else p.power.contiguous(), *p.intervals(), lengths.contiguous(), h, c, age,
            output, output.stride(0), output.stride(1), kept, steps, batch, hidden, p.padded, p.epsilon,
            KEEP=keep, **p.options(),
        )  # fmt: skip
    # A row's state is in the half its program wrote last, and a program runs as long as its longest row.
    turns = F.pad(lengths, (0, -batch % ROWS)).view(-1, ROWS).amax(1).repeat_interleave(ROWS)[:batch] % 2
    h_end = torch.where((turns == 1).unsqueeze(-1), h[1], h[0])
    return [output, h_end, c, *([] if p.age is None else [age]), kept]


def units_of_a_tile(hidden: int) -> int:
    """Wide tiles, unless narrow ones waste less on units that are not there."""
    return 128 if -(-hidden // 128) * 2 == -(-hidden // 64) else 64


class Gradients(NamedTuple):
    """Gradients of a problem's tensors; ``None`` where there is no such tensor."""

    x: Tensor
    dt: Tensor | None
    h: Tensor
    c: Tensor
    age: Tensor | None
    ih: Tensor
    hh: Tensor
    bias: Tensor | None
    power: Tensor | None


def run_backward(
    p: Problem, output: Tensor, kept: Tensor, doutput: Tensor | None, dh_end: Tensor | None, dc_end: Tensor | None,
    dage_end: Tensor | None,
) -> Gradients:  # fmt: skip
    if not kept.numel():  # the forward pass was traced without gradients
        kept = run_forward(p, keep=True)[-1]
    steps, batch = p.x.shape[:2]
    hidden = p.hh.shape[1]

    def begin_with(given: Tensor | None) -> Tensor:
        return torch.zeros_like(p.c) if given is None else given.clone(memory_format=torch.contiguous_format)

    dh, dc, dage, dunit = begin_with(dh_end), begin_with(dc_end), begin_with(dage_end), begin_with(None)
    # Padded steps have no gradient, and the kernel does not visit them.
    make = p.x.new_empty if p.lengths is None else p.x.new_zeros
    dz = make((steps, batch, p.gates * hidden))
    ddt = make((steps, batch) if p.dt is not None else (0,))
    if doutput is not None and doutput.stride(-1) != 1:
        doutput = doutput.contiguous()
    outside = (p.x, 0, 0) if doutput is None else (doutput, doutput.stride(0), doutput.stride(1))
    c_start = p.c.contiguous()
    if steps and batch:
        backward_kernel[(triton.cdiv(batch, ROWS),)](
            *outside, p.hh.contiguous(), p.c if p.power is None else p.power.contiguous(), *p.intervals(),
            p.valid_steps().contiguous(), c_start, c_start if p.age is None else p.age.contiguous(), kept, dz, dh, dc,
            dage, dunit, ddt, steps, batch, hidden, p.padded, p.epsilon, HAS_DOUTPUT=doutput is not None, **p.options(),
        )  # fmt: skip
    flat = dz.flatten(0, 1)
    return Gradients(
        x=dz @ p.ih,
        dt=None if p.dt is None else ddt,
        h=dh,
        c=dc,
        age=None if p.age is None else dage,
        ih=flat.t() @ p.x.flatten(0, 1),
        hh=flat.t() @ hidden_before(p, output).flatten(0, 1),
        bias=None if p.bias is None else flat.sum(0),
        power=None if p.power is None else dunit.sum(0),
    )


def hidden_before(p: Problem, output: Tensor) -> Tensor:
    """The hidden state each step started from, where the step's input is."""
    if not p.reverse:
        return torch.cat((p.h.unsqueeze(0), output))[:-1]
    first = torch.cat((output, p.h.unsqueeze(0)))[1:]
    if p.lengths is None:
        return first
    last = (p.lengths - 1).clamp(min=0).view(1, -1, 1).expand(1, -1, output.shape[-1])
    return first.scatter(0, last, p.h.unsqueeze(0)) if len(first) else first
