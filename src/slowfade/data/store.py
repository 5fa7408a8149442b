"""Parsed data sets on disk: a folder of ``.npy`` files, opened as memory maps, and one small ``index.json``."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import logging
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pooch
from filelock import FileLock, Timeout

from slowfade.errors import UserError
from slowfade.files import FULL, write_through

log = logging.getLogger(__name__)

INDEX = "index.json"
UNFINISHED = ".unfinished-"
CLOSED = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST)


class Parsed(NamedTuple):
    """A data set as arrays and facts."""

    arrays: Mapping[str, np.ndarray]
    facts: Mapping[str, Any]
    """What identifies the content (counts, checksums), as JSON can hold it."""
    note: str = ""
    """What the user should know, if this is not the usual data set."""


def cache() -> Path:
    """``SLOWFADE_CACHE``, or the platform's own place for caches."""
    chosen = os.environ.get("SLOWFADE_CACHE")
    return Path(chosen).expanduser() if chosen else Path(pooch.os_cache("slowfade"))


@contextmanager
def locked(name: str) -> Iterator[Path]:
    """The cache folder of a data set, held by one process at a time; the lock goes with the process."""
    folder = cache() / name
    with explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / ".lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            log.info("waiting for another process that prepares %s", name)
            lock.acquire()
    try:
        for leftover in folder.glob(f"{UNFINISHED}*"):  # of a process that was killed
            shutil.rmtree(leftover)
        yield folder
    finally:
        lock.release()


@contextmanager
def explained(folder: Path) -> Iterator[None]:
    """A full or read-only disk, in one line."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            message = f"the disk of {folder} is full: make room, or set SLOWFADE_CACHE to a folder on another disk"
        elif error.errno in CLOSED:
            message = f"cannot write to {folder} ({error.strerror}): set SLOWFADE_CACHE to a folder of your own"
        else:
            raise
        raise UserError(message) from error


def write(folder: Path, parsed: Parsed) -> None:
    """All of it or nothing: written beside ``folder``, flushed to the disk, then renamed."""
    with explained(folder.parent):
        unfinished = Path(tempfile.mkdtemp(prefix=UNFINISHED, dir=folder.parent))
        try:
            index: dict[str, Any] = {"facts": dict(parsed.facts), "note": parsed.note, "arrays": {}}
            for name, array in parsed.arrays.items():
                index["arrays"][name] = _write_array(unfinished / f"{name}.npy", np.ascontiguousarray(array))
            write_through(unfinished / INDEX, json.dumps(index, indent=1).encode())
            shutil.rmtree(folder, ignore_errors=True)
            unfinished.rename(folder)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)


def read(folder: Path) -> Parsed:
    """The arrays as memory maps, copied on write: the file stays as it is."""
    try:
        index = json.loads((folder / INDEX).read_bytes())
        arrays = {name: np.load(folder / f"{name}.npy", mmap_mode="c") for name in index["arrays"]}
        return Parsed(arrays, index["facts"], index["note"])
    except (OSError, EOFError, ValueError, KeyError) as error:
        raise UserError(f"{folder} is damaged ({error}): remove it, and it will be made again") from error


def damage(folder: Path) -> list[str]:
    """The files of a parsed data set that no longer are what was written."""
    digests = json.loads((folder / INDEX).read_bytes())["arrays"]
    files = {folder / f"{name}.npy": digest for name, digest in digests.items()}
    return [file.name for file, digest in files.items() if not file.is_file() or checksum(file) != digest]


def checksum(path: Path) -> str:
    """SHA-256 of a file, or of a folder's file names and contents."""
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file())
        lines = [f"{file.relative_to(path).as_posix()} {checksum(file)}\n" for file in files]
        return hashlib.sha256("".join(lines).encode()).hexdigest()
    with path.open("rb") as stream:
        return _digest(iter(lambda: stream.read(2**20), b""))


def stamp(path: Path) -> str:
    """Names, sizes and times of a file, or of a folder's files: as long as it is the same, so are the contents."""
    files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    found = ((file, file.stat()) for file in files)
    return "".join(f"{file.relative_to(path)} {status.st_size} {status.st_mtime_ns}\n" for file, status in found)


def digest_of(*arrays: np.ndarray) -> str:
    """SHA-256 of the bytes of arrays, one after the other."""
    return _digest(np.ascontiguousarray(array).data for array in arrays)


def _digest(blocks: Iterator[Any]) -> str:
    sha = hashlib.sha256()
    for block in blocks:
        sha.update(block)
    return sha.hexdigest()


def _write_array(path: Path, array: np.ndarray) -> str:
    # Not np.save: on a full disk its error does not say that the disk is full.
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(array))
    write_through(path, header.getvalue(), array.data)
    return checksum(path)
