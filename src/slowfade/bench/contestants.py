"""Who is timed: the power-law LSTM on every engine, an LSTM on ours, and PyTorch's own networks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from slowfade import PowerLawLSTM, PowerLawState, cores
from slowfade.bench.paper_loop import PaperLoop
from slowfade.bench.shapes import Problem, Shape


class Compiled(nn.Module):
    """One step of the reference engine, compiled, in a Python loop.

    Given the whole sequence ``torch.compile`` would unroll the loop and compile every step of it anew, which takes
    longer than most trainings last. Padding is run through like any other step.
    """

    def __init__(self, layer: PowerLawLSTM) -> None:
        super().__init__()
        self.layer = layer
        self.compiled = torch.compile(layer.step, fullgraph=True, dynamic=False)

    def forward(
        self, x: Tensor, state: PowerLawState | None = None, *, dt: Tensor | None = None
    ) -> tuple[Tensor, PowerLawState]:
        if state is None:
            # What is given from the first step on need not be compiled for twice.
            state = PowerLawState(*x.new_zeros(3, self.layer.num_layers, x.shape[1], self.layer.hidden_size))
        outputs = []
        for t, x_t in enumerate(x):
            output, state = self.compiled(x_t, state, None if dt is None else dt[t])
            outputs.append(output)
        return torch.stack(outputs), state


class Contestant(NamedTuple):
    summary: str
    build: Callable[[Shape], nn.Module]
    """Called like ``nn.LSTM``: ``network(x, state) -> (output, state)``, time-major."""
    gates: int
    truth: str
    """The contestant whose result in float64 this one's must be."""
    takes: tuple[str, ...] = ()
    """What it can be given beside ``x``: ``dt``, ``lengths``; or ``packed``, lengths as a ``PackedSequence``."""
    bound: float = 1e-3
    """The largest RMS ratio of its error, in the output and in any gradient, that is still called right.

    Float32 carried through a thousand steps and back stays well below this; a mistake does not.
    """


def power_law(engine: str) -> Callable[[Shape], PowerLawLSTM]:
    return lambda shape: PowerLawLSTM(shape.inputs, shape.hidden, shape.layers, engine=engine)


CONTESTANTS = {
    "powerlaw": Contestant("the power-law LSTM on the C++ engine", power_law("cpu"), 3, "reference", ("dt", "lengths")),
    "lstm": Contestant(
        "an LSTM on the C++ engine",
        lambda shape: cores.build("lstm", shape.inputs, shape.hidden, num_layers=shape.layers),
        4,
        "nn.LSTM",
        ("lengths",),
    ),
    "nn.LSTM": Contestant(
        "PyTorch's LSTM, which all are compared with",
        lambda shape: nn.LSTM(shape.inputs, shape.hidden, shape.layers),
        4,
        "nn.LSTM",
        ("packed",),
    ),
    "nn.GRU": Contestant(
        "PyTorch's GRU", lambda shape: nn.GRU(shape.inputs, shape.hidden, shape.layers), 3, "nn.GRU", ("packed",)
    ),
    "torchscript": Contestant(
        "the power-law LSTM as its authors ran it, a loop in TorchScript",
        lambda shape: PaperLoop(power_law("reference")(shape)),
        3,
        "reference",
        ("dt",),
        # In float32 the paper's reference time loses digits as time goes on: see docs/gate.md.
        bound=3e-2,
    ),
    "reference": Contestant(
        "the power-law LSTM on the reference engine", power_law("reference"), 3, "reference", ("dt", "lengths")
    ),
    "compiled": Contestant(
        "a step of the reference engine under torch.compile, in a loop",
        lambda shape: Compiled(power_law("reference")(shape)),
        3,
        "reference",
        ("dt",),
    ),
}

YARDSTICK = "nn.LSTM"
#: The others take longer than all of these together.
USUAL = ("powerlaw", "lstm", "nn.LSTM", "nn.GRU", "torchscript")


def prepared(contestant: Contestant, problem: Problem) -> tuple[Tensor | PackedSequence, dict[str, Any]]:
    """What the network is called with: ``x``, and what it takes beside it."""
    beside: dict[str, Any] = {name: getattr(problem, name) for name in ("dt", "lengths") if name in contestant.takes}
    return problem.packed() if "packed" in contestant.takes else problem.x, beside


def run(
    network: nn.Module, x: Tensor | PackedSequence, beside: dict[str, Any], stepwise: bool
) -> Tensor | PackedSequence:
    """The network's output, in one call or in a call for every step."""
    if not stepwise:
        return network(x, **beside)[0]
    outputs, state = [], None
    for x_t in x:
        if isinstance(network, PowerLawLSTM):
            output, state = network.step(x_t, state)
        else:
            output, state = network(x_t.unsqueeze(0), state)
        outputs.append(output)
    return torch.cat(outputs) if outputs[0].dim() == 3 else torch.stack(outputs)


def parameters(network: nn.Module) -> dict[str, nn.Parameter]:
    """By the names they have in the plain layer, wrapped or not."""
    return {name.removeprefix("layer."): parameter for name, parameter in network.named_parameters()}
