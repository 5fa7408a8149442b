"""The EURNN against a reading that turns one pair of units after the other at every step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from readings import assert_gradients, assert_same, assert_uniform, numbers, scrambled, start_for, turned_by_pairs
from slowfade import cores

OPTIONS: list[dict[str, Any]] = [
    {},
    {"capacity": 6},
    {"style": "fft"},
    {"complex_valued": False, "capacity": 4},
    {"complex_valued": False, "style": "fft"},
]


def reading(core: Any, x: np.ndarray, h: np.ndarray, style: str, capacity: int) -> tuple[np.ndarray, np.ndarray]:
    layer, h = core.layers[0], h.astype(complex)
    w, size = numbers(layer), layer.hidden_size
    angles = {name: angle.tolist() for name, angle in layer.rotations.named_parameters()}
    outputs = np.zeros((*x.shape[:2], size))
    for row in range(x.shape[1]):
        for t in range(x.shape[0]):
            z = np.array(turned_by_pairs(angles, style, capacity, h[row].tolist()))
            from_input = w["weight_ih"] @ x[t, row]
            z += from_input[:size] + (1j * from_input[size:] if layer.complex_valued else 0)
            for i in range(size):
                n = abs(z[i]) + 0.01
                # For real numbers the phase is the sign.
                h[row, i] = max(n + w["bias"][i], 0) * (z[i] / n if layer.complex_valued else np.sign(z[i].real))
            outputs[t, row] = h[row].real
    return outputs, h if layer.complex_valued else h.real


@pytest.mark.parametrize("options", OPTIONS)
def test_it_is_its_equations(options: dict[str, Any]) -> None:
    core = scrambled("eurnn", **options)
    x, start = torch.randn(6, 2, 3, dtype=torch.float64), start_for(core, 2)
    style, capacity = options.get("style", "tunable"), options.get("capacity", 2)
    outputs, h = reading(core, x.numpy(), start[0][0].numpy(), style, capacity)
    found, state = core(x, start)
    assert_same(found, outputs)
    assert_same(state.hidden[0], h)


@pytest.mark.parametrize("options", OPTIONS)
def test_gradients(options: dict[str, Any]) -> None:
    assert_gradients(scrambled("eurnn", **options))


@pytest.mark.parametrize("style", ["tunable", "fft"])
def test_a_real_network_without_thresholds_keeps_its_length(style: str) -> None:
    """With b = -0.01, and real, modReLU is the identity and what is left is the orthogonal matrix."""
    core = cores.build("eurnn", 3, 16, style=style, complex_valued=False).double()
    core.layers[0].bias.data.fill_(-0.01)
    start = (torch.randn(1, 2, 16, dtype=torch.float64),)
    state = core(torch.zeros(500, 2, 3, dtype=torch.float64), start)[1]
    torch.testing.assert_close(state.hidden.norm(dim=-1), start[0].norm(dim=-1))
    assert (state.hidden - start[0]).abs().max() > 0.1


def test_where_it_starts() -> None:
    layer = cores.build("eurnn", 9, 100, capacity=20).layers[0]
    assert_uniform(layer.weight_ih, -0.01, 0.01)
    for angles in layer.rotations.parameters():
        assert_uniform(angles, -np.pi, np.pi)
    assert not layer.bias.any()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"capacity": 4}, 4 * 31 + 32 + 2 * 32 * 5 + 32),
        ({"capacity": 32, "complex_valued": False}, 16 * 31 + 32 * 5 + 32),
        ({"style": "fft"}, 2 * 16 * 5 + 32 + 2 * 32 * 5 + 32),
    ],
)
def test_the_number_of_parameters(options: dict[str, Any], expected: int) -> None:
    assert sum(p.numel() for p in cores.build("eurnn", 5, 32, **options).parameters()) == expected


def test_sizes_it_can_not_have() -> None:
    with pytest.raises(ValueError, match="hidden_size should be even and no less than capacity = 2"):
        cores.build("eurnn", 3, 7)
    with pytest.raises(ValueError, match="power of two"):
        cores.build("eurnn", 3, 12, style="fft")
    size = cores.hidden_for_parameters("eurnn", 10, 9_000, style="fft")
    assert size & (size - 1) == 0
    assert cores.hidden_for_parameters("eurnn", 10, 9_001) % 2 == 0
