"""What every test runs under: shapes checked at every call, unwritten memory that reads as NaN, a seed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FunctionType

import jaxtyping
import pytest
import torch
from hypothesis import settings

# Before anything imports slowfade: from here on every annotated shape of these modules is checked at run time.
jaxtyping.install_import_hook(
    [f"slowfade.{name}" for name in ("cell", "checks", "engines", "gate", "layer", "parameters", "sequences", "state")],
    "beartype.beartype",
)

from slowfade.engines.notices import say_once  # noqa: E402
from support import ENGINES  # noqa: E402

settings.register_profile("default", deadline=None, derandomize=True, max_examples=40, database=None)
settings.register_profile("thorough", deadline=None, max_examples=500, database=None)
settings.load_profile("default")


@pytest.fixture(autouse=True)
def poisoned_memory() -> Iterator[None]:
    """Memory that was never written reads as NaN: PyTorch's, and the C++ engine's results and workspace."""
    torch.use_deterministic_algorithms(True)
    assert torch.utils.deterministic.fill_uninitialized_memory
    yield
    torch.use_deterministic_algorithms(False)


@pytest.fixture(autouse=True)
def fresh_start() -> None:
    """The same random numbers whatever ran before, and notices not yet said."""
    torch.manual_seed(0)
    say_once.cache_clear()


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The package as a user has it, without the tests' shape checks around every function."""

    def checked(value: object) -> bool:
        return isinstance(value, FunctionType) and value.__code__.co_filename == jaxtyping._decorator.__file__

    modules = [module for name, module in sys.modules.items() if name.startswith("slowfade")]
    classes = {value for module in modules for value in vars(module).values() if isinstance(value, type)}
    for holder in (*modules, *(kind for kind in classes if kind.__module__.startswith("slowfade"))):
        for name, value in list(vars(holder).items()):
            if checked(value):
                monkeypatch.setattr(holder, name, value.__wrapped__)
            elif isinstance(value, property) and checked(value.fget):
                monkeypatch.setattr(holder, name, property(value.fget.__wrapped__))
    jaxtyping.config.update("jaxtyping_disable", True)  # functions inside functions
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    """Each engine that can run here, by name."""
    return request.param
