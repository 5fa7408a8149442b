from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and no ``SLOWFADE_DATA``."""
    monkeypatch.setenv("SLOWFADE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("SLOWFADE_DATA", raising=False)
    return tmp_path / "cache"


@pytest.fixture
def folder(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that ``SLOWFADE_DATA`` names."""
    here = tmp_path / "data"
    here.mkdir()
    monkeypatch.setenv("SLOWFADE_DATA", str(here))
    return here
