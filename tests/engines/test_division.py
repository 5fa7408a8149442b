"""However the work is divided among threads, the result is the same."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from slowfade import PowerLawLSTM
from support import rms_ratio


@pytest.fixture
def threads() -> Iterator[int]:
    """More threads than there are blocks of units."""
    before = torch.get_num_threads()
    torch.set_num_threads(8)
    yield 8
    torch.set_num_threads(before)


@pytest.mark.parametrize("batch", [1, 5, 20])
@pytest.mark.usefixtures("threads")
def test_more_threads_than_units_to_share(batch: int) -> None:
    """Few rows of many inputs are divided over units, of which there may be fewer than threads."""
    gradients = []
    for engine in ("cpu", "reference"):
        torch.manual_seed(0)
        layer = PowerLawLSTM(600, 20, engine=engine, dtype=torch.float64)
        x = torch.randn(4, batch, 600, dtype=torch.float64)
        dt = torch.rand(4, batch, dtype=torch.float64).requires_grad_()
        output, _ = layer(x, dt=dt)
        output.square().sum().backward()
        gradients.append([dt.grad, *(parameter.grad for parameter in layer.parameters())])
    for ours, theirs in zip(*gradients, strict=True):
        assert rms_ratio(ours - theirs, theirs) < 1e-12
