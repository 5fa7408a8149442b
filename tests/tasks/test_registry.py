"""Every task by name, and what all of them keep to."""

from __future__ import annotations

import dataclasses
import inspect
import re
from pathlib import Path

import pytest
import torch
from torch import Tensor

from slowfade import tasks
from slowfade.errors import UserError
from slowfade.tasks import Task

SMALL = {"train_sequences": 40, "validation_sequences": 30}
TASKS = [
    ("copying", {"delay": "30", **SMALL}),
    ("copying", {"delay": "3:40", **SMALL}),
    ("pixels", {}),
    ("pixels", {"permuted": True}),
    ("characters", {"length": 17}),
    ("sentiment", {"words": 20}),
    ("frequency", {"sampling": "sync-1", **SMALL}),
    ("frequency", {"sampling": "sync-0.1", "time_input": True, **SMALL}),
    ("frequency", {"sampling": "async", **SMALL}),
    ("adding", {"length": 40, **SMALL}),
    ("irregular", {}),
    ("irregular", {"source": "pixels", "glimpses": 50, "time_input": True}),
]


@pytest.fixture(params=TASKS, ids=lambda parameter: " ".join(map(str, (parameter[0], *parameter[1].values()))))
def task(request: pytest.FixtureRequest, small_data: Path) -> Task:
    name, options = request.param
    return tasks.build(name, **options)


def prediction_for(task: Task, batch: tasks.Batch) -> Tensor:
    steps = batch.inputs.shape[:2] if task.every_step else batch.inputs.shape[:1]
    return torch.randn(*steps, task.output_size)


def test_names() -> None:
    assert tasks.names() == ("copying", "pixels", "characters", "sentiment", "frequency", "adding", "irregular")
    assert {name for name, _ in TASKS} == set(tasks.names())


