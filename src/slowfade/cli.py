"""The command. Each subcommand lives in the room it belongs to and is imported only when it is called."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import NamedTuple

import slowfade
from slowfade.errors import UserError


class Command(NamedTuple):
    module: str
    """Has ``main(arguments: list[str]) -> int | None``."""
    summary: str
    extra: str | None = None
    """The extra that its imports come with; ``None``: the core install is enough."""


COMMANDS = {
    "demo": Command("slowfade.report.demo", "train three networks in five minutes and show what they learned", "lab"),
    "train": Command("slowfade.training.command", "train a network on a task; the same command resumes it", "lab"),
    "sweep": Command("slowfade.training.sweep_command", "many runs: networks x seeds x options, here or on Ray", "lab"),
    "runs": Command("slowfade.training.listing", "list the runs in a folder, their state and result", "lab"),
    "study": Command("slowfade.studies.command", "make a table or figure of the paper again", "lab"),
    "report": Command("slowfade.report.command", "one HTML page with all studies found", "lab"),
    "explore": Command("slowfade.report.explore", "look inside a trained network, in the browser", "lab"),
    "data": Command("slowfade.data.command", "the real data sets: list, fetch, check, import", "lab"),
    "bench": Command("slowfade.bench.command", "speed of the engines and networks, side by side", "lab"),
    "doctor": Command("slowfade.doctor", "what this machine can run, and why not the rest"),
}


def main(arguments: list[str] | None = None) -> int:
    """Run ``slowfade COMMAND ...``. Errors a user can cause end in one line and status 2."""
    name, *rest = (sys.argv[1:] if arguments is None else arguments) or ["--help"]
    if name in ("-h", "--help"):
        print(usage())
        return 0
    if name == "--version":
        print(f"slowfade {slowfade.__version__}")
        return 0
    if name not in COMMANDS:
        return _fail(f"there is no command {name!r}; the commands are {', '.join(COMMANDS)}")
    command = COMMANDS[name]
    try:
        return import_module(command.module).main(rest) or 0
    except ModuleNotFoundError as error:
        if command.extra is None or (error.name or "").split(".")[0] == "slowfade":
            raise
        return _fail(f"{name} needs {error.name}: pip install 'slowfade[{command.extra}]'")
    except UserError as error:
        return _fail(str(error))
    except BrokenPipeError:
        sys.stderr.close()
        return 141
    except KeyboardInterrupt:
        print("\nslowfade: stopped", file=sys.stderr)
        return 130


def usage() -> str:
    width = max(map(len, COMMANDS))
    lines = [f"  {name:{width}}  {command.summary}" for name, command in COMMANDS.items()]
    return "\n".join(
        [
            "usage: slowfade COMMAND [options]",
            "",
            "Recurrent networks whose memory fades along a power law.",
            "",
            *lines,
            "",
            "slowfade COMMAND --help explains each.",
        ]
    )


def _fail(message: str) -> int:
    print(f"slowfade: {message}", file=sys.stderr)
    return 2
