"""JANET against its equations, read by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.stats import kstest

from slowfade import cores
from support import assert_close


@pytest.mark.parametrize("beta", [0.0, 1.0, 2.5])
def test_it_is_the_equation_read_by_hand(beta: float) -> None:
    core = cores.build("janet", 2, 4, beta=beta).double()
    x = torch.randn(6, 1, 2, dtype=torch.float64)
    ih, hh, b = (parameter.detach().numpy() for parameter in core.parameters())
    c, expected = np.zeros(4), []
    for x_t in x[:, 0].numpy():
        new = np.zeros(4)
        for j in range(4):
            s = b[j] + ih[j] @ x_t + hh[j] @ c
            candidate = math.tanh(b[4 + j] + ih[4 + j] @ x_t + hh[4 + j] @ c)
            new[j] = c[j] / (1 + math.exp(-s)) + (1 - 1 / (1 + math.exp(beta - s))) * candidate
        c = new
        expected.append(c)
    assert_close(core(x)[0][:, 0], torch.tensor(np.array(expected)))


def test_without_beta_the_cell_is_a_convex_combination() -> None:
    """So with inputs to the candidate alone at its bounds, no cell leaves [-1, 1]; with beta it does."""
    cells = {}
    for beta in (0.0, 3.0):
        core = cores.build("janet", 1, 4, beta=beta)
        with torch.no_grad():
            core.layer(0).weight_ih.zero_()[4:] = 100.0
            core.layer(0).weight_hh.zero_()
        cells[beta] = core(torch.ones(200, 1, 1))[0]
    assert cells[0.0].abs().max() <= 1 + 1e-6
    assert cells[3.0].abs().max() > 1.1


def test_initial_weights() -> None:
    layer = cores.build("janet", 30, 200).layer(0)
    for weight, fan_in in ((layer.weight_ih, 30), (layer.weight_hh, 200)):
        bound = math.sqrt(6 / (fan_in + 2 * 200))
        assert kstest(weight.detach().flatten().numpy(), "uniform", (-bound, 2 * bound)).pvalue > 1e-3
    assert (layer.bias[:200] == 1).all()
    assert not layer.bias[200:].any()


def test_chrono_biases() -> None:
    layer = cores.build("janet", 2, 1000, t_max=50).layer(0)
    assert kstest(layer.bias[:1000].exp().detach().numpy(), "uniform", (1, 49)).pvalue > 1e-3
    assert not layer.bias[1000:].any()


def test_free_decay_is_what_a_unit_does_alone() -> None:
    core = cores.build("janet", 2, 5, t_max=20).double()
    with torch.no_grad():
        core.layer(0).weight_hh.zero_()
    start = torch.rand(1, 1, 5, dtype=torch.float64) + 0.5
    output, _ = core(torch.zeros(30, 1, 2, dtype=torch.float64), (start,))
    assert_close(output[:, 0] / start[0], core.free_decay(torch.arange(1.0, 31, dtype=torch.float64)))
