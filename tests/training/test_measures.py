"""What picks the best epoch, and what ends a run early."""

from __future__ import annotations

from pathlib import Path

from slowfade import tasks
from slowfade.training import configure, open_run, train
from training.processes import small


def test_fewer_bits_are_better(text: None, tmp_path: Path) -> None:
    config = configure(
        "characters", task_options={"length": 10}, hidden=4, batch_size=14, epochs=4, learning_rate=0.3, best="bits"
    )
    best = train(config, tmp_path, quiet=True)["validation"]
    bits = [row["bits"] for row in open_run(tmp_path).metrics if row["split"] == "validation"]
    assert best["bits"] == min(bits) < max(bits)


def test_solved_by_a_loss_that_is_low_enough(tmp_path: Path) -> None:
    for solved, outcome in ((100.0, "solved"), (0.0, "finished")):
        config = small(epochs=1, solved=solved, solved_by="loss")
        assert train(config, tmp_path / outcome, quiet=True)["outcome"] == outcome


def test_of_everything_else_more_is_better() -> None:
    task = tasks.build("copying")
    assert task.merit("loss", 1.0) > task.merit("loss", 2.0)
    assert task.merit("accuracy", 1.0) > task.merit("accuracy", 0.5)
