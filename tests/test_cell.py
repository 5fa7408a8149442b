"""The cell and the gate alone, beside the layer they are one step of."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from slowfade import PowerLawForgetGate, PowerLawLSTM, PowerLawLSTMCell, PowerLawState
from slowfade.gate import free_decay
from support import assert_close, derivatives, everything

DOUBLE = torch.float64
OPTIONS: list[dict[str, Any]] = [{}, {"coupled": False}, {"bias": False}, {"power": 0.3}, {"epsilon": 0.1}]


def cell_and_layer(engine: str, options: dict[str, Any]) -> tuple[PowerLawLSTMCell, PowerLawLSTM]:
    cell = PowerLawLSTMCell(3, 4, dtype=DOUBLE, **options)
    layer = PowerLawLSTM(3, 4, engine=engine, dtype=DOUBLE, **options)
    layer.load_state_dict({f"{name}_l0": value for name, value in cell.state_dict().items()})
    return cell, layer


class TestCell:
    @pytest.mark.parametrize("options", OPTIONS, ids=lambda options: ",".join(options) or "plain")
    @pytest.mark.parametrize("with_dt", [False, True])
    def test_a_loop_of_cells_is_the_layer(self, engine: str, options: dict[str, Any], with_dt: bool) -> None:
        cell, layer = cell_and_layer(engine, options)
        x, dt = torch.randn(6, 2, 3, dtype=DOUBLE), torch.rand(6, 2, dtype=DOUBLE) * 3
        state = PowerLawState(*torch.rand(3, 1, 2, 4, dtype=DOUBLE))

        class Loop(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                for name, parameter in cell.named_parameters():
                    self.register_parameter(f"{name}_l0", parameter)

            def forward(self, x: Tensor, state: Any, dt: Tensor | None = None) -> tuple[Tensor, PowerLawState]:
                now, outputs = PowerLawState(*(part[0] for part in state)), []
                for t in range(len(x)):
                    now = cell(x[t], now, None if dt is None else dt[t])
                    outputs.append(now.h)
                return torch.stack(outputs), PowerLawState(*(part.unsqueeze(0) for part in now))

        given = {"dt": dt} if with_dt else {}
        assert_close(everything(Loop(), x, state, **given), everything(layer, x, state, **given))

    def test_forms(self) -> None:
        cell = PowerLawLSTMCell(3, 4)
        x = torch.randn(2, 3)
        batched = cell(x, dt=torch.tensor([0.5, 0.5]))
        assert_close(tuple(cell(x, dt=0.5)), tuple(batched), 1e-6)
        assert_close(tuple(cell(x[0], dt=0.5)), tuple(part[0] for part in batched), 1e-6)
        assert_close(tuple(cell(x[0], dt=torch.tensor(0.5))), tuple(part[0] for part in batched), 1e-6)
        assert_close(tuple(cell(x, tuple(batched)[:2])), tuple(cell(x, batched._replace(age=torch.zeros(2, 4)))), 0.0)

    def test_numbers_keep_float64(self) -> None:
        """0.1 is another number in float32."""
        cell, layer = cell_and_layer("reference", {})
        x = torch.randn(2, 3, dtype=DOUBLE)
        exact = cell(x, dt=torch.full((2,), 0.1, dtype=DOUBLE))
        assert_close(tuple(cell(x, dt=0.1)), tuple(exact), 1e-15)
        assert_close(layer.step(x, dt_t=0.1)[1].c[0], exact.c, 1e-15)

    def test_batch_equal_to_hidden(self) -> None:
        cell, dt = PowerLawLSTMCell(3, 4), torch.tensor([0.0, 1.0, 10.0, 100.0])
        x = torch.randn(4, 3)
        found = cell(x, dt=dt)
        for b in range(4):
            assert_close(found.c[b], cell(x[b], dt=dt[b]).c, 1e-6)

    def test_empty_batch(self) -> None:
        state = PowerLawLSTMCell(3, 4)(torch.zeros(0, 3))
        assert [part.shape for part in state] == [(0, 4)] * 3

    def test_as_a_module(self) -> None:
        cell, x = PowerLawLSTMCell(3, 4), torch.randn(2, 3)
        for twin in (copy.deepcopy(cell), pickle.loads(pickle.dumps(cell))):
            assert_close(tuple(twin(x)), tuple(cell(x)), 0.0)
        assert list(cell.state_dict()) == ["weight_ih", "weight_hh", "bias", "power_logit"]
        assert_close(cell.power, torch.sigmoid(cell.power_logit))
        assert repr(cell) == "PowerLawLSTMCell(3, 4, epsilon=0.001, coupled=True)"
        with torch.autocast("cpu", torch.bfloat16):
            assert_close(cell(x).c, cell(x.bfloat16()).c, 1e-2)
            assert cell(x).age.dtype == torch.float32

    def test_a_state_of_half_precision_goes_on_in_single(self) -> None:
        cell = PowerLawLSTMCell(3, 4, dtype=torch.bfloat16)
        state = cell(torch.zeros(2, 3).bfloat16(), torch.zeros(2, 2, 4).bfloat16().unbind())
        assert {part.dtype for part in state} == {torch.float32}
        with pytest.raises(RuntimeError, match=r"state.h should be torch.float32"):
            cell(torch.zeros(2, 3).bfloat16(), torch.zeros(2, 2, 4).long().unbind())


class TestForgetGate:
    def test_decays_by_the_power_law(self) -> None:
        gate = PowerLawForgetGate(3, power=0.4, epsilon=1e-9, dtype=DOUBLE)
        memory, age, closed = torch.ones(2, 3, dtype=DOUBLE), None, torch.full((2, 3), -50.0, dtype=DOUBLE)
        for _ in range(100):
            decision = gate(closed, age)
            memory, age = decision.forget * memory, decision.age
        assert_close(memory, free_decay(torch.tensor(100.0, dtype=DOUBLE), 0.4).expand(2, 3), 1e-6)

    def test_in_a_gated_unit_of_ones_own(self) -> None:
        """Any network: here a leaky unit, of any batch shape, learning through the gate."""
        gate = PowerLawForgetGate(4, power_init=(0.2, 0.4))
        logits, candidates = torch.randn(2, 5, 3, 2, 4)
        memory, age = torch.zeros(3, 2, 4), None
        for logit, candidate in zip(logits, candidates, strict=True):
            decision = gate(logit, age, torch.rand(3, 2))
            memory = decision.forget * memory + decision.admit * candidate
            age = decision.age
        (found,) = derivatives([memory], dict(gate.named_parameters())).values()
        assert found.isfinite().all()
        assert (found != 0).all()

    def test_half_precision_counts_its_age_in_single(self) -> None:
        gate, age = PowerLawForgetGate(4), None
        for _ in range(600):
            age = gate(torch.full((2, 4), -40.0, dtype=torch.bfloat16), age).age
        assert age is not None
        assert age.dtype == torch.float32
        assert_close(age, torch.full((2, 4), 600.0))

    def test_the_age_should_fit(self) -> None:
        with pytest.raises(RuntimeError, match=r"age should be \(2, 4\)"):
            PowerLawForgetGate(4)(torch.zeros(2, 4), torch.zeros(4))

    def test_dt_forms(self) -> None:
        gate, logit = PowerLawForgetGate(4), torch.randn(4, 4)
        age = torch.rand(4, 4)
        batched = gate(logit, age, torch.full((4,), 2.0))
        assert_close(tuple(gate(logit, age, 2.0)), tuple(batched), 1e-6)
        assert_close(tuple(gate(logit[1], age[1], 2.0)), tuple(part[1] for part in batched), 1e-6)
        assert_close(tuple(gate(logit, age, 1.0)), tuple(gate(logit, age)), 0.0)

    def test_as_a_module(self) -> None:
        gate = PowerLawForgetGate(4)
        assert list(gate.state_dict()) == ["power_logit"]
        assert list(PowerLawForgetGate(4, power=0.5).state_dict()) == ["fixed_power"]
        assert gate.power.shape == (4,)
        assert repr(gate) == "PowerLawForgetGate(4, epsilon=0.001)"
