"""Many runs: processes of this machine, and a real Ray cluster that loses a worker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from slowfade.errors import UserError
from slowfade.training import folder, open_run, train, train_all
from slowfade.training.sweep_command import Sweep, expand, main
from training.processes import numbers, small


def test_finished_runs_are_not_run_again(tmp_path: Path) -> None:
    done, left = tmp_path / "done", tmp_path / "left"
    train(small(epochs=1), done, quiet=True)
    before = {path: path.stat().st_mtime_ns for path in done.rglob("*")}
    configs = {done: small(epochs=1), left: small("lstm", epochs=1)}
    assert train_all(configs, quiet=True) == {}
    assert {path: path.stat().st_mtime_ns for path in done.rglob("*")} == before
    assert open_run(left).state == "finished"
    assert train_all(configs, quiet=True) == {}


def test_a_run_that_fails_does_not_stop_the_others(tmp_path: Path) -> None:
    bad, good = tmp_path / "bad", tmp_path / "good"
    failures = train_all({bad: small(epochs=1, learning_rate=1e37), good: small(epochs=1)}, processes=1, quiet=True)
    assert list(failures) == [bad]
    assert "no longer finite" in failures[bad]
    assert open_run(good).state == "finished"


def test_runs_stop_with_the_sweep_and_go_on_with_it(tmp_path: Path) -> None:
    path = tmp_path / "powerlaw-0"
    flags = "--hidden 8 --delay 5 --train-sequences 160 --validation-sequences 32 --epochs 2000 --batch-size 16"
    command = [sys.executable, "-m", "slowfade", "sweep", "copying", *flags.split(), "--out", str(tmp_path)]
    sweep = subprocess.Popen([*command, "--processes", "1"], stdout=subprocess.DEVNULL)
    while not (path / "metrics.jsonl").exists():
        assert sweep.poll() is None
        time.sleep(0.05)
    sweep.kill()
    sweep.wait()
    deadline = time.monotonic() + 60
    while folder.is_locked(path):
        assert time.monotonic() < deadline, "the run went on without its sweep"
        time.sleep(0.05)
    run = open_run(path)
    assert run.state == "stopped"
    assert (folder.last_row(path / "log.jsonl") or {})["reason"] == "interrupted"
    assert (path / "checkpoint" / "position.json").exists()


@pytest.fixture
def ray_cluster() -> Iterator[None]:
    ray = pytest.importorskip("ray")
    # Workers import this package from where this process does.
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="error")
    yield
    ray.shutdown()


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::FutureWarning", "ignore::DeprecationWarning")
def test_a_cluster_that_loses_a_worker(tmp_path: Path, ray_cluster: None) -> None:
    config = small(epochs=60, checkpoint_seconds=0.0)
    train(config, tmp_path / "whole", quiet=True)
    path = tmp_path / "run"
    killed = []

    def kill_the_worker() -> None:
        while not (path / "checkpoint" / "position.json").exists():
            time.sleep(0.01)
        killed.append(int((path / "lock").read_text().split()[1]))
        os.kill(killed[0], signal.SIGKILL)

    killer = threading.Thread(target=kill_the_worker)
    killer.start()
    assert train_all({path: config}, on="ray", quiet=True) == {}
    killer.join()
    assert killed
    assert numbers(path) == numbers(tmp_path / "whole")
    events = [row["event"] for row in folder.read_rows(path / "log.jsonl")]
    assert "resumed" in events


def test_what_a_sweep_trains(tmp_path: Path) -> None:
    sweep = Sweep(cores=("powerlaw", "lstm"), seeds="1:3", vary=("delay=10,20", "learning-rate=0.01"), out=tmp_path)
    configs = expand("copying", sweep, ["--hidden", "16"])
    assert len(configs) == 2 * 2 * 2
    config = configs[tmp_path / "lstm-delay=20-learning-rate=0.01-2"]
    assert (config.core, config.task_options["delay"]) == ("lstm", "20")
    assert (config.training.seed, config.training.learning_rate, config.training.hidden) == (2, 0.01, 16)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--seeds", "a"], "--seeds a should be numbers"),
        (["--vary", "delay"], "--vary delay should be NAME=VALUE"),
        (["--vary", "nothing=1,2"], "Unrecognized options: --nothing=1"),
        (["--cores", "lstm", "rnn"], "there is no network 'rnn'"),
        (["--on", "mars"], "--on mars: runs are trained on local, ray, or ray://ADDRESS:PORT"),
    ],
)
def test_flags_that_cannot_be(flags: list[str], message: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=message):
        main(["copying", "--out", str(tmp_path), *flags])
