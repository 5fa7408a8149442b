"""Each instruction set this machine has, forced through the environment, through the engine's own tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from slowfade.engines import cpu
from support import in_new_process, needs_cpu_engine

pytestmark = needs_cpu_engine

HERE = Path(__file__).parent
OTHERS = [name for name in cpu.variants() if name != cpu.variant()]


@pytest.mark.parametrize("name", OTHERS)
def test_engine_on(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOWFADE_ISA", name)
    files = [str(HERE / file) for file in ("test_agreement.py", "test_cpu_math.py")]
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", *files]
    command += [
        "-k",
        "(block_size and not num_layers) or accuracy or limits or strides",
    ]
    done = subprocess.run(command, cwd=HERE.parent.parent, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout
    assert "skipped" not in done.stdout


@pytest.mark.parametrize("name", cpu.variants())
def test_variant_is_the_one_forced(name: str) -> None:
    script = "from slowfade.engines import cpu; print(cpu.variant(), *cpu.variants())"
    found = in_new_process(script, environment={"SLOWFADE_ISA": name}).split()
    assert found == [name, *cpu.variants()]


def test_unknown_variant_falls_to_the_reference_with_the_reason() -> None:
    script = """
import warnings, torch
from slowfade import PowerLawLSTM
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    for _ in range(2):
        PowerLawLSTM(3, 4)(torch.randn(5, 2, 3))
print(*(warning.message for warning in said), sep="\\n")
"""
    said = in_new_process(script, environment={"SLOWFADE_ISA": "altivec"}).splitlines()
    assert len(said) == 1
    assert "reference engine" in said[0]
    assert "SLOWFADE_ISA names none of this machine's: " + " ".join(cpu.variants()) in said[0]
