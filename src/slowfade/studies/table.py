"""A table as data, and its four forms: text for people, CSV, Markdown and LaTeX for files."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from slowfade.analysis.statistics import Summary


class Printed(float):
    """A number with the digits it was printed with."""

    def __new__(cls, text: str) -> Printed:
        number = super().__new__(cls, text)
        number.text = text
        return number

    text: str

    def __repr__(self) -> str:
        return self.text

    __str__ = __repr__


Cell = str | int | float | Summary | None

NONE = "–"
#: Text that stands where a number would: in digits, or for one that is not there.
FOR_NUMBERS = re.compile(r"not run|not reached|[\d,.]+( \(.+\))?")


@dataclass(frozen=True)
class Table:
    name: str
    """The stem of its files."""
    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[Cell, ...]]
    digits: int = 2
    """Decimals of every number that is not whole."""
    note: str = ""

    def text(self, cell: Cell) -> str:
        """What people read: a mean over seeds with its standard deviation, a dash for nothing."""
        match cell:
            case None:
                return NONE
            case Printed():
                return cell.text
            case Summary():
                spread = "" if math.isnan(cell.sd) else f" ± {self.text(cell.sd)}"
                return f"{self.text(cell.mean)}{spread}"
            case float():
                return f"{cell:.{self.digits}f}"
            case _:
                return str(cell)

    @property
    def lines(self) -> list[list[str]]:
        return [[self.text(cell) for cell in row] for row in self.rows]

    @property
    def numeric(self) -> list[bool]:
        """Which columns hold numbers: they are set flush right."""
        columns = zip(*self.rows, strict=True) if self.rows else ([] for _ in self.columns)
        return [
            all(not isinstance(cell, str) or FOR_NUMBERS.fullmatch(cell) for cell in column)
            and any(cell is not None for cell in column)
            for column in map(list, columns)
        ]

    def csv(self) -> str:
        """Full precision; a mean over seeds takes three columns."""
        split = [any(isinstance(row[i], Summary) for row in self.rows) for i in range(len(self.columns))]
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        header: list[str] = []
        for column, parts in zip(self.columns, split, strict=True):
            header += [column, f"{column} sd", f"{column} n"] if parts else [column]
        writer.writerow(header)
        for row in self.rows:
            line: list[object] = []
            for cell, parts in zip(row, split, strict=True):
                if isinstance(cell, Summary):
                    line += [cell.mean, "" if math.isnan(cell.sd) else cell.sd, cell.n]
                else:
                    line += ["" if cell is None else cell, *(["", ""] if parts else [])]
            writer.writerow(line)
        return buffer.getvalue()

    def markdown(self) -> str:
        rule = ["---:" if number else "---" for number in self.numeric]
        rows = [list(self.columns), rule, *([text.replace("|", "\\|") for text in line] for line in self.lines)]
        body = "\n".join(f"| {' | '.join(row)} |" for row in rows)
        return f"**{self.title}**\n\n{body}\n" + (f"\n{self.note}\n" if self.note else "")

    def latex(self) -> str:
        columns = "".join("r" if number else "l" for number in self.numeric)
        lines = [
            "\\begin{table}",
            f"\\caption{{{_latex(self.title)}. {_latex(self.note)}}}".replace(". }", ".}"),
            f"\\begin{{tabular}}{{{columns}}}",
            "\\toprule",
            " & ".join(map(_latex, self.columns)) + " \\\\",
            "\\midrule",
            *(" & ".join(map(_latex, line)) + " \\\\" for line in self.lines),
            "\\bottomrule",
            "\\end{tabular}",
            "\\end{table}",
        ]
        return "\n".join(lines) + "\n"

    def save(self, folder: Path) -> None:
        for suffix, text in (("csv", self.csv()), ("md", self.markdown()), ("tex", self.latex())):
            (folder / f"{self.name}.{suffix}").write_text(text, encoding="utf-8")


_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        **{sign: "\\" + sign for sign in "&%$#_{}"},
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "±": r"$\pm$",
        "–": "--",
        "≥": r"$\geq$",
        "≤": r"$\leq$",
        "−": r"$-$",
        "×": r"$\times$",
        "<": r"$<$",
        ">": r"$>$",
    }
)


def _latex(text: str) -> str:
    return text.translate(_LATEX)
