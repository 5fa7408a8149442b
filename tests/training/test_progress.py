"""What is shown of a run, on a terminal and in a log; and the list of runs."""

from __future__ import annotations

import io
import time
from pathlib import Path

import pytest
from rich.console import Console

from slowfade.errors import UserError
from slowfade.training import Diverged, folder, listing, progress, train
from training.processes import ctrl_c, small


@pytest.mark.parametrize("terminal", [True, False])
def test_what_is_shown(terminal: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = io.StringIO()
    monkeypatch.setattr(
        progress, "Console", lambda: Console(file=text, force_terminal=terminal, width=150, color_system=None)
    )
    train(small(epochs=2), tmp_path / "run")
    told = text.getvalue()
    assert "powerlaw (8 units) on copying, seed 0: 20 steps, in" in told
    assert "step 20/20  validation  loss" in told
    assert "sequences/s" in told
    assert "test  loss" in told
    assert f"finished: {tmp_path / 'run'}" in told
    assert ("\x1b[" in told) == terminal
    assert ("20/20 " in told.replace("step 20/20", "")) == terminal


def test_times_stand_in_the_log_only(tmp_path: Path) -> None:
    train(small(epochs=2), tmp_path, quiet=True)
    rows = folder.read_rows(tmp_path / "log.jsonl")
    assert rows[0]["event"] == "started"
    assert rows[-1]["reason"] == "finished"
    assert all(row["steps"] == 20 for row in rows)
    seconds = [row["seconds"] for row in rows]
    assert seconds == sorted(seconds)
    assert seconds[-1] > 0
    for name in ("metrics.jsonl", "result.json"):
        assert "seconds" not in (tmp_path / name).read_text()


def test_tensorboard(tmp_path: Path) -> None:
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    train(small(epochs=1, tensorboard=True), tmp_path, quiet=True)
    events = accumulator.EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    rows = [row for row in folder.read_rows(tmp_path / "metrics.jsonl") if row["split"] == "validation"]
    written = [(event.step, event.value) for event in events.Scalars("loss/validation")]
    assert written == [(row["step"], pytest.approx(row["loss"], rel=1e-6)) for row in rows]


@pytest.mark.parametrize(
    ("seconds", "words"), [(3.4, "3 s"), (89, "89 s"), (91, "2 min"), (3600, "60 min"), (6000, "1.7 h")]
)
def test_durations(seconds: float, words: str) -> None:
    assert progress.duration(seconds) == words


def test_the_list_of_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train(small(epochs=1), tmp_path / "a" / "done", quiet=True)
    ctrl_c(small("lstm", seed=7), tmp_path / "b", after=6)
    with pytest.raises(Diverged):
        train(small(learning_rate=1e37), tmp_path / "c", quiet=True)
    assert listing.main([str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    done, stopped, diverged = (
        next(line.split() for line in lines if name in line) for name in ("a/done", " b ", " c ")
    )
    assert done[1:7] == ["copying", "powerlaw", "8", "0", "finished", "10/10"]
    assert done[7:9] == ["test", "accuracy"]
    assert stopped[1:5] == ["copying", "lstm", "8", "7"]
    assert "validation accuracy" in " ".join(stopped)
    assert "no longer finite" in " ".join(diverged)


def test_a_damaged_run_is_listed_as_damaged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a", "b", "c"):
        train(small(epochs=1), tmp_path / name, quiet=True)
    (tmp_path / "a" / "config.json").write_text('{"model_type": "bert"}')
    (tmp_path / "b" / "metrics.jsonl").write_text("half a row\n")
    assert listing.main([str(tmp_path)]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert told.count("damaged (") == 2
    assert "c copying powerlaw 8 0 finished" in told


def test_nothing_to_list(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there are no runs in"):
        listing.main([str(tmp_path)])
    with pytest.raises(UserError, match="there is no folder"):
        listing.main([str(tmp_path / "nowhere")])


def test_the_last_row_of_a_file_that_is_being_written(tmp_path: Path) -> None:
    path = tmp_path / "rows"
    assert folder.last_row(path) is None
    rows = folder.Rows(path)
    for number in range(1000):
        rows.append({"number": number, "at": time.time()})
    rows.close()
    with open(path, "ab") as file:
        file.write(b'{"number": 10')
    assert (folder.last_row(path) or {})["number"] == 999
    assert len(folder.read_rows(path)) == 1000
