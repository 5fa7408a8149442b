"""What the tests share: how an error is measured, all derivatives of a layer by name, a fresh process."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from slowfade.engines import cpu

needs_cpu_engine = pytest.mark.skipif(not cpu.variants(), reason="the C++ engine was not built")
ENGINES = ["reference", pytest.param("cpu", marks=needs_cpu_engine)]

#: Relative error that a long chain of roundings may add up to.
ROUNDING = {torch.float32: 2e-5, torch.float64: 1e-12}


def rms_ratio(error: Tensor, base: Tensor) -> float:
    """RMS of an error over the RMS of what it is an error of. A NaN anywhere fails before any comparison."""
    assert not error.isnan().any(), "NaN in the error"
    assert not base.isnan().any(), "NaN in the base"
    if error.numel() == 0:
        return 0.0
    size, scale = (part.detach().double().square().mean().sqrt().item() for part in (error, base))
    return size / scale if scale else (math.inf if size else 0.0)


def assert_close(found: Any, expected: Any, tolerance: float | None = None, what: str = "value") -> None:
    """Tensors, or tuples and dictionaries of them, that differ by no more than an RMS ratio."""
    if isinstance(expected, Mapping):
        assert found.keys() == expected.keys()
        for name in expected:
            assert_close(found[name], expected[name], tolerance, f"{what} {name}")
    elif isinstance(expected, tuple | list):
        assert len(found) == len(expected)
        for i, pair in enumerate(zip(found, expected, strict=True)):
            assert_close(*pair, tolerance, f"{what} {i}")
    elif expected is None:
        assert found is None, f"{what} should be None"
    else:
        assert found.shape == expected.shape, f"{what}: {tuple(found.shape)} is not {tuple(expected.shape)}"
        tolerance = ROUNDING[found.dtype] if tolerance is None else tolerance
        ratio = rms_ratio(found.double() - expected.double(), expected)
        assert ratio <= tolerance, f"{what}: RMS ratio {ratio:.2e} is over {tolerance:.0e}"


def derivatives(outputs: Sequence[Tensor], inputs: Mapping[str, Tensor], seed: int = 1) -> dict[str, Tensor]:
    """The gradient of a random weighting of the outputs, which no symmetry can cancel, with respect to each input."""
    generator = torch.Generator().manual_seed(seed)
    wanted = {name: tensor for name, tensor in inputs.items() if tensor.requires_grad}
    weights = [torch.randn(out.shape, generator=generator, dtype=torch.float64).to(out.dtype) for out in outputs]
    found = torch.autograd.grad(outputs, list(wanted.values()), weights, allow_unused=True)
    return {
        f"gradient of {name}": torch.zeros_like(tensor) if gradient is None else gradient
        for (name, tensor), gradient in zip(wanted.items(), found, strict=True)
    }


def everything(layer: torch.nn.Module, x: Tensor, state: Any = None, **arguments: Any) -> dict[str, Tensor]:
    """A layer's output, final state and every gradient (parameters, input, dt, initial state) by name."""
    given = {"x": x, **{f"state {i}": part for i, part in enumerate(state or ())}}
    if isinstance(arguments.get("dt"), Tensor):
        given["dt"] = arguments["dt"]
    # Made anew here, so that an intermediate result can be differentiated too.
    given = {name: tensor.detach().requires_grad_() for name, tensor in given.items()}
    if "dt" in given:
        arguments["dt"] = given["dt"]
    start = tuple(tensor for name, tensor in given.items() if name.startswith("state")) or None
    output, end = layer(given["x"], start, **arguments)
    named = {"output": output, **{f"end {i}": part for i, part in enumerate(end)}}
    return named | derivatives(list(named.values()), given | dict(layer.named_parameters()))


def in_new_process(script: str, *, environment: Mapping[str, str] | None = None, timeout: float = 300) -> str:
    """Run Python source in a process of its own and give back what it prints; warnings are errors there too."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        env=os.environ | dict(environment or {}),
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def raised(call: Callable[[], object]) -> type[BaseException] | None:
    """The class of what a call raises, ``None`` if it raises nothing."""
    try:
        call()
    except Exception as error:
        return type(error)
    return None
