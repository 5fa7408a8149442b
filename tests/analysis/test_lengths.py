"""Accuracy by length."""

from __future__ import annotations

import math

from slowfade.analysis.lengths import accuracy_by_length


def test_bins_are_half_open_and_empty_ones_left_out() -> None:
    lengths = [10, 49, 50, 99, 250]
    bins = accuracy_by_length([True, False, True, True, True], lengths, [0, 50, 100, 200, 300])
    assert [(bin.low, bin.high, bin.accuracy, bin.n) for bin in bins] == [
        (0, 50, 0.5, 2),
        (50, 100, 1.0, 2),
        (200, 300, 1.0, 1),
    ]


def test_standard_error_of_a_proportion() -> None:
    (only,) = accuracy_by_length([1] * 30 + [0] * 10, [5] * 40, [0, 10])
    assert only.standard_error == math.sqrt(0.75 * 0.25 / 40)
