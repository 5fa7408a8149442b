"""What a study found, on disk: enough to draw every table and figure again without the networks.

OUT/STUDY/findings.json      this
OUT/STUDY/*.csv *.md *.tex   the tables
OUT/STUDY/*.svg *.pdf *.png  the figures
OUT/trained/TASK/RUN/        the runs, which several studies may share
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from slowfade.studies import STUDIES, style
from slowfade.studies.claims import Claim
from slowfade.studies.study import Data, Preset, Study, Trained
from slowfade.studies.table import Table
from slowfade.training import Run, folder
from slowfade.training.machine import machine, versions

FINDINGS = "findings.json"


@dataclass(frozen=True)
class Findings:
    """A study at a preset: run, or not and why."""

    study: str
    preset: Preset
    not_run: str = ""
    """Why it was not run; empty if it was."""
    data: Data = field(default_factory=dict)
    runs: list[dict[str, Any]] = field(default_factory=list)
    versions: dict[str, Any] = field(default_factory=dict)
    machine: dict[str, Any] = field(default_factory=dict)

    @property
    def about(self) -> Study:
        return STUDIES[self.study]

    @property
    def claims(self) -> list[Claim]:
        return [] if self.not_run else self.about.claims(self.data)

    @property
    def tables(self) -> list[Table]:
        """With the preset, and how it departs from the paper, in every note."""
        if self.not_run:
            return []
        departure = self.about.scales[self.preset].departure
        preset = f"Preset {self.preset}{f': {departure}' if departure else ''}."
        return [
            dataclasses.replace(table, note=f"{table.note} {preset}".strip()) for table in self.about.tables(self.data)
        ]

    @cached_property
    def figures(self) -> dict[str, Figure]:
        if self.not_run:
            return {}
        with style.styled():
            return self.about.figures(self.data)

    def save(self, path: Path) -> None:
        """The findings, and the tables and figures drawn from them."""
        path.mkdir(parents=True, exist_ok=True)
        folder.write_json(path / FINDINGS, dataclasses.asdict(self))
        for table in self.tables:
            table.save(path)
        for name, figure in self.figures.items():
            style.save(figure, path / name)


def analyse(study: Study, preset: Preset, runs: Sequence[Run]) -> Findings:
    """What a study finds in these runs."""
    data = study.analyse(preset, Trained(runs))
    return Findings(study.name, preset, "", data, [_summary(run) for run in runs], versions(), machine())


def read(path: Path) -> Findings:
    """From ``findings.json``."""
    return Findings(**folder.read_json(path))


def _summary(run: Run) -> dict[str, Any]:
    """A run in a line of the page."""
    result = run.result or {}
    last = run.metrics[-1] if run.metrics else {}
    return {
        "path": Path(*run.path.parts[-2:]).as_posix(),
        "task": run.config.task,
        "core": run.config.core,
        "hidden": run.config.training.hidden,
        "seed": run.config.training.seed,
        "state": result.get("outcome", "unfinished"),
        "steps": result.get("steps", last.get("step", 0)),
        "epochs": result.get("epochs", last.get("epoch", 0)),
        "parameters": result.get("parameters"),
    }
