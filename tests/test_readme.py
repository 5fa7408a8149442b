"""What the README prints runs as printed, and the examples do what they say."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"


def test_the_readme_example_runs_as_printed() -> None:
    [code] = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert len(code.splitlines()) <= 25
    values: dict[str, object] = {}
    exec(compile(code, "README.md", "exec"), values)
    assert values["output"].shape == (8, 199, 64)  # type: ignore[attr-defined]


def test_links_of_the_documentation_lead_somewhere() -> None:
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#\s]+)", page.read_text()):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.relative_to(ROOT)}: {target}"


def test_one_line_makes_a_script_with_packed_input_remember(tmp_path: Path) -> None:
    ours = (EXAMPLES / "sequence_classification.py").read_text()
    theirs, lines = re.subn(r"PowerLawLSTM\((.*?)\)  # was: nn\.LSTM\(\1\)", r"nn.LSTM(\1)", ours)
    assert lines == 1
    assert sum(a != b for a, b in zip(ours.splitlines(), theirs.splitlines(), strict=True)) == 1
    accuracy = {}
    for name, source in {"ours": ours, "theirs": theirs}.items():
        (tmp_path / f"{name}.py").write_text(source)
        accuracy[name] = runpy.run_path(str(tmp_path / f"{name}.py"))["main"](steps=200 if name == "ours" else 5)
    assert accuracy["ours"] > 0.9


def test_the_gate_works_in_a_gru() -> None:
    assert runpy.run_path(str(EXAMPLES / "power_law_gru.py"))["main"](steps=80, delay=40) > 0.9


def test_a_stream_of_irregular_samples_equals_the_whole(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLES / "irregular_samples.py"))
    difference = float(capsys.readouterr().out.split()[-1])
    assert difference < 1e-6
