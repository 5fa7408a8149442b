"""The few statistics the tables need."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats


class Summary(NamedTuple):
    """A mean over seeds."""

    mean: float
    sd: float
    """Sample standard deviation; NaN for a single value."""
    n: int

    @property
    def standard_error(self) -> float:
        return self.sd / math.sqrt(self.n)


class TTest(NamedTuple):
    t: float
    degrees: float
    """Of freedom."""
    p: float
    """Two-sided."""


def summary(values: ArrayLike) -> Summary:
    array = np.asarray(values, dtype=float)
    if array.size == 0:
        raise ValueError("there are no values to summarise")
    sd = float(array.std(ddof=1)) if array.size > 1 else math.nan
    return Summary(float(array.mean()), sd, array.size)


def t_test(first: ArrayLike, second: ArrayLike, *, equal_variance: bool = False) -> TTest:
    """Difference of two means: Welch's test, or Student's (the paper's) with ``equal_variance``.

    Samples without any spread give ``t`` infinite and ``p`` zero where they differ, and ``p`` one where not; here and
    in the tests below.
    """
    first, second = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if min(first.size, second.size) < 2:
        raise ValueError("a t-test needs two values or more of each")
    degrees = float(first.size + second.size - 2)
    if np.ptp(first) == 0 and np.ptp(second) == 0:
        return _without_spread(float(first[0] - second[0]), degrees)
    moments = [(sample.mean(), sample.std(ddof=1), sample.size) for sample in (first, second)]
    t, p = stats.ttest_ind_from_stats(*moments[0], *moments[1], equal_var=equal_variance)
    if not equal_variance:
        squares = [sd**2 / n for _, sd, n in moments]
        degrees = sum(squares) ** 2 / (squares[0] ** 2 / (first.size - 1) + squares[1] ** 2 / (second.size - 1))
    return TTest(float(t), float(degrees), float(p))


def one_sample_t_test(values: ArrayLike) -> TTest:
    """Whether a mean differs from zero."""
    values = np.asarray(values, dtype=float)
    if values.size < 2:
        raise ValueError("a t-test needs two values or more")
    if np.ptp(values) <= 1e-12 * np.abs(values).max():
        return _without_spread(float(values[0]), values.size - 1.0)
    t = float(values.mean() / (values.std(ddof=1) / math.sqrt(values.size)))
    return TTest(t, values.size - 1.0, float(2 * stats.t.sf(abs(t), values.size - 1)))


def paired_t_test(first: ArrayLike, second: ArrayLike) -> TTest:
    """Difference of two means of values that belong together one by one, such as the same units before and after."""
    first, second = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if first.shape != second.shape:
        raise ValueError(f"values that belong together are as many of each, got {first.size} and {second.size}")
    return one_sample_t_test(first - second)


def _without_spread(difference: float, degrees: float) -> TTest:
    return TTest(math.copysign(math.inf, difference) if difference else 0.0, degrees, 0.0 if difference else 1.0)


def cohens_d(first: ArrayLike, second: ArrayLike) -> float:
    """The difference of two means in pooled standard deviations."""
    first, second = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    squares = (first.size - 1) * first.var(ddof=1) + (second.size - 1) * second.var(ddof=1)
    pooled = math.sqrt(squares / (first.size + second.size - 2))
    return float((first.mean() - second.mean()) / pooled)
