"""``slowfade study`` from the command line, at the smoke preset."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from slowfade import cli
from slowfade.studies import STUDIES, Verdict
from slowfade.studies.findings import FINDINGS, read
from slowfade.studies.published import published


def test_every_study_runs(smoke: Path) -> None:
    for name in STUDIES:
        findings = read(smoke / name / FINDINGS)
        assert not findings.not_run
        assert findings.claims
        assert findings.tables
        assert findings.figures
        assert {run["state"] for run in findings.runs} <= {"finished", "solved"}
        assert {claim.verdict for claim in findings.claims if claim.runs is not None} <= {Verdict.UNTESTED}
        assert len(findings.about.captions) >= len(findings.figures)
        for table in [*findings.tables, findings.claims_table]:
            for suffix in ("csv", "md", "tex"):
                assert (smoke / name / f"{table.name}.{suffix}").stat().st_size > 0
        for figure in findings.figures:
            assert (smoke / name / f"{figure}.svg").read_text().count("<text") > 0
            assert (smoke / name / f"{figure}.pdf").read_bytes().startswith(b"%PDF")
            assert (smoke / name / f"{figure}.png").read_bytes().startswith(b"\x89PNG")


def test_every_published_row_is_in_the_table(smoke: Path) -> None:
    for name in ("pixels", "characters", "frequency", "sentiment", "resets"):
        table = read(smoke / name / FINDINGS).tables[0]
        assert [row[0] for row in table.rows] == [number.row for number in published(name)]
        assert "Preset smoke" in table.note
    frequency = {(row[0], row[1]): row[3] for row in read(smoke / "frequency" / FINDINGS).tables[0].rows}
    assert frequency["pLSTM", "sync-0.1, no time"] == "not run"
    assert frequency["pLSTM", "async, no time"].n == 2


def test_findings_name_neither_the_machine_nor_its_folders(smoke: Path) -> None:
    for name in STUDIES:
        text = (smoke / name / FINDINGS).read_text()
        assert str(smoke) not in text
        assert not re.search(rf"\b{re.escape(socket.gethostname())}\b", text)
        assert set(json.loads(text)["machine"]) >= {"processor", "cores", "system"}


def test_what_git_would_take_holds_no_weights(smoke: Path) -> None:
    folder = smoke.parent / "committed"
    shutil.copytree(smoke, folder)
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    listed = subprocess.run(
        ["git", "-C", str(folder), "ls-files", "--others", "--exclude-standard"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    kept = {Path(path).name for path in listed if path.startswith("trained/")}
    assert kept == {"config.json", "metrics.jsonl", "result.json"}


def test_findings_alone_make_the_tables_and_figures_again(smoke: Path, tmp_path: Path) -> None:
    for name in ("resets", "sentiment"):
        shutil.copy(smoke / name / FINDINGS, tmp_path / FINDINGS)
        findings = read(tmp_path / FINDINGS)
        findings.save(tmp_path / name)
        for path in (smoke / name).iterdir():
            if path.suffix in (".csv", ".md", ".tex", ".svg", ".json"):
                assert (tmp_path / name / path.name).read_bytes() == path.read_bytes(), path.name


def test_finished_runs_are_not_trained_again(smoke: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = {path: path.stat().st_mtime_ns for path in smoke.glob("trained/*/*/result.json")}
    assert cli.main(["study", "generalisation", "--preset", "smoke", "--out", str(smoke)]) == 0
    assert {path: path.stat().st_mtime_ns for path in smoke.glob("trained/*/*/result.json")} == runs
    assert "runs to train" not in capsys.readouterr().out


def test_nothing_trained_shows_as_not_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["study", "copying", "--preset", "smoke", "--out", str(tmp_path), "--no-train"]) == 0
    assert read(tmp_path / "copying" / FINDINGS).not_run
    assert "not run" in capsys.readouterr().out


def test_missing_data_is_one_line_alone_and_not_run_among_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "none").mkdir()
    monkeypatch.setenv("SLOWFADE_DATA", str(tmp_path / "none"))
    monkeypatch.setenv("SLOWFADE_CACHE", str(tmp_path / "cache"))
    out = tmp_path / "out"
    assert cli.main(["study", "pixels", "--preset", "smoke", "--out", str(out)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "mnist is not on this machine" in line
    assert cli.main(["study", "all", "--preset", "smoke", "--out", str(out), "--no-train"]) == 0
    assert "mnist" in read(out / "pixels" / FINDINGS).not_run


def test_only_the_data_of_the_preset_is_asked_for() -> None:
    characters = STUDIES["characters"]
    assert characters.datasets("smoke") == characters.datasets("laptop") == ("ptb",)
    assert characters.datasets("paper") == ("ptb", "text8")
    assert STUDIES["sentiment"].datasets("paper") == ("imdb", "glove")


def test_the_list_tells_each_study_and_preset(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["study", "--list"]) == 0
    text = capsys.readouterr().out
    for name, study in STUDIES.items():
        assert name in text
        assert study.place in " ".join(text.split())


def test_an_unknown_study_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["study", "copyng"]) == 2
    assert "the studies are decay, copying" in capsys.readouterr().err
