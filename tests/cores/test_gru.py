"""The GRU against ``nn.GRU`` and against its equations, read by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from slowfade import cores
from support import assert_close, derivatives


def test_it_is_the_gru_of_pytorch() -> None:
    """With rows of several lengths, all gradients too."""
    theirs, ours = nn.GRU(4, 7).double(), cores.build("gru", 4, 7).double()
    named = {f"layers.0.{name.removesuffix('_l0')}": value for name, value in theirs.state_dict().items()}
    ours.load_state_dict(named)
    x = torch.randn(6, 3, 4, dtype=torch.float64, requires_grad=True)
    start = torch.randn(1, 3, 7, dtype=torch.float64, requires_grad=True)
    lengths = torch.tensor([2, 6, 5])
    packed, end = theirs(pack_padded_sequence(x, lengths, enforce_sorted=False), start)
    expected = pad_packed_sequence(packed)[0]
    found, state = ours(x, (start,), lengths=lengths)
    assert_close((found, state.hidden), (expected, end))
    given = {"x": x, "start": start}
    ours_named = {name.replace("layers.0.", "") + "_l0": value for name, value in ours.named_parameters()}
    wanted = derivatives([expected, end], given | dict(theirs.named_parameters()))
    assert_close(derivatives([found, state.hidden], given | ours_named), wanted)


@pytest.mark.parametrize("reset_after", [True, False])
def test_it_is_the_equation_read_by_hand(reset_after: bool) -> None:
    core = cores.build("gru", 2, 3, reset_after=reset_after).double()
    x = torch.randn(6, 1, 2, dtype=torch.float64)
    ih, hh, b, d = (parameter.detach().numpy() for parameter in core.parameters())
    (W_r, W_z, W_n), (U_r, U_z, U_n) = np.split(ih, 3), np.split(hh, 3)
    (b_r, b_z, b_n), (d_r, d_z, d_n) = np.split(b, 3), np.split(d, 3)
    h, expected = np.zeros(3), []
    for x_t in x[:, 0].numpy():
        r = 1 / (1 + np.exp(-(W_r @ x_t + b_r + U_r @ h + d_r)))
        z = 1 / (1 + np.exp(-(W_z @ x_t + b_z + U_z @ h + d_z)))
        recurrent = r * (U_n @ h + d_n) if reset_after else U_n @ (r * h) + d_n
        h = (1 - z) * np.tanh(W_n @ x_t + b_n + recurrent) + z * h
        expected.append(h)
    assert_close(core(x)[0][:, 0], torch.tensor(np.array(expected)))


@pytest.mark.parametrize("reset_after", [True, False])
def test_free_decay_is_what_a_unit_does_alone(reset_after: bool) -> None:
    core = cores.build("gru", 2, 5, reset_after=reset_after).double()
    layer = core.layer(0)
    with torch.no_grad():
        layer.weight_hh.zero_()
        layer.bias_ih[10:] = 0
        layer.bias_hh[10:] = 0
    start = torch.rand(1, 1, 5, dtype=torch.float64) + 0.5
    output, _ = core(torch.zeros(30, 1, 2, dtype=torch.float64), (start,))
    assert_close(output[:, 0] / start[0], core.free_decay(torch.arange(1.0, 31, dtype=torch.float64)))
