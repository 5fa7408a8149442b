"""What all tasks check of their options."""

from __future__ import annotations

from typing import Literal, get_args, get_origin, get_type_hints

from slowfade.errors import UserError


def flag(name: str) -> str:
    """An option as the command line calls it."""
    return "--" + name.replace("_", "-")


def at_least(least: int, **options: int) -> None:
    for name, value in options.items():
        if not value >= least:
            raise UserError(f"{flag(name)} should be at least {least}, got {value}")


def known_choices(options: object) -> None:
    """Fields with a fixed choice of values have one of them."""
    for name, kind in get_type_hints(type(options)).items():
        if get_origin(kind) is Literal and getattr(options, name) not in get_args(kind):
            choices = ", ".join(map(str, get_args(kind)))
            raise UserError(f"{flag(name)} should be one of {choices}, got {getattr(options, name)}")
