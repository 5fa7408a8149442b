"""Values no one should have, and sequences longer than most: finite forward and backward, on every engine."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import Tensor

from slowfade import PowerLawLSTM, PowerLawState
from support import assert_close, everything

OPTIONS: list[dict[str, Any]] = [{}, {"coupled": False}, {"proj_size": 2, "bidirectional": True}, {"power": 5.0}]
TYPES = [torch.float32, torch.float64]


def assert_finite(found: dict[str, Tensor]) -> None:
    for name, value in found.items():
        assert value.isfinite().all(), f"{name} is not finite"


def random_signs(*shape: int, dtype: torch.dtype) -> Tensor:
    return torch.randint(0, 2, shape).to(dtype) * 2 - 1


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: ",".join(options) or "plain")
@pytest.mark.parametrize("size", [0.0, 1e-38, 1.0, 1e2, 1e4, 1e8])
def test_inputs_of_any_size(engine: str, options: dict[str, Any], dtype: torch.dtype, size: float) -> None:
    layer = PowerLawLSTM(3, 5, engine=engine, dtype=dtype, **options)
    assert_finite(everything(layer, random_signs(20, 2, 3, dtype=dtype) * size))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: ",".join(options) or "plain")
@pytest.mark.parametrize("size", [1.0, 1e4])
def test_intervals_of_any_size(engine: str, options: dict[str, Any], dtype: torch.dtype, size: float) -> None:
    layer = PowerLawLSTM(3, 5, engine=engine, dtype=dtype, **options)
    intervals = torch.tensor([0, 0, 1e12, 0, 1e-30, 1e-12, 1, 1e12, 1e12, 0], dtype=dtype)
    found = everything(layer, random_signs(10, 2, 3, dtype=dtype) * size, dt=intervals)
    assert_finite(found)


@pytest.mark.parametrize("size", [1e15, 1e19, 1e21, 1e25])
def test_gradients_are_right_however_long_the_intervals(engine: str, size: float) -> None:
    """In float32, whose range the product of an age and an interval leaves soon."""
    layer = PowerLawLSTM(3, 5, engine=engine)
    x, dt = torch.randn(6, 2, 3), torch.full((6, 2), size)
    found = everything(layer, x, dt=dt)
    exact = everything(copy.deepcopy(layer).double(), x.double(), dt=dt.double())
    assert_close({name: value.double() for name, value in found.items()}, exact, 1e-4)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("age", [0.0, 1e6, 1e12, 1e18])
def test_states_of_any_size(engine: str, dtype: torch.dtype, age: float) -> None:
    layer = PowerLawLSTM(3, 5, engine=engine, dtype=dtype)
    state = PowerLawState(
        torch.full((1, 2, 5), 1e3, dtype=dtype),
        random_signs(1, 2, 5, dtype=dtype) * 1e6,
        torch.full((1, 2, 5), age, dtype=dtype),
    )
    assert_finite(everything(layer, torch.randn(20, 2, 3, dtype=dtype), state))


@pytest.mark.parametrize("dtype", TYPES)
def test_logits_at_every_edge_of_the_exponential(engine: str, dtype: torch.dtype) -> None:
    """Each unit's gates saturate at another point, in both directions."""
    edges = torch.tensor([20, 80, 86, 87.4, 88.8, 89, 104, 700, 707, 709.9, 745.2, 1e30], dtype=dtype)
    units = len(edges) * 2
    layer = PowerLawLSTM(1, units, engine=engine, dtype=dtype, coupled=False)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.zero_()
        layer.bias_l0.copy_(torch.cat([edges, -edges]).repeat(4))
    state = PowerLawState(*(torch.full((1, 2, units), 0.5, dtype=dtype) for _ in range(3)))
    found = everything(layer, torch.randn(5, 2, 1, dtype=dtype), state, dt=torch.rand(5, 2, dtype=dtype))
    assert_finite(found)
    # An open reset ends with age 0 and a closed one with all the time that went by, output gates shut or fully open.
    output, _ = layer(torch.zeros(5, 2, 1, dtype=dtype), state)
    assert (output[..., len(edges) :].abs() < 1e-8).all()


def test_powers_at_their_ends(engine: str) -> None:
    layer = PowerLawLSTM(3, 6, engine=engine)
    with torch.no_grad():
        layer.power_logit_l0.copy_(torch.tensor([-200.0, -90.0, -10.0, 10.0, 90.0, 200.0]))
    assert_finite(everything(layer, torch.randn(20, 2, 3)))


def test_a_nan_stays_in_its_row(engine: str) -> None:
    """A broken sample breaks its own sequence from there on, and is not hidden; the other rows do not see it."""
    layer = PowerLawLSTM(3, 9, engine=engine)
    x = torch.randn(6, 3, 3)
    expected, _ = layer(x)
    x[2, 1, 0] = torch.nan
    output, end = layer(x)
    assert output[2:, 1].isnan().all()
    assert end.c[:, 1].isnan().all()
    assert_close(output[:, [0, 2]], expected[:, [0, 2]])
    assert_close(output[:2], expected[:2])


def test_a_hundred_thousand_steps(engine: str) -> None:
    """In one piece and in two; the reference is slower, goes a shorter way here and the whole one below."""
    steps = 100_000 if engine == "cpu" else 3_000
    layer = PowerLawLSTM(2, 4, engine=engine)
    x = torch.randn(steps, 1, 2)
    found = everything(layer, x)
    assert_finite(found)
    half = steps // 2
    _, middle = layer(x[:half])
    rest, end = layer(x[half:], middle)
    assert_close(rest, found["output"][half:], 1e-6)
    assert_close(end.age, found["end 2"], 1e-6)


@pytest.mark.slow
def test_a_hundred_thousand_steps_on_the_reference() -> None:
    layer = PowerLawLSTM(2, 4, engine="reference")
    assert_finite(everything(layer, torch.randn(100_000, 1, 2)))


def test_memories_a_hundred_thousand_steps_old_still_learn(engine: str) -> None:
    """With the gate closed the gradient of the first cell is the power law itself, not zero."""
    steps = 100_000 if engine == "cpu" else 2_000
    layer = PowerLawLSTM(1, 2, power=0.5, epsilon=1e-7, engine=engine)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.zero_()
        layer.bias_l0[:2] = -80.0
    c = torch.full((1, 1, 2), 0.5, requires_grad=True)
    _, end = layer(torch.zeros(steps, 1, 1), (torch.zeros(1, 1, 2), c))
    (gradient,) = torch.autograd.grad(end.c.sum(), c)
    assert_close(gradient, torch.full((1, 1, 2), (steps + 1) ** -0.5), 2e-2)
