"""What goes wrong ends a run in one line, with the last good checkpoint kept."""

from __future__ import annotations

import multiprocessing
import resource
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
import torch

from slowfade.errors import UserError
from slowfade.training import Config, Diverged, checkpoint, folder, open_run, train
from training.processes import context, ctrl_c, numbers, small


def limited(config: Config, path: Path, largest: int, answer: Connection) -> None:
    """Train on a disk that takes no file larger than so many bytes."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest, resource.RLIM_INFINITY))
    try:
        train(config, path, quiet=True)
    except UserError as error:
        answer.send(str(error))


@pytest.mark.parametrize("largest", [1_000, 30_000], ids=["a row of metrics", "a checkpoint"])
def test_a_full_disk(tmp_path: Path, largest: int) -> None:
    config = small(hidden=64, checkpoint_seconds=0.0, epochs=2)
    train(config, tmp_path / "whole", quiet=True)
    ctrl_c(config, tmp_path / "run", after=8)
    before = {path: path.read_bytes() for path in (tmp_path / "run" / "checkpoint").iterdir()}

    ours, theirs = multiprocessing.Pipe()
    process = context.Process(target=limited, args=(config, tmp_path / "run", largest, theirs))
    process.start()
    process.join()
    assert ours.poll(), "the run did not notice"
    message = ours.recv()
    assert "nothing more can be written" in message
    assert "\n" not in message
    assert {path: path.read_bytes() for path in (tmp_path / "run" / "checkpoint").iterdir()} == before
    assert not list((tmp_path / "run").glob("*.new"))
    if largest > 1_000:  # there is room in the log
        assert "nothing more can be written" in folder.last_row(tmp_path / "run" / "log.jsonl")["reason"]

    train(config, tmp_path / "run", quiet=True)
    assert numbers(tmp_path / "run") == numbers(tmp_path / "whole")


def test_a_run_that_diverges(tmp_path: Path) -> None:
    config = small(learning_rate=1e37, checkpoint_seconds=0.0)
    with pytest.raises(Diverged, match=r"no longer finite after step \d+ of .*; the last good checkpoint is kept"):
        train(config, tmp_path, quiet=True)
    found = checkpoint.load(tmp_path / "checkpoint")
    assert found is None or all(torch.isfinite(value).all() for value in found[1].values())
    assert open_run(tmp_path).state == "stopped"
    assert folder.last_row(tmp_path / "log.jsonl")["reason"].startswith(("the loss", "the validation loss", "a weight"))


def test_another_configuration_is_refused(tmp_path: Path) -> None:
    train(small(epochs=1), tmp_path, quiet=True)
    with pytest.raises(UserError, match=r"holds another run: training.hidden is 8 there, not 9\. Choose another --out"):
        train(small(epochs=1, hidden=9), tmp_path, quiet=True)
    assert train(small(epochs=1, checkpoint_seconds=5.0), tmp_path, quiet=True)["steps"] == 10


def test_a_damaged_checkpoint(tmp_path: Path) -> None:
    ctrl_c(small(), tmp_path, after=4)
    (tmp_path / "checkpoint" / "weights.safetensors").write_bytes(b"half of")
    with pytest.raises(UserError, match=r"cannot be read .*: remove .* and run again"):
        train(small(), tmp_path, quiet=True)


def test_metrics_that_were_cut_off(tmp_path: Path) -> None:
    ctrl_c(small(), tmp_path, after=4)
    (tmp_path / "metrics.jsonl").write_bytes(b"")
    with pytest.raises(UserError, match="shorter than the checkpoint says"):
        train(small(), tmp_path, quiet=True)


def no_run(path: Path) -> None:
    with pytest.raises(UserError, match=rf"^{path} cannot be a run's folder \([\w ]+\): choose another --out$"):
        train(small(epochs=1), path, quiet=True)


def test_where_no_run_can_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("here")
    for path in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/nothing"), Path("/sys/nothing")):
        no_run(path)


@pytest.mark.parametrize("content", ['{"model_type": "bert"}', "[]", "not JSON", '{"task": "a", "core": {}}'])
def test_somebody_elses_folder(tmp_path: Path, content: str) -> None:
    (tmp_path / "config.json").write_text(content)
    with pytest.raises(UserError, match=r"config\.json is damaged or not that of a run: choose another folder$"):
        train(small(epochs=1), tmp_path, quiet=True)
    assert [path.name for path in tmp_path.iterdir()] == ["config.json"]


def test_what_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"holds no config\.json"):
        open_run(tmp_path)


def test_a_run_without_weights_yet(tmp_path: Path) -> None:
    train(small(epochs=1), tmp_path, quiet=True)
    (tmp_path / "best.safetensors").unlink()
    last = open_run(tmp_path).model
    assert not last.training
    (tmp_path / "checkpoint" / "weights.safetensors").unlink()
    with pytest.raises(UserError, match="has no weights yet"):
        open_run(tmp_path).model  # noqa: B018
