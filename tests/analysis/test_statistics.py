"""Statistics against textbook formulas and values worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from slowfade.analysis.statistics import cohens_d, one_sample_t_test, paired_t_test, summary, t_test


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


def test_paired_by_its_formula() -> None:
    """Student's own sleep data (1908): ten patients, hours gained with two drugs; t = 4.0621, p = 0.0028."""
    first = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
    second = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
    paired = paired_t_test(first, second)
    assert paired == pytest.approx((4.0621, 9, 0.002833), abs=5e-5)
    assert paired.p < t_test(first, second).p
    assert one_sample_t_test(np.subtract(first, second)) == paired


def test_pairs_without_spread() -> None:
    assert paired_t_test([0.3, 0.4], [0.1, 0.2]).p == 0.0
    assert paired_t_test([0.3, 0.4], [0.3, 0.4]) == (0.0, 1.0, 1.0)


def test_a_single_value_cannot_be_tested() -> None:
    with pytest.raises(ValueError, match="two values"):
        paired_t_test([1.0], [2.0])
    with pytest.raises(ValueError, match="as many of each"):
        paired_t_test([1.0, 2.0], [2.0])
    with pytest.raises(ValueError, match="two values"):
        t_test([1.0], [1.0, 2.0])
