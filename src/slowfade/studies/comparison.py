"""A table of what the paper published beside what we found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slowfade.analysis.statistics import Summary, summary
from slowfade.studies.published import Published, published
from slowfade.studies.table import Cell, Table

COLUMNS = ("network", "condition", "published", "ours", "seeds", "difference", "place", "quoted from")


def comparison(
    study: str, title: str, ours: Mapping[tuple[str, str], Sequence[float]], *, digits: int, note: str
) -> Table:
    """All rows of the paper's table, those not run as such.

    Args:
        ours: by the row and the condition of the paper's table, one value per seed.
    """
    rows = [_row(number, ours.get((number.row, number.condition), ())) for number in published(study)]
    if any(row[-1] for row in rows):
        return Table(study, title, COLUMNS, rows, digits, note)
    return Table(study, title, COLUMNS[:-1], [row[:-1] for row in rows], digits, note)


def _row(number: Published, ours: Sequence[float]) -> tuple[Cell, ...]:
    theirs = number.value if number.sd is None else Summary(number.value, number.sd, number.seeds or 0)
    mine: tuple[Cell, ...] = ("not run", None, None)
    if ours:
        mean = summary(ours)
        mine = (mean, mean.n, mean.mean - number.value)
    return (number.row, number.condition, theirs, *mine, number.place, number.source or "")
