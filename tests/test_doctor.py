"""``slowfade doctor`` tells what can run here."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from slowfade import doctor
from slowfade.engines import cpu


def test_the_report_names_versions_engines_and_threads() -> None:
    text = doctor.report(None)
    assert "PyTorch" in text
    assert "threads" in text
    assert cpu.variant() in text


def test_the_reason_is_told_where_the_engine_cannot_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert "does not run: no compiler" in doctor.report("no compiler")
    assert doctor.main([]) == (0 if cpu.variant() else 1)
    assert "engines" in capsys.readouterr().out


def test_an_instruction_set_that_is_not_there_is_said() -> None:
    environment = {**os.environ, "SLOWFADE_ISA": "cray"}
    run = subprocess.run(
        [sys.executable, "-m", "slowfade", "doctor"], env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 1
    assert "SLOWFADE_ISA names none of this machine's" in run.stdout


def test_the_core_install_is_enough() -> None:
    """The layer and the doctor import nothing of the laboratory."""
    code = (
        "import sys, slowfade.doctor\n"
        "extras = {'lightning', 'tyro', 'rich', 'pooch', 'scipy', 'matplotlib', 'plotly', 'jinja2', 'ray'}\n"
        "extras |= {'safetensors'}\n"
        "found = extras & set(sys.modules)\n"
        "sys.exit(f'imported: {found}' if found else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
