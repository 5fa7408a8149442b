"""The C++ engine against the reference: output, final state and every gradient, on any shape and option."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from hypothesis import example, given, settings
from torch import Tensor

from problems import Description, problems
from slowfade import PowerLawLSTM
from slowfade.engines import cpu
from support import assert_close, everything, needs_cpu_engine, rms_ratio

pytestmark = needs_cpu_engine

DOUBLE = torch.float64

# Sizes at, just under and just over every block of the engine, and longer than its chunks of time.
SHAPES = [  # (T, B, I, H, P)
    (1, 1, 1, 1, 0),
    (2, 1, 1, 1, 0),
    (3, 2, 1, 2, 1),
    (5, 3, 7, 15, 0),
    (5, 4, 8, 16, 15),
    (5, 5, 9, 17, 16),
    (4, 7, 16, 31, 17),
    (4, 8, 17, 32, 0),
    (4, 9, 15, 33, 3),
    (3, 17, 33, 48, 47),
    (3, 33, 2, 49, 0),
    (7, 13, 20, 100, 40),
    (150, 3, 5, 24, 0),
    (300, 1, 3, 20, 7),
    (70, 40, 4, 12, 0),
    (3, 2, 130, 150, 129),
]
GIVEN: list[dict[str, Any]] = [
    {},
    {"coupled": False},
    {"bidirectional": True, "num_layers": 2},
    {"power": 0.4, "bias": False},
]


@pytest.fixture(params=[1, 2, 3])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def on_both(description: Description, dtype: torch.dtype, **given: bool) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    found = []
    for engine in ("cpu", "reference"):
        layer, x, dt, lengths, state = description.build(engine, dtype)
        arguments = {"dt": dt if given.get("dt") else None, "lengths": lengths if given.get("lengths") else None}
        found.append(everything(layer, x, state, **arguments))
    return found[0], found[1]


def description(shape: tuple[int, ...], options: dict[str, Any]) -> Description:
    steps, batch, inputs, hidden, projected = shape
    lengths = [(b * 7 + 3) % (steps + 1) for b in range(batch)]
    return Description(inputs, hidden, steps, lengths, options | {"proj_size": projected}, 1.0, 3.0, 0)


@pytest.mark.parametrize("options", GIVEN, ids=lambda options: ",".join(options) or "plain")
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_at_every_block_size(shape: tuple[int, ...], options: dict[str, Any]) -> None:
    for dt, lengths in ((False, False), (True, True)):
        found, expected = on_both(description(shape, options), DOUBLE, dt=dt, lengths=lengths)
        assert_close(found, expected, 1e-11)


@pytest.mark.parametrize("shape", SHAPES[3::3], ids=str)
def test_with_any_number_of_threads(shape: tuple[int, ...], threads: int) -> None:
    for lengths in (False, True):
        found, expected = on_both(description(shape, {}), DOUBLE, dt=True, lengths=lengths)
        assert_close(found, expected, 1e-11)


@settings(max_examples=60)
@example(Description(1, 1, 1, [0], {"epsilon": 0.1}, 10.0, 1e4, 0))
@given(problems(most_units=40))
def test_on_what_hypothesis_draws(problem: Description) -> None:
    for dt in (False, True):
        found, expected = on_both(problem, DOUBLE, dt=dt, lengths=True)
        assert_close(found, expected, 1e-10)


@settings(max_examples=40)
@given(problems(most_units=40, power="learned"))
def test_single_precision_is_as_good_as_the_references(problem: Description) -> None:
    """Both engines in float32 against the truth in float64; ours may not be worse by more than a little luck."""
    layer, x, dt, lengths, state = problem.build("reference", DOUBLE)
    truth = everything(layer, x, state, dt=dt, lengths=lengths)
    found, reference = on_both(problem, torch.float32, dt=True, lengths=True)
    for name, exact in truth.items():
        ours, theirs = (rms_ratio(part[name].double() - exact, exact) for part in (found, reference))
        assert ours <= 4 * theirs + 2e-6, f"{name}: {ours:.1e} and {theirs:.1e}"


@pytest.mark.slow
@settings(max_examples=2000, derandomize=False)
@given(problems(most_steps=60, most_rows=40, most_units=90))
def test_on_much_more_that_hypothesis_draws(problem: Description) -> None:
    found, expected = on_both(problem, DOUBLE, dt=True, lengths=True)
    assert_close(found, expected, 1e-10)


def test_input_of_any_strides() -> None:
    """Rows that are not contiguous, that overlap (expand), or run backwards in no particular order."""
    layer = PowerLawLSTM(6, 10, engine="cpu", dtype=DOUBLE)
    base = torch.randn(8, 5, 6, dtype=DOUBLE)
    state = torch.randn(3, 1, 5, 10, dtype=DOUBLE).abs()
    forms = [
        base.transpose(0, 1).contiguous().transpose(0, 1),
        base.permute(2, 1, 0).contiguous().permute(2, 1, 0),
        base.repeat(1, 1, 2)[..., ::2],
        base[:, :1].expand(8, 5, 6),
        base[:1].expand(8, 5, 6),
        base[..., :1].expand(8, 5, 6),
        torch.zeros((), dtype=DOUBLE).expand(8, 5, 6),
    ]
    dt = torch.rand(8, 1, dtype=DOUBLE)
    for form in forms:
        for interval in (dt.expand(8, 5), dt[:1].expand(8, 5), torch.rand(5, 8, dtype=DOUBLE).T):
            expected = everything(layer, form.contiguous(), tuple(state), dt=interval.contiguous())
            assert_close(
                everything(layer, form, tuple(state.transpose(0, 1).contiguous().transpose(0, 1)), dt=interval),
                expected,
            )


def test_unwritten_memory_is_poisoned_in_the_engine_too() -> None:
    """What a row that ended never wrote is NaN in these tests: had any of it been used, results would show it."""
    x, lengths = torch.randn(6, 2, 3), torch.tensor([6, 2])
    h, c, age = torch.zeros(3, 2, 4)
    weights = (torch.randn(12, 3), torch.randn(12, 4), torch.randn(12), None, torch.rand(4))
    *results, kept = torch.ops.slowfade.power_law(x, None, lengths, h, c, age, *weights, 1e-3, True, False, False, True)
    assert kept.isnan().any()
    assert not any(result.isnan().any() for result in results)


def test_without_gradients_nothing_is_kept() -> None:
    layer, x = PowerLawLSTM(3, 4, engine="cpu"), torch.randn(6, 2, 3)
    expected, _ = layer(x)
    with torch.no_grad():
        found, state = layer(x)
    assert torch.equal(found, expected)
    assert not found.requires_grad
    with torch.inference_mode():
        assert torch.equal(layer(x, state)[0], layer(x, tuple(state))[0])
    assert cpu.why_not(x) is None
