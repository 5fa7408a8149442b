"""The GORU against a reading that turns one pair of units after the other at every step, and in its limits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from readings import (
    assert_gradients,
    assert_same,
    assert_uniform,
    numbers,
    scrambled,
    sigmoid,
    start_for,
    turned_by_pairs,
)
from slowfade import cores

OPTIONS: list[dict[str, Any]] = [{}, {"style": "tunable"}, {"style": "tunable", "capacity": 6}]


def reading(core: Any, x: np.ndarray, h: np.ndarray, style: str, capacity: int) -> tuple[np.ndarray, np.ndarray]:
    layer, h = core.layers[0], h.copy()
    w = numbers(layer)
    u_c, u_r, u_g = np.split(w["weight_ih"], 3)
    b_c, b_r, b_g = np.split(w["bias"], 3)
    w_r, w_g = np.split(w["weight_hh"], 2)
    angles = {"theta": layer.rotations.theta.tolist()}
    outputs = np.zeros((*x.shape[:2], layer.hidden_size))
    for row in range(x.shape[1]):
        for t in range(x.shape[0]):
            r = sigmoid(u_r @ x[t, row] + w_r @ h[row] + b_r)
            g = sigmoid(u_g @ x[t, row] + w_g @ h[row] + b_g)
            turned = np.array(turned_by_pairs(angles, style, capacity, h[row].tolist())).real
            z = u_c @ x[t, row] + r * turned
            c = np.sign(z) * np.maximum(np.abs(z) + 0.001 + b_c, 0)
            h[row] = g * h[row] + (1 - g) * c
            outputs[t, row] = h[row]
    return outputs, h


@pytest.mark.parametrize("options", OPTIONS)
def test_it_is_its_equations(options: dict[str, Any]) -> None:
    core = scrambled("goru", **options)
    x, start = torch.randn(6, 2, 3, dtype=torch.float64), start_for(core, 2)
    style, capacity = options.get("style", "fft"), options.get("capacity", 2)
    outputs, h = reading(core, x.numpy(), start[0][0].numpy(), style, capacity)
    found, state = core(x, start)
    assert_same(found, outputs)
    assert_same(state.hidden[0], h)


@pytest.mark.parametrize("options", OPTIONS)
def test_gradients(options: dict[str, Any]) -> None:
    assert_gradients(scrambled("goru", **options))


def test_with_open_gates_it_turns_and_keeps_its_length() -> None:
    core = cores.build("goru", 3, 16, reset_bias=50.0, update_bias=-50.0, modrelu_bias=-0.001).double()
    core.layers[0].weight_hh.data.zero_()
    start = (torch.randn(1, 2, 16, dtype=torch.float64),)
    state = core(torch.zeros(500, 2, 3, dtype=torch.float64), start)[1]
    torch.testing.assert_close(state.hidden.norm(dim=-1), start[0].norm(dim=-1))
    assert (state.hidden - start[0]).abs().max() > 0.1


def test_with_closed_gates_it_keeps_its_state() -> None:
    core = cores.build("goru", 3, 16, update_bias=50.0).double()
    start = (torch.randn(1, 2, 16, dtype=torch.float64),)
    state = core(torch.randn(500, 2, 3, dtype=torch.float64), start)[1]
    torch.testing.assert_close(state.hidden, start[0])


def test_where_it_starts() -> None:
    layer = cores.build("goru", 20, 64, update_bias=0.5).layers[0]
    assert_uniform(layer.weight_ih, -0.01, 0.01)
    assert_uniform(layer.weight_hh, -0.01, 0.01)
    assert_uniform(layer.rotations.theta, -math.pi, math.pi)
    for bias, value in zip(layer.bias.chunk(3), (0.01, 2.0, 0.5), strict=True):
        assert (bias == value).all()


@pytest.mark.parametrize(
    ("options", "angles"), [({}, 16 * 5), ({"style": "tunable"}, 31), ({"style": "tunable", "capacity": 6}, 93)]
)
def test_the_number_of_parameters(options: dict[str, Any], angles: int) -> None:
    core = cores.build("goru", 5, 32, **options)
    assert sum(p.numel() for p in core.parameters()) == 3 * 32 * 5 + 2 * 32 * 32 + 3 * 32 + angles


def test_sizes_it_can_not_have() -> None:
    with pytest.raises(ValueError, match="power of two"):
        cores.build("goru", 3, 12)
    assert cores.hidden_for_parameters("goru", 10, 100_000) == 256
    assert cores.hidden_for_parameters("goru", 10, 100_000, style="tunable") % 2 == 0
