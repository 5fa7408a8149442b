"""A run: started, resumed, read."""

from __future__ import annotations

import contextlib
import inspect
import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal

import torch
from lightning.fabric import Fabric
from lightning.fabric.strategies import DDPStrategy
from torch.multiprocessing.spawn import ProcessExitedException
from torch.nn.parallel import DistributedDataParallel

import slowfade
from slowfade.errors import UserError
from slowfade.files import FULL
from slowfade.tasks.task import Task
from slowfade.training import checkpoint, folder
from slowfade.training.config import Config, differences
from slowfade.training.loop import Loop
from slowfade.training.model import Model
from slowfade.training.progress import Watcher, watchers

Result = dict[str, Any]

#: Seconds within which the first process ends the others.
PATIENCE = 5.0

# Fabric says what it does through both. Here, so that every process that is spawned comes by it.
for logger in ("lightning.fabric", "lightning.pytorch"):
    logging.getLogger(logger).setLevel(logging.WARNING)


@dataclass(frozen=True)
class Run:
    """A run's folder, read: what was trained, how it went, and the trained model."""

    path: Path
    config: Config

    @cached_property
    def task(self) -> Task:
        return self.config.build_task()

    @cached_property
    def model(self) -> Model:
        """With the weights of the best epoch; of the last checkpoint where no epoch is over yet."""
        weights = self.path / folder.BEST
        if not weights.exists():
            weights = folder.whole(self.path / folder.CHECKPOINT) / checkpoint.WEIGHTS
        if not weights.exists():
            raise UserError(f"{self.path} has no weights yet: wait for its first checkpoint")
        model = self.config.build_model(self.task)
        model.load_state_dict(checkpoint.decode(weights))
        return model.eval()

    @property
    def metrics(self) -> list[dict[str, Any]]:
        """The rows of ``metrics.jsonl``."""
        return folder.read_rows(self.path / folder.METRICS)

    @property
    def result(self) -> Result | None:
        """What the run ended with, if it has ended."""
        path = self.path / folder.RESULT
        return folder.read_json(path) if path.exists() else None

    @property
    def state(self) -> Literal["finished", "running", "stopped"]:
        if (self.path / folder.RESULT).exists():
            return "finished"
        return "running" if folder.is_locked(self.path) else "stopped"


def open_run(path: str | Path) -> Run:
    """A run, finished or not."""
    path = Path(path)
    try:
        return Run(path, Config.from_json(json.loads((path / folder.CONFIG).read_bytes())))
    except (FileNotFoundError, NotADirectoryError):
        raise UserError(f"{path} holds no {folder.CONFIG}: it is not the folder of a run") from None
    except (AttributeError, KeyError, TypeError, ValueError):
        raise UserError(f"{path / folder.CONFIG} is damaged or not that of a run: choose another folder") from None


def train(config: Config, out: str | Path, *, quiet: bool = False) -> Result:
    """Train, or go on where a run of this configuration stopped. A finished run is not run again.

    Args:
        config: from :func:`slowfade.training.configure`.
        out: the run's folder.
        quiet: show nothing.

    Returns:
        What stands in ``result.json``.
    """
    path = Path(out)
    if folder.finished(path):
        check_same(config, path)
        return folder.read_json(path / folder.RESULT)
    launched = "TORCHELASTIC_RUN_ID" in os.environ
    processes = int(os.environ["WORLD_SIZE"]) if launched else config.training.devices
    fabric = build_fabric(config, processes, launched)
    try:
        fabric.launch(partial(work, config=config, path=path, quiet=quiet))
    except ProcessExitedException as error:
        # A child has said already, in one line, what is wrong.
        sys.exit(error.exit_code)
    return folder.read_json(path / folder.RESULT)


def work(fabric: Fabric, config: Config, path: Path, quiet: bool) -> None:
    """What each process of a run does."""
    try:
        with subnormals_flushed():
            run(fabric, config, path, quiet)
    except UserError as error:
        if fabric.world_size == 1:
            raise
        if not fabric.is_global_zero:
            # What all processes find, the first says, and the others are ended with it. What only this one finds, such
            # as data that its machine lacks, leaves it alive to say so.
            time.sleep(PATIENCE)
        print(f"slowfade: {error}", file=sys.stderr, flush=True)
        sys.exit(2)
    except KeyboardInterrupt:
        if fabric.world_size == 1:
            raise
        sys.exit(130)


