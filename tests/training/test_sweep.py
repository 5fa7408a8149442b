"""Many runs: processes of this machine, and a real Ray cluster that loses a worker."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from slowfade.errors import UserError
from slowfade.training import folder, open_run, train, train_all
from slowfade.training.pools import Cluster
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


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::FutureWarning", "ignore::DeprecationWarning")
def test_a_run_that_takes_a_gpu_where_there_is_one_reserves_it(tmp_path: Path, gpu_cluster: None) -> None:
    import ray

    before = ray.available_resources()
    cluster = Cluster("ray")
    cluster.start(tmp_path / "run", small(epochs=10_000))
    while ray.available_resources() == before:
        time.sleep(0.05)
    assert ray.available_resources().get("GPU", 0) == before["GPU"] - 1
    cluster.close()
    assert ray.is_initialized(), "it was not this pool that began it"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::FutureWarning", "ignore::DeprecationWarning")
def test_a_cluster_elsewhere(tmp_path: Path) -> None:
    """Through a real server of Ray's, as a cluster's head has one."""
    pytest.importorskip("ray")
    flags = "--hidden 8 --delay 5 --train-sequences 160 --validation-sequences 32 --epochs 2 --batch-size 16"
    port = free_port()
    ray = [str(Path(sys.executable).with_name("ray")), "start", "--head", "--block", "--num-cpus=1"]
    options = [f"--port={free_port()}", f"--ray-client-server-port={port}", "--include-dashboard=false"]
    head = subprocess.Popen([*ray, *options, f"--temp-dir={tmp_path / 'ray'}"], stdout=subprocess.DEVNULL)
    try:
        wait_for(port)
        sweep = [sys.executable, "-m", "slowfade", "sweep", "copying", *flags.split(), "--out", str(tmp_path / "runs")]
        done = subprocess.run([*sweep, "--on", f"ray://127.0.0.1:{port}"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert open_run(tmp_path / "runs" / "powerlaw-0").state == "finished"
    finally:
        head.terminate()
        head.wait()


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def wait_for(port: int) -> None:
    deadline = time.monotonic() + 120
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        assert time.monotonic() < deadline, "Ray's server does not answer"
        time.sleep(0.5)


@pytest.fixture
def gpu_cluster() -> Iterator[None]:
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=1, num_gpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    yield
    ray.shutdown()


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
        (["--seeds", "5:2"], "--seeds 5:2 is an empty range"),
        (["--seeds", "1,1"], "powerlaw-1 would be trained twice"),
        (["--cores", "lstm", "lstm"], "lstm-0 would be trained twice"),
        (["--vary", "delay=3,3"], "powerlaw-delay=3-0 would be trained twice"),
        (["--seed", "3"], "--seed is set by --seeds in a sweep"),
        (["--core=lstm"], "--core is set by --cores in a sweep"),
        (["--vary", "seed=1,2"], "--seed is set by --seeds in a sweep"),
        (["--vary", "out=a,b"], "--out is set by --out, the folder of all runs, in a sweep"),
        (["--vary", "learning_rate=1", "--learning-rate", "2"], "--learning-rate is set by --vary learning_rate="),
        (["--vary", "delay=1", "delay=2"], "--delay is set by --vary delay="),
        (["--processes", "0"], "--processes should be at least 1, got 0"),
        (["--on", "mars"], "--on mars: runs are trained on local, ray, or ray://ADDRESS:PORT"),
    ],
)
def test_flags_that_cannot_be(flags: list[str], message: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=message):
        main(["copying", "--out", str(tmp_path), *flags])
