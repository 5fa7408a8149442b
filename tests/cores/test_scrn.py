"""The SCRN against a reading of its equations, its context's closed form, and the plain network it contains."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from readings import assert_gradients, assert_normal, assert_same, numbers, scrambled, sigmoid, start_for
from slowfade import cores

OPTIONS: list[dict[str, Any]] = [
    {"context_size": 4},
    {"context_size": 4, "context": "previous", "alpha": 0.8},
    {"context_size": 4, "learned_alpha": True},
]


def reading(core: Any, x: np.ndarray, h: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    layer, h, s = core.layers[0], h.copy(), s.copy()
    w = numbers(layer)
    alpha = sigmoid(w["alpha_logit"]) if "alpha_logit" in w else layer.alpha
    outputs = np.zeros((*x.shape[:2], core.output_size))
    for row in range(x.shape[1]):
        for t in range(x.shape[0]):
            before = s[row].copy()
            s[row] = (1 - alpha) * (w["weight_is"] @ x[t, row]) + alpha * before
            heard = before if layer.previous else s[row]
            h[row] = sigmoid(w["weight_sh"] @ heard + w["weight_ih"] @ x[t, row] + w["weight_hh"] @ h[row])
            outputs[t, row] = np.concatenate([h[row], s[row]])
    return outputs, h, s


@pytest.mark.parametrize("options", OPTIONS)
def test_it_is_its_equations(options: dict[str, Any]) -> None:
    core = scrambled("scrn", **options)
    x, start = torch.randn(6, 2, 3, dtype=torch.float64), start_for(core, 2)
    outputs, h, s = reading(core, x.numpy(), *(part[0].numpy() for part in start))
    found, state = core(x, start)
    assert core.output_size == 12
    assert_same(found, outputs)
    assert_same(state.hidden[0], h)
    assert_same(state.context[0], s)


@pytest.mark.parametrize("options", OPTIONS)
def test_gradients(options: dict[str, Any]) -> None:
    assert_gradients(scrambled("scrn", **options))


def test_without_context_it_is_a_plain_sigmoid_network() -> None:
    core = scrambled("scrn")
    layer = core.layers[0]
    layer.weight_sh.data.zero_()
    # h = σ(z) = (1 + tanh(z / 2)) / 2, so PyTorch's tanh network, whose units are 2 h - 1, gives the same.
    plain = torch.nn.RNN(3, 8).double()
    for parameter, value in zip(
        plain.parameters(),
        (layer.weight_ih / 2, layer.weight_hh / 4, layer.weight_hh.sum(1) / 4, torch.zeros(8)),
        strict=True,
    ):
        parameter.data.copy_(value)
    x, h = torch.randn(6, 2, 3, dtype=torch.float64), torch.rand(1, 2, 8, dtype=torch.float64)
    output = core(x, (h, torch.zeros(1, 2, 40, dtype=torch.float64)))[0]
    torch.testing.assert_close(output[..., :8], (1 + plain(x, 2 * h - 1)[0]) / 2)


def test_the_context_is_an_exponentially_weighted_sum() -> None:
    core = scrambled("scrn", context_size=4, alpha=0.9)
    x = torch.randn(40, 2, 3, dtype=torch.float64)
    weights = 0.1 * 0.9 ** torch.arange(39, -1, -1, dtype=torch.float64)
    expected = torch.einsum("t,tbi,si->bs", weights, x, core.layers[0].weight_is)
    assert_same(core(x)[1].context[0], expected.detach().numpy())


def test_the_previous_context_comes_a_step_later() -> None:
    """The first step hears the start, which is zero."""
    core = scrambled("scrn", context_size=4, context="previous")
    x = torch.randn(1, 2, 3, dtype=torch.float64)
    first = core(x)[0]
    core.layers[0].weight_sh.data.mul_(10)
    assert torch.equal(core(x)[0], first)


def test_where_it_starts() -> None:
    layer = cores.build("scrn", 20, 100, alpha=0.8, learned_alpha=True).layers[0]
    for weight in (layer.weight_ih, layer.weight_hh, layer.weight_is, layer.weight_sh):
        assert_normal(weight, 0.05)
    torch.testing.assert_close(torch.sigmoid(layer.alpha_logit), torch.full((40,), 0.8))


@pytest.mark.parametrize("learned", [False, True])
def test_the_number_of_parameters(learned: bool) -> None:
    """A, R, B, P, and α where it is learned."""
    core = cores.build("scrn", 50, 100, learned_alpha=learned)
    expected = 100 * 50 + 100 * 100 + 40 * 50 + 100 * 40 + (40 if learned else 0)
    assert sum(p.numel() for p in core.parameters()) == expected


@pytest.mark.parametrize("options", [{"alpha": 1.0}, {"context_size": 0}, {"context": "next"}])
def test_impossible_options(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="should"):
        cores.build("scrn", 3, 8, **options)
