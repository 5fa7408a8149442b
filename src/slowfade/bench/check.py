"""Whether a contestant computes what it should: its output and every gradient, against the same network in float64."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pad_packed_sequence

from slowfade.bench.contestants import CONTESTANTS, Contestant, parameters, prepared, run
from slowfade.bench.shapes import Problem, Shape

#: So many rows of the batch are held against the truth, the first, the last and some between.
ROWS = 4


def error(contestant: Contestant, network: nn.Module, shape: Shape, problem: Problem) -> float:
    """The largest RMS ratio of an error: of the output, of the gradient of ``x`` and of those of the parameters.

    The contestant runs the whole batch, as it does when it is timed. But only some rows are differentiated, so that
    all gradients are theirs alone and the truth, which is slow, need not know the others.
    """
    rows = torch.linspace(0, shape.batch - 1, min(ROWS, shape.batch)).long()
    generator = torch.Generator().manual_seed(1)
    outside = torch.zeros(shape.steps, shape.batch, shape.hidden)
    outside[:, rows] = torch.randn(shape.steps, len(rows), shape.hidden, generator=generator)
    outside *= problem.valid
    found = results(contestant, network, shape, problem, outside)

    truth = CONTESTANTS[contestant.truth]
    exact = truth.build(shape).double()
    exact.load_state_dict(parameters(network))
    expected = results(truth, exact, shape, problem.rows(rows), outside[:, rows].double())

    for name in ("output", "x"):
        found[name] = found[name][:, rows]
    return max(rms_ratio(found[name], tensor) for name, tensor in expected.items())


def results(
    contestant: Contestant,
    network: nn.Module,
    shape: Shape,
    problem: Problem,
    outside: Float[Tensor, "time batch hidden"],
) -> dict[str, Tensor]:
    """The output, zero where there is padding, and the gradients of ``x`` and of the parameters, by name."""
    x = problem.x.clone().requires_grad_()
    output = run(network, *prepared(contestant, problem._replace(x=x)), shape.stepwise)
    if isinstance(output, PackedSequence):
        output, _ = pad_packed_sequence(output, total_length=shape.steps)
    leaves = {"x": x, **parameters(network)}
    gradients = torch.autograd.grad(output, list(leaves.values()), outside)
    return {"output": output.detach() * problem.valid, **dict(zip(leaves, gradients, strict=True))}


def rms_ratio(found: Tensor, expected: Tensor) -> float:
    """RMS of the error over RMS of what is right; infinite where anything is not a number."""
    difference, size = ((part.double().square().mean().sqrt().item()) for part in (found - expected, expected))
    ratio = difference / size if size else math.inf
    return math.inf if math.isnan(ratio) else ratio
