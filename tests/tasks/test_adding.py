"""The adding problem, as Hochreiter and Schmidhuber describe it."""

from __future__ import annotations

import pytest
import torch
from scipy import stats

from slowfade import tasks

COUNT = 20_000


@pytest.fixture(scope="module")
def batch() -> tasks.Batch:
    return tasks.build("adding", length=60).batch("train", torch.arange(COUNT))


def test_layout(batch: tasks.Batch) -> None:
    values, markers = batch.inputs.unbind(-1)
    rows = torch.arange(COUNT)
    assert (batch.lengths.min(), batch.lengths.max()) == (60, 66)
    assert stats.chisquare(torch.bincount(batch.lengths - 60)).pvalue > 1e-3
    assert (markers[:, 0] == -1).all()
    assert (markers[rows, batch.lengths - 1] == -1).all()
    assert ((markers == -1).sum(1) == 2).all()
    marks = (markers == 1).sum(1)
    assert set(marks.tolist()) == {1, 2}
    assert (markers[:, 29:60] < 1).all()
    assert (markers[:, :10] == 1).any(1)[marks == 2].all()
    padding = torch.arange(values.shape[1]) >= batch.lengths[:, None]
    assert (batch.inputs[padding] == 0).all()
    assert stats.kstest(values[~padding][:5000], "uniform", args=(-1, 2)).pvalue > 1e-3


def test_the_target_is_the_marked_sum(batch: tasks.Batch) -> None:
    values, markers = batch.inputs.unbind(-1)
    torch.testing.assert_close(batch.targets, 0.5 + (values * (markers == 1)).sum(1) / 4)


def test_how_often_the_first_step_is_chosen(batch: tasks.Batch) -> None:
    """First mark: one of ten; second: one of the 28 among the first 29 that are left."""
    chosen = ((batch.inputs[..., 1] == 1).sum(1) == 1).double().mean().item()
    expected = 1 / 10 + 9 / 10 / 28
    assert abs(chosen - expected) < 4 * (expected * (1 - expected) / COUNT) ** 0.5


def test_marks_fall_evenly(batch: tasks.Batch) -> None:
    """Past the tenth step only the second mark falls, on each step alike."""
    assert stats.chisquare((batch.inputs[:, 10:29, 1] == 1).sum(0)).pvalue > 1e-3


def test_loss_without_memory(batch: tasks.Batch) -> None:
    """Each marked number adds 1/3 / 16 of variance."""
    task = tasks.build("adding", length=60)
    marks = (batch.inputs[..., 1] == 1).double().sum(1).mean().item()
    loss = task.loss(torch.full((COUNT, 1), 0.5), batch).mean.item()
    assert loss == pytest.approx(marks / 48, rel=0.03)


def test_accuracy_is_within_four_hundredths(batch: tasks.Batch) -> None:
    task = tasks.build("adding", length=60)
    error = torch.where(torch.arange(COUNT) % 4 == 0, 0.041, -0.039)
    measures = task.measures((batch.targets + error)[:, None], batch)
    assert measures["accuracy"].mean == 0.75
