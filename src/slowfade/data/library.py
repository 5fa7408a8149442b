"""The data sets by name: found where the user has them, else downloaded; parsed once."""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np
from jaxtyping import Bool, Float32

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
#: Parsed forms of another version are parsed anew.
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
    parsed = from_folder(dataset)
    if parsed is None:
        raise UserError(f"{name} is not here: set SLOWFADE_DATA to a folder that has it")
    return dataset.view(parsed)


def word_vectors(words: Sequence[str]) -> tuple[Float32[np.ndarray, "words 100"], Bool[np.ndarray, " words"]]:
    """GloVe 6B vectors of some words, and which were found. Words not found get the mean of those found."""
    return load("glove").of(words)


def dataset_named(name: str) -> Dataset[Any]:
    if name not in DATASETS:
        raise UserError(f"there is no data set {name!r}; the data sets are {', '.join(DATASETS)}")
    return DATASETS[name]


def from_folder(dataset: Dataset[Any]) -> Parsed | None:
    """A data set from ``SLOWFADE_DATA``: the published one if it is there, else another version, which is logged."""
    folder = os.environ.get("SLOWFADE_DATA")
    if not folder:
        return None
    if not Path(folder).is_dir():
        raise UserError(f"SLOWFADE_DATA is {folder!r}, which is no folder: correct or unset it")
    first: Parsed | None = None
    for paths in find(Path(folder), dataset.forms):
        parsed = parsed_once(dataset, paths)
        difference = dataset.differences(parsed)
        if not difference:
            return parsed
        if first is None:
            first = parsed
            remark = parsed.note or f"not the published data set: {difference}"
            message = f"{dataset.name} from {paths[0]}: {remark}"
    if first is not None:
        log.warning(message)
    return first


def parsed_once(dataset: Dataset[Any], paths: Sequence[Path]) -> Parsed:
    """Parsed into the cache under the source's checksum, or found there."""
    sums = "".join(f"{path.name} {store.checksum(path)}\n" for path in paths)
    key = hashlib.sha256(f"version {VERSION}\n{sums}".encode()).hexdigest()[:16]
    with store.locked(dataset.name) as folder:
        if not (folder / key / store.INDEX).is_file():
            log.info("parsing %s from %s", dataset.name, paths[0])
            store.write(folder / key, dataset.parse(paths))
        return store.read(folder / key)
