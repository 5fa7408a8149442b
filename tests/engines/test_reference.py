"""The reference engine's own parts; its numbers are tested through the layer."""

from __future__ import annotations

import torch
from torch import nn

from slowfade.engines import reference
from support import assert_close


def test_reversed_order_is_its_own_inverse() -> None:
    lengths = torch.tensor([4, 0, 1, 6])
    order = reference.reversed_order(6, 4, lengths, torch.device("cpu"))
    assert order[:, 0].tolist() == [3, 2, 1, 0, 4, 5]
    assert order[:, 1].tolist() == list(range(6))
    steps = torch.arange(6).unsqueeze(-1).expand(6, 4)
    assert torch.equal(order.take_along_dim(order, 0), steps)
    assert torch.equal(reference.reversed_order(6, 4, None, torch.device("cpu")), steps.flip(0))


def test_lstm_is_pytorchs() -> None:
    theirs = nn.LSTM(3, 5)
    x, h, c = torch.randn(7, 2, 3), torch.randn(2, 5), torch.randn(2, 5)
    expected, (h_end, c_end) = theirs(x, (h.unsqueeze(0), c.unsqueeze(0)))
    bias = theirs.bias_ih_l0 + theirs.bias_hh_l0
    found, (h_found, c_found) = reference.lstm(x, None, h, c, theirs.weight_ih_l0, theirs.weight_hh_l0, bias)
    assert_close((found, h_found, c_found), (expected, h_end[0], c_end[0]), 1e-6)
