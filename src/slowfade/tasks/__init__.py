"""The tasks, by name. One file each: sequences in, targets, loss, measures, and the paper's settings."""

from __future__ import annotations

from dataclasses import fields
from types import MappingProxyType

from slowfade.errors import UserError
from slowfade.tasks.adding import Adding
from slowfade.tasks.characters import Characters
from slowfade.tasks.copying import Copying
from slowfade.tasks.frequency import Frequency
from slowfade.tasks.irregular import Irregular
from slowfade.tasks.pixels import Pixels
from slowfade.tasks.sentiment import Sentiment
from slowfade.tasks.task import (
    SPLITS,
    Batch,
    Encoding,
    Measure,
    Numbers,
    Settings,
    Split,
    Symbols,
    Task,
    Vectors,
)

__all__ = [
    "SPLITS",
    "Batch",
    "Encoding",
    "Measure",
    "Numbers",
    "Settings",
    "Split",
    "Symbols",
    "Task",
    "Vectors",
    "build",
    "kinds",
    "names",
]

_KINDS: MappingProxyType[str, type[Task]] = MappingProxyType(
    {
        "copying": Copying,
        "pixels": Pixels,
        "characters": Characters,
        "sentiment": Sentiment,
        "frequency": Frequency,
        "adding": Adding,
        "irregular": Irregular,
    }
)


def names() -> tuple[str, ...]:
    return tuple(_KINDS)


def kinds() -> MappingProxyType[str, type[Task]]:
    """The dataclass of each task; its fields are the task's options."""
    return _KINDS


def build(name: str, **options: object) -> Task:
    """A task with these options, the others as in the paper."""
    if name not in _KINDS:
        raise UserError(f"there is no task {name!r}; the tasks are {', '.join(_KINDS)}")
    known = [field.name for field in fields(_KINDS[name])]
    for option in options:
        if option not in known:
            raise UserError(f"{name} has no option {option!r}; its options are {', '.join(known)}")
    return _KINDS[name](**options)
