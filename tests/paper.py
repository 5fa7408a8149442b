"""The paper's equations, read afresh: scalars in float64, absolute time ``t`` and reference time ``k``.

Nothing here knows the package's code; the tests hold it to this reading.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, tanh
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def sigmoid(z: float) -> float:
    return 1 / (1 + exp(-z)) if z >= 0 else exp(z) / (1 + exp(z))


def forget_gate(r: float, k: float, t: float, power: float, epsilon: float, dt: float | None) -> tuple[float, float]:
    """``(f_t, k_t)``: section 3.3 for unit steps (``dt`` is ``None``), appendix A.1 for variable ones."""
    k_now = r * t + (1 - r) * k
    if dt is None:
        return ((t - k_now + 1) / (t - k_now + epsilon)) ** -power, k_now
    k_tilde = r * (t - dt + 1) + (1 - r) * k
    return ((t - k_now + 1) / (t - dt - k_tilde + 1 + epsilon)) ** -power, k_now


class Direction(NamedTuple):
    """One layer in one direction: its weights, gate order reset, output, cell (and input, if not coupled)."""

    ih: Array
    hh: Array
    bias: Array | None
    hr: Array | None
    power: Array


def run_row(
    x: Array, dt: Array | None, h: Array, c: Array, age: Array, weights: Direction, epsilon: float, coupled: bool
) -> tuple[Array, Array, Array, Array]:
    """One sequence ``(T, I)``: outputs ``(T, P or H)`` and the ``(h, c, age)`` after it."""
    ih, hh, bias, hr, power = weights
    size, t = len(power), 0.0
    k = -age  # the age is 0 - k when time starts at 0
    outputs = np.zeros((len(x), len(h)))
    for step in range(len(x)):
        t += 1.0 if dt is None else dt[step]
        c_now, k_now, squashed = np.zeros(size), np.zeros(size), np.zeros(size)
        for unit in range(size):
            z = [
                sum(ih[row, j] * x[step, j] for j in range(x.shape[1]))
                + sum(hh[row, j] * h[j] for j in range(len(h)))
                + (0.0 if bias is None else bias[row])
                for row in range(unit, len(ih), size)
            ]
            r, o, g = sigmoid(z[0]), sigmoid(z[1]), tanh(z[2])
            f, k_now[unit] = forget_gate(r, k[unit], t, power[unit], epsilon, None if dt is None else dt[step])
            i = 1 - f if coupled else sigmoid(z[3])
            c_now[unit] = f * c[unit] + i * g
            squashed[unit] = o * tanh(c_now[unit])
        h, c, k = (squashed if hr is None else hr @ squashed), c_now, k_now
        outputs[step] = h
    return outputs, h, c, t - k


def run_layer(
    x: Array,
    parameters: Mapping[str, Array],
    *,
    layers: int = 1,
    bidirectional: bool = False,
    dt: Array | None = None,
    lengths: Sequence[int] | None = None,
    state: tuple[Array, Array, Array],
    epsilon: float,
    coupled: bool,
) -> tuple[Array, tuple[Array, Array, Array]]:
    """A whole layer over ``(T, B, I)`` with parameters named as the package names them; ``state`` as the layer's."""
    steps, batch = x.shape[:2]
    counts = [steps] * batch if lengths is None else list(lengths)
    ends = tuple(part.copy() for part in state)
    suffixes = ["", "_reverse"] if bidirectional else [""]
    for layer in range(layers):
        width = state[0].shape[-1]
        output = np.zeros((steps, batch, width * len(suffixes)))
        for direction, suffix in enumerate(suffixes):
            name = f"_l{layer}{suffix}"
            logit = parameters.get(f"power_logit{name}")
            power = parameters[f"fixed_power{name}"] if logit is None else np.array([sigmoid(z) for z in logit])
            weights = Direction(
                parameters[f"weight_ih{name}"],
                parameters[f"weight_hh{name}"],
                parameters.get(f"bias{name}"),
                parameters.get(f"weight_hr{name}"),
                power,
            )
            slot = layer * len(suffixes) + direction
            for b, count in enumerate(counts):
                row, waits = x[:count, b], None if dt is None else dt[:count, b]
                if direction:
                    # Walking backwards, the wait between two samples is the same; the first wait comes first again.
                    row = row[::-1]
                    waits = None if waits is None else np.concatenate([waits[:1], waits[1:][::-1]])
                found, *end = run_row(row, waits, *(part[slot, b] for part in state), weights, epsilon, coupled)
                output[:count, b, direction * width : (direction + 1) * width] = found[::-1] if direction else found
                for part, value in zip(ends, end, strict=True):
                    part[slot, b] = value
        x = output
    return x, ends
