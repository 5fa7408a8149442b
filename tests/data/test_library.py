"""Where data sets are found, what is parsed when, and what is refused."""

from __future__ import annotations

import hashlib
import logging
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from data import small_files as small
from data.server import Served, serving
from slowfade import data
from slowfade.data import library, mnist, store
from slowfade.data.dataset import Remote, find
from slowfade.data.store import digest_of
from slowfade.errors import UserError


@pytest.fixture
def published(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Served]]:
    """A world in which MNIST has six digits, and a server that has it: what each of its four files was asked."""
    arrays = small.mnist()
    with ExitStack() as servers:
        served = [servers.enter_context(serving(Served(small.idx(values)))) for values in arrays]
        remotes = [
            Remote(file, hashlib.sha256(one.content).hexdigest(), (one.url,))
            for file, one in zip(small.MNIST_FILES, served, strict=True)
        ]
        genuine = {"train_images": 6, "test_images": 3, "sha256": digest_of(*arrays)}
        tiny = replace(mnist.DATASET, genuine=genuine, downloads=tuple(remotes))
        monkeypatch.setitem(library.DATASETS, "mnist", tiny)
        yield served


def other_mnist() -> list[np.ndarray]:
    return small.mnist(seed=1)


def test_names() -> None:
    assert data.names() == ("mnist", "ptb", "text8", "imdb", "glove", "physionet2012")
    with pytest.raises(UserError, match="no data set 'cifar'; the data sets are mnist, ptb, text8"):
        data.load("cifar")  # type: ignore[call-overload]


def test_a_data_set_that_is_not_here_is_downloaded_once(published: list[Served], cache: Path) -> None:
    for _ in range(2):
        np.testing.assert_array_equal(data.load("mnist").train_images, small.mnist()[0])
    assert [one.asked for one in published] == [[None]] * 4
    assert not (cache / "mnist" / "downloads").exists()


def test_the_users_own_folder_comes_first(published: list[Served], folder: Path) -> None:
    small.write_mnist(folder / "deep" / "down", small.mnist())
    np.testing.assert_array_equal(data.load("mnist").train_images, small.mnist()[0])
    assert [one.asked for one in published] == [[]] * 4


def test_a_folder_without_it_leaves_it_to_the_download(published: list[Served], folder: Path) -> None:
    small.write(folder / "train-images-idx3-ubyte", b"one of four")
    np.testing.assert_array_equal(data.load("mnist").train_images, small.mnist()[0])


def test_of_several_the_published_one_is_taken(published: list[Served], folder: Path) -> None:
    small.write_mnist(folder / "FashionMNIST" / "raw", other_mnist())
    small.write_mnist(folder / "MNIST" / "raw", small.mnist())
    np.testing.assert_array_equal(data.load("mnist").train_images, small.mnist()[0])


