from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from slowfade.training import train
from training.processes import numbers, small, write_text


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """26 chunks of ten characters, which make 13 streams of two chunks in batches of 14."""
    monkeypatch.setenv("SLOWFADE_DATA", str(write_text(tmp_path / "text", 256)))
    monkeypatch.setenv("SLOWFADE_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="session")
def never_killed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The numbers of :func:`training.processes.small` run from start to end."""
    path: Path = tmp_path_factory.mktemp("whole") / "run"
    train(small(), path, quiet=True)
    return numbers(path)
