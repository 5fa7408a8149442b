"""Where the runs of a sweep are trained: processes of this machine, or a Ray cluster."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from slowfade.errors import UserError
from slowfade.training.config import Config


class Ended(NamedTuple):
    """A run that is over."""

    path: Path
    error: str | None
    """Why it failed, in one line."""


class Pool(Protocol):
    capacity: int
    """How many runs it takes at the same time."""

    def start(self, path: Path, config: Config) -> None: ...

    def ended(self) -> Iterator[Ended]:
        """The runs that are over since this was last asked."""

    def close(self) -> None:
        """Stop what still runs; it can be resumed."""


class Processes:
    """Processes of this machine, which share its cores evenly."""

    def __init__(self, processes: int | None) -> None:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self.capacity = processes or cores
        # The same for every run of a sweep, however few are left: sums are rounded differently with other threads.
        self.environment = {**os.environ, "OMP_NUM_THREADS": str(max(1, cores // self.capacity))}
        self.running: dict[Path, tuple[subprocess.Popen[bytes], Any]] = {}

    def start(self, path: Path, config: Config) -> None:
        errors = tempfile.TemporaryFile()  # noqa: SIM115
        process = subprocess.Popen(
            [sys.executable, "-m", "slowfade.training.worker", str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            env=self.environment,
            start_new_session=True,
        )
        assert process.stdin is not None
        process.stdin.write((json.dumps(config.to_json()) + "\n").encode())
        process.stdin.flush()
        self.running[path] = process, errors

    def ended(self) -> Iterator[Ended]:
        for path, (process, errors) in list(self.running.items()):
            if (status := process.poll()) is None:
                continue
            del self.running[path]
            process.communicate()
            errors.seek(0)
            lines = errors.read().decode(errors="replace").strip().splitlines()
            yield Ended(path, None if status == 0 else (lines or [f"killed (status {status})"])[-1])
            errors.close()

    def close(self) -> None:
        for process, _ in self.running.values():
            assert process.stdin is not None
            process.stdin.close()
        for process, errors in self.running.values():
            process.wait()
            errors.close()


class Cluster:
    """A Ray cluster, whose machines share the file system that the runs' folders are on.

    Ray starts a run again where its worker was lost, and the run goes on from its last checkpoint.
    """

    capacity = sys.maxsize
    retries = 100

    def __init__(self, address: str) -> None:
        import ray

        self.ray = ray
        self.connected = not ray.is_initialized()  # by this pool, and not by its caller
        if self.connected:
            options: dict[str, Any] = {"log_to_driver": False, "logging_level": "error"}
            try:
                if address == "ray":
                    ray.init(include_dashboard=False, **options)
                else:
                    ray.init(address, **options)
            except (ConnectionError, ValueError, RuntimeError) as error:
                raise UserError(f"--on {address}: there is no Ray cluster ({str(error).splitlines()[0]})") from None
        self.train = ray.remote(max_retries=self.retries)(train_remotely)
        self.running: dict[Any, Path] = {}
        self.has_gpus = ray.cluster_resources().get("GPU", 0) > 0

    def start(self, path: Path, config: Config) -> None:
        accelerator = config.training.accelerator
        on_gpu = accelerator == "cuda" or (accelerator == "auto" and self.has_gpus)
        gpus = config.training.devices if on_gpu else 0
        cpus = config.training.devices * (config.training.threads or 1)
        task = self.train.options(num_cpus=cpus, num_gpus=gpus, name=path.name)
        self.running[task.remote(json.dumps(config.to_json()), str(path.resolve()))] = path

    def ended(self) -> Iterator[Ended]:
        if not self.running:
            return
        done, _ = self.ray.wait(list(self.running), num_returns=len(self.running), timeout=0)
        for reference in done:
            try:
                error = self.ray.get(reference)
            except self.ray.exceptions.RayError as failure:
                error = str(failure).strip().splitlines()[-1]
            yield Ended(self.running.pop(reference), error)

    def close(self) -> None:
        for reference in self.running:
            self.ray.cancel(reference, force=True)
        if self.connected:
            self.ray.shutdown()


def train_remotely(config: str, path: str) -> str | None:
    """On a machine of the cluster: train, and say what a user can put right."""
    from slowfade.training.run import train

    try:
        train(Config.from_json(json.loads(config)), path, quiet=True)
    except UserError as error:
        return str(error)
    return None


def pool(on: str, processes: int | None) -> Pool:
    """``local``, ``ray`` or ``ray://address``."""
    if processes is not None and processes < 1:
        raise UserError(f"--processes should be at least 1, got {processes}")
    if on == "local":
        return Processes(processes)
    if on != "ray" and not on.startswith("ray://"):
        raise UserError(f"--on {on}: runs are trained on local, ray, or ray://ADDRESS:PORT")
    try:
        return Cluster(on)
    except ModuleNotFoundError:
        raise UserError(f"--on {on} needs Ray: pip install 'slowfade[cluster]'") from None
