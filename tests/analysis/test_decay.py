"""Decay in closed form, and as measured on networks whose gates are known."""

from __future__ import annotations

import math

import pytest
import torch

from slowfade import cores
from slowfade.analysis.decay import (
    exponential_decay,
    exponential_half_life,
    measured_decay,
    power_law_decay,
    power_law_half_life,
    retained,
)


def test_the_papers_figure_1() -> None:
    """f = 0.97 and p = 0.3 over 200 steps."""
    time = torch.tensor([0.0, 200.0], dtype=torch.float64)
    assert exponential_decay(time, 0.97).tolist() == pytest.approx([1, 0.97**200])
    assert power_law_decay(time, 0.3).tolist() == pytest.approx([1, 201**-0.3])


def test_half_lives() -> None:
    for rate, power in ((0.5, 1.0), (0.97, 0.3), (0.999, 0.1)):
        life = torch.tensor(exponential_half_life(rate), dtype=torch.float64)
        assert exponential_decay(life, rate).item() == pytest.approx(0.5)
        life = torch.tensor(power_law_half_life(power), dtype=torch.float64)
        assert power_law_decay(life, power).item() == pytest.approx(0.5)
    assert math.isinf(exponential_half_life(1.0))
    assert math.isinf(power_law_half_life(0.0))


def test_retained_is_what_is_left_of_the_cell() -> None:
    """Two cells that differ after step 3 and get the same input from then on differ by just that share."""
    forget, entering = torch.rand(20, 5, dtype=torch.float64), torch.randn(20, 5, dtype=torch.float64)
    ends = []
    for start in (torch.zeros(5, dtype=torch.float64), torch.ones(5, dtype=torch.float64)):
        cell, cells = start, [start]
        for t in range(4, 20):
            cell = forget[t] * cell + entering[t]
            cells.append(cell)
        ends.append(torch.stack(cells))
    torch.testing.assert_close(ends[1] - ends[0], retained(forget, 3))


@torch.no_grad()
@pytest.mark.parametrize("batch_first", [True, False])
def test_a_power_law_network_that_never_resets_is_measured_to_decay_as_its_closed_form_says(batch_first: bool) -> None:
    core = cores.build("powerlaw", 3, 8, batch_first=batch_first, epsilon=1e-7)
    core.layer.bias_l0[:8] = -40  # the reset gate
    found = measured_decay(core, torch.randn(4, 60, 3), 0)
    # Age 1 after the first step, so what is left of the cell then is ((t + 1) / 2) ** -p.
    time = torch.arange(1, 61, dtype=torch.float32)
    expected = core.free_decay(time) / core.free_decay(torch.ones(1))
    torch.testing.assert_close(found.float(), expected, rtol=1e-5, atol=0)


@torch.no_grad()
def test_an_lstm_with_a_constant_forget_gate_decays_exponentially() -> None:
    core = cores.build("lstm", 3, 8, batch_first=True)
    for parameter in core.parameters():
        parameter.zero_()
    found = measured_decay(core, torch.randn(4, 30, 3), 9)
    assert len(found) == 21
    expected = exponential_decay(torch.arange(21, dtype=torch.float64), 0.5)
    torch.testing.assert_close(found, expected[:, None].expand(-1, 8))


def test_a_network_without_forget_gate_says_so() -> None:
    with pytest.raises(ValueError, match="no forget gate"):
        measured_decay(cores.build("gru", 3, 8, batch_first=True), torch.randn(1, 5, 3), 0)
