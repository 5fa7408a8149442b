"""Killed at any instant and started again, a run ends with the same numbers, bit for bit, as one never killed."""

from __future__ import annotations

import random
import signal
import time
from pathlib import Path

import pytest
import torch

from slowfade import cores
from slowfade.errors import UserError
from slowfade.training import folder, open_run, train
from training.processes import ctrl_c, killed_at, numbers, small, start

ALWAYS = {"checkpoint_seconds": 0.0}


def test_killed_at_random_moments(tmp_path: Path, never_killed: dict[str, bytes]) -> None:
    chance = random.Random(5)
    path = tmp_path / "run"
    kills = 0
    while not (path / "result.json").exists():
        process = start(small(**ALWAYS), path)
        process.join(chance.uniform(0, 0.2 + 0.1 * kills))
        if process.is_alive():
            process.kill()
            kills += 1
            process.join()
            assert process.exitcode == -signal.SIGKILL
        else:
            assert process.exitcode == 0
    assert kills >= 3
    assert numbers(path) == never_killed


def test_killed_whenever_the_disk_is_touched(tmp_path: Path, never_killed: dict[str, bytes]) -> None:
    """Before every fsync, rename and removal of the first checkpoints, one after the other."""
    path = tmp_path / "run"
    for count in range(1, 26):
        process = start(small(**ALWAYS), path, killed_at, count)
        process.join()
        assert process.exitcode == -signal.SIGKILL
        if (path / "config.json").exists():
            assert open_run(path).state == "stopped"
    train(small(), path, quiet=True)
    assert numbers(path) == never_killed


def test_killed_between_the_two_renames_of_a_swap(tmp_path: Path) -> None:
    current = tmp_path / "checkpoint"
    for text in ("one", "two"):
        with folder.replaced(current) as new:
            (new / "file").write_text(text)
    current.rename(tmp_path / "checkpoint.old")
    (tmp_path / "checkpoint.new").mkdir()
    (tmp_path / "checkpoint.new" / "file").write_text("three")
    assert (folder.whole(current) / "file").read_text() == "three"
    folder.settle(current)
    assert (current / "file").read_text() == "three"
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint"]


def test_a_half_filled_folder_is_thrown_away(tmp_path: Path) -> None:
    current = tmp_path / "checkpoint"
    with folder.replaced(current) as new:
        (new / "file").write_text("one")
    (tmp_path / "checkpoint.new").mkdir()
    folder.settle(current)
    assert (current / "file").read_text() == "one"
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint"]


@pytest.mark.parametrize("name", cores.names())
def test_every_network_goes_on_after_ctrl_c(name: str, tmp_path: Path) -> None:
    options = {"exprnn": {"mode": "dynamic", "rebase_every": 3}}.get(name)
    config = small(name, core_options=options, epochs=1, optimizer="adam", batch_size=20)
    train(config, tmp_path / "whole", quiet=True)
    ctrl_c(config, tmp_path / "run", after=4)
    assert open_run(tmp_path / "run").state == "stopped"
    torch.manual_seed(1)
    train(config, tmp_path / "run", quiet=True)
    assert numbers(tmp_path / "run") == numbers(tmp_path / "whole")


def test_a_second_process_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run"
    process = start(small(epochs=10_000), path)
    while not folder.is_locked(path):
        time.sleep(0.01)
    try:
        assert open_run_when_there(path) == "running"
        with pytest.raises(UserError, match=f"is being trained by process {process.pid} on"):
            train(small(epochs=10_000), path, quiet=True)
    finally:
        process.kill()
        process.join()
    assert open_run(path).state == "stopped"


def open_run_when_there(path: Path) -> str:
    while not (path / folder.CONFIG).exists():
        time.sleep(0.01)
    return open_run(path).state
