"""``slowfade train``: the fields of the task, of the network and of the training are the flags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, field, fields, make_dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import tyro

from slowfade import cores, tasks
from slowfade.errors import UserError
from slowfade.flags import one_line
from slowfade.tasks.task import Task
from slowfade.training import folder
from slowfade.training.config import Config, Training, all_core_options, configure, default_training


def main(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help"):
        print(usage())
        return 0
    config, out, quiet = parse(arguments)
    from slowfade.training.run import train

    if folder.finished(out) and not quiet:
        print(f"{out} is finished already")
    train(config, out, quiet=quiet)
    return 0


def usage() -> str:
    width = max(map(len, cores.names()))
    return "\n".join(
        [
            "usage: slowfade train TASK [--core NAME] [options]",
            "",
            "Train a network on a task. The same command resumes a run that was interrupted.",
            "",
            "tasks:",
            *(f"  {name:{width}}  {summary(kind)}" for name, kind in tasks.kinds().items()),
            "",
            "networks (powerlaw unless told otherwise):",
            *(f"  {name:{width}}  {cores.describe(name).summary}" for name in cores.names()),
            "",
            "slowfade train TASK --core NAME --help explains all options of the two, and what they are set to.",
        ]
    )


def summary(kind: type) -> str:
    return (kind.__doc__ or "").strip().splitlines()[0].rstrip(".")


def parse(arguments: Sequence[str], prog: str = "slowfade train") -> tuple[Config, Path, bool]:
    """What to train, where, and whether quietly.

    What a flag is set to depends on the task's own flags and on the network, so these are read first.
    """
    name, *flags = arguments
    if name not in tasks.kinds():
        raise UserError(f"there is no task {name!r}; the tasks are {', '.join(tasks.names())}")
    core = value_of(flags, "--core") or "powerlaw"
    if core not in cores.names():
        raise UserError(f"there is no network {core!r}; the networks are {', '.join(cores.names())}")
    kind = tasks.kinds()[name]
    # Help is asked of the whole.
    task = one_line(kind, [flag for flag in flags if flag not in ("-h", "--help")], return_unknown_args=True)[0]
    description = f"{summary(kind)}. Network: {cores.describe(core).summary}."
    parsed = one_line(command_line(task, core), flags, prog=f"{prog} {name}", description=description)
    training = asdict(parsed.training)
    if parsed.budget is not None and value_of(flags, "--hidden") is None:
        del training["hidden"]
    config = configure(
        name,
        core,
        task_options={field.name: getattr(parsed.task, field.name) for field in fields(kind)},
        core_options=asdict(parsed.network),
        budget=parsed.budget,
        **training,
    )
    return config, parsed.out or Path("runs") / name / f"{core}-{training['seed']}", parsed.quiet


def command_line(task: Task, core: str) -> type:
    """All flags, as a dataclass with what they are set to for this task and network."""
    chosen = all_core_options(task, core, {})
    network = make_dataclass(
        "Network",
        [(option.name, flag(option.type, option.help), chosen[option.name]) for option in cores.options(core)],
    )
    parts = {
        "task": (type(task), task),
        "network": (network, network()),
        "training": (Training, default_training(task, core)),
    }
    own = {
        "core": (str, core, "The network: one of those that `slowfade train --help` lists."),
        "budget": (
            int | None,
            None,
            "Instead of --hidden: units for about this many parameters, with the head's.",
        ),
        "out": (Path | None, None, "The run's folder. None: runs/TASK/CORE-SEED."),
        "quiet": (bool, False, "Show nothing."),
    }
    return make_dataclass(
        "CommandLine",
        [(name, flag(kind, text), default) for name, (kind, default, text) in own.items()]
        + [
            (name, Annotated[kind, tyro.conf.OmitArgPrefixes], field(default_factory=partial(_itself, default)))
            for name, (kind, default) in parts.items()
        ],
    )


def _itself(default: object) -> object:
    return default


def flag(kind: Any, text: str) -> Any:
    return Annotated[kind, tyro.conf.arg(help=text)]


def value_of(flags: Sequence[str], name: str) -> str | None:
    """What a flag is given, if it is."""
    for flag, following in zip(flags, [*flags[1:], None], strict=True):
        if flag == name:
            return following
        if flag.startswith(name + "="):
            return flag[len(name) + 1 :]
    return None
