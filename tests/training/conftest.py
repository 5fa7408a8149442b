from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from slowfade.training import train
from training.processes import numbers, small


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def never_killed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The numbers of :func:`training.processes.small` run from start to end."""
    path: Path = tmp_path_factory.mktemp("whole") / "run"
    train(small(), path, quiet=True)
    return numbers(path)
