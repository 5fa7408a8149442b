"""What every network must do, whatever its equations."""

from __future__ import annotations

import pickle
from copy import deepcopy
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from slowfade import cores
from slowfade.cores import Core
from slowfade.cores.sizes import count_parameters
from support import assert_close

STEPS, BATCH, INPUTS, HIDDEN = 7, 3, 3, 8


@pytest.fixture
def x() -> Tensor:
    return torch.randn(STEPS, BATCH, INPUTS, dtype=torch.float64)


@pytest.fixture
def time(name: str) -> dict[str, Tensor]:
    if not cores.describe(name).uses_time:
        return {}
    return {"dt": torch.rand(STEPS, BATCH, dtype=torch.float64) + 0.1}


def test_shapes(build: Any, x: Tensor) -> None:
    core = build(num_layers=2)
    output, state = core(x)
    assert output.shape == (STEPS, BATCH, core.output_size)
    assert output.dtype == torch.float64
    assert isinstance(state, tuple)
    for part in state:
        assert part.shape[:2] == (2, BATCH)
    assert (core.input_size, core.hidden_size, core.num_layers, core.batch_first) == (INPUTS, HIDDEN, 2, False)


def test_an_empty_sequence_keeps_the_state(build: Any, x: Tensor) -> None:
    core = build()
    _, state = core(x)
    output, end = core(x[:0], state)
    assert output.shape == (0, BATCH, core.output_size)
    assert_close_states(end, state)


def test_batch_first_is_the_same_turned_round(build: Any, x: Tensor, time: dict[str, Tensor]) -> None:
    output, state = build(num_layers=2)(x, **time)
    turned = {name: dt.t() for name, dt in time.items()}
    found, end = build(num_layers=2, batch_first=True)(x.transpose(0, 1), **turned)
    assert_close(found.transpose(0, 1), output)
    assert_close_states(end, state)


def test_unbatched_is_a_batch_of_one(build: Any, x: Tensor) -> None:
    core = build()
    output, state = core(x[:, :1])
    found, end = core(x[:, 0])
    assert_close(found, output[:, 0])
    assert_close_states(end, tuple(part[:, 0] for part in state))


def test_chunks_with_carried_state_are_the_whole(build: Any, x: Tensor, time: dict[str, Tensor]) -> None:
    core = build(num_layers=2)
    output, state = core(x, **time)
    found, end = [], None
    for start, stop in ((0, 1), (1, 5), (5, STEPS)):
        chunk, end = core(x[start:stop], end, **{name: dt[start:stop] for name, dt in time.items()})
        found.append(chunk)
    assert_close(torch.cat(found), output)
    assert_close_states(end, state)


def test_padded_rows_are_run_one_by_one(build: Any, x: Tensor, time: dict[str, Tensor]) -> None:
    core = build(num_layers=2)
    _, start = core(x[:2])
    lengths = [4, STEPS, 0]
    padded = x.clone()
    for row, length in enumerate(lengths):
        padded[length:, row] = 1e3
    output, state = core(padded, start, lengths=torch.tensor(lengths), **time)
    for row, length in enumerate(lengths):
        alone = tuple(part[:, row : row + 1] for part in start)
        times = {name: dt[:length, row : row + 1] for name, dt in time.items()}
        expected, end = core(x[:length, row : row + 1], alone, **times)
        assert_close(output[:length, row : row + 1], expected)
        assert not output[length:, row].any()
        assert_close_states(tuple(part[:, row : row + 1] for part in state), end)


def test_packed_is_padded(build: Any, x: Tensor) -> None:
    core, lengths = build(), torch.tensor([4, STEPS, 2])
    output, state = core(x, lengths=lengths)
    found, end = core(pack_padded_sequence(x, lengths, enforce_sorted=False))
    assert_close(pad_packed_sequence(found)[0], output)
    assert_close_states(end, state)


def test_padding_gets_no_gradient(build: Any, x: Tensor) -> None:
    core, lengths = build(num_layers=2), torch.tensor([4, STEPS, 1])
    x.requires_grad_()
    core(x, lengths=lengths)[0].square().sum().backward()
    for row, length in enumerate(lengths):
        assert not x.grad[length:, row].any()
        assert x.grad[:length, row].any()


