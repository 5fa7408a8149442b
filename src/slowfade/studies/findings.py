"""What a study found, on disk: enough to draw every table and figure again without the networks.

OUT/STUDY/findings.json      this
OUT/STUDY/*.csv *.md *.tex   the tables, and the claims as one
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

from slowfade.errors import UserError
from slowfade.studies import STUDIES, style
from slowfade.studies.claims import Claim, Verdict
from slowfade.studies.learning import UNFINISHED
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
        """Each with no more of a verdict than the scale of its runs allows."""
        return [] if self.not_run else [capped(claim, self.preset) for claim in self.about.claims(self.data)]

    @property
    def claims_table(self) -> Table:
        columns = ("the paper's claim", "place", "in our runs", "evidence", "test")
        rows = [(claim.text, claim.place, claim.verdict.value, claim.evidence, claim.test) for claim in self.claims]
        return Table("claims", f"The paper's claims: {self.about.title}", columns, rows, note=self.scale)

    @property
    def scale(self) -> str:
        """The preset, how it departs from the paper, and what of it has not ended, in a sentence or two."""
        departure = self.about.scales[self.preset].departure
        unfinished = sum(run["state"] == UNFINISHED for run in self.runs)
        ended = f" {unfinished} of {len(self.runs)} runs are unfinished." if unfinished else ""
        return f"Preset {self.preset}{f': {departure}' if departure else ''}.{ended}"

    @property
    def tables(self) -> list[Table]:
        """With the scale in every note."""
        if self.not_run:
            return []
        return [
            dataclasses.replace(table, note=f"{table.note} {self.scale}".strip())
            for table in self.about.tables(self.data)
        ]

    @cached_property
    def figures(self) -> dict[str, Figure]:
        if self.not_run:
            return {}
        with style.styled():
            return self.about.figures(self.data)

    def save(self, path: Path) -> None:
        """The findings, and the claims, tables and figures made from them."""
        path.mkdir(parents=True, exist_ok=True)
        folder.write_json(path / FINDINGS, dataclasses.asdict(self))
        for table in [*self.tables, *([self.claims_table] if self.claims else [])]:
            table.save(path)
        for name, figure in self.figures.items():
            style.save(figure, path / name)


def analyse(study: Study, preset: Preset, runs: Sequence[Run]) -> Findings:
    """What a study finds in these runs."""
    data = study.analyse(preset, Trained(runs))
    return Findings(study.name, preset, "", data, [_summary(run) for run in runs], versions(), machine())


#: What is left of a verdict on a smaller scale than the paper's, or by single runs.
DIRECTION = {Verdict.HOLDS: Verdict.LEANS, Verdict.FAILS: Verdict.AGAINST}


def capped(claim: Claim, preset: Preset) -> Claim:
    """A few steps of tiny networks decide nothing, a shorter training or a single run decides no more than a direction.

    What is in closed form rests on no run.
    """
    if claim.runs is None or claim.verdict is Verdict.UNTESTED:
        return claim
    if preset == "smoke":
        return claim._replace(verdict=Verdict.UNTESTED)
    if preset == "laptop" or claim.runs < 2:
        return claim._replace(verdict=DIRECTION.get(claim.verdict, claim.verdict))
    return claim


def read(path: Path) -> Findings:
    """From ``findings.json``."""
    fields = folder.read_json(path)
    if fields.get("study") not in STUDIES:
        raise UserError(f"{path} is of a study {fields.get('study')!r}, which this version of slowfade does not have")
    return Findings(**fields)


def _summary(run: Run) -> dict[str, Any]:
    """A run in a line of the page."""
    result = run.result or {}
    last = run.metrics[-1] if run.metrics else {}
    config = folder.read_json(run.path / folder.CONFIG)
    parts = (config["task"], config["core"], config["training"])
    return {
        "path": Path(*run.path.parts[-2:]).as_posix(),
        "task": run.config.task,
        "core": run.config.core,
        "hidden": run.config.training.hidden,
        "seed": run.config.training.seed,
        "state": result.get("outcome", UNFINISHED),
        "steps": result.get("steps", last.get("step", 0)),
        "epochs": result.get("epochs", last.get("epoch", 0)),
        "parameters": result.get("parameters"),
        "commit": config.get("versions", {}).get("commit"),
        "settings": {name: value for part in parts for name, value in part.items() if name != "name"},
    }
