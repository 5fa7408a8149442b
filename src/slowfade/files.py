"""Files that are there as a whole or not at all: write, fsync, rename."""

from __future__ import annotations

import errno
import os
from pathlib import Path

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


def write_through(path: Path, *parts: bytes | memoryview) -> None:
    """Write a file down to the disk."""
    with open(path, "wb") as file:
        for part in parts:
            file.write(part)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(path: Path) -> None:
    """Make renames in a folder last through a power failure."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