def test_gradients_are_those_of_finite_differences(build: Any, x: Tensor, time: dict[str, Tensor]) -> None:
    core = build(num_layers=2)
    lengths = torch.tensor([4, 2, 3])
    _, start = core(x[:2])
    dt = {name: value[:4] for name, value in time.items()}
    parameters = dict(core.named_parameters())
    given = [x[:4], *start, *dt.values(), *parameters.values()]
    given = [tensor.detach().clone().requires_grad_() for tensor in given]

    def run(*tensors: Tensor) -> tuple[Tensor, ...]:
        x, rest = tensors[0], list(tensors[1:])
        state = tuple(rest.pop(0) for _ in start)
        times = {name: rest.pop(0) for name in dt}
        weights = dict(zip(parameters, rest, strict=True))
        arguments = {"lengths": lengths, **times}
        output, end = torch.func.functional_call(core, weights, (x, state), arguments)
        return output, *end

    assert torch.autograd.gradcheck(run, given, fast_mode=True)


def test_detach_cuts_the_graph(build: Any, x: Tensor) -> None:
    _, state = build()(x)
    cut = cores.detach(state)
    assert type(cut) is type(state)
    assert any(part.requires_grad for part in state)
    assert not any(part.requires_grad for part in cut)
    assert_close_states(cut, state)


@pytest.mark.parametrize("num_layers", [1, 3])
def test_the_formula_counts_the_parameters(name: str, build: Any, options: dict[str, Any], num_layers: int) -> None:
    filled = {option.name: option.default for option in cores.options(name)} | options
    core = build(5, 16, num_layers=num_layers)
    actual = sum(parameter.numel() for parameter in core.parameters())
    assert count_parameters(type(core), 5, 16, num_layers, 2, filled) == actual + 2 * (core.output_size + 1)


def test_parameter_groups_hold_every_parameter_once(build: Any) -> None:
    core = build(num_layers=2)
    grouped = [id(parameter) for group in core.parameter_groups() for parameter in group.parameters]
    assert sorted(grouped) == sorted(id(parameter) for parameter in core.parameters())
    assert all(0 < group.rate <= 1 for group in core.parameter_groups())


def test_the_penalty_is_a_number(build: Any) -> None:
    penalty = build().penalty()
    assert penalty is None or (penalty.shape == () and penalty >= 0 and penalty.requires_grad)


def test_the_hook_after_a_step_changes_no_output(build: Any, x: Tensor) -> None:
    core = build()
    before, _ = core(x)
    for _ in range(3):
        core.after_step()
    assert_close(core(x)[0], before)


def test_silenced_units_are_zero_and_the_rest_hears_that(name: str, build: Any, x: Tensor) -> None:
    core, units = build(num_layers=2), [1, 6]
    untouched, _ = core(x)
    output, state = core.silenced(units).silenced([3])(x)
    units = [*units, 3]
    assert not output[..., columns(core, units)].any()
    assert not torch.allclose(output, untouched)
    assert_close(core(x)[0], untouched)
    assert_close(core.silenced(units).trace(x)["hidden"], output)
    if name == "nru":
        return  # Its memory hears a unit within the step that made it; its own test looks at that.
    # By hand: one step at a time, with the units taken out of the state in between.
    end, found = None, []
    for x_t in x.split(1):
        if end is None:
            _, end = core(x[:0])
        end = without(end, units)
        step, end = core(x_t, end)
        step[..., columns(core, units)] = 0
        found.append(step)
    assert_close(output, torch.cat(found))
    assert_close_states(state, without(end, units))


def test_silencing_names_units_there_are(build: Any) -> None:
    with pytest.raises(ValueError, match="between 0 and 7, got 8"):
        build().silenced([8])


def test_trace_shows_the_output(build: Any, x: Tensor, time: dict[str, Tensor]) -> None:
    core, lengths = build(num_layers=2, batch_first=True), torch.tensor([4, STEPS, 2])
    arguments = {"lengths": lengths, **{name: dt.t() for name, dt in time.items()}}
    output, _ = core(x.transpose(0, 1), **arguments)
    trace = core.trace(x.transpose(0, 1), **arguments)
    assert_close(trace["hidden"], output)
    for value in trace.values():
        assert value.shape[:2] == (BATCH, STEPS)
        assert not value[0, 4:].any()


