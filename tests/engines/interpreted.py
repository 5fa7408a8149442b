"""The GPU engine's kernels in Triton's interpreter. ``test_triton.py`` runs this file where TRITON_INTERPRET is 1."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from slowfade.engines import triton as engine
from support import rms_ratio

#: Time, batch, inputs, hidden; coupled, dt, lengths, reverse, batch first.
CASES = [
    (5, 3, 2, 4, True, False, False, False, False),
    (4, 2, 3, 5, True, False, True, True, False),
    (6, 17, 5, 40, True, True, True, False, True),
    (3, 18, 3, 70, False, True, True, True, True),
    (1, 1, 1, 1, False, True, False, False, False),
    (0, 2, 3, 4, True, False, False, False, False),
    (3, 0, 3, 4, True, False, False, False, False),
]


@pytest.mark.parametrize("case", CASES)
def test_the_power_law_kernels_agree_with_the_cpu_engine(
    case: tuple[int, int, int, int, bool, bool, bool, bool, bool],
) -> None:
    steps, batch, inputs, hidden, coupled, has_dt, has_lengths, reverse, batch_first = case
    generator = torch.Generator().manual_seed(0)
    gates = 3 if coupled else 4

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator)

    given = (
        normal(steps, batch, inputs),
        normal(steps, batch).abs() * 3 if has_dt else None,
        torch.randint(0, steps + 1, (batch,), generator=generator) if has_lengths else None,
        normal(batch, hidden),
        normal(batch, hidden),
        normal(batch, hidden).abs() * 5,
        normal(gates * hidden, inputs) * 0.3,
        normal(gates * hidden, hidden) * 0.3,
        normal(gates * hidden),
        None,
        torch.rand(hidden, generator=generator),
    )
    options = (1e-3, coupled, reverse, batch_first)
    theirs = torch.ops.slowfade.power_law(*given, *options, True)
    ours = engine._power_law(*given, *options, True)
    outside = [normal(*part.shape) for part in theirs[:4]]
    their_gradients = torch.ops.slowfade.power_law_backward(*outside, *given, theirs[0], theirs[4], *options, 1023)
    our_gradients = engine._power_law_backward(*outside, *given, ours[0], ours[4], *options, 1023)
    assert_same(ours[:4], theirs[:4])
    assert_same(our_gradients, their_gradients)


@pytest.mark.parametrize("case", CASES)
def test_the_lstm_kernels_agree_with_the_cpu_engine(
    case: tuple[int, int, int, int, bool, bool, bool, bool, bool],
) -> None:
    steps, batch, inputs, hidden, _, _, has_lengths, reverse, batch_first = case
    generator = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator)

    given = (
        normal(steps, batch, inputs),
        torch.randint(0, steps + 1, (batch,), generator=generator) if has_lengths else None,
        normal(batch, hidden),
        normal(batch, hidden),
        normal(4 * hidden, inputs) * 0.3,
        normal(4 * hidden, hidden) * 0.3,
        normal(4 * hidden),
        None,
    )
    theirs = torch.ops.slowfade.lstm(*given, reverse, batch_first, True)
    ours = engine._lstm(*given, reverse, batch_first, True)
    outside = [normal(*part.shape) for part in theirs[:3]]
    their_gradients = torch.ops.slowfade.lstm_backward(
        *outside, *given, theirs[0], theirs[3], reverse, batch_first, 1023
    )
    our_gradients = engine._lstm_backward(*outside, *given, ours[0], ours[3], reverse, batch_first, 1023)
    assert_same(ours[:3], theirs[:3])
    assert_same(our_gradients, their_gradients)


def test_only_the_gradients_asked_for_are_handed_out() -> None:
    x, state, weights = (
        torch.randn(3, 2, 4),
        torch.zeros(2, 5),
        (torch.randn(20, 4), torch.randn(20, 5), torch.randn(20)),
    )
    output, *_, kept = engine._lstm(x, None, state, state, *weights, None, False, False, True)
    found = engine._lstm_backward(
        output, None, None, x, None, state, state, *weights, None, output, kept, False, False, 1 << 0
    )
    assert [part.numel() > 0 for part in found] == [True, False, False, False, False, False, False]


def test_extreme_gates_stay_finite() -> None:
    x = torch.tensor([-1e4, 1e4, 0.0]).repeat(4).reshape(12, 1, 1)
    dt = torch.tensor([0.0, 1e12, 1.0, 1e-6]).repeat(3).reshape(12, 1)
    state = torch.zeros(1, 2)
    given = (x, dt, None, state, state, state, torch.ones(6, 1), torch.ones(6, 2), None, None, torch.full((2,), 0.5))
    output, h, c, age, kept = engine._power_law(*given, 1e-3, True, False, False, True)
    ones = torch.ones_like(output)
    gradients = engine._power_law_backward(ones, h, c, age, *given, output, kept, 1e-3, True, False, False, 1023)
    for part in (output, h, c, age, *gradients):
        assert part.isfinite().all()


def assert_same(ours: tuple[Tensor, ...], theirs: tuple[Tensor, ...]) -> None:
    for mine, expected in zip(ours, theirs, strict=True):
        assert mine.shape == expected.shape
        assert rms_ratio(mine - expected, expected) < 2e-6
