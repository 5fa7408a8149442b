"""``slowfade study``: make a table or figure of the paper again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console
from rich.table import Table as RichTable

from slowfade.errors import UserError
from slowfade.studies import PRESETS, STUDIES, Preset, Study, named
from slowfade.studies.findings import Findings, analyse
from slowfade.studies.running import Kind, Plan, missing_data
from slowfade.studies.table import Table
from slowfade.training.command import one_line
from slowfade.training.progress import duration

console = Console(highlight=False)


@dataclass(frozen=True)
class Arguments:
    """Make a table or figure of the paper again, and see whether its claims hold.

    The runs a study needs are trained, here or on a cluster; those that are finished already, for this study or
    another, are not trained again, and what was interrupted goes on. Then the study is analysed, and its findings,
    tables and figures are written to a folder of its own in OUT. `slowfade report OUT` makes one page of them all.
    """

    study: Annotated[str, tyro.conf.Positional] = ""
    """Its name, or "all"."""
    preset: Preset = "laptop"
    """smoke: under a minute, for tests. laptop: about an hour on two cores, cut down as the tables say. paper: all."""
    out: Path | None = None
    """The folder. None: results/PRESET."""
    processes: int | None = None
    """How many runs to train at the same time. None: as many as there are cores, and runs."""
    threads: int | None = None
    """CPU threads of each. None: the cores shared out."""
    on: str = "local"
    """Where to train: this machine; `ray`, a local cluster; or `ray://ADDRESS:PORT`."""
    train: bool = True
    """With --no-train: analyse what is there, finished or not, and train nothing."""
    list: bool = False
    """List the studies: what each makes, from which runs, at which scale."""


def main(arguments: list[str]) -> int:
    chosen: Arguments = one_line(Arguments, arguments, prog="slowfade study")
    if chosen.list or not chosen.study:
        show_list()
        return 0
    return run(named(chosen.study), chosen)


def run(studies: Sequence[Study], chosen: Arguments) -> int:
    out = chosen.out or Path("results", chosen.preset)
    # One study says what it lacks; among all, those that lack data are passed over and shown as not run.
    lacking = {study.name: missing_data(study, chosen.preset) for study in studies}
    if len(studies) == 1 and (reason := lacking[studies[0].name]):
        raise UserError(reason)
    ready = [study for study in studies if not lacking[study.name]]
    plan = Plan(ready, chosen.preset, out, chosen.processes, chosen.threads)
    keep_out_of_git(out)
    failures: dict[Path, str] = {}
    if chosen.train and plan.unfinished:
        failures = plan.train(show_plan(plan), chosen.on)
        for path, error in failures.items():
            console.print(f"{path} failed: {error}")
    for study in studies:
        reason = lacking[study.name]
        runs = [] if reason else plan.runs(study)
        if not reason and not runs and plan.experiments[study.name]:
            reason = "none of its runs has come to a validation yet"
        if reason:
            findings = Findings(study.name, chosen.preset, reason)
        else:
            console.print(f"analysing {study.name} ...", style="dim")
            findings = analyse(study, chosen.preset, runs)
        findings.save(out / study.name)
        show(findings)
    console.print(f"\nfindings, tables and figures are in {out}; `slowfade report {out}` makes a page of them")
    return 1 if failures else 0


def keep_out_of_git(out: Path) -> None:
    """What a folder of studies holds can be committed as it is, but for the weights."""
    out.mkdir(parents=True, exist_ok=True)
    (out / ".gitignore").write_text("checkpoint*/\n*.safetensors\nlock\nlog.jsonl\n", encoding="utf-8")


def show_plan(plan: Plan) -> list[Kind]:
    """What will be trained, and how long that takes: measured."""
    table = RichTable("runs", "what", "steps each", "time each", box=None, title_justify="left")
    with console.status("timing a few steps of each kind of run ..."):
        kinds = plan.measure()
    for kind in kinds:
        table.add_row(str(kind.runs), kind.title, f"{kind.speed.steps:,}", duration(kind.speed.left(0)))
    console.print(table)
    total = duration(plan.seconds(kinds))
    console.print(
        f"{len(plan.unfinished)} runs to train, {plan.processes} at a time with {plan.threads} threads each: "
        f"about {total}, less where a task is solved early"
    )
    return kinds


def show(findings: Findings) -> None:
    study = findings.about
    console.print(f"\n[bold]{study.title}[/bold] ({study.place}), preset {findings.preset}")
    if findings.not_run:
        console.print(f"not run: {findings.not_run}")
    for table in findings.tables:
        console.print(as_rich(table))
        console.print(table.note, style="dim")
    claims = RichTable(box=None, show_header=False, pad_edge=False)
    for claim in findings.claims:
        claims.add_row(f"[bold]{claim.verdict.value}[/bold]", f"{claim.text} ({claim.place})", claim.evidence)
    console.print(claims)


def as_rich(table: Table) -> RichTable:
    shown = RichTable(title=table.title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for column, number in zip(table.columns, table.numeric, strict=True):
        shown.add_column(column, justify="right" if number else "left")
    for line in table.lines:
        shown.add_row(*line)
    return shown


def show_list() -> None:
    for study in STUDIES.values():
        console.print(f"[bold]{study.name}[/bold]  {study.title} ({study.place})")
        console.print(f"  {study.about}")
        for preset in PRESETS:
            departure = study.scales[preset].departure or "as in the paper"
            console.print(f"  {preset:7} {len(study.experiments(preset)):3} runs: {departure}", style="dim")
