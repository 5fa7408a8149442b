"""What the networks' tests share: every network, small."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from slowfade import cores
from slowfade.cores import Core

Build = Callable[..., Core]

#: Options that make a network small, where its defaults are made for long sequences.
SMALL: dict[str, dict[str, Any]] = {
    "chrono": {"t_max": 20.0},
    "nru": {"memory_size": 16, "heads": 4},
    "lmu": {"order": 6, "theta": 10.0},
    "scrn": {"context_size": 4},
}


@pytest.fixture(params=cores.names())
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def options(name: str) -> dict[str, Any]:
    return SMALL.get(name, {})


@pytest.fixture
def build(name: str, options: dict[str, Any]) -> Build:
    """Build the network, small, in float64, with weights that matter."""

    def make(input_size: int = 3, hidden_size: int = 8, **arguments: Any) -> Core:
        torch.manual_seed(1)
        return cores.build(name, input_size, hidden_size, **options, **arguments).double()

    return make