def test_free_decay_falls_from_one(build: Any) -> None:
    left = build(num_layers=2).free_decay(torch.arange(20.0, dtype=torch.float64))
    if left is not None:
        assert left.shape[0] == 20
        assert_close(left[0], torch.ones_like(left[0]))
        assert (left.diff(dim=0) <= 0).all()
        assert (left >= 0).all()


def test_time_is_used_or_refused(name: str, build: Any, x: Tensor) -> None:
    core, ones = build(), torch.ones(STEPS, BATCH, dtype=torch.float64)
    if not core.uses_time:
        with pytest.raises(ValueError, match="takes no dt"):
            core(x, dt=ones)
        return
    assert_close(core(x, dt=ones)[0], core(x)[0])
    assert not torch.allclose(core(x, dt=2.5 * ones)[0], core(x)[0])


def test_copies_compute_the_same(build: Any, x: Tensor) -> None:
    core = build(num_layers=2)
    expected, state = core(x)
    fresh = build(num_layers=2)
    with torch.no_grad():
        for parameter in fresh.parameters():
            parameter.add_(0.1)
    fresh.load_state_dict(core.state_dict())
    for copy in (fresh, deepcopy(core), pickle.loads(pickle.dumps(core))):
        found, end = copy(x)
        assert_close(found, expected)
        assert_close_states(end, state)


def test_a_wrong_state_is_named(build: Any, x: Tensor) -> None:
    core = build()
    _, state = core(x)
    with pytest.raises(RuntimeError, match=f"state.{state._fields[0]} should be"):
        core(x[:, :2], state)
    with pytest.raises(TypeError, match="should be a tuple"):
        core(x, (*state, state[0]))


def test_long_sequences_stay_finite(name: str, options: dict[str, Any]) -> None:
    core = cores.build(name, 2, 16, **options)
    x = torch.randn(2000, 2, 2, requires_grad=True)
    output, state = core(x)
    output[-1].square().sum().backward()
    assert output.dtype == torch.float32
    assert output.isfinite().all()
    assert all(part.isfinite().all() for part in state)
    for parameter in (x, *core.parameters()):
        assert parameter.grad is None or parameter.grad.isfinite().all()


#: Where the published learning rates' order of magnitude is not 1e-2.
RATES: dict[str, float] = {}


def test_it_learns_to_copy(name: str, options: dict[str, Any]) -> None:
    """Two of eight letters, a delay of five, then both again; chance is 1/8."""
    torch.manual_seed(0)
    core = cores.build(name, 9, 32, **options)
    head = torch.nn.Linear(core.output_size, 8)
    rate = RATES.get(name, 1e-2)
    groups: list[dict[str, Any]] = [
        {"params": group.parameters, "lr": rate * group.rate} for group in core.parameter_groups()
    ]
    optimizer = torch.optim.Adam([*groups, {"params": head.parameters()}], lr=rate)
    accuracy = 0.0
    for _ in range(400):
        letters = torch.randint(8, (2, 64))
        x = F.one_hot(torch.cat([letters, torch.full((5 + 2, 64), 8)]), 9).float()
        prediction = head(core(x)[0][-2:])
        loss = F.cross_entropy(prediction.flatten(0, 1), letters.flatten())
        penalty = core.penalty()
        optimizer.zero_grad()
        (loss if penalty is None else loss + penalty).backward()
        torch.nn.utils.clip_grad_norm_(core.parameters(), 1.0)
        optimizer.step()
        core.after_step()
        accuracy = 0.9 * accuracy + 0.1 * (prediction.argmax(-1) == letters).float().mean().item()
        if accuracy > 0.5:
            return
    pytest.fail(f"{name} copies {accuracy:.2f} of the letters")


def columns(core: Core, units: list[int]) -> list[int]:
    """Where hidden units are in the output; twice where it has a real and an imaginary part."""
    return [*units, *(core.hidden_size + unit for unit in units if core.output_size == 2 * core.hidden_size)]


def without(state: Any, units: list[int]) -> Any:
    """A state with hidden units of the last layer at zero, if hidden units are part of it."""
    if state._fields[0] not in ("hidden", "h"):
        return state
    hidden = state[0].clone()
    hidden[-1, :, units] = 0
    return type(state)(hidden, *state[1:])


def assert_close_states(found: tuple[Tensor, ...], expected: tuple[Tensor, ...]) -> None:
    for part, wanted in zip(found, expected, strict=True):
        assert_close(*(torch.view_as_real(each) if each.is_complex() else each for each in (part, wanted)))
