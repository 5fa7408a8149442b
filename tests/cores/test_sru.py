"""The statistical recurrent unit against a reading of its equations, and its averages against their closed form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from readings import assert_gradients, assert_same, assert_uniform, numbers, relu, scrambled, start_for
from slowfade import cores

OPTIONS: list[dict[str, Any]] = [
    {},
    {"linear_output": True},
    {"alphas": (0.0, 0.5, 0.999), "recurrent_statistics": 3},
    {"alphas": (0.9,), "recurrent_statistics": 0},
]


def reading(core: Any, x: np.ndarray, means: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    layer, outputs, means = core.layers[0], np.zeros((*x.shape[:2], core.output_size)), means.copy()
    w = numbers(layer)
    for row in range(x.shape[1]):
        for t in range(x.shape[0]):
            fed_back = relu(w["weight_recurrent"] @ means[row].reshape(-1) + w["bias_recurrent"])
            joined = np.concatenate([w["weight_ih"], w["weight_rh"]], axis=1)
            statistics = relu(joined @ np.concatenate([x[t, row], fed_back]) + w["bias"])
            for j, alpha in enumerate(layer.alphas):
                means[row, j] = alpha * means[row, j] + (1 - alpha) * statistics
            output = w["weight_output"] @ means[row].reshape(-1) + w["bias_output"]
            outputs[t, row] = output if layer.linear_output else relu(output)
    return outputs, means


@pytest.mark.parametrize("options", OPTIONS)
def test_it_is_its_equations(options: dict[str, Any]) -> None:
    core = scrambled("sru", **options)
    x, start = torch.randn(6, 2, 3, dtype=torch.float64), start_for(core, 2)
    outputs, means = reading(core, x.numpy(), start[0][0].numpy())
    found, state = core(x, start)
    assert_same(found, outputs)
    assert_same(state.means[0], means)


@pytest.mark.parametrize("options", OPTIONS)
def test_gradients(options: dict[str, Any]) -> None:
    assert_gradients(scrambled("sru", **options))


def test_with_one_rate_of_zero_it_is_feed_forward() -> None:
    core = scrambled("sru", alphas=(0.0,), recurrent_statistics=0)
    x, order = torch.randn(9, 2, 3, dtype=torch.float64), torch.randperm(9)
    assert_same(core(x[order])[0], core(x)[0][order].detach())


def test_a_rate_of_zero_is_the_present() -> None:
    core = scrambled("sru", alphas=(0.0, 0.9))
    means = core.trace(torch.randn(9, 2, 3, dtype=torch.float64))["means"].detach()
    w = numbers(core.layers[0])
    for t in range(1, 9):
        # The slow average moves a tenth of the way to what the fast one is.
        assert_same(means[t, :, 1], 0.9 * means[t - 1, :, 1].numpy() + 0.1 * means[t, :, 0].numpy())
    assert w["weight_output"].shape == (8, 16)


def test_the_averages_are_exponentially_weighted_sums() -> None:
    alphas = (0.25, 0.9, 0.99)
    core = scrambled("sru", alphas=alphas, recurrent_statistics=0)
    x, layer = torch.randn(30, 2, 3, dtype=torch.float64), core.layers[0]
    statistics = torch.relu(x @ layer.weight_ih.t() + layer.bias).detach()
    means = core(x)[1].means[0].detach()
    for j, alpha in enumerate(alphas):
        weights = (1 - alpha) * alpha ** torch.arange(29, -1, -1, dtype=torch.float64)
        assert_same(means[:, j], torch.einsum("t,tbh->bh", weights, statistics).numpy())


def test_silenced_outputs_are_zero_and_nothing_else_changes() -> None:
    core = scrambled("sru")
    x = torch.randn(6, 2, 3, dtype=torch.float64)
    expected, state = core(x)
    found, end = core.silenced([1, 4])(x)
    assert not found[..., [1, 4]].any()
    others = [0, 2, 3, 5, 6, 7]
    assert_same(found[..., others], expected[..., others].detach())
    assert_same(end.means, state.means.detach())


def test_where_it_starts() -> None:
    layer = cores.build("sru", 20, 40).layers[0]
    for name, parameter in layer.named_parameters():
        if name.startswith("weight"):
            assert_uniform(parameter, -0.1, 0.1)
        else:
            assert not parameter.any()


def test_the_number_of_parameters() -> None:
    """In the authors' default shape: five rates, 64 statistics, 16 fed back."""
    core = cores.build("sru", 10, 64)
    assert sum(p.numel() for p in core.parameters()) == (320 * 16 + 16) + (26 * 64 + 64) + (320 * 64 + 64)


@pytest.mark.parametrize("options", [{"alphas": ()}, {"alphas": (0.5, 1.0)}, {"recurrent_statistics": -1}])
def test_impossible_options(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="should be"):
        cores.build("sru", 3, 8, **options)
