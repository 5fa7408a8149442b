"""The timing itself: all contestants on one shape take turns, none whose result is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Literal, NamedTuple

import torch
from torch import nn
from torch.nn.utils.rnn import PackedSequence

from slowfade.bench.check import error
from slowfade.bench.contestants import CONTESTANTS, YARDSTICK, Contestant, parameters, prepared, run
from slowfade.bench.shapes import SHAPES, Problem, Shape, draw
from slowfade.timing import Spread, interleaved

Mode = Literal["training", "forward"]
MODES: tuple[Mode, ...] = ("training", "forward")

#: Side of the matrices whose product says what the machine can do: large enough for that, small enough to be quick.
SIDE = 2048
PRODUCT = "product"


class Timing(NamedTuple):
    """One contestant on one shape. Where its result was wrong there is no speed."""

    shape: str
    contestant: str
    mode: Mode
    threads: int
    error: float
    """RMS ratio, the largest of output and gradients."""
    right: bool
    milliseconds: Spread | None = None
    speedup: Spread | None = None
    """The time of ``nn.LSTM`` over its own, in the same round."""
    gflops: float | None = None
    """Of the matrix products that the recurrence cannot do without, in the median round."""
    share: float | None = None
    """Of what the machine's product reached in its best round."""


def measure(shape_name: str, names: Sequence[str], threads: int, rounds: int) -> Iterator[list[Timing]]:
    """What is known after each round; the first one only warms up, and before it are the checks.

    Args:
        shape_name: one of :data:`SHAPES`.
        names: contestants; the yardstick is timed in any case.
        threads: PyTorch is set to so many.
        rounds: how often each is timed.
    """
    torch.set_num_threads(threads)
    shape = SHAPES[shape_name]
    problem = draw(shape)
    modes = MODES[1:] if shape.stepwise else MODES
    errors: dict[str, float] = {}
    steps: dict[tuple[str, str], Callable[[], object]] = {(PRODUCT, ""): product()}
    for name in dict.fromkeys([YARDSTICK, *names]):
        contestant = CONTESTANTS[name]
        torch.manual_seed(0)
        network = contestant.build(shape)
        errors[name] = error(contestant, network, shape, problem)
        if errors[name] <= contestant.bound:
            for mode in modes:
                steps[name, mode] = STEPS[mode](contestant, network, shape, problem)
    if (YARDSTICK, modes[0]) not in steps:
        raise RuntimeError(f"{YARDSTICK} itself gives a wrong result on {shape_name}: error {errors[YARDSTICK]:.1e}")
    found: list[dict[tuple[str, str], float]] = []
    for number, times in enumerate(islice(interleaved(steps), rounds + 1)):
        if number:
            found.append(times)
        yield [
            timing(shape_name, name, mode, threads, errors[name], problem, found) for name in names for mode in modes
        ]


def timing(
    shape_name: str,
    name: str,
    mode: Mode,
    threads: int,
    error: float,
    problem: Problem,
    rounds: Sequence[dict[tuple[str, str], float]],
) -> Timing:
    """From the seconds of each round to what is reported."""
    contestant, shape = CONTESTANTS[name], SHAPES[shape_name]
    right = error <= contestant.bound
    if not right or not rounds:
        return Timing(shape_name, name, mode, threads, error, right)
    seconds = Spread.of([times[name, mode] for times in rounds])
    valid = int(problem.valid.sum())
    gflops = shape.flops(contestant.gates, valid, training=mode == "training") / seconds.median / 1e9
    best = 2 * SIDE**3 / min(times[PRODUCT, ""] for times in rounds) / 1e9
    return Timing(
        shape_name,
        name,
        mode,
        threads,
        error,
        right,
        Spread(*(1000 * value for value in seconds)),
        Spread.of([times[YARDSTICK, mode] / times[name, mode] for times in rounds]),
        gflops,
        gflops / best,
    )


def training(contestant: Contestant, network: nn.Module, shape: Shape, problem: Problem) -> Callable[[], None]:
    """Forward and backward: gradients of all parameters, none of the data."""
    x, beside = prepared(contestant, problem)
    leaves = list(parameters(network).values())
    with torch.no_grad():
        outside = torch.randn_like(data_of(run(network, x, beside, shape.stepwise)))

    def step() -> None:
        torch.autograd.grad(data_of(run(network, x, beside, shape.stepwise)), leaves, outside)

    return step


def forward(contestant: Contestant, network: nn.Module, shape: Shape, problem: Problem) -> Callable[[], None]:
    """Inference: no gradients."""
    x, beside = prepared(contestant, problem)

    def step() -> None:
        with torch.inference_mode():
            run(network, x, beside, shape.stepwise)

    return step


STEPS = {"training": training, "forward": forward}


def product() -> Callable[[], object]:
    """A large matrix product, by oneDNN where PyTorch has it: the rate that a machine can reach."""
    a, b = torch.randn(2, SIDE, SIDE)
    if torch.backends.mkldnn.is_available():
        return lambda: torch.ops.mkldnn._linear_pointwise(a, b, None, "none", [], "")
    return lambda: a @ b


def data_of(output: torch.Tensor | PackedSequence) -> torch.Tensor:
    return output.data if isinstance(output, PackedSequence) else output
