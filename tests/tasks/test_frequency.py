"""Frequency discrimination: the waves, their sampling, and the intervals that go with them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import stats

from slowfade import tasks
from slowfade.tasks.frequency import _other_period

SAMPLINGS = ["sync-1", "sync-0.1", "async"]
NUMBERS = torch.arange(2000)


def waves(**options: object) -> tasks.Batch:
    return tasks.build("frequency", **options).batch("train", NUMBERS)


def fitted_period(time: np.ndarray, values: np.ndarray, candidates: np.ndarray) -> float:
    """The period whose sine and cosine explain the values best, by least squares."""
    errors = []
    for period in candidates:
        basis = np.stack([np.sin(2 * np.pi * time / period), np.cos(2 * np.pi * time / period)], 1)
        errors.append(np.linalg.lstsq(basis, values, rcond=None)[1].sum())
    return candidates[int(np.argmin(errors))]


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_times(sampling: str) -> None:
    """dt adds up to the time; waves lie within 0 and 125 and last 15 to 125."""
    batch = waves(sampling=sampling, time_input=True)
    time = batch.dt.double().cumsum(1)
    valid = torch.arange(time.shape[1]) < batch.lengths[:, None]
    torch.testing.assert_close(time[valid].float(), batch.inputs[..., 1][valid], rtol=1e-5, atol=1e-3)
    assert (batch.dt[~valid] == 0).all()
    assert (batch.inputs[~valid] == 0).all()
    assert time.max() < 125
    step = {"sync-1": 1.0, "sync-0.1": 0.1}.get(sampling)
    if step is None:
        assert (batch.lengths.min(), batch.lengths.max()) == (15, 124)
        assert stats.chisquare(torch.bincount(batch.lengths - 15)).pvalue > 1e-3
    else:
        torch.testing.assert_close(batch.dt[:, 1:][valid[:, 1:]], torch.tensor(step).expand(int(valid[:, 1:].sum())))
        duration = batch.lengths * step
        assert stats.kstest(duration, "uniform", args=(15, 110)).statistic < 0.05
        assert duration.max() <= 125 + step


def test_random_times_are_uniform_over_the_wave() -> None:
    batch = waves(sampling="async")
    time = batch.dt.double().cumsum(1)
    inner = []
    for row in range(200):
        points = time[row, : batch.lengths[row]]
        inner.append(((points - points[0]) / (points[-1] - points[0]))[1:-1])
    assert stats.kstest(torch.cat(inner), "uniform").pvalue > 1e-3


@pytest.mark.parametrize("sampling", ["sync-1", "async"])
def test_periods_tell_the_classes_apart(sampling: str) -> None:
    """The period, read off the samples by least squares."""
    batch = tasks.build("frequency", sampling=sampling).batch("validation", torch.arange(30))
    candidates = 1 / np.linspace(1 / 100, 1 / 2.1, 1500)
    for row in range(30):
        length = int(batch.lengths[row])
        if length < 40:
            continue
        time = batch.dt[row, :length].double().cumsum(0).numpy()
        period = fitted_period(time, batch.inputs[row, :length, 0].double().numpy(), candidates)
        inside = 4.95 < period < 6.05
        assert inside == bool(batch.targets[row]), (row, period)


def test_other_periods_are_short_or_long() -> None:
    uniform = np.linspace(0, 1, 99_999)[:, None]
    periods = _other_period(uniform)
    assert ((periods < 5) | (periods >= 6)).all()
    assert (periods.min(), periods.max()) == (1, 100)
    np.testing.assert_allclose((periods < 5).mean(), 0.5, rtol=1e-4)
    assert stats.kstest(periods[periods < 5], "uniform", args=(1, 4)).statistic < 1e-3
    assert stats.kstest(periods[periods > 6], "uniform", args=(6, 94)).statistic < 1e-3


def test_classes_are_balanced() -> None:
    task = tasks.build("frequency")
    for split in tasks.SPLITS:
        assert task.batch(split, torch.arange(task.size(split))).targets.double().mean() == 0.5


def test_inputs_are_sines() -> None:
    """Amplitudes of a sine at an even phase have an arcsine distribution."""
    batch = waves(sampling="async")
    first = batch.inputs[:, 0, 0]
    assert stats.kstest(first, "arcsine", args=(-1, 2)).statistic < 0.05


def test_every_epoch_is_new() -> None:
    task = tasks.build("frequency")
    epochs = [torch.cat(task.schedule("train", 32, seed=0, epoch=epoch)) for epoch in range(3)]
    assert len(torch.cat(epochs).unique()) == 3 * (5000 // 32) * 32
    assert [int(numbers.max()) // 5000 for numbers in epochs] == [0, 1, 2]
    same = [torch.cat(task.schedule("validation", 32, seed=0, epoch=epoch)) for epoch in range(2)]
    assert torch.equal(*same)


def test_settings_of_the_paper() -> None:
    task = tasks.build("frequency", sampling="sync-0.1")
    settings = task.settings
    assert (settings.hidden_size, settings.epochs, settings.batch_size, settings.optimizer) == (110, 70, 32, "adam")
    assert settings.core_options["powerlaw"] == {"epsilon": 1e-5}
    assert settings.core_options["chrono"] == {"t_max": 1250}
    assert [task.size(split) for split in tasks.SPLITS] == [5000, 500, 500]
