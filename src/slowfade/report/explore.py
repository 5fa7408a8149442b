"""``slowfade explore``: look inside a trained network, in the browser, with no server behind the page.

The page holds the network itself: its weights, and a forward pass in JavaScript (``network.js``), which the tests hold
to PyTorch's. So it can read a text that is pasted, and switch units off, wherever it is opened.
"""

from __future__ import annotations

import json
import sys
from base64 import b64encode
from contextlib import suppress
from dataclasses import dataclass, fields
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

import torch
import tyro
from plotly.offline import get_plotlyjs
from torch import Tensor

from slowfade.cores.core import Core
from slowfade.cores.lstm import LSTM
from slowfade.cores.powerlaw import PowerLaw
from slowfade.errors import UserError
from slowfade.report.environment import environment
from slowfade.tasks.copying import COPIED, Copying
from slowfade.tasks.task import Task
from slowfade.training import Run, folder, open_run
from slowfade.training.command import one_line
from slowfade.training.model import Encoder, Model
from slowfade.training.progress import words

#: Times of the decay curves; the page also tells what is left after 10, 100 and 1,000 steps.
TIMES = sorted({0, *(round(10 ** (n / 10)) for n in range(41))})

Json = dict[str, Any]


@dataclass(frozen=True)
class Arguments:
    """An interactive page on a trained network: what every unit does at every step, and what it is good for.

    The page needs no server and no network: send it, keep it. It shows power-law networks and those with an LSTM's
    cell (lstm, chrono, multiscale).
    """

    run: Annotated[Path, tyro.conf.Positional]
    """The run's folder, finished or not."""
    out: Path | None = None
    """The page. None: explore.html in the run's folder."""
    sequences: int = 24
    """How many test sequences the page holds."""
    steps: int = 1000
    """Longer sequences are cut."""
    serve: bool = False
    """Show the page at http://127.0.0.1:PORT, with every test sequence to choose from, until Ctrl-C."""
    port: int = 8000
    """With --serve; 0 takes any that is free."""


def main(arguments: list[str]) -> int:
    chosen: Arguments = one_line(Arguments, arguments, prog="slowfade explore")
    if chosen.sequences < 1 or chosen.steps < 1:
        raise UserError("--sequences and --steps should be at least 1")
    if not 0 <= chosen.port < 2**16:
        raise UserError("--port should be 0 to 65535")
    run = open_run(chosen.run)
    if chosen.serve:
        if chosen.out is not None:
            raise UserError("--out writes the page, --serve shows it: give one of them")
        serve(run, chosen)
        return 0
    out = chosen.out or chosen.run / "explore.html"
    page = render(run, chosen.sequences, chosen.steps).encode()
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        folder.write(out, page)
    except OSError as error:
        raise UserError(f"{out} cannot be written: {error.strerror}") from None
    print(f"wrote {out}")
    return 0


def render(run: Run, sequences: int = 24, steps: int = 1000, *, served: bool = False) -> str:
    """The page; all that it shows is in it.

    Args:
        run: of a network with a power-law or an LSTM cell.
        sequences: how many test sequences are in it.
        steps: how many steps a sequence has at the most.
        served: whether the page can ask for others.
    """
    task, model = run.task, run.model
    core = model.core
    packed = pack(model)
    size = task.size("test")
    count = min(sequences, size)
    decay = core.free_decay(torch.tensor(TIMES, dtype=torch.float32))
    assert decay is not None
    data = {
        "model": packed,
        "sequences": [sequence(task, core, number, steps) for number in range(count)],
        "size": size,
        "served": served,
        "steps": min(steps, getattr(task, "words", steps)),
        "everyStep": task.every_step,
        "inputNames": task.input_names,
        "outputNames": task.output_names,
        "reads": task.reads,
        "power": core.layer.power[-1].tolist() if isinstance(core, PowerLaw) else None,
        "decay": {"times": TIMES, "left": base64(decay)},
    }
    powerlaw = isinstance(core, PowerLaw)
    return (
        environment()
        .get_template("explore.html.j2")
        .render(
            title=f"{core.title} on {run.config.task}",
            facts=facts(run),
            available=f"0 to {size - 1:,}" if served else f"0 to {count - 1} are in this page",
            reads=READS[task.reads],
            slowness="p" if powerlaw else "forget bias",
            resets=powerlaw,
            units=core.hidden_size,
            # No tag may end within a script.
            data=json.dumps(data).replace("</", "<\\/"),
            network=source("network.js"),
            explore=source("explore.js"),
            plotly=get_plotlyjs(),
        )
    )


#: What to paste, by how the task reads.
READS = {None: None, "characters": "Some English, in the letters of the corpus.", "words": "A review of a film."}


def source(name: str) -> str:
    return (files("slowfade.report") / name).read_text("utf-8")


