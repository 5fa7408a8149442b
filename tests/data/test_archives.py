"""One way to read folders, archives and compressed files; hostile and damaged ones are refused in one line."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import random
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest

from data.small_files import tar, tree, zipped
from slowfade.data.archives import members
from slowfade.errors import UserError

FILES = {"sets/a.txt": b"first", "sets/deep/b.txt": random.Random(0).randbytes(200_000), "c": b""}
COMPRESS = {".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress}


def read(path: Path) -> dict[str, bytes]:
    return {name: stream.read() for name, stream in members(path)}


@pytest.mark.parametrize("name", ["x.tar", "x.tar.gz", "x.tgz", "x.tar.xz", "x.tar.bz2", "x.zip"])
def test_an_archive_reads_as_its_folder(tmp_path: Path, name: str) -> None:
    make = zipped if name.endswith(".zip") else tar
    assert read(make(tmp_path / name, FILES)) == FILES == read(tree(tmp_path / "folder", FILES))


@pytest.mark.parametrize("ending", COMPRESS)
def test_compressed_files_read_as_if_they_were_not(tmp_path: Path, ending: str) -> None:
    content = COMPRESS[ending](b"text")
    (tmp_path / f"a.txt{ending}").write_bytes(content)
    assert read(tmp_path / f"a.txt{ending}") == {"a.txt": b"text"}
    assert read(tar(tmp_path / "x.tar", {f"in/a.txt{ending}": content})) == {"in/a.txt": b"text"}
    assert read(zipped(tmp_path / "x.zip", {f"in/a.txt{ending}": content})) == {"in/a.txt": b"text"}


@pytest.mark.parametrize("share", [0.02, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("name", ["x.tar.gz", "x.tar.xz", "x.tar.bz2", "x.zip", "x.gz", "x.xz", "x.bz2"])
def test_a_truncated_archive_is_refused(tmp_path: Path, name: str, share: float) -> None:
    path = tmp_path / name
    if ".tar" in name:
        tar(path, FILES)
    elif name == "x.zip":
        zipped(path, FILES)
    else:
        path.write_bytes(COMPRESS[path.suffix](FILES["sets/deep/b.txt"]))
    os.truncate(path, int(path.stat().st_size * share))
    with pytest.raises(UserError, match=r"cut short or damaged .*: get it again") as raised:
        read(path)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name", ["x.tar.gz", "x.zip", "x.xz"])
def test_what_is_no_archive_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"<html>not found</html>" * 100)
    with pytest.raises(UserError, match="cut short or damaged"):
        read(tmp_path / name)


UNSAFE = ["/etc/passwd", "../out", "a/../../out", "..", "C:/out", "..\\out", "\\\\host\\out"]


@pytest.mark.parametrize("name", UNSAFE)
def test_a_path_out_of_the_archive_is_refused(tmp_path: Path, name: str) -> None:
    for path in (tar(tmp_path / "x.tar", {name: b""}), zipped(tmp_path / "x.zip", {name: b""})):
        with pytest.raises(UserError, match="a path out of the archive"):
            read(path)


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_in_a_tar_are_refused(tmp_path: Path, kind: bytes) -> None:
    with tarfile.open(tmp_path / "x.tar", "w") as archive:
        member = tarfile.TarInfo("a.txt")
        member.type, member.linkname = kind, "/etc/passwd"
        archive.addfile(member)
    with pytest.raises(UserError, match="a link or device"):
        read(tmp_path / "x.tar")


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFIFO])
def test_links_and_devices_in_a_zip_are_refused(tmp_path: Path, kind: int) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        member = zipfile.ZipInfo("a.txt")
        member.external_attr = (kind | 0o644) << 16
        archive.writestr(member, "/etc/passwd")
    with pytest.raises(UserError, match="a link or device"):
        read(tmp_path / "x.zip")


def test_a_zip_of_folders_and_regular_files_made_on_unix_is_read(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        for name, mode in (("in/", stat.S_IFDIR | 0o755), ("in/a.txt", stat.S_IFREG | 0o644)):
            member = zipfile.ZipInfo(name)
            member.external_attr = mode << 16
            archive.writestr(member, "" if name.endswith("/") else "text")
    assert read(tmp_path / "x.zip") == {"in/a.txt": b"text"}


def test_nothing_is_written(tmp_path: Path) -> None:
    path = tar(tmp_path / "x.tar", FILES)
    before = sorted(tmp_path.rglob("*"))
    read(path)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_stream_can_be_read_in_lines(tmp_path: Path) -> None:
    path = tar(tmp_path / "x.tar.gz", {"a.txt": b"one\ntwo\n"})
    assert [list(stream) for _, stream in members(path)] == [[b"one\n", b"two\n"]]
