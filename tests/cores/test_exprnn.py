"""The expRNN against SciPy's exponential; its change of base, which must change nothing else."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import torch

from readings import assert_gradients, assert_normal, assert_same, assert_uniform, numbers, scrambled, start_for
from slowfade import cores

MODES = ["static", "dynamic"]


def orthogonal(layer: Any) -> np.ndarray:
    """``B = B₀ expm(U - Uᵀ)``, the entries of U row by row."""
    size, entries = layer.hidden_size, iter(layer.rotation.entries.tolist())
    skew = np.zeros((size, size))
    for i in range(size):
        for j in range(i + 1, size):
            skew[i, j] = next(entries)
            skew[j, i] = -skew[i, j]
    base = np.eye(size) if layer.base is None else layer.base.numpy()
    return base @ scipy.linalg.expm(skew)


def reading(core: Any, x: np.ndarray, h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    layer, h = core.layers[0], h.copy()
    w, matrix = numbers(layer), orthogonal(layer)
    outputs = np.zeros((*x.shape[:2], layer.hidden_size))
    for row in range(x.shape[1]):
        for t in range(x.shape[0]):
            z = w["weight_ih"] @ x[t, row] + h[row] @ matrix
            h[row] = np.sign(z) * np.maximum(np.abs(z) + w["bias"], 0)
            outputs[t, row] = h[row]
    return outputs, h


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("size", [1, 7, 8])
def test_it_is_its_equations(mode: str, size: int) -> None:
    core = scrambled("exprnn", hidden_size=size, mode=mode)
    x, start = torch.randn(6, 2, 3, dtype=torch.float64), start_for(core, 2)
    outputs, h = reading(core, x.numpy(), start[0][0].numpy())
    found, state = core(x, start)
    assert_same(found, outputs)
    assert_same(state.hidden[0], h)


@pytest.mark.parametrize("mode", MODES)
def test_gradients(mode: str) -> None:
    assert_gradients(scrambled("exprnn", mode=mode))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("dtype", "bound"), [(torch.float32, 2e-5), (torch.float64, 1e-12)])
def test_the_matrix_is_orthogonal(mode: str, dtype: torch.dtype, bound: float) -> None:
    layer = cores.build("exprnn", 3, 170, mode=mode).to(dtype).layers[0]
    layer.rotation.entries.data += 0.1 * torch.randn_like(layer.rotation.entries)
    if layer.base is not None:
        layer.base.copy_(torch.linalg.qr(torch.randn(170, 170, dtype=dtype)).Q)
    assert (layer.matrix().T @ layer.matrix() - torch.eye(170)).abs().max() < bound


def test_without_input_and_bias_the_state_keeps_its_length() -> None:
    core = cores.build("exprnn", 3, 16).double()
    core.layers[0].bias.data.zero_()
    start = (torch.randn(1, 2, 16, dtype=torch.float64),)
    state = core(torch.zeros(500, 2, 3, dtype=torch.float64), start)[1]
    torch.testing.assert_close(state.hidden.norm(dim=-1), start[0].norm(dim=-1))


def test_both_modes_start_from_the_same_network() -> None:
    x, outputs = torch.randn(5, 2, 3), []
    for mode in MODES:
        torch.manual_seed(3)
        outputs.append(cores.build("exprnn", 3, 8, mode=mode)(x)[0])
    torch.testing.assert_close(*outputs)


def test_the_base_moves_every_so_many_steps_and_the_matrix_stays() -> None:
    core = cores.build("exprnn", 3, 8, mode="dynamic", rebase_every=3).double()
    layer = core.layers[0]
    for step in range(1, 8):
        layer.rotation.entries.data += 0.1 * torch.randn_like(layer.rotation.entries)
        before = layer.matrix().detach()
        core.after_step()
        torch.testing.assert_close(layer.matrix().detach(), before)
        assert bool(layer.rotation.entries.any()) == (step % 3 != 0)
    assert layer.steps == 7


def test_every_so_many_bases_are_projected() -> None:
    core = cores.build("exprnn", 3, 8, mode="dynamic", rebase_every=2, project_every=2).double()
    layer = core.layers[0]

    def distance() -> float:
        return (layer.base.T @ layer.base - torch.eye(8)).abs().max().item()

    core.after_step()
    layer.base += 1e-3 * torch.randn(8, 8, dtype=torch.float64)
    drifted = layer.base.clone()
    for expected in (1e-4, 1e-4):
        core.after_step()
        assert distance() > expected
    core.after_step()
    assert distance() < 1e-14
    # The nearest orthogonal matrix: what it is multiplied with to give the base is symmetric.
    stretch = layer.base.T @ drifted
    torch.testing.assert_close(stretch, stretch.T)


def test_a_static_network_has_no_base_and_no_hook() -> None:
    core = cores.build("exprnn", 3, 8)
    entries = core.layers[0].rotation.entries.clone()
    core.after_step()
    assert torch.equal(core.layers[0].rotation.entries, entries)
    assert not dict(core.named_buffers()).keys() & {"layers.0.base", "layers.0.steps"}


def test_base_and_count_go_with_the_weights() -> None:
    """What training needs to go on where it stopped."""
    core, other = (cores.build("exprnn", 3, 8, mode="dynamic", rebase_every=5) for _ in range(2))
    for _ in range(3):
        core.after_step()
    other.load_state_dict(core.state_dict())
    for _ in range(2):
        for each in (core, other):
            each.layers[0].rotation.entries.data.add_(0.1)
            each.after_step()
    assert not other.layers[0].rotation.entries.any()
    for name, value in core.state_dict().items():
        assert torch.equal(other.state_dict()[name], value)


def test_the_rotation_is_trained_at_a_tenth_of_the_rate() -> None:
    core = cores.build("exprnn", 3, 8, num_layers=2)
    rates = {id(p): group.rate for group in core.parameter_groups() for p in group.parameters}
    for name, parameter in core.named_parameters():
        assert rates[id(parameter)] == (0.1 if "rotation" in name else 1.0)


@pytest.mark.parametrize("init", ["henaff", "cayley"])
def test_where_it_starts(init: str) -> None:
    layer = cores.build("exprnn", 10, 400, init=init).layers[0]
    assert_normal(layer.weight_ih, math.sqrt(2 / 10))
    assert_uniform(layer.bias, -0.01, 0.01)
    entries = layer.rotation.entries[layer.rotation.entries != 0].detach()
    assert len(entries) == 200
    if init == "henaff":
        assert_uniform(entries, -math.pi, math.pi)
    else:
        # s = -sqrt((1 - cos u) / (1 + cos u)), so cos u = (1 - s²) / (1 + s²).
        assert (entries < 0).all()
        assert_uniform(torch.acos((1 - entries**2) / (1 + entries**2)), 0, math.pi / 2)


def test_the_number_of_parameters() -> None:
    core = cores.build("exprnn", 10, 190, mode="dynamic")
    assert sum(p.numel() for p in core.parameters()) == 190 * 189 // 2 + 190 * 10 + 190


@pytest.mark.parametrize("options", [{"mode": "sometimes"}, {"init": "warm"}, {"rebase_every": 0}])
def test_impossible_options(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="should be"):
        cores.build("exprnn", 3, 8, **options)
