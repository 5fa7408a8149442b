"""Parsed data sets on disk: whole or not there, opened as memory maps."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from slowfade.data import store
from slowfade.data.store import Parsed
from slowfade.errors import UserError

ARRAYS = {"ids": np.arange(1000, dtype=np.uint8), "images": np.random.default_rng(0).normal(size=(5, 4, 3))}


@pytest.fixture
def written(tmp_path: Path) -> Path:
    store.write(tmp_path / "set", Parsed(ARRAYS, {"count": 5}, "a note"))
    return tmp_path / "set"


def test_what_is_written_is_read(written: Path) -> None:
    parsed = store.read(written)
    assert (dict(parsed.facts), parsed.note) == ({"count": 5}, "a note")
    for name, array in ARRAYS.items():
        assert isinstance(parsed.arrays[name], np.memmap)
        assert parsed.arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(parsed.arrays[name], array)


def test_the_files_are_ordinary_npy(written: Path) -> None:
    np.testing.assert_array_equal(np.load(written / "images.npy"), ARRAYS["images"])


def test_changing_an_array_leaves_the_file_as_it_is(written: Path) -> None:
    torch.from_numpy(store.read(written).arrays["ids"]).fill_(7)
    np.testing.assert_array_equal(store.read(written).arrays["ids"], ARRAYS["ids"])


def test_damage_is_found(written: Path) -> None:
    assert store.damage(written) == []
    with (written / "ids.npy").open("r+b") as stream:
        stream.seek(500)
        stream.write(b"\xff")
    (written / "images.npy").unlink()
    assert store.damage(written) == ["ids.npy", "images.npy"]


@pytest.mark.parametrize("name", ["ids.npy", "images.npy", "index.json"])
def test_a_truncated_file_is_said_in_one_line(written: Path, name: str) -> None:
    os.truncate(written / name, 60)
    with pytest.raises(UserError, match=r"is damaged .*: remove it, and it will be made again"):
        store.read(written)


def test_an_older_version_is_replaced(written: Path) -> None:
    store.write(written, Parsed({"other": np.zeros(3)}, {}))
    assert list(store.read(written).arrays) == ["other"]
    assert {path.name for path in written.iterdir()} == {"other.npy", "index.json"}


FULL = """
import resource, sys, numpy as np
from pathlib import Path
from slowfade.data import store
from slowfade.errors import UserError
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
try:
    store.write(Path(sys.argv[1]), store.Parsed({"small": np.zeros(10), "large": np.zeros(10_000)}, {}))
except UserError as error:
    print(error)
"""


def test_on_a_full_disk_the_older_version_stays_and_nothing_else(written: Path) -> None:
    answer = subprocess.run([sys.executable, "-c", FULL, str(written)], capture_output=True, text=True, check=True)
    assert answer.stdout == (
        f"the disk of {written.parent} is full: make room, or set SLOWFADE_CACHE to a folder on another disk\n"
    )
    assert store.damage(written) == []
    assert list(written.parent.iterdir()) == [written]


def test_what_a_killed_process_left_unfinished_goes(cache: Path) -> None:
    with store.locked("small") as folder:
        (folder / ".unfinished-1").mkdir()
        (folder / ".unfinished-1" / "half.npy").touch()
    with store.locked("small") as folder:
        assert [path.name for path in folder.iterdir()] == [".lock"]


def test_a_cache_that_cannot_be_written(cache: Path) -> None:
    cache.write_text("a file in its place")
    with pytest.raises(UserError, match=r"cannot write to .*: set SLOWFADE_CACHE"), store.locked("small"):
        pass


def test_the_cache_is_the_platforms_own_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    monkeypatch.delenv("SLOWFADE_CACHE", raising=False)
    assert store.cache().name == "slowfade"
    monkeypatch.setenv("SLOWFADE_CACHE", "~/elsewhere")
    assert store.cache() == Path.home() / "elsewhere"


def test_checksum_of_a_folder_is_that_of_names_and_contents(tmp_path: Path) -> None:
    for number, (name, text) in enumerate([("a", "x"), ("b", "x"), ("a", "y")]):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / name).write_text(text)
    (tmp_path / "again").mkdir()
    (tmp_path / "again" / "a").write_text("x")
    sums = [store.checksum(tmp_path / name) for name in ("0", "1", "2", "again")]
    assert len(set(sums)) == 3
    assert sums[0] == sums[3]


def test_index_is_json(written: Path) -> None:
    assert set(json.loads((written / "index.json").read_text())) == {"facts", "note", "arrays"}
