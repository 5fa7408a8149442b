"""The phased LSTM against its equations, read by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.stats import kstest
from torch import Tensor

from slowfade import cores
from slowfade.cores.phased import PhasedLayer
from support import assert_close


def read_by_hand(layer: PhasedLayer, x: Tensor, times: list[float], leak: float, always_open: bool = False) -> Tensor:
    """One row, from a fresh state; the paper's phase, unit by unit."""
    size = layer.hidden_size
    ih, hh, b = (tensor.detach().numpy() for tensor in (layer.weight_ih, layer.weight_hh, layer.bias))
    peep = np.zeros((3, size)) if layer.peephole is None else layer.peephole.detach().numpy()
    period, shift, ratio = (tensor.detach().numpy() for tensor in (layer.period, layer.shift, layer.ratio))
    h, c, outputs = np.zeros(size), np.zeros(size), []
    for x_t, t in zip(x.numpy(), times, strict=True):
        i, f, g, o = np.split(ih @ x_t + hh @ h + b, 4)
        i, f = 1 / (1 + np.exp(-(i + peep[0] * c))), 1 / (1 + np.exp(-(f + peep[1] * c)))
        cell = f * c + i * np.tanh(g)
        hidden = 1 / (1 + np.exp(-(o + peep[2] * cell))) * np.tanh(cell)
        kappa = np.zeros(size)
        for j in range(size):
            turns = (t - shift[j]) / period[j]
            phase = turns - math.floor(turns)
            if phase <= ratio[j] / 2:
                kappa[j] = 2 * phase / ratio[j]
            elif phase <= ratio[j]:
                kappa[j] = 2 - 2 * phase / ratio[j]
            else:
                kappa[j] = leak * phase
        if always_open:
            kappa[:] = 1
        c, h = kappa * cell + (1 - kappa) * c, kappa * hidden + (1 - kappa) * h
        outputs.append(h)
    return torch.tensor(np.array(outputs))


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("peepholes", [True, False])
def test_it_is_the_equation_read_by_hand(peepholes: bool, training: bool) -> None:
    core = cores.build("phased", 2, 5, ratio=0.4, peepholes=peepholes).double().train(training)
    x = torch.randn(30, 1, 2, dtype=torch.float64)
    dt = torch.rand(30, 1, dtype=torch.float64) * 2
    leak = 1e-3 if training else 0.0
    expected = read_by_hand(core.layer(0), x[:, 0], dt[:, 0].cumsum(0).tolist(), leak)
    assert_close(core(x, dt=dt)[0][:, 0], expected)


def test_always_open_it_is_the_peephole_lstm(monkeypatch: pytest.MonkeyPatch) -> None:
    core = cores.build("phased", 2, 5).double()
    monkeypatch.setattr(PhasedLayer, "openness", lambda self, time: time.unsqueeze(-1).expand(*time.shape, 5) * 0 + 1)
    x = torch.randn(20, 1, 2, dtype=torch.float64)
    expected = read_by_hand(core.layer(0), x[:, 0], [0.0] * 20, 0.0, always_open=True)
    assert_close(core(x)[0][:, 0], expected)


def test_closed_units_keep_their_state_in_evaluation() -> None:
    core = cores.build("phased", 1, 50).double().eval()
    trace = core.trace(torch.randn(40, 1, 1, dtype=torch.float64))
    kappa = core.layer(0).openness(torch.arange(1.0, 41, dtype=torch.float64))
    closed = (kappa[1:] == 0) & (kappa[:-1] == 0)
    assert closed.float().mean() > 0.8
    for name in ("hidden", "cell"):
        assert not trace[name][1:, 0].sub(trace[name][:-1, 0])[closed].any()


def test_time_is_carried() -> None:
    core = cores.build("phased", 1, 4).double()
    _, state = core(torch.randn(3, 2, 1).double(), dt=torch.tensor([0.5, 2.0, 1.25]))
    assert_close(state.time, torch.full((1, 2, 1), 3.75, dtype=torch.float64))
    _, state = core(torch.randn(2, 2, 1).double(), state, lengths=torch.tensor([2, 1]))
    assert state.time.flatten().tolist() == [5.75, 4.75]


def test_the_rhythm_is_differentiated_right() -> None:
    layer = cores.build("phased", 1, 6, ratio=0.3).double().layer(0)
    time = torch.rand(20, dtype=torch.float64) * 50

    def openness(*rhythm: Tensor) -> Tensor:
        named = dict(zip(("period", "shift", "ratio"), rhythm, strict=True))
        for name, value in named.items():
            delattr(layer, name)
            setattr(layer, name, value)
        return layer.openness(time)

    rhythm = [getattr(layer, name).detach().clone().requires_grad_() for name in ("period", "shift", "ratio")]
    assert torch.autograd.gradcheck(openness, rhythm)


def test_a_rhythm_that_is_trained_to_zero_stays_finite() -> None:
    core = cores.build("phased", 1, 6)
    layer = core.layer(0)
    with torch.no_grad():
        layer.ratio[:3] = 0
        layer.period[2:4] = 0
    core(torch.randn(9, 2, 1))[0].sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in core.parameters())
    assert core(torch.randn(9, 2, 1))[0].isfinite().all()


def test_initial_values() -> None:
    layer = cores.build("phased", 20, 500).layer(0)
    assert kstest(layer.period.log().detach().numpy(), "uniform", (1, 2)).pvalue > 1e-3
    assert kstest(layer.shift.detach().numpy(), "uniform", (0, 100)).pvalue > 1e-3
    assert (layer.ratio == 0.05).all()
    for weight in (layer.weight_ih, layer.peephole):
        assert kstest(weight.detach().flatten().numpy(), "norm", (0, 0.1)).pvalue > 1e-3
    assert (layer.bias[:500] == -0.1).all()
    assert not layer.bias[500:].any()


def test_free_decay_is_what_the_cell_does_over_many_cycles() -> None:
    core = cores.build("phased", 1, 8, ratio=0.3).double().eval()
    layer, steps = core.layer(0), 2000
    with torch.no_grad():
        layer.weight_hh.zero_()
        layer.peephole.zero_()
        layer.bias[8:16] = torch.linspace(1, 4, 8, dtype=torch.float64)
    cell = torch.ones(1, 1, 8, dtype=torch.float64)
    start = (torch.zeros_like(cell), cell, torch.zeros(1, 1, 1, dtype=torch.float64))
    trace = core.trace(torch.zeros(steps, 1, 1, dtype=torch.float64), start)
    expected = core.free_decay(torch.tensor([float(steps)], dtype=torch.float64))
    assert_close(trace["cell"][-1].log(), expected.log(), 0.02)
