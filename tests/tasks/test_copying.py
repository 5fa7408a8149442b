"""The copy task, laid out as the paper says."""

from __future__ import annotations

import math

import pytest
import torch
from scipy import stats
from torch.nn import functional as F

from slowfade import tasks
from slowfade.tasks.task import NO_TARGET

DUMMY, SIGNAL = 8, 9


@pytest.mark.parametrize("delay", [1, 7, 200])
def test_layout(delay: int) -> None:
    """n symbols, T dummies, the signal, n - 1 dummies; n + T dummies, the n symbols."""
    batch = tasks.build("copying", delay=str(delay)).batch("train", torch.tensor([3, 99_999]))
    for inputs, targets in zip(batch.inputs.tolist(), batch.targets.tolist(), strict=True):
        symbols = inputs[:10]
        assert set(symbols) <= set(range(8))
        assert inputs == symbols + [DUMMY] * delay + [SIGNAL] + [DUMMY] * 9
        assert targets == [DUMMY] * (10 + delay) + symbols
    assert batch.lengths is None


def test_variable_layout() -> None:
    """As with a fixed delay, then dummies without targets."""
    task = tasks.build("copying", delay="20:50")
    batch = task.batch("validation", torch.arange(300))
    delays = batch.lengths - 20
    assert delays.unique().tolist() == list(range(20, 51))
    assert stats.chisquare(torch.bincount(delays - 20)).pvalue > 1e-3
    for row, (length, delay) in enumerate(zip(batch.lengths.tolist(), delays.tolist(), strict=True)):
        symbols = batch.inputs[row, :10].tolist()
        assert batch.inputs[row, :length].tolist() == symbols + [DUMMY] * delay + [SIGNAL] + [DUMMY] * 9
        assert batch.targets[row, :length].tolist() == [DUMMY] * (10 + delay) + symbols
        assert (batch.inputs[row, length:] == DUMMY).all()
        assert (batch.targets[row, length:] == NO_TARGET).all()


@pytest.mark.parametrize(("delay", "mean_length"), [("200", 220), ("200:300", None)])
def test_loss_without_memory(delay: str, mean_length: float | None) -> None:
    """10 ln 8 / (T + 20) for who knows when, but not what."""
    task = tasks.build("copying", delay=delay)
    batch = task.batch("train", torch.arange(20))
    recall = (batch.targets >= 0) & (batch.targets < 8)
    certain = F.one_hot(batch.targets.clamp(min=0), 10) * 1e3
    guess = torch.tensor([0.0] * 8 + [-1e3] * 2)
    prediction = torch.where(recall[..., None], guess, certain)
    mean_length = mean_length or batch.lengths.double().mean().item()
    torch.testing.assert_close(task.loss(prediction, batch).mean.item(), 10 * math.log(8) / mean_length)


@pytest.mark.parametrize("delay", ["15", "15:40"])
def test_accuracies(delay: str) -> None:
    task = tasks.build("copying", delay=delay)
    batch = task.batch("train", torch.arange(8))
    lengths = batch.lengths if batch.lengths is not None else torch.full((8,), 35)
    prediction = F.one_hot(batch.targets.clamp(min=0), 10).float()

    def measured() -> tuple[float, float]:
        measures = task.measures(prediction, batch)
        return measures["accuracy"].mean.item(), measures["sequence_accuracy"].mean.item()

    assert measured() == (1, 1)
    prediction[:, :25] = 0  # what is said during the delay does not count
    assert measured() == (1, 1)
    for row, wrong in ((0, 1), (5, 3)):
        prediction[row, lengths[row] - wrong : lengths[row], DUMMY] = 2
    assert measured() == pytest.approx((1 - 4 / 80, 1 - 2 / 8))


def test_symbols_are_balanced() -> None:
    task = tasks.build("copying", delay="1")
    symbols = task.batch("train", torch.arange(5000)).inputs[:, :10]
    for position in symbols.T:
        assert stats.chisquare(torch.bincount(position, minlength=8)).pvalue > 1e-4


def test_splits_and_seeds_differ() -> None:
    numbers = torch.arange(100)
    draws = [
        tasks.build("copying", delay="1", data_seed=seed).batch(split, numbers).inputs[:, :10]
        for seed in (0, 1)
        for split in tasks.SPLITS
    ]
    assert len(torch.cat(draws).unique(dim=0)) == 600


@pytest.mark.usefixtures("unchecked")
def test_a_delay_may_be_a_number() -> None:
    assert tasks.build("copying", delay=30) == tasks.build("copying", delay="30")


def test_settings_of_the_paper() -> None:
    settings = tasks.build("copying", delay="200:500").settings
    assert settings.core_options["chrono"]["t_max"] == 750
    assert (settings.optimizer, settings.learning_rate, settings.batch_size) == ("rmsprop", 1e-3, 128)
    assert (settings.hidden_size, settings.clip_norm, settings.solved) == (128, 1.0, 0.999)
    task = tasks.build("copying")
    assert [task.size(split) for split in tasks.SPLITS] == [100_000, 10_000, 10_000]
