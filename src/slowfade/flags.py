"""What is wrong with a command line, in one line."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Sequence
from itertools import dropwhile, takewhile
from typing import Any

import tyro

from slowfade.errors import UserError


def one_line(kind: Any, flags: Sequence[str], **options: Any) -> Any:
    """Let tyro parse; what it would say in a box becomes one line."""
    box = io.StringIO()
    try:
        with contextlib.redirect_stderr(box):
            return tyro.cli(kind, args=list(flags), **options)
    except SystemExit as error:
        if not error.code:
            raise
        raise UserError(unboxed(box.getvalue())) from None


def unboxed(text: str) -> str:
    """The first paragraph in a box, whose lines are of plain characters where the terminal knows no others."""
    lines = [re.sub(r"[│╭╮╰╯]", "", line).strip() for line in re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines()[1:]]
    return " ".join(takewhile(lambda line: not is_rule(line), dropwhile(is_rule, lines)))


def is_rule(line: str) -> bool:
    return re.fullmatch("[─-]*", line) is not None
