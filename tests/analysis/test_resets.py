"""Later-reset units, by the stated rule, on ages made by hand and by the gate itself."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from slowfade.analysis.resets import later_reset_units, reference_times, reset_order
from slowfade.gate import advance_age

STEPS, FIRST, LAST = 120, 9, 99


def ages(reset: Tensor) -> Tensor:
    """Ages ``(1, time, units)`` under reset gates ``(time, units)``."""
    age, kept = torch.zeros(reset.shape[1]), []
    for r in reset:
        age = advance_age(age, 1 - r)
        kept.append(age)
    return torch.stack(kept)[None]


def closed_after(step: int) -> Tensor:
    """Open up to and at a step, closed from there to reproduction, then open."""
    reset = torch.ones(STEPS)
    reset[step + 1 : LAST + 1] = 0
    return reset


def test_the_rule_on_full_resets() -> None:
    half = FIRST + (LAST - FIRST) // 2
    reset = torch.stack(
        [torch.ones(STEPS), torch.zeros(STEPS), closed_after(FIRST), closed_after(half), closed_after(half + 2)], dim=1
    )
    later = later_reset_units(ages(reset), FIRST, LAST)
    assert later.tolist() == [False, True, True, True, False]


def test_the_share_says_how_strict() -> None:
    age = ages(closed_after(30)[:, None])
    assert later_reset_units(age, FIRST, LAST, share=0.75).item()
    assert not later_reset_units(age, FIRST, LAST, share=0.8).item()


def test_a_slow_leak_is_no_reset_but_a_quick_one_is() -> None:
    reset = torch.full((STEPS, 2), 0.0)
    reset[:, 0], reset[:, 1] = 0.001, 0.1
    assert later_reset_units(ages(reset), FIRST, LAST).tolist() == [True, False]


def test_most_sequences_must_agree() -> None:
    age = torch.cat([ages(closed_after(FIRST)[:, None])] * 2 + [ages(torch.ones(STEPS, 1))] * 3)
    assert not later_reset_units(age, FIRST, LAST).item()
    assert later_reset_units(age[:4], FIRST, LAST).item()


def test_steps_must_be_in_order() -> None:
    with pytest.raises(ValueError, match="in order"):
        later_reset_units(torch.zeros(1, 10, 2), 5, 10)


def test_reference_time_follows_the_clock_or_stands_still() -> None:
    reset = torch.stack([torch.ones(STEPS), torch.zeros(STEPS)], dim=1)
    k = reference_times(ages(reset))[0]
    assert torch.equal(k[:, 0], torch.arange(1.0, STEPS + 1))
    assert torch.equal(k[:, 1], torch.zeros(STEPS))


def test_the_oldest_come_first() -> None:
    reset = torch.stack([torch.ones(STEPS), torch.zeros(STEPS), closed_after(FIRST)], dim=1)
    assert reset_order(ages(reset), LAST).tolist() == [1, 2, 0]