@pytest.mark.parametrize("name", tasks.names())
def test_every_option_is_documented(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The docstring under a field is its help."""
    tyro = pytest.importorskip("tyro")
    with pytest.raises(SystemExit):
        tyro.cli(tasks.kinds()[name], args=["--help"])
    text = re.sub(r"\x1b\[[0-9;]*m|[│\s]+", " ", capsys.readouterr().out)
    documented = inspect.getsource(tasks.kinds()[name])
    for field in dataclasses.fields(tasks.kinds()[name]):
        match = re.search(rf'    {field.name}: .*\n    """(.*)"""', documented)
        assert match, f"{field.name} has no docstring"
        assert match[1][:40] in text


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("copyin", {}, "there is no task 'copyin'; the tasks are copying, pixels"),
        ("copying", {"delays": 3}, "copying has no option 'delays'; its options are delay, train_sequences"),
        ("copying", {"delay": "long"}, "--delay long should be a number"),
        ("copying", {"delay": "3:"}, "--delay 3: should be a number"),
        ("copying", {"delay": "0"}, "--delay should be at least 1, got 0"),
        ("copying", {"delay": "9:3"}, "--delay 9:3 should go from the smaller"),
        ("copying", {"train_sequences": 0}, "--train-sequences should be at least 1"),
        ("pixels", {"permutation": "mine"}, "--permutation should be one of 92916, lmu, nru"),
        ("pixels", {"permutation": "lmu"}, "--permutation lmu needs --permuted"),
        ("characters", {"corpus": "enwik8"}, "--corpus should be one of ptb, text8"),
        ("characters", {"length": 0}, "--length should be at least 1"),
        ("sentiment", {"words": 0}, "--words should be at least 1"),
        ("frequency", {"sampling": "sync-2"}, "--sampling should be one of sync-1, sync-0.1, async"),
        ("adding", {"length": 21}, "--length should be at least 22"),
        ("irregular", {"source": "stars"}, "--source should be one of physionet, pixels"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_errors_in_one_line(name: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(UserError) as error:
        tasks.build(name, **options)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_number_names_one_sequence(task: Task) -> None:
    """Whatever comes with it in a batch."""
    for split in tasks.SPLITS:
        numbers = torch.randperm(task.size(split))[:9]
        together = task.batch(split, numbers)
        for row, number in enumerate(numbers):
            alone = task.batch(split, number[None])
            steps = alone.inputs.shape[1]
            assert torch.equal(alone.inputs[0], together.inputs[row, :steps])
            if task.every_step:
                assert torch.equal(alone.targets[0], together.targets[row, :steps])
                assert (together.targets[row, steps:] == -100).all()
            else:
                assert torch.equal(alone.targets[0], together.targets[row])
            if alone.lengths is not None:
                assert alone.lengths[0] == together.lengths[row] == steps
            if alone.dt is not None:
                assert torch.equal(alone.dt[0], together.dt[row, :steps])


def test_a_batch_may_be_empty(task: Task) -> None:
    """A process may have no share of a split's last batch."""
    for split in tasks.SPLITS:
        batch = task.batch(split, torch.arange(0))
        assert all(part is None or len(part) == 0 for part in batch)


def test_batches_fit_the_description(task: Task) -> None:
    batch = task.batch("train", torch.arange(5))
    match task.encoding:
        case tasks.Numbers(width):
            assert batch.inputs.dtype == torch.float32
            assert batch.inputs.shape[2:] == (width,)
            assert batch.inputs.isfinite().all()
        case tasks.Symbols(count, _):
            assert batch.inputs.min() >= 0
            assert batch.inputs.max() < count
        case tasks.Vectors(table):
            assert table.dtype == torch.float32
            assert batch.inputs.max() < len(table)
    if batch.dt is not None:
        assert batch.dt.shape == batch.inputs.shape[:2]
        assert batch.dt.dtype == torch.float32
        assert (batch.dt >= 0).all()
        assert batch.dt.isfinite().all()
    prediction = prediction_for(task, batch)
    for measure in (task.loss(prediction, batch), *task.measures(prediction, batch).values()):
        assert measure.total.shape == measure.count.shape == ()
        assert measure.mean.isfinite()


def test_measures_add_up(task: Task) -> None:
    """Of two batches as of one; the ranking of pairs only within batches."""
    whole = task.batch("train", torch.arange(12))
    prediction = prediction_for(task, whole)
    halves = []
    for rows in (slice(0, 7), slice(7, 12)):
        part = tasks.Batch(*(None if tensor is None else tensor[rows] for tensor in whole))
        halves.append({"loss": task.loss(prediction[rows], part), **task.measures(prediction[rows], part)})
    for name, measure in {"loss": task.loss(prediction, whole), **task.measures(prediction, whole)}.items():
        if name != "auroc":
            torch.testing.assert_close((halves[0][name] + halves[1][name]).mean, measure.mean)


def test_the_schedule_covers_every_number_once(task: Task) -> None:
    for split in ("validation", "test"):
        numbers = torch.cat(task.schedule(split, 8, seed=3, epoch=2))
        assert sorted(numbers[numbers < task.size(split)].tolist()) == list(range(task.size(split)))


def test_training_is_shuffled_by_seed_and_epoch(task: Task) -> None:
    first = task.schedule("train", 8, seed=0, epoch=0)
    if task.carries_state:
        # A text is read in order, every time.
        assert torch.equal(torch.stack(first), torch.stack(task.schedule("train", 8, seed=1, epoch=1)))
        return
    assert all(len(numbers) == 8 for numbers in first)
    assert len(first) == task.size("train") // 8
    assert len(torch.cat(first).unique()) == 8 * len(first)
    assert torch.equal(torch.stack(first), torch.stack(task.schedule("train", 8, seed=0, epoch=0)))
    for other in (task.schedule("train", 8, seed=1, epoch=0), task.schedule("train", 8, seed=0, epoch=1)):
        assert not torch.equal(torch.stack(first), torch.stack(other))


def test_settings_name_measures_that_are_reported(task: Task) -> None:
    batch = task.batch("train", torch.arange(2))
    reported = {"loss", *task.measures(prediction_for(task, batch), batch)}
    settings = task.settings
    assert settings.best in reported
    assert settings.solved_by is None or settings.solved_by in reported
    assert (settings.solved_by or settings.best) != "loss" or settings.solved is None


def test_settings_for_one_network(small_data: Path) -> None:
    settings = tasks.build("sentiment").settings
    assert (settings.for_core("powerlaw").hidden_size, settings.for_core("powerlaw").learning_rate) == (154, 5e-4)
    assert settings.for_core("lstm") == settings
    assert (settings.hidden_size, settings.learning_rate) == (128, 1e-3)
