"""The LMU against a reading of its equations; its window against SciPy and against Legendre's polynomials."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.signal
import scipy.special
import torch

from readings import assert_gradients, assert_normal, assert_same, assert_uniform, numbers, scrambled, start_for
from slowfade import cores
from slowfade.cores.lmu import window

SMALL = {"order": 5, "theta": 12.0}


def system(order: int, theta: float) -> tuple[np.ndarray, np.ndarray]:
    """``A/θ`` and ``B/θ``, entry by entry."""
    a, b = np.zeros((order, order)), np.zeros(order)
    for i in range(order):
        b[i] = (2 * i + 1) * (-1) ** i / theta
        for j in range(order):
            a[i, j] = (2 * i + 1) * (-1 if i < j else (-1) ** (i - j + 1)) / theta
    return a, b


def reading(core: Any, x: np.ndarray, h: np.ndarray, m: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    layer, h, m = core.layers[0], h.copy(), m.copy()
    w, (a, b) = numbers(layer), system(layer.order, layer.theta)
    none = np.zeros((1, layer.order))
    a_bar, b_bar, *_ = scipy.signal.cont2discrete((a, b[:, None], none, np.zeros((1, 1))), 1.0, "zoh")
    outputs = np.zeros((*x.shape[:2], layer.hidden_size))
    for row in range(x.shape[1]):
        for t in range(x.shape[0]):
            u = w["encoder_x"] @ x[t, row] + w["encoder_h"] @ h[row] + w["encoder_m"] @ m[row]
            m[row] = a_bar @ m[row] + b_bar[:, 0] * u
            h[row] = np.tanh(w["weight_x"] @ x[t, row] + w["weight_h"] @ h[row] + w["weight_m"] @ m[row])
            outputs[t, row] = h[row]
    return outputs, h, m


@pytest.mark.parametrize("options", [SMALL, {"order": 1, "theta": 0.5}, {"order": 9, "theta": 3.0, "init": "window"}])
def test_it_is_its_equations(options: dict[str, Any]) -> None:
    core = scrambled("lmu", **options)
    x, start = torch.randn(6, 2, 3, dtype=torch.float64), start_for(core, 2)
    outputs, h, m = reading(core, x.numpy(), *(part[0].numpy() for part in start))
    found, state = core(x, start)
    assert_same(found, outputs)
    assert_same(state.hidden[0], h)
    assert_same(state.memory[0], m)


def test_gradients() -> None:
    assert_gradients(scrambled("lmu", **SMALL))


@pytest.mark.parametrize(("order", "theta"), [(1, 1.0), (6, 10.0), (256, 784.0)])
def test_the_window_is_the_exact_solution_of_a_step(order: int, theta: float) -> None:
    """``Ā = e^{A/θ}`` and ``B̄ = A⁻¹ (Ā - 1) B``."""
    a, b = system(order, theta)
    a_bar, b_bar = window(order, theta)
    assert_same(torch.from_numpy(a_bar), scipy.linalg.expm(a), 1e-10)
    assert_same(torch.from_numpy(b_bar), np.linalg.solve(a, (scipy.linalg.expm(a) - np.eye(order)) @ b), 1e-10)


def memory_of(u: torch.Tensor, order: int, theta: float) -> torch.Tensor:
    """What the memory of a network holds at every step when it hears ``u (T)`` and nothing else."""
    core = cores.build("lmu", 1, 2, order=order, theta=theta, init="window").double()
    return core.trace(u.double().view(-1, 1, 1))["memory"].squeeze(1).detach()


@pytest.mark.parametrize(("order", "theta"), [(6, 20.0), (64, 100.0), (256, 784.0)])
def test_a_constant_is_the_first_polynomial(order: int, theta: float) -> None:
    memory = memory_of(torch.ones(int(8 * theta)), order, theta)[-1]
    first = torch.zeros(order)
    first[0] = 1
    torch.testing.assert_close(memory, first.double(), rtol=0, atol=1e-8)


def test_an_impulse_draws_the_polynomials() -> None:
    """``m_i = (2i + 1)/θ P_i(2 s/θ - 1)``, ``s`` after the impulse and within the window, and nothing later."""
    order, theta = 200, 400
    memory = memory_of(torch.eye(1, 2 * theta)[0], order, theta).numpy()
    # The impulse is held for one step, so its middle is half a step back; the edges of the window ring.
    ages = np.arange(theta) + 0.5
    inside = slice(theta // 10, theta * 9 // 10)
    for i in range(6):
        expected = (2 * i + 1) / theta * scipy.special.eval_legendre(i, 2 * ages / theta - 1)
        assert_same(torch.from_numpy(memory[:theta, i][inside]), expected[inside], 0.045)
        assert np.abs(memory[theta * 3 // 2 :, i]).max() < 1e-4 * np.abs(expected).max()


def test_the_window_can_be_read_back() -> None:
    """``u(t - s) = Σ_i m_i P_i(2 s/θ - 1)`` for what is smooth at the scale of the order."""
    order, theta, steps = 20, 200, 500
    t = np.arange(steps)
    u = np.sin(2 * np.pi * t / 150) + 0.5 * np.cos(2 * np.pi * t / 90)
    memory = memory_of(torch.from_numpy(u), order, theta)[-1].numpy()
    lags = np.arange(10, 190)
    polynomials = np.stack([scipy.special.eval_legendre(i, 2 * (lags + 0.5) / theta - 1) for i in range(order)])
    assert_same(torch.from_numpy(memory @ polynomials), u[steps - 1 - lags], 1e-2)


def test_single_precision_holds_a_long_window() -> None:
    core = cores.build("lmu", 1, 32, init="window")
    x = torch.rand(784, 2, 1)
    found = core(x)[0]
    expected = core.double()(x.double())[0]
    assert_same(found.double(), expected.detach().numpy(), 1e-4)


@pytest.mark.parametrize("init", ["standard", "window"])
def test_where_it_starts(init: str) -> None:
    layer = cores.build("lmu", 200, 300, order=100, theta=50.0, init=init).layers[0]
    assert not layer.encoder_m.any()
    assert_normal(layer.weight_m, math.sqrt(2 / 400))
    if init == "window":
        assert (layer.encoder_x == 1).all()
        assert not any(zero.any() for zero in (layer.encoder_h, layer.weight_x, layer.weight_h))
    else:
        assert_uniform(layer.encoder_x, -math.sqrt(3 / 200), math.sqrt(3 / 200))
        assert_uniform(layer.encoder_h, -math.sqrt(3 / 300), math.sqrt(3 / 300))
        assert_normal(layer.weight_x, math.sqrt(2 / 500))
        assert_normal(layer.weight_h, math.sqrt(2 / 600))


def test_the_number_of_parameters() -> None:
    """The published network for pixel-by-pixel digits: 102 thousand with its head."""
    core = cores.build("lmu", 1, 212, order=256, theta=784.0)
    expected = 1 + 212 + 256 + 212 * (1 + 212 + 256)
    assert sum(p.numel() for p in core.parameters()) == expected
    assert round((expected + 212 * 10 + 10) / 1000) == 102


@pytest.mark.parametrize("options", [{"order": 0}, {"theta": 0.0}, {"init": "warm"}])
def test_impossible_options(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="should be"):
        cores.build("lmu", 3, 8, **options)
