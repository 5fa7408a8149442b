"""The refine gate against its equations, read by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import kstest

from slowfade import cores
from slowfade.cores.refine import effective_gate
from support import assert_close


@pytest.mark.parametrize("variant", ["ur", "u-", "-r"])
def test_it_is_the_equation_read_by_hand(variant: str) -> None:
    core = cores.build("refine", 2, 4, variant=variant).double()
    with torch.no_grad():
        core.layer(0).bias.normal_()
    x = torch.randn(6, 1, 2, dtype=torch.float64)
    ih, hh, b = (parameter.detach().numpy() for parameter in core.parameters())
    h, c, expected = np.zeros(4), np.zeros(4), []
    for x_t in x[:, 0].numpy():
        logits = (ih @ x_t + hh @ h + b).reshape(-1, 4)
        f = 1 / (1 + np.exp(-logits[0]))
        if variant == "u-":
            g = f
        else:
            r = 1 / (1 + np.exp(-logits[3]))
            g = r * (1 - (1 - f) ** 2) + (1 - r) * f**2
        c = g * c + (1 - g) * np.tanh(logits[1])
        h = 1 / (1 + np.exp(-logits[2])) * np.tanh(c)
        expected.append((h, c))
    trace = core.trace(x)
    for n, name in enumerate(("hidden", "cell")):
        assert_close(trace[name][:, 0], torch.tensor(np.array([step[n] for step in expected])))


def test_the_effective_gate_lies_between_its_bounds() -> None:
    logit = torch.linspace(-6, 6, 101, dtype=torch.float64)
    f = torch.sigmoid(logit)
    assert_close(effective_gate(logit, torch.zeros_like(logit)), f)
    assert_close(effective_gate(logit, torch.full_like(logit, 50)), 1 - (1 - f) ** 2)
    assert_close(effective_gate(logit, torch.full_like(logit, -50)), f**2)


@pytest.mark.parametrize("variant", ["ur", "u-"])
def test_gates_start_uniform(variant: str) -> None:
    layer = cores.build("refine", 2, 500, variant=variant).layer(0)
    forget, candidate, output, *refine = layer.bias.detach().split(500)
    assert kstest(torch.sigmoid(forget).numpy(), "uniform", (1 / 500, 1 - 2 / 500)).pvalue > 1e-3
    assert not candidate.any()
    assert not output.any()
    for part in refine:
        assert_close(part, -forget)


def test_without_the_initialisation_the_forget_bias_is_one() -> None:
    forget, *others = cores.build("refine", 2, 5, variant="-r").layer(0).bias.split(5)
    assert (forget == 1).all()
    assert not any(other.any() for other in others)


@pytest.mark.parametrize("hidden", [1, 2])
def test_one_or_two_units_start_half_open(hidden: int) -> None:
    assert not cores.build("refine", 2, hidden).layer(0).bias[:hidden].any()


def test_free_decay_is_what_the_cell_does_when_all_else_is_silent() -> None:
    core = cores.build("refine", 2, 6).double()
    with torch.no_grad():
        core.layer(0).weight_hh.zero_()
    cell = torch.rand(1, 1, 6, dtype=torch.float64) + 0.5
    trace = core.trace(torch.zeros(30, 1, 2, dtype=torch.float64), (torch.zeros_like(cell), cell))
    assert_close(trace["cell"][:, 0] / cell[0], core.free_decay(torch.arange(1.0, 31, dtype=torch.float64)))
