"""The layer: its numbers against the paper's equations, and every form its input can take. On every engine."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.utils.rnn import pack_padded_sequence, pack_sequence, pad_packed_sequence

from paper import run_layer
from slowfade import PowerLawLSTM, PowerLawState, PowerLawTrace
from support import assert_close, everything, needs_cpu_engine

DOUBLE = torch.float64

OPTIONS: list[dict[str, Any]] = [
    {},
    {"coupled": False},
    {"bias": False},
    {"power": 0.7},
    {"proj_size": 3},
    {"num_layers": 2},
    {"bidirectional": True},
    {"num_layers": 2, "bidirectional": True, "proj_size": 2, "coupled": False, "bias": False},
    {"epsilon": 0.3, "power_init": (0.8, 0.9)},
]


def name_of(options: dict[str, Any]) -> str:
    return ",".join(options) or "plain"


def random_state(layer: PowerLawLSTM, batch: int, dtype: torch.dtype = DOUBLE) -> PowerLawState:
    rows = layer.num_layers * layer.directions
    h = torch.randn(rows, batch, layer.proj_size or layer.hidden_size, dtype=dtype)
    c, age = torch.randn(2, rows, batch, layer.hidden_size, dtype=dtype)
    return PowerLawState(h, c, age.abs() * 5)


class TestEquations:
    @pytest.mark.parametrize("options", OPTIONS, ids=name_of)
    @pytest.mark.parametrize("with_dt", [False, True], ids=["steps", "dt"])
    @pytest.mark.parametrize("lengths", [None, [9, 0, 4]], ids=["whole", "lengths"])
    def test_against_the_paper(
        self, engine: str, options: dict[str, Any], with_dt: bool, lengths: list[int] | None
    ) -> None:
        layer = PowerLawLSTM(4, 5, engine=engine, dtype=DOUBLE, **options)
        x, dt = torch.randn(9, 3, 4, dtype=DOUBLE) * 2, torch.rand(9, 3, dtype=DOUBLE) * 4
        state = random_state(layer, 3)
        output, end = layer(x, state, dt=dt if with_dt else None, lengths=lengths)
        expected, expected_end = run_layer(
            x.numpy(),
            {name: value.numpy() for name, value in layer.state_dict().items()},
            layers=layer.num_layers,
            bidirectional=layer.bidirectional,
            dt=dt.numpy() if with_dt else None,
            lengths=lengths,
            state=tuple(part.numpy() for part in state),
            epsilon=layer.epsilon,
            coupled=layer.coupled,
        )
        assert_close(output, torch.from_numpy(expected), 1e-11, "output")
        assert_close(tuple(end), tuple(map(torch.from_numpy, expected_end)), 1e-11, "end")

    @pytest.mark.parametrize("power", [0.0, 0.2, 1.0, 5.0])
    @pytest.mark.parametrize("dtype", [torch.float32, DOUBLE])
    def test_closed_reset_and_no_input_is_the_power_law(self, engine: str, power: float, dtype: torch.dtype) -> None:
        steps, start = 500, 2.5
        layer = PowerLawLSTM(1, 3, power=power, epsilon=1e-12, engine=engine, dtype=dtype)
        for parameter in layer.parameters():
            torch.nn.init.zeros_(parameter)
        with torch.no_grad():
            layer.bias_l0[:3] = -100.0  # r = 0; g = tanh(0) = 0
        state = (torch.zeros(1, 2, 3, dtype=dtype), torch.full((1, 2, 3), start, dtype=dtype))
        trace = layer.trace(torch.zeros(steps, 2, 1, dtype=dtype), state)
        output, end = layer(torch.zeros(steps, 2, 1, dtype=dtype), state)
        t = torch.arange(1, steps + 1, dtype=DOUBLE)
        law = start * (t + 1) ** -power
        tolerance = 1e-4 if dtype == torch.float32 else 1e-10
        assert_close(trace.cell[0, :, 0, 0], law, tolerance)
        assert_close(output[:, 0, 0], 0.5 * torch.tanh(law), tolerance)
        assert_close(end.c, law[-1].expand(1, 2, 3), tolerance)
        assert (end.age == steps).all()

    @pytest.mark.parametrize("power", [0.0, 0.5, 1.0, 3.0, 5.0])
    def test_open_reset_replaces_the_cell(self, engine: str, power: float) -> None:
        """With r = 1 each step keeps epsilon ** p of the cell and takes 1 - epsilon ** p of the candidate."""
        layer = PowerLawLSTM(1, 2, power=power, engine=engine, dtype=DOUBLE)
        for parameter in layer.parameters():
            torch.nn.init.zeros_(parameter)
        with torch.no_grad():
            layer.bias_l0[:2], layer.bias_l0[4:] = 800.0, 0.5
        kept, c = 1e-3**power, 1.5
        state = (torch.zeros(1, 1, 2, dtype=DOUBLE), torch.full((1, 1, 2), c, dtype=DOUBLE))
        for _ in range(4):
            c = kept * c + (1 - kept) * np.tanh(0.5)
        _, end = layer(torch.zeros(4, 1, 1, dtype=DOUBLE), state)
        assert_close(end.c, torch.full((1, 1, 2), c, dtype=DOUBLE), 1e-11)
        assert (end.age < 1e-300).all()

    def test_float32_stays_with_float64_over_a_long_sequence(self, engine: str) -> None:
        layer = PowerLawLSTM(3, 8, engine=engine)
        x = torch.randn(2000, 2, 3)
        found, end = layer(x)
        expected, expected_end = PowerLawLSTM(3, 8, engine="reference", dtype=DOUBLE), None
        expected.load_state_dict(layer.state_dict())
        truth, expected_end = expected(x.double())
        assert_close(found.double(), truth, 1e-5)
        assert_close(tuple(part.double() for part in end), tuple(expected_end), 1e-5)


class TestInputForms:
    """The same numbers, whatever layout they come in."""

    layer_options = ({}, {"bidirectional": True, "num_layers": 2}, {"proj_size": 2})

    @pytest.fixture(params=layer_options, ids=name_of)
    def layers(self, request: pytest.FixtureRequest, engine: str) -> tuple[PowerLawLSTM, PowerLawLSTM]:
        """Time-major and batch-first, with the same weights."""
        made = [PowerLawLSTM(3, 4, engine=engine, batch_first=flag, **request.param) for flag in (False, True)]
        made[1].load_state_dict(made[0].state_dict())
        return made[0], made[1]

    # Batch == hidden == time is where broadcasting goes wrong without an error.
    @pytest.mark.parametrize(("steps", "batch"), [(6, 4), (4, 4), (1, 4), (6, 1)])
    def test_batch_first(self, layers: tuple[PowerLawLSTM, PowerLawLSTM], steps: int, batch: int) -> None:
        time_major, batch_first = layers
        x, dt, state = torch.randn(steps, batch, 3), torch.rand(steps, batch) * 3, random_state(layers[0], batch)
        state = PowerLawState(*(part.float() for part in state))
        expected, end = time_major(x, state, dt=dt)
        found, found_end = batch_first(x.transpose(0, 1), state, dt=dt.T)
        assert_close(found.transpose(0, 1), expected)
        assert_close(tuple(found_end), tuple(end))
        copied, _ = batch_first(x.transpose(0, 1).contiguous(), state, dt=dt.T.contiguous())
        assert torch.equal(copied, found)

    def test_one_dt_for_all_rows(self, layers: tuple[PowerLawLSTM, PowerLawLSTM]) -> None:
        x, dt = torch.randn(4, 4, 3), torch.rand(4) * 3
        for layer in layers:
            time = 1 if layer.batch_first else 0
            spread = dt.unsqueeze(1 - time).expand(4, 4)
            assert torch.equal(layer(x, dt=dt)[0], layer(x, dt=spread.contiguous())[0])

    def test_unbatched(self, layers: tuple[PowerLawLSTM, PowerLawLSTM]) -> None:
        x, dt, state = torch.randn(6, 3), torch.rand(6) * 3, random_state(layers[0], 1)
        state = PowerLawState(*(part.float() for part in state))
        expected, end = layers[0](x.unsqueeze(1), state, dt=dt.unsqueeze(1))
        for layer in layers:
            found, found_end = layer(x, PowerLawState(*(part.squeeze(1) for part in state)), dt=dt)
            assert_close(found, expected.squeeze(1))
            assert_close(tuple(found_end), tuple(part.squeeze(1) for part in end))

    @pytest.mark.parametrize("enforce_sorted", [True, False])
    def test_packed(self, layers: tuple[PowerLawLSTM, PowerLawLSTM], enforce_sorted: bool) -> None:
        lengths = [7, 4, 4, 1] if enforce_sorted else [4, 1, 7, 4]
        x, dt = torch.randn(7, 4, 3), torch.rand(7, 4) * 3
        state = PowerLawState(*(part.float() for part in random_state(layers[0], 4)))
        expected, end = layers[0](x, state, dt=dt, lengths=lengths)

        packed = pack_padded_sequence(x, torch.tensor(lengths), enforce_sorted=enforce_sorted)
        packed_dt = pack_padded_sequence(dt, torch.tensor(lengths), enforce_sorted=enforce_sorted)
        for layer in layers:
            found, found_end = layer(packed, state, dt=packed_dt)
            unpacked, counts = pad_packed_sequence(found)
            assert counts.tolist() == lengths
            assert_close(unpacked, expected)
            assert_close(tuple(found_end), tuple(end))
            for mine, theirs in zip(found[1:], packed[1:], strict=True):
                assert mine is theirs is None or torch.equal(mine, theirs)

    @pytest.mark.parametrize("kind", [list, torch.tensor, lambda counts: torch.tensor(counts, dtype=torch.int32)])
    def test_lengths_are_rows_alone(self, layers: tuple[PowerLawLSTM, PowerLawLSTM], kind: Any) -> None:
        """Padding changes nothing: each row is what it is without the others, whatever stands in the padding."""
        counts = [5, 0, 7, 1]
        x, dt = torch.randn(7, 4, 3), torch.rand(7, 4) * 3
        for b, count in enumerate(counts):
            x[count:, b], dt[count:, b] = torch.nan, torch.nan
        state = PowerLawState(*(part.float() for part in random_state(layers[0], 4)))
        output, end = layers[0](x, state, dt=dt, lengths=kind(counts))
        for b, count in enumerate(counts):
            alone = PowerLawState(*(part[:, b : b + 1] for part in state))
            expected, expected_end = layers[0](x[:count, b : b + 1], alone, dt=dt[:count, b : b + 1])
            assert_close(output[:count, b : b + 1], expected)
            assert (output[count:, b] == 0).all()
            assert_close(tuple(part[:, b : b + 1] for part in end), tuple(expected_end))

    @pytest.mark.filterwarnings("ignore:slowfade differentiates a gradient on its reference engine")
    def test_padding_stays_out_of_gradients(self, engine: str) -> None:
        """Of the first order and the second, whatever stands in it."""
        layer = PowerLawLSTM(3, 4, engine=engine, bidirectional=True)
        clean, dt, lengths = torch.randn(5, 2, 3), torch.rand(5, 2), [5, 2]
        clean[2:, 1], dt[2:, 1] = 0.0, 1.0
        dirty, dirty_dt = clean.clone(), dt.clone()
        dirty[2:, 1], dirty_dt[2:, 1] = torch.nan, -torch.inf
        found = []
        for x, gaps in ((clean, dt), (dirty, dirty_dt)):
            leaf = x.clone().requires_grad_()
            output, _ = layer(leaf, dt=gaps, lengths=lengths)
            (first,) = torch.autograd.grad(output.square().sum(), leaf, create_graph=True)
            second = torch.autograd.grad(first.square().sum(), [leaf, layer.weight_ih_l0, layer.power_logit_l0])
            found.append((first.detach(), *second))
            assert (first[2:, 1] == 0).all()
        assert_close(found[1], found[0])

    def test_pack_sequence_of_a_users_list(self, engine: str) -> None:
        layer = PowerLawLSTM(3, 4, engine=engine, bidirectional=True)
        rows = [torch.randn(count, 3) for count in (2, 5, 3)]
        output, end = layer(pack_sequence(rows, enforce_sorted=False))
        padded, _ = pad_packed_sequence(output)
        for b, row in enumerate(rows):
            expected, expected_end = layer(row)
            assert_close(padded[: len(row), b], expected)
            assert_close(end.c[:, b], expected_end.c)

    def test_memory_layouts(self, engine: str) -> None:
        layer = PowerLawLSTM(3, 4, engine=engine)
        x, dt = torch.randn(6, 2, 3), torch.rand(6, 2)
        expected = everything(layer, x, dt=dt)
        sparse = torch.zeros(12, 4, 9)[::2, ::2, ::3].copy_(x)
        turned = x.permute(2, 0, 1).contiguous().permute(1, 2, 0)
        for form in (sparse, turned):
            assert not form.is_contiguous()
            assert_close(everything(layer, form, dt=torch.zeros(6, 4)[:, ::2].copy_(dt)), expected)
        same = x[:, :1].expand(6, 2, 3)
        assert_close(layer(same)[0], layer(same.contiguous())[0])

    @pytest.mark.parametrize(("steps", "batch"), [(0, 2), (3, 0), (0, 0), (1, 1)])
    @pytest.mark.parametrize("lengths", [False, True])
    def test_nothing_to_do(
        self, layers: tuple[PowerLawLSTM, PowerLawLSTM], steps: int, batch: int, lengths: bool
    ) -> None:
        for layer in layers:
            shape = (batch, steps) if layer.batch_first else (steps, batch)
            x, dt = torch.randn(*shape, 3, requires_grad=True), torch.rand(*shape, requires_grad=True)
            state = PowerLawState(*(part.float().requires_grad_() for part in random_state(layer, batch)))
            output, end = layer(x, state, dt=dt, lengths=[steps] * batch if lengths else None)
            assert output.shape == (*shape, layer.output_size)
            if steps == 0:
                assert_close(tuple(end), tuple(state))
            gradients = torch.autograd.grad(
                [output.sum() + sum(part.sum() for part in end)],
                [x, dt, *state, *layer.parameters()],
                allow_unused=True,
            )
            for gradient in gradients:
                assert gradient is None or gradient.isfinite().all()
            if steps == 0:
                assert all((gradient == 1).all() for gradient in gradients[2:5])


class TestState:
    def test_none_is_zero_and_a_pair_is_age_zero(self, engine: str) -> None:
        layer = PowerLawLSTM(3, 4, engine=engine)
        x, zero = torch.randn(5, 2, 3), torch.zeros(1, 2, 4)
        expected, _ = layer(x)
        assert torch.equal(layer(x, (zero, zero))[0], expected)
        assert torch.equal(layer(x, PowerLawState(zero, zero, zero))[0], expected)
        assert not torch.equal(layer(x, (zero, zero + 1, zero + 1))[0], layer(x, (zero, zero + 1))[0])

    def test_step_is_the_sequence_one_by_one(self, engine: str) -> None:
        for options in ({}, {"num_layers": 2, "proj_size": 2, "coupled": False}, {"batch_first": True}):
            layer = PowerLawLSTM(3, 4, engine=engine, **options)
            x, dt = torch.randn(6, 4, 3), torch.rand(6, 4)
            sequence = (x.transpose(0, 1), dt.T) if layer.batch_first else (x, dt)
            expected, end = layer(sequence[0], dt=sequence[1])
            state, outputs = None, []
            for x_t, dt_t in zip(x, dt, strict=True):
                output, state = layer.step(x_t, state, dt_t)
                outputs.append(output)
            assert_close(torch.stack(outputs, 1 if layer.batch_first else 0), expected)
            assert state is not None
            assert_close(tuple(state), tuple(end))

    def test_step_without_a_batch_and_with_a_number(self, engine: str) -> None:
        layer = PowerLawLSTM(3, 4, engine=engine)
        x = torch.randn(3)
        alone, state = layer.step(x, dt_t=0.25)
        assert alone.shape == (4,)
        assert [part.shape for part in state] == [(1, 4)] * 3
        batched, _ = layer.step(x.expand(2, 3), dt_t=torch.tensor([0.25, 0.25]))
        assert_close(batched[0], alone)
        again, _ = layer.step(x, state, torch.tensor(0.5))
        assert again.shape == (4,)

    def test_detach_cuts_the_graph(self, engine: str) -> None:
        layer = PowerLawLSTM(3, 4, engine=engine)
        _, state = layer(torch.randn(5, 2, 3))
        assert all(part.requires_grad for part in state)
        cut = state.detach()
        assert isinstance(cut, PowerLawState)
        assert not any(part.requires_grad for part in cut)
        assert_close(tuple(cut), tuple(state))


class TestTrace:
    @pytest.mark.parametrize("options", OPTIONS, ids=name_of)
    def test_values_satisfy_the_equations(self, engine: str, options: dict[str, Any]) -> None:
        layer = PowerLawLSTM(4, 5, engine=engine, dtype=DOUBLE, **options)
        x, dt = torch.randn(7, 3, 4, dtype=DOUBLE), torch.rand(7, 3, dtype=DOUBLE) * 2 + 0.01
        trace = layer.trace(x, dt=dt)
        shape = (layer.num_layers * layer.directions, 7, 3, 5)
        for name, value in zip(PowerLawTrace._fields, trace, strict=True):
            assert value.shape == ((*shape[:3], layer.proj_size) if name == "hidden" and layer.proj_size else shape)
        output, end = layer(x, dt=dt)
        last = trace.hidden[-layer.directions :].permute(1, 2, 0, 3).flatten(2)
        assert_close(last, output, 1e-11)
        forwards = trace if not layer.bidirectional else PowerLawTrace(*(value[::2] for value in trace))
        ends = end if not layer.bidirectional else PowerLawState(*(part[::2] for part in end))
        assert_close((forwards.hidden[:, -1], forwards.cell[:, -1], forwards.age[:, -1]), tuple(ends), 1e-11)
        # c_t = f_t c_{t-1} + i_t g_t, i = 1 - f if coupled, k_t = t - a_t, r in (0, 1).
        before = torch.cat([torch.zeros_like(forwards.cell[:, :1]), forwards.cell[:, :-1]], 1)
        assert_close(forwards.cell, forwards.forget * before + forwards.input * forwards.candidate)
        if layer.coupled:
            assert_close(forwards.input, 1 - forwards.forget, 1e-12)
        assert_close(forwards.reference_time, dt.cumsum(0).unsqueeze(-1) - forwards.age, 1e-12)
        for bounded in (trace.reset, trace.input, trace.output):
            assert ((bounded > 0) & (bounded < 1)).all()

    def test_layouts(self) -> None:
        layer = PowerLawLSTM(3, 4, bidirectional=True)
        first = PowerLawLSTM(3, 4, bidirectional=True, batch_first=True)
        first.load_state_dict(layer.state_dict())
        x, lengths = torch.randn(6, 3, 3), [2, 6, 5]
        expected = layer.trace(x, lengths=lengths)
        assert_close(tuple(v.transpose(1, 2) for v in first.trace(x.transpose(0, 1), lengths=lengths)), tuple(expected))
        packed = pack_padded_sequence(x, torch.tensor(lengths), enforce_sorted=False)
        assert_close(tuple(layer.trace(packed)), tuple(expected))
        assert_close(tuple(layer.trace(x[:2, 0])), tuple(value[:, :2, 0] for value in expected))
        for value in expected:
            assert (value[:, 2:, 0] == 0).all()


class TestPower:
    def test_learned(self) -> None:
        layer = PowerLawLSTM(3, 40, 2, bidirectional=True)
        assert layer.power.shape == (4, 40)
        assert_close(layer.power[1], torch.sigmoid(layer.power_logit_l0_reverse))
        assert ((layer.power > 0) & (layer.power < 1)).all()
        assert layer.power.requires_grad

    def test_fixed(self) -> None:
        layer = PowerLawLSTM(3, 4, 2, power=0.3)
        assert torch.equal(layer.power, torch.full((2, 4), 0.3))
        assert [name for name, _ in layer.named_parameters() if "power" in name] == []
        assert [name for name, _ in layer.named_buffers()] == ["fixed_power_l0", "fixed_power_l1"]

    def test_initialisation(self) -> None:
        layer = PowerLawLSTM(30, 100, power_init=(0.4, 0.5))
        for name, parameter in layer.named_parameters():
            if not name.startswith("power"):
                assert parameter.abs().max() <= 0.1
                assert parameter.std().item() == pytest.approx(0.1 / 3**0.5, rel=0.1)
        assert ((layer.power >= 0.4) & (layer.power <= 0.5)).all()
        before = layer.weight_ih_l0.clone()
        layer.reset_parameters()
        assert not torch.equal(layer.weight_ih_l0, before)


def test_dropout_acts_between_layers_in_training_only(engine: str) -> None:
    layer = PowerLawLSTM(3, 64, 2, dropout=0.5, engine=engine)
    x = torch.randn(4, 2, 3)
    first, second = layer(x)[0], layer(x)[0]
    assert not torch.equal(first, second)
    layer.eval()
    without = PowerLawLSTM(3, 64, 2, engine=engine)
    without.load_state_dict(layer.state_dict())
    assert torch.equal(layer(x)[0], without(x)[0])
    layer.train()
    layer.dropout = 1.0
    assert_close(layer(x)[1].c[0], without(x)[1].c[0])
    assert_close(layer(x)[0], layer(x * 2)[0])


@needs_cpu_engine
def test_auto_takes_the_fast_engine() -> None:
    """Whatever the input's form, "auto" gives the C++ engine's bits (and no warning, or this would fail)."""
    for options in OPTIONS:
        fast, auto = PowerLawLSTM(4, 5, engine="cpu", **options), PowerLawLSTM(4, 5, **options)
        auto.load_state_dict(fast.state_dict())
        x = torch.randn(6, 2, 4)
        for given in ({}, {"dt": torch.rand(6, 2)}, {"lengths": [6, 3]}):
            assert torch.equal(auto(x, **given)[0], fast(x, **given)[0])


def test_extra_repr_is_the_constructors_call() -> None:
    options = list(itertools.chain.from_iterable(options.items() for options in OPTIONS[:5]))
    layer = PowerLawLSTM(4, 5, **dict(options))
    assert repr(layer) == "PowerLawLSTM(4, 5, bias=False, proj_size=3, power=0.7, coupled=False)"
    assert repr(PowerLawLSTM(4, 5)) == "PowerLawLSTM(4, 5)"


def test_parameters_are_named_as_in_nn_lstm() -> None:
    mine = PowerLawLSTM(3, 4, 2, bidirectional=True, proj_size=2)
    theirs = torch.nn.LSTM(3, 4, 2, bidirectional=True, proj_size=2)
    weights: dict[str, Tensor] = {name: value for name, value in theirs.named_parameters() if "weight" in name}
    assert {name for name, _ in mine.named_parameters() if "weight" in name} == set(weights)
    for name, value in weights.items():
        rows = 12 if name[:9] in ("weight_ih", "weight_hh") else 2
        assert getattr(mine, name).shape == (rows, value.shape[1])
