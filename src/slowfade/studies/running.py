"""The runs of several studies, each trained once."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from slowfade.data import library, store
from slowfade.errors import UserError
from slowfade.studies import planning
from slowfade.studies.experiment import Experiment
from slowfade.studies.planning import Speed
from slowfade.studies.study import Preset, Study
from slowfade.training import Config, Run, folder, open_run
from slowfade.training.run import train
from slowfade.training.sweep import train_all


class Kind(NamedTuple):
    """Runs that differ in nothing but their seed."""

    title: str
    runs: int
    speed: Speed
    paths: list[Path]


def missing_data(study: Study, preset: Preset) -> str:
    """Why a study's data cannot be had, or nothing. The smoke preset downloads none."""
    try:
        for name in study.datasets(preset):
            dataset = library.dataset_named(name)
            here = any(library.sources(dataset)) or (library.published(dataset) / store.INDEX).is_file()
            if preset == "smoke" and not here:
                return f"the data set {name} is not on this machine: `slowfade data fetch {name}`"
            library.opened(dataset, library.from_folder(dataset) or library.fetch(dataset))
    except UserError as error:
        return str(error)
    return ""


class Plan:
    """What is to be trained for some studies, and where.

    Args:
        out: the folder of all of them.
        processes: how many runs at the same time; ``None``: as many as there are cores and runs, but one for smoke,
            which is over before another process has started.
        threads: of each; ``None``: the cores shared out, but one for smoke, whose networks are too small to share. A
            run that has begun keeps those it began with, as sums are rounded differently with another number.
    """

    def __init__(
        self, studies: Sequence[Study], preset: Preset, out: Path, processes: int | None, threads: int | None
    ) -> None:
        self.out = out
        self.experiments = {study.name: study.experiments(preset) for study in studies}
        every = {experiment.path: experiment for several in self.experiments.values() for experiment in several}
        self.unfinished = {
            path: experiment for path, experiment in every.items() if not (out / path / folder.RESULT).exists()
        }
        self.quiet = preset == "smoke"
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        fitting = 1 if self.quiet else min(cores // (threads or 1), len(self.unfinished))
        self.processes = processes or max(1, fitting)
        self.threads = threads or (1 if self.quiet else max(1, cores // self.processes))

    @cached_property
    def configs(self) -> dict[Path, Config]:
        """Of what is not finished, by folder."""
        return {self.out / path: self._configure(path, experiment) for path, experiment in self.unfinished.items()}

    def _configure(self, path: Path, experiment: Experiment) -> Config:
        begun = (self.out / path / folder.CONFIG).exists()
        threads = open_run(self.out / path).config.training.threads if begun else self.threads
        return experiment.configure(threads=threads)

    def measure(self) -> list[Kind]:
        """Time a few steps of each kind of run that is left."""
        kinds: dict[str, list[Path]] = {}
        titles: dict[str, str] = {}
        for path, experiment in self.unfinished.items():
            kind = json.dumps(asdict(replace(experiment, seed=0)), sort_keys=True)
            kinds.setdefault(kind, []).append(self.out / path)
            titles[kind] = experiment.title
        return [
            Kind(titles[kind], len(paths), planning.speed(self.configs[paths[0]]), paths)
            for kind, paths in kinds.items()
        ]

    def seconds(self, kinds: Sequence[Kind]) -> float:
        """For all that is left."""
        each = [kind.speed.left(planning.steps_done(path)) for kind in kinds for path in kind.paths]
        return planning.duration(each, self.processes)

    def train(self, kinds: Sequence[Kind], on: str) -> dict[Path, str]:
        """Train what is left, the longest first. Returns why runs failed, by folder.

        One at a time is done in this process.
        """
        order = sorted(kinds, key=lambda kind: -kind.speed.left(0))
        configs = {path: self.configs[path] for kind in order for path in kind.paths}
        if on != "local" or self.processes > 1:
            return train_all(configs, processes=self.processes, on=on)
        failures = {}
        for path, config in configs.items():
            try:
                train(config, path, quiet=self.quiet)
            except UserError as error:
                failures[path] = str(error)
        return failures

    def runs(self, study: Study) -> list[Run]:
        """Those of a study that have been validated once or more."""
        paths = [self.out / experiment.path for experiment in self.experiments[study.name]]
        return [open_run(path) for path in paths if (path / folder.BEST).exists()]
