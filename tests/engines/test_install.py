"""A package whose C++ engine was not built, or does not load, installs, works and says why it is slow."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import slowfade
from support import in_new_process

PACKAGE = Path(slowfade.__file__).parent
PROJECT = PACKAGE.parent.parent
needs_sources = pytest.mark.skipif(not (PROJECT / "csrc").is_dir(), reason="the tests run without the sources")

USE_IT = """
import warnings, torch, slowfade
from slowfade.engines import cpu
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    for _ in range(3):
        output, state = slowfade.PowerLawLSTM(3, 4)(torch.randn(5, 2, 3, requires_grad=True), dt=torch.rand(5))
        output.sum().backward()
print(slowfade.__file__, len(said), said[0].message, sep="|")
print(cpu.variants(), repr(cpu.variant()))
try:
    slowfade.PowerLawLSTM(3, 4, engine="cpu")(torch.randn(5, 2, 3))
except RuntimeError as error:
    print(error)
"""


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """The package elsewhere, without the library."""
    ignored = shutil.ignore_patterns("*.so", "__pycache__")
    return Path(shutil.copytree(PACKAGE, tmp_path / "site" / "slowfade", ignore=ignored))


def use(package: Path) -> list[str]:
    return in_new_process(USE_IT, environment={"PYTHONPATH": str(package.parent)}).splitlines()


def test_without_the_library(copied: Path) -> None:
    first, second, third = use(copied)
    where, count, said = first.split("|")
    assert Path(where).parent == copied
    assert count == "1"
    assert "reference engine" in said
    assert "was not built when slowfade was installed" in said
    assert second == "[] ''"
    assert third.startswith("engine='cpu' cannot run here: the C++ engine was not built")


def test_with_a_library_that_does_not_load(copied: Path) -> None:
    (copied / "_engine.so").write_bytes(b"not a library")
    first, _, third = use(copied)
    assert "could not be loaded" in first
    assert "could not be loaded" in third


@needs_sources
def test_building_without_a_compiler_says_so_and_succeeds(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "setup.py", "build_ext", "--build-lib", str(tmp_path), "--build-temp", str(tmp_path)],
        cwd=PROJECT,
        env=os.environ | {"CC": "false", "CXX": "false"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "the C++ engine was not built, slowfade will run on its reference engine" in done.stdout + done.stderr
    assert list(tmp_path.rglob("*.so")) == []
