"""Parameters of the layer, the cell and the gate: types and where they start."""

from __future__ import annotations

import pytest
import torch

from slowfade import PowerLawForgetGate, PowerLawLSTM, PowerLawLSTMCell, PowerLawState
from support import assert_close


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_power_keeps_single_precision_at_least(dtype: torch.dtype) -> None:
    for power in ("learned", 0.123456):
        for module in (PowerLawLSTM(3, 4, power=power, dtype=dtype), PowerLawForgetGate(4, power=power, dtype=dtype)):
            assert module.power.dtype == torch.promote_types(dtype, torch.float32)
    assert_close(
        PowerLawForgetGate(2, power=0.123456, dtype=dtype).power.double(), torch.full((2,), 0.123456).double(), 1e-7
    )


def test_default_dtype_is_heard() -> None:
    torch.set_default_dtype(torch.float64)
    try:
        layer = PowerLawLSTM(3, 4, power=0.1)
        assert layer.weight_ih_l0.dtype == layer.power.dtype == torch.float64
        assert layer(torch.zeros(5, 2, 3))[0].dtype == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


def test_same_seed_same_parameters() -> None:
    for kind in (PowerLawLSTM, PowerLawLSTMCell):
        made = []
        for _ in range(2):
            torch.manual_seed(3)
            made.append(list(kind(3, 4).parameters()))
        assert_close(made[0], made[1], 0.0)


def test_state_is_a_named_tuple_that_detaches() -> None:
    parts = [torch.randn(1, 2, 4, requires_grad=True) for _ in range(3)]
    state = PowerLawState(*parts)
    h, c, age = state
    assert (h, c, age) == (state.h, state.c, state.age)
    for cut, part in zip(state.detach(), parts, strict=True):
        assert not cut.requires_grad
        assert cut.data_ptr() == part.data_ptr()
