"""Runs in processes of their own, to be killed. Imported by name, as a new process must find what it is to do."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

from slowfade.training import Config, configure, run, train
from slowfade.training.progress import Watcher

# A server that has imported everything forks each new process in no time.
context = multiprocessing.get_context("forkserver")
context.set_forkserver_preload(["slowfade.training"])


def small(core: str = "powerlaw", core_options: dict[str, Any] | None = None, **training: Any) -> Config:
    """Some epochs of a tiny run, with all that a checkpoint has to hold: dropout, an optimiser, a best epoch."""
    settings = {"hidden": 8, "epochs": 10, "batch_size": 16, "dropout": 0.2, "log_every": 3, "evaluate_every": 5}
    settings["threads"] = 1  # as many in every process: sums are rounded differently with another number
    options = {"delay": "5", "train_sequences": 160, "validation_sequences": 32}
    return configure("copying", core, task_options=options, core_options=core_options, **{**settings, **training})


def write_text(folder: Path, letters: int) -> Path:
    """Penn Treebank in miniature, so many characters long."""
    folder.mkdir(exist_ok=True)
    for split, count in {"train": letters, "valid": 120, "test": 90}.items():
        text = " ".join(chr(ord("a") + number * number % 7) for number in range(count - 1))
        (folder / f"ptb.char.{split}.txt").write_text(text + " \n")
    return folder


def numbers(path: Path) -> dict[str, bytes]:
    """What must not depend on kills, byte for byte."""
    return {name: (path / name).read_bytes() for name in ("metrics.jsonl", "result.json", "best.safetensors")}


def start(config: Config, path: Path, function: Callable[..., None] | None = None, *more: Any) -> BaseProcess:
    process = context.Process(target=function or quietly, args=(config, path, *more))
    process.start()
    return process


def quietly(config: Config, path: Path) -> None:
    train(config, path, quiet=True)


class CtrlC(Watcher):
    """Sends the signal after some steps."""

    def __init__(self, after: int) -> None:
        self.after = after

    def stepped(self, step: int) -> None:
        if step == self.after:
            signal.raise_signal(signal.SIGINT)


def ctrl_c(config: Config, path: Path, after: int) -> None:
    """Train for some steps and stop as on Ctrl-C."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "watchers", lambda *_: CtrlC(after))
        with pytest.raises(KeyboardInterrupt):
            train(config, path, quiet=True)


def killed_at(config: Config, path: Path, count: int) -> None:
    """Die just before the n-th time that something on disk is made to last, renamed or removed."""
    left = count

    def counted(function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(*arguments: Any, **options: Any) -> Any:
            nonlocal left
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*arguments, **options)

        return wrapper

    for owner, name in ((os, "fsync"), (os, "replace"), (os, "rename"), (os, "truncate"), (shutil, "rmtree")):
        setattr(owner, name, counted(getattr(owner, name)))
    Path.rename = counted(Path.rename)  # type: ignore[method-assign]
    quietly(config, path)