def facts(run: Run) -> str:
    """The run in a line."""
    config, result = run.config, run.result
    usual = {field.name: field.default for field in fields(run.task)}
    told = [f"{name.replace('_', ' ')} {value}" for name, value in config.task_options.items() if value != usual[name]]
    told += [f"{config.training.hidden} units", f"seed {config.training.seed}"]
    if result is None:
        told.append("not finished")
    else:
        told += [f"{result['steps']:,} steps of training"]
        told.append(f"test {words(result['test'])}")
    return "; ".join(told)


def pack(model: Model) -> Json:
    """A model as ``network.js`` takes it."""
    layers = cell_of(model.core)
    head, encoder = model.head, model.encoder
    return {
        "cell": "powerlaw" if isinstance(model.core, PowerLaw) else "lstm",
        "layers": layers,
        "head": {"weight": base64(head.weight), "bias": base64(head.bias), "outputs": head.out_features},
        "encoder": pack_encoder(encoder),
    }


def cell_of(core: Core) -> list[Json]:
    """The weights of every layer."""
    units = core.hidden_size
    if isinstance(core, PowerLaw):
        layer = core.layer
        every = [layer._weights(f"l{n}") for n in range(core.num_layers)]
        return [
            {
                "units": units,
                "ih": base64(weights.ih),
                "hh": base64(weights.hh),
                "bias": base64(weights.ih.new_zeros(len(weights.ih)) if weights.bias is None else weights.bias),
                "power": base64(weights.power),
                "epsilon": layer.epsilon,
                "coupled": layer.coupled,
            }
            for weights in every
        ]
    if isinstance(core, LSTM):
        return [
            {
                "units": units,
                "ih": base64(getattr(core, f"weight_ih_l{n}")),
                "hh": base64(getattr(core, f"weight_hh_l{n}")),
                "bias": base64(core.bias(n)),
            }
            for n in range(core.num_layers)
        ]
    raise UserError(f"explore shows powerlaw, lstm, chrono and multiscale networks; this is a {core.title}")


def pack_encoder(encoder: Encoder) -> Json:
    """A table of vectors, a width for one-hot symbols, or nothing where inputs are numbers."""
    if encoder.embedding is not None:
        return {"width": encoder.output_size, "table": base64(encoder.embedding.weight)}
    table = encoder.table
    if table is None:
        return {}
    one_hot = table.shape[0] == table.shape[1] and torch.equal(table, torch.eye(len(table)))
    return {"width": encoder.output_size} | ({} if one_hot else {"table": base64(table)})


def base64(values: Tensor) -> str:
    """Little-endian float32."""
    return b64encode(values.detach().float().contiguous().numpy().astype("<f4").tobytes()).decode()


def sequence(task: Task, core: Core, number: int, steps: int) -> Json:
    """A test sequence: inputs, time steps where the network takes them, and what should be said."""
    batch = task.batch("test", torch.tensor([number]))
    length = batch.inputs.shape[1] if batch.lengths is None else int(batch.lengths[0])
    taken: Json = {"inputs": batch.inputs[0, : min(length, steps)].tolist(), "asked": 0}
    if core.uses_time and batch.dt is not None:
        taken["dt"] = batch.dt[0, : min(length, steps)].tolist()
    if not task.every_step:
        return taken | {"target": batch.targets[0].item()}
    if isinstance(task, Copying) and length <= steps:
        taken["asked"] = length - COPIED
    return taken | {"targets": batch.targets[0, : min(length, steps)].tolist()}


def serve(run: Run, chosen: Arguments) -> None:
    """On this machine only, until Ctrl-C."""
    page = render(run, chosen.sequences, chosen.steps, served=True).encode()
    size = run.task.size("test")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            match self.path.strip("/").split("/"):
                case [""]:
                    self.reply(HTTPStatus.OK, page, "text/html; charset=utf-8")
                case ["sequence", number] if number.isdecimal() and int(number) < size:
                    found = sequence(run.task, run.model.core, int(number), chosen.steps)
                    self.reply(HTTPStatus.OK, json.dumps(found).encode(), "application/json")
                case _:
                    self.reply(HTTPStatus.NOT_FOUND, b"there is no such sequence", "text/plain")

        def reply(self, status: HTTPStatus, body: bytes, kind: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with suppress(ConnectionError):  # whoever asked has left
                self.wfile.write(body)

        def log_message(self, format: str, *values: Any) -> None:
            pass

    try:
        server = ThreadingHTTPServer(("127.0.0.1", chosen.port), Handler)
    except OSError as error:
        raise UserError(f"--port {chosen.port}: {error.strerror}; try another, or 0 for any that is free") from None
    with server:
        print(f"http://127.0.0.1:{server.server_port} until Ctrl-C")
        sys.stdout.flush()
        server.serve_forever()
