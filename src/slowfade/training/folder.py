"""A run on disk. A half-written file is never mistaken for a whole one: write, fsync, rename.

config.json         all that is needed to do it again
metrics.jsonl       one row per line; the same for every run of the same configuration
log.jsonl           when what happened, and how fast
checkpoint/         where the run stands
best.safetensors    the weights of the best epoch
result.json         last
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from slowfade.errors import UserError
from slowfade.files import sync_folder, write

CONFIG, METRICS, LOG, RESULT, BEST, LOCK = (
    "config.json",
    "metrics.jsonl",
    "log.jsonl",
    "result.json",
    "best.safetensors",
    "lock",
)
CHECKPOINT = "checkpoint"


def write_json(path: Path, values: Any) -> None:
    write(path, (json.dumps(values, indent=2) + "\n").encode())


def read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (FileNotFoundError, ValueError):
        raise UserError(f"{path} is damaged: remove {path.parent} and run again") from None


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a file that may be in the middle of its last line, as a run that goes on writes it."""
    if not path.exists():
        return []
    return [_row(path, line) for line in path.read_bytes().split(b"\n")[:-1]]


def last_row(path: Path, tail: int = 4096) -> dict[str, Any] | None:
    """The last whole row, without reading all of a long file."""
    if not path.exists():
        return None
    with open(path, "rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - tail))
        lines = file.read().split(b"\n")[:-1]
    return _row(path, lines[-1]) if lines else None


def _row(path: Path, line: bytes) -> dict[str, Any]:
    try:
        return json.loads(line)
    except ValueError:
        raise UserError(f"{path} is damaged: remove {path.parent} and run again") from None


class Rows:
    """A file of rows that grows by whole lines.

    Args:
        path: the file.
        size: how much of it is known to be good; what was written after is cut off. ``None``: all of it.
    """

    def __init__(self, path: Path, size: int | None = None) -> None:
        if size is not None and size > (path.stat().st_size if path.exists() else 0):
            raise UserError(f"{path} is shorter than the checkpoint says: remove {path.parent} and run again")
        self.file = open(path, "ab")  # noqa: SIM115
        if size is not None:
            self.file.truncate(size)

    def append(self, row: Mapping[str, Any]) -> None:
        self.file.write((json.dumps(row) + "\n").encode())
        self.file.flush()

    def sync(self) -> int:
        """Make all of it last; its size."""
        os.fsync(self.file.fileno())
        return os.fstat(self.file.fileno()).st_size

    def close(self) -> None:
        self.file.close()


@contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """A folder to fill that takes the place of ``path`` as a whole, once it is full.

    No file system swaps two folders in one step everywhere, so the old one steps aside first. :func:`settle` finishes
    a swap that was interrupted.
    """
    new, old = _beside(path)
    settle(path)
    new.mkdir()
    try:
        yield new
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise
    sync_folder(new)
    if path.exists():
        path.rename(old)
    new.rename(path)
    sync_folder(path.parent)
    shutil.rmtree(old, ignore_errors=True)


def settle(path: Path) -> None:
    """Finish or undo what :func:`replaced` was interrupted in."""
    new, old = _beside(path)
    if not path.exists() and whole(path).exists():
        whole(path).rename(path)
    for leftover in (new, old):
        shutil.rmtree(leftover, ignore_errors=True)


def whole(path: Path) -> Path:
    """Where the content of ``path`` is: in the new folder when the old one has stepped aside already."""
    new, old = _beside(path)
    return new if old.exists() and not path.exists() else path


def _beside(path: Path) -> tuple[Path, Path]:
    return path.with_name(path.name + ".new"), path.with_name(path.name + ".old")


def finished(folder: Path) -> bool:
    """Whether a run has ended here."""
    with usable(folder):
        return (folder / RESULT).exists()


@contextmanager
def usable(folder: Path) -> Iterator[None]:
    """A place where no run can be, in one line."""
    try:
        yield
    except OSError as error:
        raise UserError(f"{folder} cannot be a run's folder ({error.strerror}): choose another --out") from None


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Only one process works on a run; the operating system gives the lock back however that process ends."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / LOCK, "a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            owner = file.read().strip() or "another process"
            raise UserError(f"{folder} is being trained by {owner}: wait for it, or choose another --out") from None
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}\n")
        file.flush()
        yield


def is_locked(folder: Path) -> bool:
    """Whether a process works on this run now."""
    try:
        with open(folder / LOCK) as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