def run(fabric: Fabric, config: Config, path: Path, quiet: bool) -> None:
    if config.training.threads:
        torch.set_num_threads(config.training.threads)
    if config.training.batch_size % fabric.world_size:
        raise UserError(f"{fabric.world_size} processes cannot share a batch of {config.training.batch_size} evenly")
    loop = Loop(fabric, config, path)
    with contextlib.ExitStack() as stack:
        refusal = None
        if fabric.is_global_zero:
            try:
                with folder.usable(path):
                    if (path / folder.CONFIG).exists():  # before a lock is left in what may be somebody else's
                        check_same(config, path)
                    stack.enter_context(folder.locked(path))
                    prepare(config, path)
            except UserError as error:
                refusal = str(error)
        if refusal := fabric.broadcast(refusal):
            raise UserError(refusal)
        with folder.usable(path):
            watcher: Watcher = watchers(config, path, quiet) if fabric.is_global_zero else Watcher()
        reason = "error"
        try:
            with no_more_space(path):
                result = loop.run(watcher)
                if fabric.is_global_zero:
                    folder.write_json(path / folder.RESULT, {**summary(config), **result})
            fabric.barrier()  # every process returns the result
            reason = "finished"
        except KeyboardInterrupt:
            reason = "interrupted"
            raise
        except UserError as error:
            reason = str(error)
            raise
        finally:
            watcher.end(reason)


def prepare(config: Config, path: Path) -> None:
    """The folder is there, belongs to this configuration, and what a kill left half done is settled."""
    folder.settle(path / folder.CHECKPOINT)
    if (path / folder.CONFIG).exists():
        check_same(config, path)
    else:
        versions = {"slowfade": slowfade.__version__, "commit": commit(), "torch": torch.__version__}
        folder.write_json(path / folder.CONFIG, {**config.to_json(), "versions": versions})


def check_same(config: Config, path: Path) -> None:
    if found := differences(open_run(path).config, config):
        raise UserError(f"{path} holds another run: {'; '.join(found)}. Choose another --out, or the same settings")


def summary(config: Config) -> dict[str, Any]:
    training = config.training
    return {
        "task": {"name": config.task, **config.task_options},
        "core": {"name": config.core, **config.core_options},
        "hidden": training.hidden,
        "layers": training.layers,
        "seed": training.seed,
    }


def build_fabric(config: Config, processes: int, launched: bool) -> Fabric:
    """Devices, precision, and how processes work together: gloo between CPUs, nccl between GPUs."""
    training = config.training
    cuda = torch.cuda.is_available()
    if training.accelerator == "cuda" and not cuda:
        raise UserError("--accelerator cuda: PyTorch finds no GPU here")
    accelerator = "cuda" if cuda and training.accelerator != "cpu" else "cpu"
    local = int(os.environ["LOCAL_WORLD_SIZE"]) if launched else processes
    if accelerator == "cuda" and local > torch.cuda.device_count():
        raise UserError(f"{local} devices were asked for, and this machine has {torch.cuda.device_count()} GPUs")
    # Buffers never differ between the processes, so that there is nothing to broadcast before each step.
    known = inspect.signature(DistributedDataParallel).parameters
    broadcast = "forward_sync_buffers" if "forward_sync_buffers" in known else "broadcast_buffers"
    options: dict[str, Any] = {broadcast: False}
    strategy = DDPStrategy(start_method="popen" if launched else "spawn", **options)
    return Fabric(
        accelerator=accelerator,
        devices=local,
        num_nodes=processes // local,
        precision=training.precision,
        strategy=strategy if processes > 1 else "auto",
    )


@contextlib.contextmanager
def subnormals_flushed() -> Iterator[None]:
    """Take subnormal numbers for zero: gradients that fade over hundreds of steps end in them, and a CPU is twenty
    times slower on them. Afterwards it is as it was before."""
    before = bool(torch.tensor(5e-324, dtype=torch.float64) * 1.0 == 0)
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(before)


@contextlib.contextmanager
def no_more_space(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in FULL:
            raise
        raise UserError(
            f"nothing more can be written to {path} ({error.strerror}); the last checkpoint is kept: "
            "make room, and start the same command again"
        ) from None


def commit() -> str | None:
    """The commit of the source, where it runs from a checkout; with a + where files were changed since."""
    source = Path(slowfade.__file__).parent

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(source), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()

    try:
        if Path(git("rev-parse", "--show-toplevel")) / "src" / "slowfade" != source:
            return None
        return git("rev-parse", "HEAD") + ("+" if git("status", "--porcelain", "--", ".") else "")
    except (OSError, subprocess.SubprocessError):
        return None
