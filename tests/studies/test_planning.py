"""How long a study takes: arithmetic, and that the measured time is of the right size."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from slowfade import training
from slowfade.studies import STUDIES, planning
from slowfade.studies.planning import Speed
from slowfade.studies.running import Plan


def test_what_is_left_of_a_run() -> None:
    speed = Speed(step=0.1, validation=3.0, test=5.0, steps=1000, validations=10)
    assert speed.left(0) == pytest.approx(100 + 30 + 5)
    assert speed.left(600) == pytest.approx(40 + 12 + 5)
    assert speed.left(1000) == pytest.approx(5)


def test_the_longest_goes_first() -> None:
    assert planning.duration([3, 1, 2], 1) == 6
    assert planning.duration([3, 1, 2], 2) == 3
    assert planning.duration([4, 4, 4], 2) == 8
    assert planning.duration([], 2) == 0


def test_a_prediction_is_of_the_right_size(tmp_path: Path) -> None:
    config = training.configure(
        "copying",
        "lstm",
        task_options={"delay": "80", "train_sequences": 640, "validation_sequences": 128},
        hidden=64,
        batch_size=32,
        max_steps=60,
        threads=1,
    )
    predicted = planning.speed(config)
    assert (predicted.steps, predicted.validations) == (60, 3)
    begin = time.perf_counter()
    training.train(config, tmp_path / "run", quiet=True)
    taken = time.perf_counter() - begin
    assert taken / 5 < predicted.left(0) < 5 * taken


def test_a_plan_counts_what_is_done_and_keeps_the_threads_a_run_began_with(tmp_path: Path) -> None:
    study = STUDIES["generalisation"]
    fresh = Plan([study], "smoke", tmp_path, processes=4, threads=1)
    assert len(fresh.unfinished) == 6
    first, second, *_ = fresh.configs
    training.train(fresh.configs[first], first, quiet=True)
    # Another has begun, with another number of threads.
    other = Plan([study], "smoke", tmp_path, processes=4, threads=2)
    (second / "checkpoint").mkdir(parents=True)
    (second / "checkpoint" / "position.json").write_text('{"step": 4}')
    training.run.prepare(other.configs[second], second)
    assert Plan([study], "smoke", tmp_path, processes=None, threads=None).threads == 1
    again = Plan([study], "smoke", tmp_path, processes=4, threads=1)
    assert len(again.unfinished) == 5
    assert first not in again.configs
    assert again.configs[second].training.threads == 2
    assert planning.steps_done(second) == 4
    assert [run.path for run in again.runs(study)] == [first]
