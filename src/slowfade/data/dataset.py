"""What a data set is: where it comes from, the forms people have it in, how it is parsed and recognised."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from slowfade.data.store import Parsed

T = TypeVar("T")


class Remote(NamedTuple):
    """A file to download: the same bytes at several addresses."""

    file: str
    sha256: str
    urls: tuple[str, ...]


#: The files that together hold a data set; each with the names it goes by, the likelier first.
Form = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Dataset(Generic[T]):
    name: str
    title: str
    terms: str
    """Who may use it, and for what."""
    forms: tuple[Form, ...]
    """In order of preference. The names of folders end with a slash."""
    downloads: tuple[Remote, ...]
    megabytes: int
    """To download, about."""
    parse: Callable[[Sequence[Path]], Parsed]
    view: Callable[[Parsed], T]
    """What ``load`` returns, from the parsed arrays."""
    genuine: Mapping[str, Any] = field(default_factory=dict)
    """The facts by which the published data set is recognised."""

    def differences(self, parsed: Parsed) -> str:
        """How a parsed data set differs from the published one: empty if it does not."""
        different = []
        for fact, value in self.genuine.items():
            found = parsed.facts.get(fact)
            if found != value:
                different.append(
                    f"{fact} {found:,} instead of {value:,}" if isinstance(value, int) else "other content"
                )
        return ", ".join(different)


def find(folder: Path, forms: Sequence[Form]) -> Iterator[tuple[Path, ...]]:
    """Where a data set lies in a folder or below it: every place, better forms first, shallow places first."""
    places = _places(folder, {name for form in forms for part in form for name in part})
    for form in forms:
        for first in (path for name in form[0] for path in places[name]):
            others = [_nearest(places, part, first.parent) for part in form[1:]]
            if None not in others:
                yield (first, *[path for path in others if path is not None])


def _places(folder: Path, names: set[str]) -> dict[str, list[Path]]:
    places: dict[str, list[Path]] = defaultdict(list)
    for parent, folders, files in os.walk(folder):
        for name in names.intersection([*files, *(f"{folder}/" for folder in folders)]):
            places[name].append(Path(parent, name))
        folders[:] = [folder for folder in folders if f"{folder}/" not in names]
    for paths in places.values():
        paths.sort(key=lambda path: (len(path.parts), path))
    return places


def _nearest(places: Mapping[str, Sequence[Path]], part: Sequence[str], beside: Path) -> Path | None:
    found = [path for name in part for path in places[name]]
    return next((path for path in found if path.parent == beside), found[0] if found else None)