def test_another_version_is_used_and_said(
    published: list[Served], folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    small.write_mnist(folder, other_mnist())
    with caplog.at_level(logging.WARNING):
        np.testing.assert_array_equal(data.load("mnist").train_images, other_mnist()[0])
        data.load("mnist")
    assert len(caplog.messages) == 1
    assert "mnist from" in caplog.messages[0]
    assert "not the published data set: other content" in caplog.messages[0]


def test_parsed_once_and_anew_when_the_source_changes(cache: Path, folder: Path) -> None:
    small.write_mnist(folder, small.mnist())
    data.load("mnist")
    index = next(cache.glob("mnist/*/index.json"))
    first = index.stat().st_mtime_ns
    time.sleep(0.01)
    data.load("mnist")
    assert index.stat().st_mtime_ns == first
    small.write_mnist(folder, other_mnist())
    np.testing.assert_array_equal(data.load("mnist").train_images, other_mnist()[0])


def test_an_unchanged_source_is_not_read_again(cache: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small.write_mnist(folder, small.mnist())
    data.load("mnist")
    monkeypatch.setattr(store, "checksum", lambda path: pytest.fail(f"{path} is read again"))
    np.testing.assert_array_equal(data.load("mnist").train_images, small.mnist()[0])


def test_a_folder_that_does_not_exist(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOWFADE_DATA", "/nowhere")
    with pytest.raises(UserError, match="SLOWFADE_DATA is '/nowhere', which is no folder"):
        data.load("mnist")


@pytest.mark.parametrize("form", ["folder", "folder above", "archive"])
def test_import(published: list[Served], tmp_path: Path, form: str) -> None:
    source = small.write_mnist(tmp_path / "usb" / "mnist", small.mnist(), ".gz")
    if form == "archive":
        files = {f"mnist/{path.name}": path.read_bytes() for path in source.iterdir()}
        source = small.tar(tmp_path / "mnist.tar.xz", files)
    library.import_(library.DATASETS["mnist"], source.parent if form == "folder above" else source)
    shutil.rmtree(tmp_path / "usb")
    np.testing.assert_array_equal(data.load("mnist").train_images, small.mnist()[0])
    assert [one.asked for one in published] == [[]] * 4


def test_import_of_something_else(published: list[Served], cache: Path, tmp_path: Path) -> None:
    wrong = small.write_mnist(tmp_path / "wrong", other_mnist())
    with pytest.raises(UserError, match=r"is not the published mnist \(other content\): get it again, or set"):
        library.import_(library.DATASETS["mnist"], wrong)
    with pytest.raises(UserError, match=r"there is no .*: give the file or folder that holds mnist"):
        library.import_(library.DATASETS["mnist"], tmp_path / "nothing")
    with pytest.raises(UserError, match="does not hold train-images-idx3-ubyte and"):
        library.import_(library.DATASETS["mnist"], wrong / small.MNIST_FILES[1])
    assert not list(cache.rglob("*.npy"))


def test_a_failed_import_leaves_what_was_there(published: list[Served], tmp_path: Path) -> None:
    data.load("mnist")
    with pytest.raises(UserError):
        library.import_(library.DATASETS["mnist"], small.write_mnist(tmp_path / "wrong", other_mnist()))
    np.testing.assert_array_equal(data.load("mnist").train_images, small.mnist()[0])


def test_find_prefers_better_forms_then_shallow_places_then_files_side_by_side(tmp_path: Path) -> None:
    for name in ("z/b.gz", "z/a", "deep/er/a", "deep/er/b", "set/inside/a"):
        small.write(tmp_path / name, b"")
    forms = ((("folder/", "whole"),), (("a",), ("b", "b.gz")))
    assert list(find(tmp_path, forms)) == [
        (tmp_path / "z" / "a", tmp_path / "z" / "b.gz"),
        (tmp_path / "deep" / "er" / "a", tmp_path / "deep" / "er" / "b"),
        (tmp_path / "set" / "inside" / "a", tmp_path / "deep" / "er" / "b"),
    ]
    small.write(tmp_path / "late" / "whole", b"")
    small.write(tmp_path / "later" / "folder" / "a", b"")
    small.write(tmp_path / "folder.txt", b"")
    small.write(tmp_path / "x" / "whole" / "a", b"a folder of that name is not the file")
    assert next(find(tmp_path, forms)) == (tmp_path / "later" / "folder",)
    assert list(find(tmp_path, forms))[1] == (tmp_path / "late" / "whole",)
    assert len(list(find(tmp_path, forms))) == 6


def test_every_data_set_has_several_mirrors_and_a_checksum() -> None:
    for dataset in library.DATASETS.values():
        for remote in dataset.downloads:
            assert len(remote.urls) >= 2
            assert len(bytes.fromhex(remote.sha256)) == 32


def test_a_damaged_cache_says_what_to_do(published: list[Served], cache: Path) -> None:
    data.load("mnist")
    file = next(cache.rglob("train_images.npy"))
    file.write_bytes(b"")
    with pytest.raises(UserError, match="remove it, and it will be made again"):
        data.load("mnist")
    shutil.rmtree(file.parent)
    np.testing.assert_array_equal(data.load("mnist").train_images, small.mnist()[0])
    assert store.damage(file.parent) == []
