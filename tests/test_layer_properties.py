"""What must hold of any sequence: hypothesis draws the shapes and options, on every engine."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from problems import Description, problems
from slowfade import PowerLawLSTM, PowerLawState, elapsed
from support import ENGINES, assert_close, everything

DOUBLE = torch.float64
on_every_engine = pytest.mark.parametrize("engine", ENGINES)


@on_every_engine
@given(problem=problems(bidirectional=False), data=st.data())
def test_chunks_equal_the_whole(engine: str, problem: Description, data: st.DataObject) -> None:
    layer, x, dt, lengths, state = problem.build(engine)
    cut = data.draw(st.integers(0, len(x)))
    expected, end = layer(x, state, dt=dt, lengths=lengths)
    first, middle = layer(x[:cut], state, dt=dt[:cut], lengths=[min(n, cut) for n in lengths])
    second, found = layer(x[cut:], middle, dt=dt[cut:], lengths=[max(n - cut, 0) for n in lengths])
    assert_close(torch.cat([first, second]), expected)
    assert_close(tuple(found), tuple(end))


@on_every_engine
@given(problem=problems(), data=st.data())
def test_batch_order_changes_nothing(engine: str, problem: Description, data: st.DataObject) -> None:
    layer, x, dt, lengths, state = problem.build(engine)
    order = data.draw(st.permutations(range(len(lengths))))
    expected, end = layer(x, state, dt=dt, lengths=lengths)
    mixed = PowerLawState(*(part[:, order] for part in state))
    output, found = layer(x[:, order], mixed, dt=dt[:, order], lengths=[lengths[b] for b in order])
    assert_close(output, expected[:, order])
    assert_close(tuple(found), tuple(part[:, order] for part in end))


@on_every_engine
@given(problem=problems())
def test_rows_do_not_know_each_other(engine: str, problem: Description) -> None:
    """Padded in a batch or one by one: the same, in both directions and all layers."""
    layer, x, dt, lengths, state = problem.build(engine)
    output, end = layer(x, state, dt=dt, lengths=lengths)
    for b, count in enumerate(lengths):
        alone = PowerLawState(*(part[:, b : b + 1] for part in state))
        expected, expected_end = layer(x[:count, b : b + 1], alone, dt=dt[:count, b : b + 1])
        assert_close(output[:count, b : b + 1], expected)
        assert_close(tuple(part[:, b : b + 1] for part in end), tuple(expected_end))


@on_every_engine
@given(problem=problems())
def test_unit_intervals_are_no_intervals(engine: str, problem: Description) -> None:
    layer, x, dt, lengths, state = problem.build(engine)
    expected = everything(layer, x, state, lengths=lengths)
    found = everything(layer, x, state, lengths=lengths, dt=torch.ones_like(dt))
    found.pop("gradient of dt")
    assert_close(found, expected)


@on_every_engine
@given(problem=problems(bidirectional=False), start=st.sampled_from([0.0, 1.0, 1e3, 1e6]))
def test_shifting_time_changes_nothing(engine: str, problem: Description, start: float) -> None:
    """A layer sees intervals only: timestamps on any clock give the same numbers."""
    layer, x, dt, _, state = problem.build(engine)
    times = dt.cumsum(0)
    expected, _ = layer(x, state, dt=elapsed(times, 0.0))
    found, _ = layer(x, state, dt=elapsed(times + start, start))
    assert_close(found, expected, 1e-12 * max(start, 1) / max(dt.min().item(), 1e-6))


@on_every_engine
@given(
    share=st.floats(0.01, 0.99),
    gap=st.sampled_from([0.5, 1.0, 7.0, 1e4]),
    age=st.sampled_from([0.0, 3.0, 1e5]),
    power=st.sampled_from([0.1, 1.0, 5.0]),
)
def test_splitting_a_gap_changes_nothing_while_the_gate_is_closed(
    engine: str, share: float, gap: float, age: float, power: float
) -> None:
    """Time is time: with r = 0 and nothing coming in, a memory fades as much over one gap as over its two parts."""
    layer = PowerLawLSTM(1, 3, power=power, epsilon=1e-13, engine=engine, dtype=DOUBLE)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.zero_()
        layer.bias_l0[:3] = -700.0
    state = PowerLawState(*(torch.full((1, 1, 3), value, dtype=DOUBLE) for value in (0.0, 1.5, age)))
    _, whole = layer(torch.zeros(1, 1, 1, dtype=DOUBLE), state, dt=torch.tensor([gap], dtype=DOUBLE))
    parts = torch.tensor([gap * share, gap * (1 - share)], dtype=DOUBLE)
    _, split = layer(torch.zeros(2, 1, 1, dtype=DOUBLE), state, dt=parts)
    assert_close((split.c, split.age), (whole.c, whole.age), 1e-9)
    law = 1.5 * ((age + 1) / (age + gap + 1)) ** power
    assert_close(whole.c, torch.full((1, 1, 3), law, dtype=DOUBLE), 1e-9)


@on_every_engine
@given(problem=problems(coupled=True))
def test_a_coupled_cell_stays_between_what_it_held_and_what_came(engine: str, problem: Description) -> None:
    """c is a weighted mean of the old cell and a candidate in (-1, 1) while f <= 1, that is while dt >= epsilon."""
    layer, x, dt, lengths, state = problem.build(engine)
    _, end = layer(x, state, dt=dt + layer.epsilon, lengths=lengths)
    assert (end.c.abs() <= state.c.abs().clamp(min=1) * (1 + 1e-9)).all()
    assert (end.age >= 0).all()
