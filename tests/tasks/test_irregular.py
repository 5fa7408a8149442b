"""Irregularly sampled sequences: records of patients, glimpses of digits."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import stats

from slowfade import data, tasks
from slowfade.tasks.irregular import ranked_right


def read_record(path: Path) -> dict[float, dict[str, float]]:
    """A patient's file, read once more by other means."""
    steps: dict[float, dict[str, float]] = {}
    for line in path.read_text().splitlines()[1:]:
        clock, parameter, value = line.split(",")
        if parameter != "RecordID" and float(value) != -1:
            hours = int(clock[:2]) + int(clock[3:]) / 60
            steps.setdefault(hours, {})[parameter] = float(value)
    return steps


def check_records(task: tasks.Task, folder: Path, parameters: tuple[str, ...], count: int) -> None:
    """Each step has what the file says was measured then, standardised: values in the order of the file's."""
    patients = data.load("physionet2012").patients
    width = len(parameters)
    numbers = torch.arange(count)
    for split, start in (("train", 0), ("test", len(patients) // 2)):
        batch = task.batch(split, numbers)
        pairs: dict[str, list[tuple[float, float]]] = {parameter: [] for parameter in parameters}
        for row in range(count):
            side = "a" if split == "train" else "b"
            steps = read_record(folder / f"set-{side}" / f"{patients[start + row]}.txt")
            length = int(batch.lengths[row])
            assert length == len(steps)
            np.testing.assert_allclose(batch.dt[row, :length].double().cumsum(0), sorted(steps), atol=1e-3)
            for step, hours in enumerate(sorted(steps)):
                measured = batch.inputs[row, step, width:] == 1
                assert {parameters[i] for i in measured.nonzero()} == set(steps[hours])
                assert (batch.inputs[row, step, :width][~measured] == 0).all()
                for parameter, value in steps[hours].items():
                    pairs[parameter].append((value, float(batch.inputs[row, step, parameters.index(parameter)])))
        for raw, ours in (np.array(values).T for values in pairs.values() if len(values) > 1):
            order = np.argsort(raw, kind="stable")
            assert (np.diff(ours[order]) >= -1e-5).all(), "standardising keeps the order"


def test_records(small_data: Path) -> None:
    task = tasks.build("irregular")
    assert [task.size(split) for split in tasks.SPLITS] == [16, 4, 20]
    check_records(task, small_data, ("Age", "HR", "Height", "Temp"), 10)
    training = task.batch("train", torch.arange(16))
    heart = training.inputs[..., 1][training.inputs[..., 5] == 1]
    assert abs(heart.mean()) < 1e-5
    assert heart.std(correction=0).item() == pytest.approx(1, abs=1e-5)
    assert training.targets.double().mean() == 0.25


def test_glimpses_show_the_pixel_of_their_time(small_data: Path) -> None:
    task = tasks.build("irregular", source="pixels", glimpses=60, time_input=True)
    batch = task.batch("train", torch.arange(40))
    images = data.load("mnist").train_images[:40].reshape(40, -1)
    time = batch.inputs[..., 1]
    torch.testing.assert_close(batch.dt.double().cumsum(1).float(), time, rtol=1e-5, atol=1e-3)
    settled = (time - time.round()).abs() > 1e-3
    pixels = torch.from_numpy(np.take_along_axis(images, time.long().numpy(), 1)) / 255
    torch.testing.assert_close(batch.inputs[..., 0][settled], pixels[settled])
    assert stats.kstest(time.flatten(), "uniform", args=(0, 784)).pvalue > 1e-3
    assert (batch.lengths == 60).all()


def test_ranking_is_the_area_under_the_curve() -> None:
    """Mann and Whitney's U over the number of pairs."""
    random = np.random.RandomState(0)
    scores, targets = random.randint(0, 9, 50) / 10, random.randint(0, 2, 50)
    u = stats.mannwhitneyu(scores[targets == 1], scores[targets == 0]).statistic
    expected = u / ((targets == 1).sum() * (targets == 0).sum())
    measured = ranked_right(torch.from_numpy(scores), torch.from_numpy(targets))
    assert measured.mean.item() == pytest.approx(expected)


@pytest.mark.data
@pytest.mark.skipif("SLOWFADE_DATA" not in os.environ, reason="needs the real data sets")
def test_real_records() -> None:
    task = tasks.build("irregular")
    assert [task.size(split) for split in tasks.SPLITS] == [3200, 800, 4000]
    deaths = {split: int(task.batch(split, torch.arange(task.size(split))).targets.sum()) for split in tasks.SPLITS}
    assert (deaths["train"] + deaths["validation"], deaths["test"]) == (554, 568)
    batch = task.batch("test", torch.arange(500))
    assert batch.lengths.max() <= 203
    assert batch.dt.sum(1).max() < 48.01
    assert batch.inputs.abs().max() < 12
