"""Several processes share every batch, and together do what one would do, to rounding."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from slowfade.errors import UserError
from slowfade.training import Config, configure, folder, open_run, train
from slowfade.training.run import build_fabric
from training.distributed import gradients
from training.processes import ctrl_c, numbers, small, start


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


def assert_alike(path: Path, other: Path) -> None:
    """The same rows of metrics, to rounding."""
    for row, expected in zip(open_run(path).metrics, open_run(other).metrics, strict=True):
        assert row.pop("split") == expected.pop("split")
        assert row == pytest.approx(expected, rel=1e-3)


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
    assert_alike(tmp_path / "two", tmp_path / "one")
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


def carried(processes: int, core: str = "powerlaw", **training: Any) -> Config:
    """Thirteen streams, the state carried on from chunk to chunk."""
    settings = {"hidden": 4, "batch_size": 14, "epochs": 3, "threads": 1, "log_every": 1, "devices": processes}
    return configure("characters", core, task_options={"length": 10}, **{**settings, **training})


@pytest.mark.slow
@pytest.mark.parametrize("core", ["powerlaw", "eurnn"])
def test_carried_state_whose_rows_do_not_divide_evenly(text: None, core: str, tmp_path: Path) -> None:
    path, config = tmp_path / "killed", carried(2, core, checkpoint_seconds=0.0)
    train(config, tmp_path / "whole", quiet=True)
    process = start(config, path)
    while not (path / "checkpoint" / "position.json").exists():
        assert process.is_alive()
    process.kill()
    process.join()
    while folder.is_locked(path):
        time.sleep(0.01)
    assert open_run(path).state == "stopped"
    train(config, path, quiet=True)
    assert numbers(path) == numbers(tmp_path / "whole")
    train(carried(1, core), tmp_path / "one", quiet=True)
    assert_alike(path, tmp_path / "one")


def test_one_process_carries_its_state_over_ctrl_c(text: None, tmp_path: Path) -> None:
    train(carried(1), tmp_path / "whole", quiet=True)
    ctrl_c(carried(1), tmp_path / "run", after=3)
    train(carried(1), tmp_path / "run", quiet=True)
    assert numbers(tmp_path / "run") == numbers(tmp_path / "whole")


def command(path: Path, devices: int, *flags: str) -> subprocess.CompletedProcess[str]:
    small = f"--hidden 4 --delay 5 --epochs 1 --batch-size 16 --threads 1 --quiet --devices {devices} --out {path}"
    arguments = [sys.executable, "-m", "slowfade", "train", "copying", *small.split(), *flags]
    return subprocess.run(arguments, capture_output=True, text=True)


def test_a_process_without_rows_to_validate_on_and_none_that_says_anything(tmp_path: Path) -> None:
    for devices in (1, 2):
        done = command(tmp_path / str(devices), devices, "--train-sequences", "32", "--validation-sequences", "1")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert_alike(tmp_path / "2", tmp_path / "1")


def test_fewer_sequences_than_processes(tmp_path: Path) -> None:
    done = command(tmp_path / "run", 2, "--train-sequences", "1", "--validation-sequences", "1")
    assert done.returncode == 2
    # PyTorch says beside it that it ends the other process.
    assert "slowfade: 2 processes cannot share batches of 1 sequences: take fewer --devices" in done.stderr.splitlines()


def test_what_only_one_process_finds_is_said(text: None, tmp_path: Path) -> None:
    """As where one machine of several lacks the data."""
    train_it = f"{sys.executable} -m slowfade train characters --hidden 4 --batch-size 14 --out {tmp_path / 'run'}"
    script = f"if [ $RANK = 1 ]; then export SLOWFADE_DATA=/nowhere; fi; exec {train_it}"
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "--no-python"]
    done = subprocess.run([*launcher, "sh", "-c", script], capture_output=True, text=True)
    assert done.returncode != 0
    assert done.stderr.count("slowfade: SLOWFADE_DATA is '/nowhere', which is no folder") == 1
