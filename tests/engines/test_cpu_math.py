"""The C++ engine's elementary functions: error in units of the last place over the whole range, and their limits."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from support import needs_cpu_engine

pytestmark = needs_cpu_engine

Long = NDArray[np.longdouble]
NAMES = ["exp", "expm1", "log", "tanh", "sigmoid"]
TRUTH: dict[str, Callable[[Long], Long]] = {
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}
# Worst error found over the samples below on any instruction set, rounded up: the figures the engine stands for.
ULPS = {"exp": 1.5, "expm1": 2.0, "log": 2.0, "tanh": 3.0, "sigmoid": 3.0}
# Where the function is neither zero nor infinite nor constant, and its value normal.
RANGE = {
    torch.float32: {"exp": (-86.8, 88.72), "expm1": (-30, 88.72), "tanh": (-20, 20), "sigmoid": (-86.8, 100)},
    torch.float64: {"exp": (-706, 709.78), "expm1": (-60, 709.78), "tanh": (-30, 30), "sigmoid": (-706, 800)},
}


def run(name: str, x: Tensor) -> Tensor:
    return torch.ops.slowfade.elementary(NAMES.index(name), x)


def samples(name: str, dtype: torch.dtype, count: int = 400_000) -> Tensor:
    """Evenly over the range, evenly over the exponents, and close to 0 (to 1 for the logarithm)."""
    generator = torch.Generator().manual_seed(0)
    uniform = torch.rand(3, count, dtype=torch.float64, generator=generator)
    tiny = torch.finfo(dtype).tiny
    if name == "log":
        top = math.log(torch.finfo(dtype).max)
        wide = torch.exp(uniform[0] * (top - math.log(tiny)) + math.log(tiny))
        near = 1 + (uniform[1] - 0.5) * torch.pow(10, -uniform[2] * 15)
        return torch.cat([wide, near, uniform[1] * 4 + 1e-6]).to(dtype).clamp(tiny, torch.finfo(dtype).max)
    low, high = RANGE[dtype][name]
    even = low + uniform[0] * (high - low)
    small = torch.exp(math.log(tiny) * uniform[1]) * torch.sign(uniform[2] - 0.5)
    return torch.cat([even, small[small.abs() < min(-low, high)]]).to(dtype)


def error_in_ulps(found: Tensor, truth: Long) -> Long:
    """Distance to the truth in units of the last place of the truth, rounded to the type."""
    kind = found.numpy().dtype
    with np.errstate(over="ignore", under="ignore"):
        unit = np.spacing(np.abs(truth).astype(kind)).astype(np.longdouble)
    return np.abs(found.numpy().astype(np.longdouble) - truth) / unit


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", NAMES)
def test_accuracy(name: str, dtype: torch.dtype) -> None:
    assert np.finfo(np.longdouble).nmant > 52, "needs more than double precision to judge by"
    x = samples(name, dtype)
    truth = TRUTH[name](x.numpy().astype(np.longdouble))
    normal = (np.abs(truth) >= torch.finfo(dtype).tiny * 2) & (np.abs(truth) < torch.finfo(dtype).max)
    errors = error_in_ulps(run(name, x), truth)[normal]
    assert normal.mean() > 0.7
    worst = x.numpy()[normal][errors.argmax()]
    assert errors.max() <= ULPS[name], f"{errors.max():.2f} ulp at {worst!r}"


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_limits(dtype: torch.dtype) -> None:
    inf, nan, tiny = math.inf, math.nan, torch.finfo(dtype).tiny
    huge = torch.finfo(dtype).max
    x = torch.tensor([0.0, -0.0, inf, -inf, huge, -huge, 1e3, -1e3], dtype=dtype)
    assert run("exp", x).tolist()[:3] == [1, 1, inf]
    assert run("exp", x)[[4, 6]].tolist() == [inf, inf]
    assert (run("exp", x)[[3, 5, 7]] < 10 * tiny**0.99).all()
    assert run("expm1", x).tolist() == [0, 0, inf, -1, inf, -1, inf, -1]
    assert run("tanh", x).tolist() == [0, 0, 1, -1, 1, -1, 1, -1]
    assert run("sigmoid", x)[[0, 2, 4, 6]].tolist() == [0.5, 1, 1, 1]
    assert (run("sigmoid", x)[[3, 5, 7]] < 10 * tiny**0.99).all()
    assert run("log", torch.tensor([1.0, inf], dtype=dtype)).tolist() == [0, inf]
    for name in NAMES:
        assert run(name, torch.tensor([nan] * 5, dtype=dtype)).isnan().all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", ["exp", "expm1", "tanh", "sigmoid"])
def test_no_hole_between_the_limits(name: str, dtype: torch.dtype) -> None:
    """Monotone and never NaN through every edge, where a scaling by powers of two over- and underflows."""
    edges = [-746, -745.2, -709.8, -707, -104, -103.3, -88.8, -88.03, -87.4, -87, 87.3, 88.02, 88.38, 88.73, 89]
    edges += [708.7, 709.1, 709.44, 709.79, 710, -20, -9.02, 9.02, 19.1]
    for edge in edges:
        x = torch.linspace(edge - 0.8, edge + 0.8, 4001, dtype=dtype)
        y = run(name, x)
        assert not y.isnan().any(), f"NaN near {edge}"
        finite = y[y.isfinite()]
        slack = 4 * torch.finfo(dtype).eps * finite[1:].abs()
        assert (finite.diff() >= -slack).all(), f"not monotone near {edge}"


@pytest.mark.parametrize("count", [0, 1, 2, 3, 5, 7, 8, 15, 16, 17, 33])
def test_every_length(count: int) -> None:
    x = torch.randn(count)
    assert torch.allclose(run("tanh", x), torch.tanh(x), rtol=1e-5)
