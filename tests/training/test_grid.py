"""Every task trains with every network."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from slowfade import cores, tasks
from slowfade.training import configure, open_run, train

SMALL: dict[str, dict[str, Any]] = {
    "copying": {"delay": "2:4", "train_sequences": 8, "validation_sequences": 4},
    "frequency": {"train_sequences": 8, "validation_sequences": 4},
    "adding": {"length": 22, "train_sequences": 8, "validation_sequences": 4},
}
#: Their sequences are real, and evaluation sees all of them.
REAL = sorted(set(tasks.names()) - set(SMALL))


def few_steps(task: str, core: str, path: Path) -> None:
    config = configure(
        task, core, task_options=SMALL.get(task, {}), hidden=8, layers=1, batch_size=4, max_steps=2, log_every=1
    )
    result = train(config, path, quiet=True)
    assert result["steps"] == 2
    rows = open_run(path).metrics
    assert [row["split"] for row in rows] == ["train", "train", "validation", "test"]
    assert all(math.isfinite(value) for row in rows for value in row.values() if not isinstance(value, str))


@pytest.mark.parametrize("core", cores.names())
@pytest.mark.parametrize("task", ["adding", "copying"])
def test_made_sequences(task: str, core: str, tmp_path: Path) -> None:
    few_steps(task, core, tmp_path)


@pytest.mark.parametrize("core", ["powerlaw", "lstm", "phased"])
def test_time(core: str, tmp_path: Path) -> None:
    few_steps("frequency", core, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("core", cores.names())
def test_many_steps_of_time(core: str, tmp_path: Path) -> None:
    few_steps("frequency", core, tmp_path)


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize("core", cores.names())
@pytest.mark.parametrize("task", REAL)
def test_real_sequences(task: str, core: str, tmp_path: Path) -> None:
    few_steps(task, core, tmp_path)
