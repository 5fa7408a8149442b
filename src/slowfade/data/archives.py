"""Reading files out of folders, archives and compressed files: one way for all, and nothing is written to disk."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any

from slowfade.errors import UserError

OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
BUFFER = 2**18
TAR_ENDINGS = (".tar", ".tgz", *(f".tar{ending}" for ending in OPENERS))
DAMAGED = (EOFError, gzip.BadGzipFile, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile, zlib.error)


def members(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """The files at ``path``, each with its name inside and an open stream, which lasts until the next is asked for.

    A folder gives its files, a tar or zip archive its members, any other file itself; what is compressed (``.gz``,
    ``.xz``, ``.bz2``) is read and named as if it were not. An archive with a link, a device or a name that leads out
    of it is refused.
    """
    with _explained(path):
        if path.is_dir():
            files = _folder(path)
        elif path.name.endswith(TAR_ENDINGS):
            files = _tar(path)
        elif path.suffix == ".zip":
            files = _zip(path)
        else:
            files = _file(path)
        for name, stream in files:
            plain = PurePosixPath(name)
            if plain.suffix in OPENERS and not plain.name.endswith(TAR_ENDINGS):
                name, stream = str(plain.with_suffix("")), OPENERS[plain.suffix](stream)
            yield name, io.BufferedReader(_Explained(path, stream), BUFFER)


class _Explained(io.RawIOBase):
    """A stream that says in one line what is wrong with the archive it is from."""

    def __init__(self, path: Path, stream: IO[bytes]) -> None:
        self.path, self.stream = path, stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        with _explained(self.path):
            block = self.stream.read(len(buffer))
        buffer[: len(block)] = block
        return len(block)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except DAMAGED as error:
        raise UserError(f"{path} is cut short or damaged ({error}): get it again") from error
    except PermissionError as error:
        raise UserError(f"{error.filename} may not be read: change its permissions") from error
    except OSError as error:
        if error.errno is None:  # what bz2 raises on damage
            raise UserError(f"{path} is cut short or damaged ({error}): get it again") from error
        raise


def _folder(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    for file in sorted(path.rglob("*")):
        if file.is_file():
            with file.open("rb") as stream:
                yield file.relative_to(path).as_posix(), stream


def _file(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    with path.open("rb") as stream:
        yield path.name, stream


def _tar(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    with tarfile.open(path, "r|*") as archive:
        for member in archive:
            _refuse_unsafe_name(path, member.name)
            if not (member.isreg() or member.isdir()):
                raise UserError(
                    f"{path} holds {member.name!r}, a link or device: it is not used; get the original archive"
                )
            stream = archive.extractfile(member)
            if stream is not None:
                yield member.name, stream


def _zip(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            _refuse_unsafe_name(path, member.filename)
            kind = member.external_attr >> 28  # of Unix's file mode; 0 where the archive was made elsewhere
            if kind not in (0, 0o4, 0o10):
                raise UserError(
                    f"{path} holds {member.filename!r}, a link or device: it is not used; get the original archive"
                )
            if not member.is_dir():
                with archive.open(member) as stream:
                    yield member.filename, stream


def _refuse_unsafe_name(path: Path, name: str) -> None:
    inside = PurePosixPath(name.replace("\\", "/"))
    if inside.is_absolute() or ".." in inside.parts or ":" in name[:2]:
        raise UserError(f"{path} holds {name!r}, a path out of the archive: it is not used; get the original archive")
