"""The LSTM against ``nn.LSTM`` and against its equations, read by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from slowfade import cores
from support import assert_close, derivatives


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_it_is_the_lstm_of_pytorch(dtype: torch.dtype, batch_first: bool) -> None:
    theirs = nn.LSTM(5, 11, num_layers=2, batch_first=batch_first).to(dtype)
    ours = cores.build("lstm", 5, 11, num_layers=2, batch_first=batch_first).to(dtype)
    ours.load_state_dict(theirs.state_dict())
    x = torch.randn(4, 9, 5, dtype=dtype, requires_grad=True)
    start = torch.randn(2, 2, 9 if not batch_first else 4, 11, dtype=dtype, requires_grad=True)
    expected, end = theirs(x, (start[0], start[1]))
    found, state = ours(x, (start[0], start[1]))
    assert_close((found, *state), (expected, *end))
    given = {"x": x, "start": start}
    expected_gradients = derivatives([expected, *end], given | dict(theirs.named_parameters()))
    assert_close(derivatives([found, *state], given | dict(ours.named_parameters())), expected_gradients)


def test_the_trace_is_the_equation_read_by_hand() -> None:
    core = cores.build("lstm", 2, 3).double()
    x = torch.randn(5, 1, 2, dtype=torch.float64)
    w = {name: parameter.detach().numpy() for name, parameter in core.named_parameters()}
    h, c, expected = np.zeros(3), np.zeros(3), []
    for x_t in x[:, 0].numpy():
        gates = {}
        for n, gate in enumerate(("input", "forget", "candidate", "output")):
            logit = np.zeros(3)
            for j in range(3):
                row = 3 * n + j
                logit[j] = w["bias_ih_l0"][row] + w["bias_hh_l0"][row]
                logit[j] += sum(w["weight_ih_l0"][row, k] * x_t[k] for k in range(2))
                logit[j] += sum(w["weight_hh_l0"][row, k] * h[k] for k in range(3))
            gates[gate] = np.tanh(logit) if gate == "candidate" else 1 / (1 + np.exp(-logit))
        c = gates["forget"] * c + gates["input"] * gates["candidate"]
        h = gates["output"] * np.tanh(c)
        expected.append({**gates, "cell": c, "hidden": h})
    trace = core.trace(x)
    assert set(trace) == set(expected[0])
    for name, value in trace.items():
        assert_close(value[:, 0], torch.tensor(np.array([step[name] for step in expected])))


def test_parameters_start_uniform() -> None:
    bound = 1 / math.sqrt(400)
    for parameter in cores.build("lstm", 300, 400).parameters():
        assert parameter.abs().max() <= bound
        assert_uniform((parameter.detach().flatten() + bound) / (2 * bound))


def test_free_decay_is_what_the_cell_does_when_all_else_is_silent() -> None:
    core = cores.build("lstm", 2, 6).double()
    with torch.no_grad():
        core.weight_hh_l0.zero_()
        for bias in (core.bias_ih_l0, core.bias_hh_l0):
            bias[12:18] = 0
    cell = torch.rand(1, 1, 6, dtype=torch.float64) + 0.5
    trace = core.trace(torch.zeros(30, 1, 2, dtype=torch.float64), (torch.zeros_like(cell), cell))
    assert_close(trace["cell"][:, 0] / cell[0], core.free_decay(torch.arange(1.0, 31, dtype=torch.float64)))


def assert_uniform(values: Tensor) -> None:
    """Values drawn from U(0, 1): no bin of twenty is off by six standard deviations."""
    count = torch.histc(values, 20, 0, 1)
    expected = len(values) / 20
    assert count.sum() == len(values)
    assert ((count - expected).abs() < 6 * math.sqrt(expected)).all()
