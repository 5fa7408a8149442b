"""Runs as data: shared where studies ask for the same, and set as the paper has it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from slowfade.studies import PRESETS, STUDIES, Experiment
from slowfade.studies.study import Preset

SHARING = ("decay", "ablation", "generalisation", "resets")


@pytest.mark.parametrize("preset", PRESETS)
def test_studies_of_the_copying_runs_share_them(preset: Preset) -> None:
    copying = {experiment.path for experiment in STUDIES["copying"].experiments(preset)}
    for name in SHARING:
        assert {experiment.path for experiment in STUDIES[name].experiments(preset)} <= copying


@pytest.mark.parametrize("preset", PRESETS)
def test_paths_are_distinct_and_plain(preset: Preset) -> None:
    for study in STUDIES.values():
        paths = [experiment.path for experiment in study.experiments(preset)]
        assert len(set(paths)) == len(paths) > 0
        assert all(re.fullmatch(r"trained/[a-z]+/[a-z0-9.-]+", path.as_posix()) for path in paths)


def test_whatever_decides_a_number_changes_the_path() -> None:
    base = Experiment("copying", "lstm", 0, {"delay": "200"}, {}, {"max_steps": 10})
    others = [
        Experiment("copying", "chrono", 0, {"delay": "200"}, {}, {"max_steps": 10}),
        Experiment("copying", "lstm", 1, {"delay": "200"}, {}, {"max_steps": 10}),
        Experiment("copying", "lstm", 0, {"delay": "300"}, {}, {"max_steps": 10}),
        Experiment("copying", "lstm", 0, {"delay": "200"}, {"x": 1}, {"max_steps": 10}),
        Experiment("copying", "lstm", 0, {"delay": "200"}, {}, {"max_steps": 11}),
    ]
    assert len({experiment.path for experiment in [base, *others]}) == 6
    assert base.path == Experiment("copying", "lstm", 0, {"delay": "200"}, {}, {"max_steps": 10}).path != Path()


def test_the_paper_preset_is_the_papers() -> None:
    """Section 4.1: 128 units, batches of 128, RMSprop at 0.001; appendix A.2: 110 units, five seeds."""
    copying = STUDIES["copying"].experiments("paper")
    assert len(copying) == 3 * 3 * 5
    training = copying[0].configure().training
    assert (training.hidden, training.batch_size, training.optimizer) == (128, 128, "rmsprop")
    assert (training.learning_rate, training.epochs, training.max_steps) == (1e-3, 1000, None)
    frequency = STUDIES["frequency"].experiments("paper")
    assert len(frequency) == 3 * 2 * 3 * 5
    settings = {(e.configure().training.hidden, e.configure().training.epochs) for e in frequency}
    assert settings == {(110, 70)}
    eurnn = next(e for e in STUDIES["characters"].experiments("paper") if e.core == "eurnn")
    assert eurnn.core_options["capacity"] == 1024
    chrono = next(experiment for experiment in copying if experiment.core == "chrono")
    assert chrono.configure().core_options["t_max"] == 300


def test_laptop_says_what_it_leaves_out() -> None:
    for study in STUDIES.values():
        assert set(study.scales) == set(PRESETS)
        assert study.scales["laptop"].departure
        assert study.scales["smoke"].departure
        assert "the paper does not say" in study.scales["paper"].departure
