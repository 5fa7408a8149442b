"""``slowfade bench``: its table, its file, and no speed for a wrong result."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from torch import nn

from slowfade import cli
from slowfade.bench.contestants import CONTESTANTS
from slowfade.bench.measure import measure
from slowfade.bench.shapes import SHAPES

pytestmark = pytest.mark.parametrize("small", ["plain"], indirect=True)
CONTENDERS = ["powerlaw", "lstm", "nn.LSTM"]


@pytest.fixture(autouse=True)
def small_product(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slowfade.bench.measure.SIDE", 64)


@pytest.fixture(autouse=True)
def same_threads() -> None:
    """The bench gives them back as they were."""
    before = torch.get_num_threads()
    yield
    assert torch.get_num_threads() == before


def test_ratios_are_those_of_the_same_round(small: str) -> None:
    *_, timings = measure(small, CONTENDERS, torch.get_num_threads(), rounds=3)
    assert [(timing.contestant, timing.mode) for timing in timings] == [
        (name, mode) for name in CONTENDERS for mode in ("training", "forward")
    ]
    for timing in timings:
        assert timing.right
        assert timing.milliseconds is not None
        assert timing.speedup is not None
        assert 0 < timing.speedup.smallest <= timing.speedup.median <= timing.speedup.largest
        if timing.contestant == "nn.LSTM":
            assert timing.speedup == (1, 1, 1)
        flops = SHAPES[small].flops(
            CONTESTANTS[timing.contestant].gates, valid_steps=15, training=timing.mode == "training"
        )
        assert timing.gflops == pytest.approx(flops / timing.milliseconds.median / 1e6)


def test_the_command_prints_and_writes(small: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "bench.json"
    arguments = [small, "deep", "stepwise", "--contestants", *CONTENDERS, "--rounds", "2", "--threads", "1", "2"]
    assert cli.main(["bench", *arguments, "--json", str(out)]) == 0
    printed = capsys.readouterr().out
    assert all(
        name in printed for name in ("plain", "deep", "stepwise", *CONTENDERS, "x nn.LSTM", "1 thread", "2 threads")
    )
    written = json.loads(out.read_text())
    assert written["rounds"] == 2
    assert written["versions"]["torch"] == torch.__version__
    found = {(t["shape"], t["contestant"], t["mode"], t["threads"]) for t in written["timings"]}
    assert len(found) == 2 * len(CONTENDERS) * (2 + 2 + 1)
    assert all(t["milliseconds"]["median"] > 0 for t in written["timings"])


def test_a_wrong_result_has_no_speed(
    small: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Wrong(nn.LSTM):
        def forward(self, x, state=None):  # type: ignore[no-untyped-def]
            output, state = super().forward(x, state)
            return 1.1 * output, state

    wrong = CONTESTANTS["nn.LSTM"]._replace(build=lambda shape: Wrong(shape.inputs, shape.hidden))
    monkeypatch.setitem(CONTESTANTS, "wrong", wrong)
    out = tmp_path / "bench.json"
    assert cli.main(["bench", small, "--contestants", "wrong", "lstm", "--rounds", "1", "--json", str(out)]) == 1
    assert "wrong result: error 1e-01" in capsys.readouterr().out
    for timing in json.loads(out.read_text())["timings"]:
        assert timing["right"] == (timing["contestant"] != "wrong")
        assert (timing["milliseconds"] is None) == (timing["contestant"] == "wrong")


def test_the_list(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bench", "--list"]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in (*SHAPES, *CONTESTANTS))


def test_cores_has_a_bench_of_its_own(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["lstm", "--steps", "2", "--batch-size", "2", "--hidden-size", "8", "--rounds", "1"]
    assert cli.main(["bench", "--cores", *arguments]) == 0
    assert "time / nn.LSTM" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["oval"], "there is no shape 'oval'; there are copying-200"),
        (["plain", "--contestants", "me"], "there is no contestant 'me'; there are powerlaw"),
        (["plain", "--rounds", "0"], "rounds should be at least 1, got 0"),
        (["plain", "--threads", "0"], "threads should be at least 1, got 0"),
        (["plain", "--json", "nowhere/bench.json"], "nowhere is no folder to write bench.json into"),
    ],
)
def test_mistakes_end_in_one_line(
    arguments: list[str], message: str, small: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["bench", *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
