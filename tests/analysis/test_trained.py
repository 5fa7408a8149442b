"""Analyses of models and runs: ablation, other delays, powers, measures."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor

from slowfade import tasks, training
from slowfade.analysis.ablation import ablation_curve, marked_first, random_order, silenced
from slowfade.analysis.evaluation import correct, measure
from slowfade.analysis.generalisation import accuracy_at_delay
from slowfade.analysis.power import initial_power, trained_power
from slowfade.cores.core import Core
from slowfade.tasks.task import Task
from slowfade.training import Model

SMALL = {"train_sequences": 32, "validation_sequences": 24}


def model_of(core: str, task: str = "copying", **options: object) -> tuple[Model, Task]:
    """Untrained, with a head far from zero, so that predictions differ."""
    config = training.configure(task, core, task_options={**SMALL, **options}, hidden=12)
    built = config.build_task()
    torch.manual_seed(1)
    model = config.build_model(built).eval()
    torch.nn.init.normal_(model.head.weight, std=3.0)
    return model, built


class Recorder(torch.nn.Module):
    """A core that notes how many steps it is given."""

    def __init__(self, core: Core) -> None:
        super().__init__()
        self.core, self.uses_time, self.steps = core, False, []

    def forward(self, x: Tensor, state: object = None, **options: object) -> object:
        self.steps.append(x.shape[1])
        return self.core(x, state, **options)


@torch.no_grad()
@pytest.mark.parametrize("core", ["powerlaw", "lstm", "gru", "nru"])
@pytest.mark.parametrize("chunk", [10, 33, 1000])
def test_streamed_is_the_same_as_whole(core: str, chunk: int) -> None:
    model, _ = model_of(core)
    task = tasks.build("copying", delay="57", validation_sequences=40)
    batch = task.batch("test", torch.arange(40))
    whole = task.measures(model(batch)[0], batch)["accuracy"].mean
    assert accuracy_at_delay(model, 57, sequences=40, chunk=chunk) == pytest.approx(float(whole), abs=1 / 400 + 1e-6)


def test_memory_stays_flat_however_long_the_delay() -> None:
    model, _ = model_of("powerlaw")
    model.core = Recorder(model.core)
    accuracy_at_delay(model, 2000, sequences=4, chunk=100)
    assert max(model.core.steps) == 100
    assert sum(model.core.steps) == 2020


def test_the_last_chunk_must_hold_the_reproduction() -> None:
    with pytest.raises(ValueError, match="chunk = 9"):
        accuracy_at_delay(model_of("lstm")[0], 50, chunk=9)


def test_ablation_silences_more_and_more_of_the_order() -> None:
    seen: list[list[int]] = []

    def count(units: list[int]) -> float:
        seen.append(list(units))
        return float(len(units))

    order = random_order(128, seed=3)
    curve = ablation_curve(count, order)
    assert curve.counts == list(range(0, 101, 5))
    assert curve.values == curve.counts
    assert all(units == order[: len(units)] for units in seen)
    assert ablation_curve(count, order[:16]).counts == [0, 5, 10, 15]


def test_orders_hold_every_unit_once() -> None:
    marked = torch.arange(40) % 7 == 0
    assert sorted(random_order(40, seed=1)) == list(range(40))
    assert random_order(40, seed=1) == random_order(40, seed=1) != random_order(40, seed=2)
    order = marked_first(marked, seed=1)
    assert sorted(order) == list(range(40))
    assert marked[order[:6]].all()
    assert not marked[order[6:]].any()


@torch.no_grad()
@pytest.mark.parametrize("core", ["powerlaw", "lstm", "chrono", "gru", "janet", "exprnn"])
def test_silencing_works_on_any_network_and_leaves_the_model_as_it_was(core: str) -> None:
    model, task = model_of(core, delay="6")
    batch = task.batch("test", torch.arange(8))
    before, _ = model(batch)
    silent = silenced(model, range(12))
    bias = silent.head.bias.expand_as(before)
    torch.testing.assert_close(silent(batch)[0], bias)
    hidden, _ = silenced(model, [2, 5]).core(model.encoder(batch.inputs))
    assert not hidden[..., [2, 5]].any()
    assert torch.equal(model(batch)[0], before)


@torch.no_grad()
def test_measure_is_the_mean_over_the_first_sequences() -> None:
    model, task = model_of("lstm", delay="6")
    batch = task.batch("test", torch.arange(20))
    expected = task.measures(model(batch)[0], batch)["accuracy"].mean
    assert measure(model, task, "accuracy", sequences=20) == pytest.approx(float(expected))
    whole = measure(model, task, "accuracy", sequences=10**6)
    assert whole == pytest.approx(measure(model, task, "accuracy", sequences=24))


@torch.no_grad()
def test_correct_agrees_with_the_tasks_own_accuracy() -> None:
    model, task = model_of("powerlaw", "frequency")
    hits = correct(model, task)
    assert hits.shape == (24,)
    assert hits.mean() == pytest.approx(measure(model, task, "accuracy", sequences=24))


def test_initial_power_is_what_training_starts_from(tmp_path: Path) -> None:
    """One step at a rate too small to move anything."""
    config = training.configure(
        "copying",
        task_options={"delay": "5", **SMALL},
        hidden=16,
        seed=7,
        max_steps=1,
        batch_size=8,
        learning_rate=1e-12,
    )
    training.train(config, tmp_path / "run", quiet=True)
    run = training.open_run(tmp_path / "run")
    torch.manual_seed(123)
    initial = initial_power(run.config)
    torch.testing.assert_close(initial, trained_power(run.model.core), rtol=0, atol=1e-6)
    assert 0 < initial.min() < initial.max() < 1
    torch.manual_seed(123)
    drawn = torch.rand(1)
    torch.manual_seed(123)
    initial_power(run.config)
    assert torch.equal(torch.rand(1), drawn), "the generator is left as it was"


def test_only_the_power_law_network_has_powers() -> None:
    with pytest.raises(ValueError, match="no powers"):
        trained_power(model_of("lstm")[0].core)
