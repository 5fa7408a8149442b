"""The power-law LSTM as a core: the layer, and nothing else."""

from __future__ import annotations

import numpy as np
import torch

from slowfade import PowerLawLSTM, cores
from support import assert_close


def test_it_is_the_layer() -> None:
    options = {"epsilon": 1e-5, "power_init": (0.1, 0.2), "coupled": False}
    core = cores.build("powerlaw", 3, 5, num_layers=2, batch_first=True, **options)
    layer = PowerLawLSTM(3, 5, num_layers=2, batch_first=True, **options)
    layer.load_state_dict(core.layer.state_dict())
    x, dt, lengths = torch.randn(2, 6, 3), torch.rand(2, 6) + 0.1, torch.tensor([6, 3])
    output, state = layer(x, dt=dt, lengths=lengths)
    found, end = core(x, dt=dt, lengths=lengths)
    assert_close((found, *end), (output, *state))
    trace = layer.trace(x, dt=dt, lengths=lengths)
    assert_close(core.trace(x, dt=dt, lengths=lengths), {name: getattr(trace, name)[-1] for name in trace._fields})
    assert (layer.power > 0.1).all()
    assert (layer.power < 0.2).all()


def test_it_is_the_papers_equation_read_by_hand() -> None:
    """In the paper's own form, with reference time and absolute time; appendix A.1 for steps that are not 1."""
    core = cores.build("powerlaw", 2, 3).double()
    x = torch.randn(8, 1, 2, dtype=torch.float64)
    dt = torch.rand(8, 1, dtype=torch.float64) * 3 + 0.1
    ih, hh, b, p_hat = (parameter.detach().numpy() for parameter in core.parameters())
    p = 1 / (1 + np.exp(-p_hat))
    h, c, k, t, expected = np.zeros(3), np.zeros(3), np.zeros(3), 0.0, []
    for x_t, step in zip(x[:, 0].numpy(), dt[:, 0].numpy(), strict=True):
        t += step
        r, o, new = np.split(ih @ x_t + hh @ h + b, 3)
        r, o, new = 1 / (1 + np.exp(-r)), 1 / (1 + np.exp(-o)), np.tanh(new)
        k_early = r * (t - step + 1) + (1 - r) * k
        k = r * t + (1 - r) * k
        f = ((t - step - k_early + 1 + 1e-3) / (t - k + 1)) ** p
        c = f * c + (1 - f) * new
        h = o * np.tanh(c)
        expected.append(h)
    assert_close(core(x, dt=dt)[0][:, 0], torch.tensor(np.array(expected)))


def test_free_decay_is_what_the_cell_does_with_its_reset_closed() -> None:
    core = cores.build("powerlaw", 2, 6, epsilon=1e-12).double()
    with torch.no_grad():
        core.layer.weight_ih_l0.zero_()
        core.layer.weight_hh_l0.zero_()
        core.layer.bias_l0.zero_()[:6] = -60
    cell = torch.rand(1, 1, 6, dtype=torch.float64) + 0.5
    start = (torch.zeros_like(cell), cell, torch.zeros_like(cell))
    dt = torch.full((40,), 0.5, dtype=torch.float64)
    trace = core.trace(torch.zeros(40, 1, 2, dtype=torch.float64), start, dt=dt)
    time = torch.arange(1.0, 41, dtype=torch.float64) / 2
    assert_close(trace["cell"][:, 0] / cell[0], core.free_decay(time), 1e-9)


def test_a_fixed_power_is_no_parameter() -> None:
    core = cores.build("powerlaw", 2, 4, power=0.3)
    assert_close(core.layer.power, torch.full((1, 4), 0.3))
    assert sum(parameter.numel() for parameter in core.parameters()) == 3 * 4 * (2 + 4 + 1)
