"""The C++ engine's LSTM cell against ``nn.LSTM``: output, state, every gradient."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from slowfade.engines import cpu
from support import assert_close, derivatives, needs_cpu_engine

pytestmark = needs_cpu_engine

SHAPES = [
    (1, 1, 1, 1, 0),
    (5, 3, 7, 15, 0),
    (6, 9, 16, 33, 5),
    (40, 17, 3, 20, 0),
    (3, 2, 50, 130, 0),
    (200, 2, 3, 8, 7),
]


class OnTheEngine(nn.Module):
    """``nn.LSTM``'s parameters, both directions, run by the engine."""

    def __init__(self, model: nn.LSTM) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: Tensor, h: Tensor, c: Tensor, lengths: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        outputs, ends = [], []
        for reverse, suffix in enumerate(["l0", "l0_reverse"][: 1 + self.model.bidirectional]):
            names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr")
            ih, hh, bias_ih, bias_hh, hr = (getattr(self.model, f"{name}_{suffix}", None) for name in names)
            bias = bias_ih + bias_hh
            output, end = cpu.lstm(x, lengths, h[reverse], c[reverse], ih, hh, bias, hr, reverse=bool(reverse))
            outputs.append(output)
            ends.append(end)
        h_end, c_end = (torch.stack(parts) for parts in zip(*ends, strict=True))
        return torch.cat(outputs, -1), h_end, c_end


@pytest.mark.parametrize("with_lengths", [False, True])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_against_nn_lstm(shape: tuple[int, ...], bidirectional: bool, with_lengths: bool) -> None:
    steps, batch, inputs, hidden, projected = shape
    double = {"dtype": torch.float64}
    model = nn.LSTM(inputs, hidden, bidirectional=bidirectional, proj_size=projected, **double)
    given = {
        "x": torch.randn(steps, batch, inputs, **double),
        "h": torch.randn(1 + bidirectional, batch, projected or hidden, **double),
        "c": torch.randn(1 + bidirectional, batch, hidden, **double),
    }
    given = {name: value.requires_grad_() for name, value in given.items()} | dict(model.named_parameters())
    lengths = torch.tensor([(b * 5) % steps + 1 for b in range(batch)]) if with_lengths else None
    x, h, c = (given[name] for name in "xhc")
    if lengths is None:
        output, (h_end, c_end) = model(x, (h, c))
    else:
        packed, (h_end, c_end) = model(pack_padded_sequence(x, lengths, enforce_sorted=False), (h, c))
        output, _ = pad_packed_sequence(packed, total_length=steps)
    expected = [output, h_end, c_end]
    found = list(OnTheEngine(model)(x, h, c, lengths))
    assert_close(found, expected)
    assert_close(derivatives(found, given), derivatives(expected, given), 1e-11)


def test_differentiates_twice() -> None:
    model = nn.LSTM(2, 3, dtype=torch.float64)
    x, h, c = torch.randn(3, 2, 2), torch.randn(1, 2, 3), torch.randn(1, 2, 3)
    inputs = [tensor.double().requires_grad_() for tensor in (x, h, c)]
    lengths = torch.tensor([3, 1])

    def run(x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, ...]:
        return OnTheEngine(model)(x, h, c, lengths)

    assert torch.autograd.gradcheck(run, inputs)
    with pytest.warns(RuntimeWarning, match="differentiates a gradient"):
        assert torch.autograd.gradgradcheck(run, inputs)
