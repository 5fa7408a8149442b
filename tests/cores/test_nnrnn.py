"""The nnRNN against SciPy's exponential, and its Schur form: what T changes and what it does not."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import torch

from readings import assert_gradients, assert_normal, assert_same, assert_uniform, numbers, scrambled, start_for
from slowfade import cores


def recurrent(layer: Any) -> np.ndarray:
    """``V = P (Λ + T) Pᵀ``, entry by entry."""
    w, size = numbers(layer), layer.hidden_size
    skew, schur = np.zeros((size, size)), np.zeros((size, size))
    entries, feed_forward = iter(w["basis.entries"]), iter(w["feed_forward.entries"])
    for i in range(size):
        for j in range(i + 1, size):
            skew[i, j] = next(entries)
            skew[j, i] = -skew[i, j]
            if j // 2 > i // 2:
                schur[i, j] = next(feed_forward)
    for i, (gamma, theta) in enumerate(zip(w["gamma"], w["theta"], strict=True)):
        rotation = [[math.cos(theta), -math.sin(theta)], [math.sin(theta), math.cos(theta)]]
        schur[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = gamma * np.array(rotation)
    basis = scipy.linalg.expm(skew)
    return basis @ schur @ basis.T


def reading(core: Any, x: np.ndarray, h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    layer, h = core.layers[0], h.copy()
    w, matrix = numbers(layer), recurrent(layer)
    outputs = np.zeros((*x.shape[:2], layer.hidden_size))
    for row in range(x.shape[1]):
        for t in range(x.shape[0]):
            z = w["weight_ih"] @ x[t, row] + h[row] @ matrix
            h[row] = np.sign(z) * np.maximum(np.abs(z) + w["bias"], 0)
            outputs[t, row] = h[row]
    return outputs, h


def test_it_is_its_equations() -> None:
    core = scrambled("nnrnn")
    x, start = torch.randn(6, 2, 3, dtype=torch.float64), start_for(core, 2)
    outputs, h = reading(core, x.numpy(), start[0][0].numpy())
    found, state = core(x, start)
    assert_same(found, outputs)
    assert_same(state.hidden[0], h)


def test_gradients() -> None:
    assert_gradients(scrambled("nnrnn"))


@pytest.mark.parametrize("init", ["henaff", "cayley"])
def test_it_starts_orthogonal(init: str) -> None:
    """γ = 1 and T = 0, whatever the basis and the angles."""
    layer = cores.build("nnrnn", 3, 64, init=init).double().layers[0]
    layer.basis.entries.data += 0.1 * torch.randn_like(layer.basis.entries)
    assert (layer.matrix().T @ layer.matrix() - torch.eye(64)).abs().max() < 1e-12


def test_the_feed_forward_part_makes_it_non_normal_and_leaves_its_eigenvalues() -> None:
    """They are γ e^{±iθ}, as in any Schur form."""
    layer = scrambled("nnrnn", hidden_size=6).layers[0]
    matrix = layer.matrix().detach()
    found = np.linalg.eigvals(matrix.numpy())
    gamma, theta = layer.gamma.detach().numpy(), layer.theta.detach().numpy()
    expected = np.concatenate([gamma * np.exp(1j * theta), gamma * np.exp(-1j * theta)])
    # The diagonal blocks carry rotations, so the order does not matter but every eigenvalue must be there.
    distances = np.abs(found[:, None] - expected)
    assert distances.min(axis=0).max() < 1e-8
    assert distances.min(axis=1).max() < 1e-8
    assert (matrix.T @ matrix - matrix @ matrix.T).abs().max() > 1e-2


def test_the_penalty() -> None:
    core = scrambled("nnrnn", num_layers=2, modulus_penalty=0.1, decay=0.01)
    expected = 0.0
    for layer in core.layers:
        expected += 0.1 * sum((gamma - 1) ** 2 for gamma in layer.gamma.tolist())
        expected += 0.005 * sum(entry**2 for entry in layer.feed_forward.entries.tolist())
    assert core.penalty().item() == pytest.approx(expected)
    core.penalty().backward()
    # The gradient of weight decay.
    torch.testing.assert_close(core.layers[0].feed_forward.entries.grad, 0.01 * core.layers[0].feed_forward.entries)


def test_the_basis_is_trained_at_a_tenth_of_the_rate() -> None:
    core = cores.build("nnrnn", 3, 8, num_layers=2)
    rates = {id(p): group.rate for group in core.parameter_groups() for p in group.parameters}
    for name, parameter in core.named_parameters():
        assert rates[id(parameter)] == (0.1 if "basis" in name else 1.0)


def test_where_it_starts() -> None:
    layer = cores.build("nnrnn", 10, 400).layers[0]
    assert_normal(layer.weight_ih, math.sqrt(2 / 410))
    assert_uniform(layer.bias, -0.01, 0.01)
    assert_uniform(layer.theta, 0, 2 * math.pi)
    assert (layer.gamma == 1).all()
    assert not layer.feed_forward.entries.any()
    assert (layer.basis.entries != 0).sum() == 200


def test_the_number_of_parameters() -> None:
    """A, γ and θ, T without the diagonal blocks, U, b."""
    expected = 128 * 127 // 2 + 64 + 64 + (128 * 127 // 2 - 64) + 128 * 10 + 128
    assert sum(p.numel() for p in cores.build("nnrnn", 10, 128).parameters()) == expected


def test_sizes_it_can_not_have() -> None:
    with pytest.raises(ValueError, match="hidden_size should be even, got 7"):
        cores.build("nnrnn", 3, 7)
    assert cores.hidden_for_parameters("nnrnn", 10, 50_000) % 2 == 0
