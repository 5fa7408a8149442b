"""A run on disk. A half-written file is never mistaken for a whole one: write, fsync, rename.

config.json         all that is needed to do it again
metrics.jsonl       one row per line; the same for every run of the same configuration
log.jsonl           when what happened, and how fast
checkpoint/         where the run stands
best.safetensors    the weights of the best epoch
result.json         last
"""

from __future__ import annotations

import errno
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

CONFIG, METRICS, LOG, RESULT, BEST, LOCK = (
    "config.json",
    "metrics.jsonl",
    "log.jsonl",
    "result.json",
    "best.safetensors",
    "lock",
)
CHECKPOINT = "checkpoint"

#: What an operating system says when no more can be written.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def write(path: Path, data: bytes) -> None:
    """Put a whole file in place of the old one, or leave the old one."""
    new = path.with_name(path.name + ".new")
    try:
        write_through(new, data)
        os.replace(new, path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def write_through(path: Path, data: bytes) -> None:
    with open(path, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(path: Path) -> None:
    """Make renames in a folder last through a power failure."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_json(path: Path, values: Any) -> None:
    write(path, (json.dumps(values, indent=2) + "\n").encode())


def read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        raise UserError(f"{path.parent} holds no {path.name}: it is not the folder of such a run") from None
    except ValueError:
        raise UserError(f"{path} is damaged: remove {path.parent} and run again") from None


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a file that may be in the middle of its last line, as a run that goes on writes it."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]


def last_row(path: Path, tail: int = 4096) -> dict[str, Any] | None:
    """The last whole row, without reading all of a long file."""
    if not path.exists():
        return None
    with open(path, "rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - tail))
        lines = file.read().split(b"\n")[:-1]
    return json.loads(lines[-1]) if lines else None


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
    whole(path).rename(path) if whole(path).exists() else None
    for leftover in (new, old):
        shutil.rmtree(leftover, ignore_errors=True)


def whole(path: Path) -> Path:
    """Where the content of ``path`` is: in the new folder when the old one has stepped aside already."""
    new, old = _beside(path)
    return new if old.exists() and not path.exists() else path


def _beside(path: Path) -> tuple[Path, Path]:
    return path.with_name(path.name + ".new"), path.with_name(path.name + ".old")


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Only one process works on a run; the operating system gives the lock back however that process ends."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / LOCK, "a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
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
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False
