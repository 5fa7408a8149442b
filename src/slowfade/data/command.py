"""``slowfade data``: list, fetch, check and import the data sets."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tyro.conf import Positional

from slowfade.data import library, store
from slowfade.data.dataset import Dataset
from slowfade.errors import UserError
from slowfade.flags import one_line


@dataclass(frozen=True)
class List:
    """The data sets, and where each one is on this machine."""

    def run(self) -> int:
        for dataset in library.DATASETS.values():
            print(f"{dataset.name:14} {dataset.title} ({dataset.megabytes} MB to download; {dataset.terms})")
            print(f"{'':14} {_where(dataset) or 'not here'}")
        return 0


@dataclass(frozen=True)
class Fetch:
    """Download data sets into the cache; those already there are left alone."""

    names: Positional[tuple[str, ...]]
    """Names of data sets, or `all`."""

    def run(self) -> int:
        for dataset in _chosen(self.names):
            folder = library.fetch(dataset)
            print(f"{dataset.name}: {folder}")
        return 0


@dataclass(frozen=True)
class Check:
    """Look whether the data sets on this machine are whole, and the published ones."""

    def run(self) -> int:
        sound = True
        for dataset in library.DATASETS.values():
            folder = library.from_folder(dataset) or library.published(dataset)
            if not (folder / store.INDEX).is_file():
                print(f"{dataset.name}: not here")
            elif damaged := store.damage(folder):
                sound = False
                print(f"{dataset.name}: {', '.join(damaged)} damaged: remove {folder}, and it will be made again")
            else:
                print(f"{dataset.name}: {library.opened(dataset, folder).note or 'as published'}")
        return 0 if sound else 1


@dataclass(frozen=True)
class Import:
    """Take a data set from files brought from elsewhere, for machines without internet."""

    name: Positional[str]
    """Name of the data set."""
    path: Positional[Path]
    """The file, archive or folder that holds it, in any of the forms it is found in."""

    def run(self) -> int:
        dataset = library.dataset_named(self.name)
        folder = library.import_(dataset, self.path.expanduser())
        note = library.opened(dataset, folder).note
        print(f"{dataset.name}: {folder}" + (f" ({note})" if note else ""))
        return 0


def main(arguments: list[str]) -> int:
    logging.basicConfig(format="%(message)s")
    logging.getLogger("slowfade.data").setLevel(logging.INFO)
    command = one_line(
        List | Fetch | Check | Import,
        arguments or ["--help"],
        prog="slowfade data",
        description="The real data sets the tasks use.",
    )
    return command.run()


def _chosen(names: Sequence[str]) -> list[Dataset[Any]]:
    if not names:
        raise UserError(f"name what to fetch: all, or some of {', '.join(library.names())}")
    return [library.dataset_named(name) for name in (library.names() if "all" in names else names)]


def _where(dataset: Dataset[Any]) -> str | None:
    place = next(library.sources(dataset), None)
    if place:
        return str(place[0] if len(place) == 1 else place[0].parent)
    cached = library.published(dataset)
    return str(cached) if (cached / store.INDEX).is_file() else None
