"""The command as a user calls it, with a real server on this machine behind it."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from data import small_files as small
from data.server import Served, serving
from slowfade import cli
from slowfade.data import characters, library
from slowfade.data.dataset import Remote

TEXT = b"the quick brown fox jumps over the lazy dog " * 20 + b"end"
FACTS = {"symbols": 27, "start_sha256": hashlib.sha256(TEXT).hexdigest()}


@pytest.fixture(autouse=True)
def text8(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """A world in which text8 has 883 characters; a server that has it."""
    with serving(Served(TEXT)) as served:
        remote = Remote("text8", hashlib.sha256(TEXT).hexdigest(), (served.url,))
        monkeypatch.setattr(characters, "TEXT8_SIZE", len(TEXT))
        monkeypatch.setattr(characters, "TEXT8_CRC32", zlib.crc32(TEXT))
        monkeypatch.setitem(library.DATASETS, "text8", replace(characters.TEXT8, genuine=FACTS, downloads=(remote,)))
        yield served


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = cli.main(["data", *arguments])
    return status, *capsys.readouterr()


def test_fetch_list_check(capsys: pytest.CaptureFixture[str], cache: Path, text8: Served) -> None:
    status, answer, _ = run(capsys, "fetch", "text8")
    assert (status, answer) == (0, f"text8: {cache / 'text8' / 'published-1'}\n")
    assert run(capsys, "fetch", "text8")[0] == 0
    assert text8.asked == [None]

    status, answer, _ = run(capsys, "list")
    lines = [line.split() for line in answer.splitlines()]
    assert status == 0
    assert [line[0] for line in lines[::2]] == list(library.names())
    assert [" ".join(line) for line in lines[1::2]].count("not here") == 5
    assert str(cache) in answer

    status, answer, _ = run(capsys, "check")
    assert status == 0
    assert "mnist: not here" in answer
    assert "text8: as published" in answer


def test_check_finds_damage(capsys: pytest.CaptureFixture[str], cache: Path) -> None:
    run(capsys, "fetch", "text8")
    with next(cache.rglob("train.npy")).open("r+b") as stream:
        stream.seek(300)
        stream.write(b"\xff")
    status, answer, _ = run(capsys, "check")
    assert status == 1
    assert "text8: train.npy damaged: remove" in answer


def test_import(capsys: pytest.CaptureFixture[str], tmp_path: Path, text8: Served) -> None:
    archive = small.zipped(tmp_path / "text8.zip", {"text8": TEXT})
    status, answer, _ = run(capsys, "import", "text8", str(archive))
    assert status == 0
    assert answer.endswith("published-1\n")
    assert len(library.load("text8").test) == 88
    assert text8.asked == []


def test_a_part_is_not_imported_but_used_where_the_user_says(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text8: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(characters, "TEXT8_KNOWN", 500)
    facts = {**FACTS, "start_sha256": hashlib.sha256(TEXT[:500]).hexdigest()}
    monkeypatch.setitem(library.DATASETS, "text8", replace(library.DATASETS["text8"], genuine=facts))
    part = small.write(tmp_path / "parts" / "text8", TEXT[:700])
    status, _, errors = run(capsys, "import", "text8", str(part))
    assert status == 2
    assert "is not the published text8 (700 of text8's 883 characters" in errors
    assert len(library.load("text8").test) == 88
    assert text8.asked == [None]
    monkeypatch.setenv("SLOWFADE_DATA", str(tmp_path / "parts"))
    text = library.load("text8")
    assert (len(text.test), text.note[:29]) == (70, "700 of text8's 883 characters")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fetch"], "name what to fetch: all, or some of mnist, ptb, text8"),
        (["fetch", "cifar"], "there is no data set 'cifar'; the data sets are mnist"),
        (["import", "cifar", "x"], "there is no data set 'cifar'; the data sets are mnist"),
        (["import"], "Missing from slowfade data import"),
        (["bogus"], "Unrecognized options: bogus"),
        (["import", "text8", "x"], "there is no x: give the file or folder that holds text8"),
    ],
)
def test_errors_are_one_line(capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    status, answer, errors = run(capsys, *arguments)
    assert (status, answer) == (2, "")
    assert errors.startswith(f"slowfade: {message}")
    assert errors.count("\n") == 1


def test_a_truncated_download_source_is_one_line(capsys: pytest.CaptureFixture[str], text8: Served) -> None:
    text8.break_after = [100] * 10
    status, _, errors = run(capsys, "fetch", "text8")
    assert status == 2
    assert "slowfade: could not download text8 (127.0.0.1: broke off): try again later" in errors


def test_help_explains(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main(["data", "import", "--help"])
    assert stopped.value.code == 0
    assert "any of the forms" in capsys.readouterr().out
