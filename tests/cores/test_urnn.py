"""The uRNN against a reading with every factor written out as a matrix."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from readings import assert_gradients, assert_same, assert_uniform, numbers, scrambled, start_for
from slowfade import cores
from slowfade.cores import urnn


def unitary(layer: Any) -> np.ndarray:
    """``W = D₃ R₂ F⁻¹ D₂ Π R₁ F D₁``, factor by factor."""
    w, size = numbers(layer), layer.hidden_size
    d1, d2, d3 = (np.diag(np.cos(theta) + 1j * np.sin(theta)) for theta in w["theta"])
    fourier = np.array([[np.exp(-2j * np.pi * i * k / size) for k in range(size)] for i in range(size)]) / size**0.5
    permutation = np.zeros((size, size))
    for i, source in enumerate(layer.permutation.tolist()):
        permutation[i, source] = 1
    reflections = []
    for real, imaginary in w["reflections"]:
        v = real + 1j * imaginary
        reflections.append(np.eye(size) - 2 * np.outer(v.conj(), v) / (np.abs(v) ** 2).sum())
    r1, r2 = reflections
    return d3 @ r2 @ fourier.conj().T @ d2 @ permutation @ r1 @ fourier @ d1


def reading(core: Any, x: np.ndarray, h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    layer, h = core.layers[0], h.copy()
    w, matrix, size = numbers(layer), unitary(layer), layer.hidden_size
    outputs = np.zeros((*x.shape[:2], 2 * size))
    for row in range(x.shape[1]):
        for t in range(x.shape[0]):
            from_input = w["weight_ih"] @ x[t, row]
            z = matrix @ h[row] + from_input[:size] + 1j * from_input[size:]
            for i in range(size):
                h[row, i] = max(abs(z[i]) + w["bias"][i], 0) * z[i] / (abs(z[i]) + 1e-5)
            outputs[t, row] = np.concatenate([h[row].real, h[row].imag])
    return outputs, h


@pytest.fixture(params=["dense", "factors"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the matrix as a whole, and factor by factor, as larger networks do."""
    monkeypatch.setattr(urnn, "DENSE_UNITS", 256 if request.param == "dense" else 0)


@pytest.mark.usefixtures("way")
def test_it_is_its_equations() -> None:
    core = scrambled("urnn")
    x, start = torch.randn(6, 2, 3, dtype=torch.float64), start_for(core, 2)
    outputs, h = reading(core, x.numpy(), start[0][0].numpy())
    found, state = core(x, start)
    assert core.output_size == 16
    assert_same(found, outputs)
    assert_same(state.hidden[0], h)


@pytest.mark.usefixtures("way")
def test_it_starts_from_a_learned_state() -> None:
    core = scrambled("urnn")
    x, w = torch.randn(3, 2, 3, dtype=torch.float64), numbers(core.layers[0])
    first = np.tile(w["first"][0] + 1j * w["first"][1], (2, 1))
    assert_same(core(x)[0], reading(core, x.numpy(), first)[0])
    core(x)[0].sum().backward()
    assert core.layers[0].first.grad.any()


@pytest.mark.usefixtures("way")
def test_gradients() -> None:
    assert_gradients(scrambled("urnn"))


@pytest.mark.parametrize(("dtype", "bound"), [(torch.float32, 1e-5), (torch.float64, 1e-12)])
def test_the_matrix_is_unitary(dtype: torch.dtype, bound: float) -> None:
    layer = cores.build("urnn", 3, 50).to(dtype).layers[0]
    matrix = layer.turned(torch.eye(50, dtype=dtype.to_complex()))
    assert (matrix.mH @ matrix - torch.eye(50)).abs().max() < bound
    assert (matrix != 0).all()


def test_without_input_and_bias_the_state_keeps_its_length() -> None:
    core = cores.build("urnn", 3, 16).double()
    core.layers[0].bias.data.zero_()
    start = (1e6 * torch.randn(1, 2, 16, dtype=torch.complex128),)
    state = core(torch.zeros(300, 2, 3, dtype=torch.float64), start)[1]
    torch.testing.assert_close(state.hidden.norm(dim=-1), start[0].norm(dim=-1), rtol=1e-6, atol=0)


def test_the_permutation_is_kept_with_the_weights() -> None:
    core, other = cores.build("urnn", 3, 32), cores.build("urnn", 3, 32)
    other.load_state_dict(core.state_dict())
    x = torch.randn(4, 2, 3)
    assert torch.equal(core(x)[0], other(x)[0])


def test_where_it_starts() -> None:
    layer = cores.build("urnn", 5, 400).layers[0]
    assert_uniform(layer.weight_ih, -math.sqrt(6 / 805), math.sqrt(6 / 805))
    assert_uniform(layer.reflections, -math.sqrt(6 / 802), math.sqrt(6 / 802))
    assert_uniform(layer.theta, -math.pi, math.pi)
    assert_uniform(layer.bias, -0.01, 0.01)
    assert_uniform(layer.first, -math.sqrt(3 / 800), math.sqrt(3 / 800))


def test_the_number_of_parameters() -> None:
    """V 2HI, θ 3H, reflections 4H, b H, first state 2H."""
    core = cores.build("urnn", 7, 512)
    assert sum(p.numel() for p in core.parameters()) == 2 * 512 * 7 + 3 * 512 + 4 * 512 + 512 + 2 * 512
