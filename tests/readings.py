"""What the independent readings of the networks share: weights that matter, and how a reading is compared."""

from __future__ import annotations

import cmath
import math
from typing import Any

import numpy as np
import scipy.stats
import torch
from torch import Tensor

from slowfade import cores
from slowfade.cores import Core
from slowfade.cores.stepped import SteppedCore
from support import assert_close


def scrambled(name: str, input_size: int = 3, hidden_size: int = 8, spread: float = 0.3, **arguments: Any) -> Any:
    """A network in float64, every parameter moved away from where it starts: no bias is zero, no two units alike."""
    core = cores.build(name, input_size, hidden_size, **arguments).double()
    assert isinstance(core, SteppedCore)
    with torch.no_grad():
        for parameter in core.parameters():
            parameter.add_(spread * torch.randn_like(parameter))
    return core


def start_for(core: Core, batch: int) -> tuple[Tensor, ...]:
    """A random state, as the network would have it."""
    _, like = core(torch.zeros(0, batch, core.input_size, dtype=torch.float64))
    return type(like)(*(0.5 * torch.randn_like(part) for part in like))


def numbers(module: torch.nn.Module) -> dict[str, np.ndarray]:
    """A layer's parameters by name."""
    return {name: parameter.detach().numpy() for name, parameter in module.named_parameters()}


def assert_same(found: Tensor, expected: Any, tolerance: float | None = None) -> None:
    """A tensor is what NumPy, or a list of lists, says; complex numbers too."""
    wanted = torch.from_numpy(np.asarray(expected))
    assert found.is_complex() == wanted.is_complex()
    parts = (torch.view_as_real(part.resolve_conj()) if part.is_complex() else part for part in (found, wanted))
    assert_close(*parts, tolerance)


def assert_gradients(core: Core) -> None:
    """Those of every parameter and of the input are those of finite differences."""
    parameters = dict(core.named_parameters())
    x = torch.randn(4, 2, core.input_size, dtype=torch.float64)
    given = [tensor.detach().clone().requires_grad_() for tensor in (x, *parameters.values())]

    def run(x: Tensor, *values: Tensor) -> tuple[Tensor, ...]:
        output, state = torch.func.functional_call(core, dict(zip(parameters, values, strict=True)), (x,))
        return output, *state

    assert torch.autograd.gradcheck(run, given, fast_mode=True)


def assert_uniform(values: Tensor, low: float, high: float) -> None:
    """As if drawn from ``U(low, high)``."""
    drawn = scipy.stats.uniform(low, high - low)
    assert scipy.stats.kstest(values.detach().flatten().numpy(), drawn.cdf).pvalue > 1e-3


def assert_normal(values: Tensor, std: float) -> None:
    """As if drawn from ``N(0, std²)``."""
    drawn = scipy.stats.norm(0, std)
    assert scipy.stats.kstest(values.detach().flatten().numpy(), drawn.cdf).pvalue > 1e-3


def sigmoid(z: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-z))


def relu(z: np.ndarray) -> np.ndarray:
    return np.maximum(z, 0)


def turned_by_pairs(angles: dict[str, list[float]], style: str, capacity: int, vector: list[complex]) -> list[complex]:
    """An EUNN's matrix times a vector, one pair of units after the other, as the paper describes the two styles."""
    size, h = len(vector), list(vector)
    theta = iter(angles["theta"])
    phi = iter(angles.get("phi", [0.0] * len(angles["theta"])))
    if style == "tunable":
        layers = [[(a, a + 1) for a in range(n % 2, size - 1, 2)] for n in range(capacity)]
    else:
        layers = [
            [(k, k + size // 2 ** (n + 1)) for k in range(size) if k % (size // 2**n) < size // 2 ** (n + 1)]
            for n in range(int(math.log2(size)))
        ]
    for layer in layers:
        for a, b in layer:
            t, turn = next(theta), cmath.exp(1j * next(phi))
            h[a], h[b] = (
                math.cos(t) * h[a] - turn * math.sin(t) * h[b],
                math.sin(t) * h[a] + turn * math.cos(t) * h[b],
            )
    assert next(theta, None) is None
    return [cmath.exp(1j * w) * value for w, value in zip(angles.get("omega", [0.0] * size), h, strict=True)]
