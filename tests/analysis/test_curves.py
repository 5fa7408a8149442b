"""Learning curves."""

from __future__ import annotations

import numpy as np
import pytest

from slowfade.analysis.curves import Curve, common_end, curve, mean_curve, mean_height, steps_to

ROWS = [
    {"step": 20, "split": "validation", "accuracy": 0.5, "loss": 1.0},
    {"step": 10, "split": "validation", "accuracy": 0.2, "loss": 2.0},
    {"step": 10, "split": "train", "loss": 3.0},
    {"step": 30, "split": "validation", "accuracy": 0.9, "loss": 0.5},
]


def test_a_curve_is_one_measure_of_one_split_in_order() -> None:
    steps, values, solved = curve(ROWS, "accuracy")
    assert not solved
    assert steps.tolist() == [10, 20, 30]
    assert values.tolist() == [0.2, 0.5, 0.9]
    assert curve(ROWS, "loss", "train").values.tolist() == [3.0]
    assert curve(ROWS, "accuracy", "train").steps.size == 0


def test_steps_to_a_level() -> None:
    found = curve(ROWS, "accuracy")
    assert steps_to(found, 0.5) == 20
    assert steps_to(found, 0.95) is None


def test_mean_height_is_the_area_under_the_curve() -> None:
    rising = Curve(np.array([10.0, 30.0]), np.array([0.0, 1.0]))
    # flat at 0 to step 10, straight up to 1 at step 30, flat at 1 from there on
    assert mean_height(rising, 30.0) == pytest.approx(10 / 30)
    assert mean_height(rising, 40.0) == pytest.approx(20 / 40)
    assert mean_height(rising, 20.0) == pytest.approx((0.5 * 10 / 2) / 20)


def test_the_sooner_learner_is_the_higher_one() -> None:
    steps = np.arange(1.0, 100.0)
    slow, fast = Curve(steps, 1 - np.exp(-steps / 40)), Curve(steps, 1 - np.exp(-steps / 10))
    assert mean_height(fast, 100.0) > mean_height(slow, 100.0)


SHORT = Curve(np.array([1.0, 2.0]), np.array([0.0, 1.0]))


def test_mean_curve_goes_on_where_one_was_solved_early() -> None:
    (steps, values, _), spread = mean_curve([SHORT._replace(solved=True), Curve(*_flat(4, 0.5))])
    assert steps.tolist() == [1, 2, 3, 4]
    assert values.tolist() == [0.25, 0.75, 0.75, 0.75]
    assert spread[1] == pytest.approx(np.std([1.0, 0.5], ddof=1))


def test_mean_curve_ends_where_one_is_unfinished() -> None:
    (steps, values, _), _ = mean_curve([SHORT, Curve(*_flat(4, 0.5))])
    assert steps.tolist() == [1, 2]
    assert values.tolist() == [0.25, 0.75]


def test_only_what_was_solved_goes_on() -> None:
    solved, long = SHORT._replace(solved=True), Curve(*_flat(9, 0.5))
    assert common_end([solved, long]) == 9
    assert common_end([SHORT, long]) == 2
    assert common_end([solved, long._replace(solved=True)]) == 9
    assert common_end([SHORT]) == common_end([solved]) == 2


def _flat(count: int, height: float) -> tuple[np.ndarray, np.ndarray]:
    return np.arange(1.0, count + 1), np.full(count, height)
