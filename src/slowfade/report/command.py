"""``slowfade report``: one HTML page with all studies found below a folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from slowfade.errors import UserError
from slowfade.report.page import render
from slowfade.studies.findings import FINDINGS, read
from slowfade.training.command import one_line
from slowfade.training.folder import write


@dataclass(frozen=True)
class Arguments:
    """One self-contained HTML page with all studies found: open it in a browser, send it, print it.

    The figures (SVG, PDF, PNG) and tables (CSV, Markdown, LaTeX) are written again beside each study's findings.
    """

    folder: Annotated[Path, tyro.conf.Positional]
    """Where `slowfade study --out` put them; searched to any depth."""
    out: Path | None = None
    """The page. None: report.html in that folder."""


def main(arguments: list[str]) -> int:
    chosen: Arguments = one_line(Arguments, arguments, prog="slowfade report")
    out = report(chosen.folder, chosen.out)
    print(f"wrote {out}")
    return 0


def report(folder: Path, out: Path | None = None) -> Path:
    """Write the page, and every figure and table again; returns where the page is."""
    paths = sorted(folder.rglob(FINDINGS))
    if not paths:
        raise UserError(f"there are no studies in {folder}: run `slowfade study NAME --out {folder}` first")
    for path in paths:
        read(path).save(path.parent)
    out = out or folder / "report.html"
    out.parent.mkdir(parents=True, exist_ok=True)
    write(out, render([path.parent for path in paths]).encode())
    return out
