"""Several processes share every batch, and together do what one would do, to rounding."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from slowfade.errors import UserError
from slowfade.training import Config, configure, open_run, train
from slowfade.training.run import build_fabric
from training.distributed import gradients
from training.processes import numbers, small, start


def shared(processes: int, **options: Any) -> Config:
    return small(dropout=0.0, devices=processes, **options)


def several(processes: int) -> dict[str, Config]:
    """Batches whose rows count differently, a penalty beside the loss, an orthogonal group, time steps."""
    training: dict[str, Any] = {"hidden": 8, "batch_size": 6, "devices": processes, "dropout": 0.0}
    return {
        "lengths": configure("copying", "lstm", task_options={"delay": "3:30"}, **training),
        "penalty": configure(
            "copying", "nnrnn", task_options={"delay": "3"}, core_options={"modulus_penalty": 0.5}, **training
        ),
        "time": configure("frequency", "powerlaw", **training),
    }


def test_gradients_are_those_of_one_process(tmp_path: Path) -> None:
    found = []
    for processes in (1, 2):
        configs, path = several(processes), tmp_path / str(processes)
        build_fabric(configs["time"], processes, launched=False).launch(partial(gradients, configs=configs, path=path))
        found.append(torch.load(path))
    one, two = found
    for name, expected in one.items():
        assert expected.keys() == two[name].keys()
        for parameter, gradient in expected.items():
            error = (gradient - two[name][parameter]).norm() / gradient.norm()
            assert error < 1e-5, (name, parameter, error)


def test_torchrun_does_what_devices_does(tmp_path: Path) -> None:
    flags = "--hidden 8 --delay 5 --train-sequences 64 --validation-sequences 32 --epochs 2 --batch-size 16 --quiet"
    command = ["-m", "slowfade", "train", "copying", *flags.split(), "--out", str(tmp_path / "torchrun")]
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    done = subprocess.run([*launcher, *command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    spawned = subprocess.run(
        [sys.executable, *command[:-1], str(tmp_path / "devices"), "--devices", "2"], capture_output=True, text=True
    )
    assert spawned.returncode == 0, spawned.stderr
    launched, alone = (open_run(tmp_path / name) for name in ("torchrun", "devices"))
    assert launched.metrics == alone.metrics


@pytest.mark.slow
def test_two_processes_train_as_one_does_and_can_be_killed(tmp_path: Path) -> None:
    train(shared(1), tmp_path / "one", quiet=True)
    train(shared(2), tmp_path / "two", quiet=True)
    for row, expected in zip(open_run(tmp_path / "two").metrics, open_run(tmp_path / "one").metrics, strict=True):
        assert row == pytest.approx(expected, rel=1e-3)
    killed = shared(2, checkpoint_seconds=0.0)
    process = start(killed, tmp_path / "killed")
    while not (tmp_path / "killed" / "checkpoint" / "position.json").exists():
        assert process.is_alive()
    process.kill()
    process.join()
    train(killed, tmp_path / "killed", quiet=True)
    assert numbers(tmp_path / "killed") == numbers(tmp_path / "two")


def test_a_batch_that_cannot_be_shared_evenly() -> None:
    with pytest.raises(UserError, match="a batch of 5 cannot be shared evenly by 2 devices"):
        configure("copying", batch_size=5, devices=2)


def test_other_processes_cannot_go_on(tmp_path: Path) -> None:
    train(shared(1, epochs=1), tmp_path / "run", quiet=True)
    (tmp_path / "run" / "result.json").unlink()
    stored = json.loads((tmp_path / "run" / "config.json").read_text())
    stored["training"]["devices"] = 2
    (tmp_path / "run" / "config.json").write_text(json.dumps(stored))
    with pytest.raises(SystemExit):
        train(shared(2, epochs=1), tmp_path / "run", quiet=True)
