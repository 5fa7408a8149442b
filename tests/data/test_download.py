"""Downloads from a real server on this machine, which breaks off, refuses ranges, and serves wrong bytes."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from data.server import Served, serving
from slowfade.data.dataset import Remote
from slowfade.data.download import BLOCK, download
from slowfade.errors import UserError

CONTENT = random.Random(0).randbytes(300_000)
WRONG = random.Random(1).randbytes(300_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()

#: Run as a process of its own: downloads CONTENT and parses it, in the cache that the environment names.
FETCHER = """
import sys, resource, numpy as np
from slowfade.cli import _fail
from slowfade.data import library
from slowfade.data.dataset import Dataset, Remote
from slowfade.data.store import Parsed, read
from slowfade.errors import UserError
url, sha256, limit = sys.argv[1], sys.argv[2], int(sys.argv[3])
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
def parse(paths):
    return Parsed({"bytes": np.frombuffer(paths[0].read_bytes(), np.uint8)}, {})
dataset = Dataset("small", "", "", (), (Remote("file.bin", sha256, (url,)),), 0, parse, lambda parsed: parsed)
try:
    print(len(read(library.fetch(dataset)).arrays["bytes"]))
except UserError as error:
    sys.exit(_fail(str(error)))
"""


def fetcher(url: str, cache: Path, limit: int = 0) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", FETCHER, url, SHA256, str(limit)],
        env={**os.environ, "SLOWFADE_CACHE": str(cache)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*") if path.is_file()} - {".lock"}


def test_brings_the_file(tmp_path: Path) -> None:
    with serving(Served(CONTENT)) as served:
        path = download(Remote("file.bin", SHA256, (served.url,)), tmp_path)
    assert path.read_bytes() == CONTENT
    assert served.asked == [None]
    assert files(tmp_path) == {"file.bin"}


def test_goes_on_where_it_was_broken_off(tmp_path: Path) -> None:
    with serving(Served(CONTENT, break_after=[100_000, 50_000])) as served:
        path = download(Remote("file.bin", SHA256, (served.url,)), tmp_path)
    assert path.read_bytes() == CONTENT
    first = 100_000 // BLOCK * BLOCK
    second = first + 50_000 // BLOCK * BLOCK
    assert served.asked == [None, f"bytes={first}-", f"bytes={second}-"]


def test_the_next_call_goes_on_too_at_another_mirror(tmp_path: Path) -> None:
    with (
        serving(Served(CONTENT, break_after=[100_000, *[0] * 9])) as broken,
        serving(Served(CONTENT, pause=0)) as sound,
    ):
        with pytest.raises(UserError, match=r"could not download file.bin \(127.0.0.1: broke off\): .*data import"):
            download(Remote("file.bin", SHA256, (broken.url,)), tmp_path)
        assert files(tmp_path) == {"file.bin.part"}
        path = download(Remote("file.bin", SHA256, (sound.url,)), tmp_path)
    assert path.read_bytes() == CONTENT
    assert sound.asked == [f"bytes={100_000 // BLOCK * BLOCK}-"]


def test_starts_over_where_the_server_has_no_ranges(tmp_path: Path) -> None:
    with serving(Served(CONTENT, ranges=False, break_after=[100_000])) as served:
        path = download(Remote("file.bin", SHA256, (served.url,)), tmp_path)
    assert path.read_bytes() == CONTENT
    assert served.sent == len(CONTENT) + 100_000


@pytest.mark.parametrize("left", [WRONG[:1000], WRONG, WRONG + WRONG, CONTENT], ids=["start", "whole", "more", "right"])
def test_what_an_older_download_left_is_used_only_if_right(tmp_path: Path, left: bytes) -> None:
    (tmp_path / "file.bin.part").write_bytes(left)
    with serving(Served(CONTENT)) as served:
        path = download(Remote("file.bin", SHA256, (served.url,)), tmp_path)
    assert path.read_bytes() == CONTENT
    assert files(tmp_path) == {"file.bin"}
    assert served.sent <= len(CONTENT) + (len(CONTENT) - len(left) if left == WRONG[:1000] else 0)


def test_what_a_killed_process_left_beside_it_goes(tmp_path: Path) -> None:
    (tmp_path / "tmpx1y2z3").write_bytes(CONTENT)
    with serving(Served(CONTENT)) as served:
        download(Remote("file.bin", SHA256, (served.url,)), tmp_path)
    assert files(tmp_path) == {"file.bin"}


def test_a_mirror_with_other_bytes_is_passed_over(tmp_path: Path) -> None:
    with serving(Served(WRONG)) as wrong, serving(Served(CONTENT)) as right:
        path = download(Remote("file.bin", SHA256, (wrong.url, right.url)), tmp_path)
    assert path.read_bytes() == CONTENT
    assert right.asked == [None]


def test_wrong_bytes_everywhere(tmp_path: Path) -> None:
    with serving(Served(WRONG)) as served, pytest.raises(UserError, match=r"127.0.0.1: wrong checksum"):
        download(Remote("file.bin", SHA256, (served.url,)), tmp_path)
    assert files(tmp_path) == set()


def test_a_mirror_without_the_file(tmp_path: Path) -> None:
    with serving(Served(CONTENT, status=404)) as served, pytest.raises(UserError, match=r"127.0.0.1: 404 Not Found"):
        download(Remote("file.bin", SHA256, (served.url,)), tmp_path)
    assert len(served.asked) == 1


def test_no_network(tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        urls = (f"http://127.0.0.1:{unused.getsockname()[1]}/", "http://nowhere.invalid/")
        with pytest.raises(UserError, match=r"\(no network\): try again later, or .* `slowfade data import "):
            download(Remote("file.bin", SHA256, urls), tmp_path)


def test_two_processes_download_once(tmp_path: Path) -> None:
    with serving(Served(CONTENT, pause=0.01)) as served:
        processes = [fetcher(served.url, tmp_path) for _ in range(2)]
        answers = [process.communicate() for process in processes]
    assert answers == [(f"{len(CONTENT)}\n", "")] * 2
    assert served.asked == [None]
    assert files(tmp_path) == {"index.json", "bytes.npy"}


def test_a_killed_download_is_gone_on_with(tmp_path: Path) -> None:
    with serving(Served(CONTENT, pause=0.02)) as served:
        first = fetcher(served.url, tmp_path)
        part = tmp_path / "small" / "downloads" / "file.bin.part"
        while not (part.exists() and part.stat().st_size):
            assert first.poll() is None
            time.sleep(0.01)
        os.kill(first.pid, signal.SIGKILL)
        first.communicate()
        have = part.stat().st_size
        assert 0 < have < len(CONTENT)
        served.pause = 0
        answer, _ = fetcher(served.url, tmp_path).communicate()
    assert answer == f"{len(CONTENT)}\n"
    assert served.asked == [None, f"bytes={have}-"]
    assert files(tmp_path) == {"index.json", "bytes.npy"}


@pytest.mark.parametrize("limit", [100_000, 300_050], ids=["in the download", "in what is parsed"])
def test_a_full_disk_is_said_in_one_line_and_nothing_stays(tmp_path: Path, limit: int) -> None:
    with serving(Served(CONTENT)) as served:
        process = fetcher(served.url, tmp_path, limit)
        answer, errors = process.communicate()
    assert process.returncode == 2
    assert answer == ""
    assert errors.count("\n") == 1
    assert "is full: make room, or set SLOWFADE_CACHE" in errors
    assert not [name for name in files(tmp_path) if name != "file.bin"]
