"""The NRU against a reading that makes every head's vector, and what its memory can and cannot do."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from readings import assert_gradients, assert_same, assert_uniform, numbers, relu, scrambled, start_for
from slowfade import cores

SMALL = {"memory_size": 16, "heads": 4}
OPTIONS = [{}, {"use_relu": True}, {"layer_norm": True}, {"memory_size": 12, "heads": 3, "use_relu": True}]


def reading(core: Any, x: np.ndarray, h: np.ndarray, m: np.ndarray, mask: np.ndarray) -> tuple[Any, ...]:
    """The equations, row after row, with the vectors of all heads made and normalised."""
    layer = core.layers[0]
    w, k, size = numbers(layer), layer.heads, layer.memory_size
    s = math.isqrt(k * size)
    rho = relu if layer.use_relu else (lambda z: z)
    outputs, changes = np.zeros((*x.shape[:2], h.shape[1])), np.zeros((*x.shape[:2], 2))
    h, m = h.copy(), m.copy()
    for row in range(x.shape[1]):
        for t in range(x.shape[0]):
            heard = np.concatenate([x[t, row], h[row], m[row]])
            logit = np.concatenate([w["weight_ih"], w["weight_hh"]], axis=1) @ heard + w["bias"]
            if layer.norm is not None:
                logit = (logit - logit.mean()) / np.sqrt(logit.var() + 1e-5) * w["norm.weight"] + w["norm.bias"]
            h[row] = relu(logit) * mask
            said = w["weight_heads"] @ np.concatenate([h[row], m[row]]) + w["bias_heads"]
            alpha, beta, u_write, u_erase, v_write, v_erase = np.split(said, np.cumsum([k, k, s, s, s]))
            change = np.zeros(size)
            for strengths, first, second, sign in ((alpha, u_write, v_write, 1), (beta, u_erase, v_erase, -1)):
                vectors = rho(np.outer(first, second)).reshape(k, size)
                for i in range(k):
                    norm = max((np.abs(vectors[i]) ** 5).sum() ** 0.2, 1e-12)
                    change += sign * rho(strengths[i]) * vectors[i] / norm / k
            m[row] += change
            bound = np.abs(rho(alpha)).mean() + np.abs(rho(beta)).mean()
            changes[t, row] = (np.abs(change) ** 5).sum() ** 0.2, bound
            outputs[t, row] = h[row]
    return outputs, h, m, changes


@pytest.mark.parametrize("options", OPTIONS)
def test_it_is_its_equations(options: dict[str, Any]) -> None:
    core = scrambled("nru", **{**SMALL, **options})
    x, start = torch.randn(6, 2, 3, dtype=torch.float64), start_for(core, 2)
    outputs, h, m, changes = reading(core, x.numpy(), *(part[0].numpy() for part in start), np.ones(8))
    found, state = core(x, start)
    assert_same(found, outputs)
    assert_same(state.hidden[0], h)
    assert_same(state.memory[0], m)
    # No head writes more than its strength, in the 5-norm.
    assert (changes[..., 0] <= changes[..., 1] * (1 + 1e-12)).all()


def test_the_memory_hears_no_silenced_unit() -> None:
    core = scrambled("nru", **SMALL)
    x, start = torch.randn(6, 2, 3, dtype=torch.float64), start_for(core, 2)
    mask = np.ones(8)
    mask[[2, 5]] = 0
    hidden = start[0][0].numpy() * mask
    outputs, _, m, _ = reading(core, x.numpy(), hidden, start[1][0].numpy(), mask)
    found, state = core.silenced([2, 5])(x, start)
    assert_same(found, outputs)
    assert_same(state.memory[0], m)


@pytest.mark.parametrize("options", OPTIONS)
def test_gradients(options: dict[str, Any]) -> None:
    assert_gradients(scrambled("nru", **{**SMALL, **options}))


def test_where_it_starts() -> None:
    layer = cores.build("nru", 8, 40, memory_size=64).layers[0]
    for parameter in (layer.weight_ih, layer.weight_hh, layer.bias):
        assert_uniform(parameter, -1 / math.sqrt(112), 1 / math.sqrt(112))
    for parameter in (layer.weight_heads, layer.bias_heads):
        assert_uniform(parameter, -1 / math.sqrt(104), 1 / math.sqrt(104))


@pytest.mark.parametrize("options", OPTIONS)
def test_the_number_of_parameters(options: dict[str, Any]) -> None:
    """As the authors' five linear maps have them."""
    chosen = {**SMALL, **options}
    size, k = chosen["memory_size"], chosen["heads"]
    s = math.isqrt(size * k)
    expected = (size + 8 + 3 + 1) * 8 + 2 * (size + 8 + 1) * 2 * s + 2 * (size + 8 + 1) * k
    expected += 16 if chosen.get("layer_norm") else 0
    assert sum(p.numel() for p in cores.build("nru", 3, 8, **chosen).parameters()) == expected


@pytest.mark.parametrize(("memory_size", "heads"), [(15, 4), (18, 4), (0, 4), (16, 0), (8, 4)])
def test_impossible_memories(memory_size: int, heads: int) -> None:
    with pytest.raises(ValueError, match="memory_size should be heads"):
        cores.build("nru", 3, 8, memory_size=memory_size, heads=heads)


@pytest.mark.parametrize("use_relu", [False, True])
@pytest.mark.parametrize("scale", [1e-20, 1e-9, 1e-4, 1.0, 1e3, 1e6, 1e12])
def test_no_row_is_longer_than_its_strength(scale: float, use_relu: bool) -> None:
    """In float32, where fifth powers vanish and overflow early."""
    layer = cores.build("nru", 3, 8, use_relu=use_relu, **SMALL).layers[0]
    said = torch.randn(50, 2 * 4 + 4 * 8)
    said[:, :8].abs_()
    said[:, 8:] *= scale
    signs = torch.tensor([1.0, -1.0]).view(2, 1, 1) / 4
    change = layer.written(said, signs)
    assert (torch.linalg.vector_norm(change, 5, dim=-1) <= 1.0001 * said[:, :8].sum(-1) / 4).all()


def test_at_its_published_size_it_stays_finite() -> None:
    core = cores.build("nru", 1, 212)
    output, state = core(torch.rand(784, 2, 1))
    output[-1].sum().backward()
    assert output.isfinite().all()
    assert all(parameter.grad.isfinite().all() for parameter in core.parameters())
    assert state.memory.abs().max() < 1e6
