"""Statistics against textbook formulas and values worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from slowfade.analysis.statistics import cohens_d, summary, t_test


def test_summary_is_the_mean_and_the_sample_deviation() -> None:
    mean, sd, n = summary([1.0, 2.0, 3.0, 6.0])
    assert (mean, n) == (3.0, 4)
    assert sd == pytest.approx(math.sqrt((4 + 1 + 0 + 9) / 3))
    assert summary([1.0, 2.0, 3.0, 6.0]).standard_error == pytest.approx(sd / 2)


def test_one_value_has_no_deviation() -> None:
    assert math.isnan(summary([0.5]).sd)
    with pytest.raises(ValueError, match="no values"):
        summary([])


def test_welch_by_its_formula() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.normal(0.4, 0.3, 128), rng.normal(0.2, 0.1, 60)
    variances = first.var(ddof=1) / 128, second.var(ddof=1) / 60
    welch = t_test(first, second)
    assert welch.t == pytest.approx((first.mean() - second.mean()) / math.sqrt(sum(variances)))
    degrees = sum(variances) ** 2 / (variances[0] ** 2 / 127 + variances[1] ** 2 / 59)
    assert welch.degrees == pytest.approx(degrees)
    assert 0 < welch.p < 1e-6


def test_the_papers_t_and_d_agree_with_students_test_on_two_layers_of_128_units() -> None:
    """Section 5.2 prints t = 6.9 and d = 0.87; for n = 128 each, Student's t is d sqrt(n / 2) = 6.96."""
    rng = np.random.default_rng(2)
    first, second = rng.normal(0.41, 0.25, 128), rng.normal(0.19, 0.25, 128)
    student = t_test(first, second, equal_variance=True)
    assert student.degrees == 254
    assert student.t == pytest.approx(cohens_d(first, second) * math.sqrt(128 / 2))
    assert 0.87 * math.sqrt(128 / 2) == pytest.approx(6.9, abs=0.1)


def test_samples_without_spread() -> None:
    assert t_test([1.0, 1.0], [1.0, 1.0]).p == 1.0
    assert t_test([1.0, 1.0], [0.0, 0.0]) == (math.inf, 2.0, 0.0)


def test_a_single_value_cannot_be_tested() -> None:
    with pytest.raises(ValueError, match="two values"):
        t_test([1.0], [1.0, 2.0])
