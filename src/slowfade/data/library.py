"""The data sets by name: found where the user has them, else downloaded; parsed once."""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np
from jaxtyping import Bool, Float32

from slowfade import files
from slowfade.data import characters, glove, imdb, mnist, physionet, store
from slowfade.data.characters import Text
from slowfade.data.dataset import Dataset, find
from slowfade.data.glove import Glove
from slowfade.data.imdb import Reviews
from slowfade.data.mnist import Mnist
from slowfade.data.physionet import Records
from slowfade.data.store import Parsed
from slowfade.errors import UserError

log = logging.getLogger(__name__)

DATASETS: dict[str, Dataset[Any]] = {
    dataset.name: dataset
    for dataset in (
        mnist.DATASET,
        characters.PTB,
        characters.TEXT8,
        imdb.DATASET,
        glove.DATASET,
        physionet.DATASET,
    )
}
#: Raised when a parser changes: what older ones have parsed is then parsed anew.
VERSION = 1


def names() -> tuple[str, ...]:
    return tuple(DATASETS)


@overload
def load(name: Literal["mnist"]) -> Mnist: ...
@overload
def load(name: Literal["ptb", "text8"]) -> Text: ...
@overload
def load(name: Literal["imdb"]) -> Reviews: ...
@overload
def load(name: Literal["glove"]) -> Glove: ...
@overload
def load(name: Literal["physionet2012"]) -> Records: ...
def load(name: str) -> Any:
    """A data set, its arrays as memory maps."""
    dataset = dataset_named(name)
    return dataset.view(opened(dataset, from_folder(dataset) or fetch(dataset)))


def word_vectors(words: Sequence[str]) -> tuple[Float32[np.ndarray, "words 100"], Bool[np.ndarray, " words"]]:
    """GloVe 6B vectors of some words, and which were found. Words not found get the mean of those found."""
    return load("glove").of(words)


def opened(dataset: Dataset[Any], folder: Path) -> Parsed:
    """A parsed data set; its note says what is not as published, if anything."""
    parsed = store.read(folder)
    difference = dataset.differences(parsed)
    return parsed._replace(note=f"not the published data set: {difference}") if difference else parsed


def dataset_named(name: str) -> Dataset[Any]:
    if name not in DATASETS:
        raise UserError(f"there is no data set {name!r}; the data sets are {', '.join(DATASETS)}")
    return DATASETS[name]


def from_folder(dataset: Dataset[Any]) -> Path | None:
    """Where a data set from ``SLOWFADE_DATA`` lies parsed: the published one, else the first found, which is logged."""
    candidates = []
    for paths in sources(dataset):
        folder = parsed_once(dataset, paths)
        note = opened(dataset, folder).note
        if not note:
            return folder
        candidates.append((folder, f"{dataset.name} from {paths[0]}: {note}"))
    if not candidates:
        return None
    folder, remark = candidates[0]
    _say_once(remark)
    return folder


def sources(dataset: Dataset[Any]) -> Iterator[tuple[Path, ...]]:
    """Where ``SLOWFADE_DATA`` holds a data set."""
    folder = os.environ.get("SLOWFADE_DATA")
    if not folder:
        return iter(())
    if not Path(folder).is_dir():
        raise UserError(f"SLOWFADE_DATA is {folder!r}, which is no folder: correct or unset it")
    return find(Path(folder), dataset.forms)


def parsed_once(dataset: Dataset[Any], paths: Sequence[Path]) -> Path:
    """Where something lies parsed, under the checksum of its source; parsed now if it is not there yet.

    The checksum of a source whose names, sizes and times are as they were is not computed again.
    """
    seen = _key("".join(f"{path.absolute()} {store.stamp(path)}\n" for path in paths))
    with store.locked(dataset.name) as folder:
        remembered = folder / "sources" / seen
        if remembered.is_file():
            key = remembered.read_text()
        else:
            key = _key("".join(f"{path.name} {store.checksum(path)}\n" for path in paths))
            with store.explained(folder):
                remembered.parent.mkdir(exist_ok=True)
                files.write(remembered, key.encode())
        if not (folder / key / store.INDEX).is_file():
            store.write(folder / key, _parse(dataset, paths))
        return folder / key


def _key(text: str) -> str:
    return hashlib.sha256(f"version {VERSION}\n{text}".encode()).hexdigest()[:16]


def published(dataset: Dataset[Any]) -> Path:
    """Where in the cache a data set lies that was downloaded or imported."""
    return store.cache() / dataset.name / f"published-{VERSION}"


def fetch(dataset: Dataset[Any]) -> Path:
    """Where a data set lies in the cache; downloaded now if it is not there yet."""
    from slowfade.data.download import download

    with store.locked(dataset.name) as folder:
        if not (published(dataset) / store.INDEX).is_file():
            downloads = folder / "downloads"
            _keep(dataset, [tuple(download(remote, downloads) for remote in dataset.downloads)])
            shutil.rmtree(downloads)
        return published(dataset)


def import_(dataset: Dataset[Any], path: Path) -> Path:
    """Put a data set that was brought here into the cache, as if it had been downloaded."""
    if not path.exists():
        raise UserError(f"there is no {path}: give the file or folder that holds {dataset.name}")
    places = list(find(path, dataset.forms)) if path.is_dir() else []
    with store.locked(dataset.name):
        return _keep(dataset, places or [(path,)])


def _keep(dataset: Dataset[Any], places: Sequence[tuple[Path, ...]]) -> Path:
    for paths in places:
        parsed = _parse(dataset, paths)
        difference = dataset.differences(parsed) or parsed.note
        if not difference:
            store.write(published(dataset), parsed)
            return published(dataset)
    raise UserError(
        f"{paths[0]} is not the published {dataset.name} ({difference}): get it again, "
        "or set SLOWFADE_DATA to its folder to use it as it is"
    )


def _parse(dataset: Dataset[Any], paths: Sequence[Path]) -> Parsed:
    from rich.console import Console

    log.info("reading %s from %s", dataset.name, paths[0])
    with Console(stderr=True).status(f"reading {dataset.name} for the first time"):
        return dataset.parse(paths)


@cache
def _say_once(message: str) -> None:
    log.warning(message)
