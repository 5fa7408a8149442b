"""Shapes small enough to be timed in no time."""

from __future__ import annotations

import pytest

from slowfade.bench.shapes import SHAPES, Shape

SMALL = {
    "plain": Shape(3, 5, 2, 4),
    "deep": Shape(3, 5, 2, 4, layers=2),
    "padded": Shape(6, 5, 2, 4, shortest=1),
    "timed": Shape(6, 5, 2, 4, shortest=1, timed=True),
    "stepwise": Shape(1, 4, 2, 4, stepwise=True),
}


@pytest.fixture(params=SMALL)
def small(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of each small shape in turn, all of them known to the bench."""
    for name, shape in SMALL.items():
        monkeypatch.setitem(SHAPES, name, shape)
    return request.param
