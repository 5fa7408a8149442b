"""Every mistake a user can make, beside what ``nn.LSTM`` does about the same one."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pack_sequence

from slowfade import PowerLawForgetGate, PowerLawLSTM, PowerLawLSTMCell
from support import raised

# As a user meets it: the tests' own shape checks would be first to complain.
pytestmark = pytest.mark.usefixtures("unchecked")

X = torch.zeros(5, 2, 3)
PACKED = pack_sequence([torch.zeros(5, 3), torch.zeros(2, 3)])


def zeros(*shape: int) -> Tensor:
    return torch.zeros(shape)


# What to build, or to run on a layer of 3 inputs and 4 units, for ours and for PyTorch's; and a word of the message.
SHARED_CONSTRUCTION: list[tuple[dict[str, Any], str]] = [
    ({"input_size": 3.0}, "input_size"),
    ({"input_size": 0}, "input_size"),
    ({"input_size": -1}, "input_size"),
    ({"hidden_size": "4"}, "hidden_size"),
    ({"hidden_size": 0}, "hidden_size"),
    ({"num_layers": 0}, "num_layers"),
    ({"num_layers": 1.5}, "num_layers"),
    ({"bias": 1}, "bias"),
    ({"bias": "no"}, "bias"),
    ({"batch_first": 1}, "batch_first"),
    ({"dropout": 1.5}, "dropout"),
    ({"dropout": -0.1}, "dropout"),
    ({"dropout": "a"}, "dropout"),
    ({"dropout": True}, "dropout"),
    ({"proj_size": -1}, "proj_size"),
    ({"proj_size": 4}, "proj_size"),
    ({"dtype": torch.int64}, "dtype"),
]

Run = Callable[[nn.Module], object]
SHARED_RUNS: dict[str, tuple[Run, str]] = {
    "x is 1-D": (lambda m: m(zeros(3)), "2-D"),
    "x is 4-D": (lambda m: m(zeros(1, 5, 2, 3)), "3-D"),
    "x has another feature size": (lambda m: m(zeros(5, 2, 4)), "input_size = 3"),
    "unbatched x has another feature size": (lambda m: m(zeros(5, 4)), "input_size = 3"),
    "packed x has 1-D data": (lambda m: m(pack_sequence([zeros(5)])), "2-D"),
    "x is of another type": (lambda m: m(X.double()), "float32"),
    "x is of an integer type": (lambda m: m(X.long()), "float32"),
    "h has another width": (lambda m: m(X, (zeros(1, 2, 5), zeros(1, 2, 4))), "state.h"),
    "c has another width": (lambda m: m(X, (zeros(1, 2, 4), zeros(1, 2, 5))), "state.c"),
    "the state is of another type": (lambda m: m(X, (zeros(1, 2, 4).double(),) * 2), "float32"),
    "the state has another batch": (lambda m: m(X, (zeros(1, 3, 4), zeros(1, 3, 4))), "state.h"),
    "the state has another number of layers": (lambda m: m(X, (zeros(2, 2, 4), zeros(2, 2, 4))), "state.h"),
    "the state is unbatched and x is not": (lambda m: m(X, (zeros(1, 4), zeros(1, 4))), "state.h"),
    "x is unbatched and the state is not": (lambda m: m(X[:, 0], (zeros(1, 1, 4), zeros(1, 1, 4))), "state.h"),
    "the state has another batch than packed x": (lambda m: m(PACKED, (zeros(1, 3, 4), zeros(1, 3, 4))), "state.h"),
}
# Where nn.LSTM's exception says nothing of the mistake (an AttributeError from its depths, or none at all).
OUR_RUNS: dict[str, tuple[Run, type[Exception], str]] = {
    "packed x has another feature size": (lambda m: m(pack_sequence([zeros(5, 4)])), RuntimeError, "input_size = 3"),
    "x is no tensor": (lambda m: m([[1.0, 2.0, 3.0]]), TypeError, "tensor or a PackedSequence"),
    "the state is a tensor": (lambda m: m(X, zeros(1, 2, 4)), TypeError, "PowerLawState"),
    "the state has one part": (lambda m: m(X, (zeros(1, 2, 4),)), TypeError, "PowerLawState"),
    "a part of the state is no tensor": (lambda m: m(X, (zeros(1, 2, 4), 1.0)), TypeError, "of tensors"),
    "the age has another shape": (
        lambda m: m(X, (zeros(1, 2, 4), zeros(1, 2, 4), zeros(1, 2, 3))),
        RuntimeError,
        "age",
    ),
    "the state is of integers": (lambda m: m(X, (zeros(1, 2, 4).long(),) * 2), RuntimeError, "state.h"),
    "the state is elsewhere": (lambda m: m(X, (zeros(1, 2, 4).to("meta"),) * 2), RuntimeError, "state.h"),
    "dt is a number": (lambda m: m(X, dt=1.0), TypeError, "dt should be a tensor"),
    "dt has another number of steps": (lambda m: m(X, dt=zeros(4, 2)), RuntimeError, "(5, 2) or (5,)"),
    "dt is batch-first": (lambda m: m(X, dt=zeros(2, 5)), RuntimeError, "(5, 2) or (5,)"),
    "dt is per row": (lambda m: m(X, dt=zeros(2)), RuntimeError, "(5, 2) or (5,)"),
    "dt has features": (lambda m: m(X, dt=zeros(5, 2, 1)), RuntimeError, "(5, 2) or (5,)"),
    "dt is batched and x is not": (lambda m: m(X[:, 0], dt=zeros(5, 1)), RuntimeError, "(5,)"),
    "dt is negative": (lambda m: m(X, dt=zeros(5, 2) - 1), ValueError, "negative"),
    "dt is NaN": (lambda m: m(X, dt=zeros(5) / 0), ValueError, "finite"),
    "dt is infinite": (lambda m: m(X, dt=zeros(5) + torch.inf), ValueError, "finite"),
    "dt is complex": (lambda m: m(X, dt=zeros(5) * 1j), TypeError, "dt should be real"),
    "dt is packed and x is not": (lambda m: m(X, dt=pack_sequence([zeros(5), zeros(2)])), TypeError, "pack both"),
    "x is packed and dt is not": (lambda m: m(PACKED, dt=zeros(5, 2)), TypeError, "PackedSequence packed like x"),
    "dt is packed otherwise": (
        lambda m: m(PACKED, dt=pack_sequence([zeros(4), zeros(3)])),
        RuntimeError,
        "packed like x",
    ),
    "dt is packed in another order": (
        lambda m: m(
            pack_sequence([zeros(2, 3), zeros(5, 3)], enforce_sorted=False), dt=pack_sequence([zeros(5), zeros(2)])
        ),
        RuntimeError,
        "packed like x",
    ),
    "dt is packed and negative": (
        lambda m: m(PACKED, dt=pack_sequence([zeros(5) - 1, zeros(2)])),
        ValueError,
        "negative",
    ),
    "lengths go with packed x": (lambda m: m(PACKED, lengths=[5, 2]), RuntimeError, "brings its own"),
    "lengths go with unbatched x": (lambda m: m(X[:, 0], lengths=[5]), RuntimeError, "unbatched"),
    "lengths are too few": (lambda m: m(X, lengths=[5]), RuntimeError, "(2,)"),
    "lengths are too long": (lambda m: m(X, lengths=[5, 6]), RuntimeError, "T = 5"),
    "lengths are negative": (lambda m: m(X, lengths=[5, -1]), RuntimeError, "between 0"),
    "lengths are fractions": (lambda m: m(X, lengths=zeros(2)), TypeError, "integers"),
    "lengths are a mask": (lambda m: m(X, lengths=torch.tensor([True, False])), TypeError, "integers"),
    "lengths are a number": (lambda m: m(X, lengths=5), RuntimeError, "(2,)"),
    "a step is 3-D": (lambda m: m.step(X), ValueError, "(B, I)"),
    "a step has another feature size": (lambda m: m.step(zeros(2, 4)), RuntimeError, "input_size = 3"),
    "a step's dt is negative": (lambda m: m.step(zeros(2, 3), dt_t=-1.0), ValueError, "negative"),
    "a step's dt has another batch": (lambda m: m.step(zeros(2, 3), dt_t=zeros(3)), RuntimeError, "dt should be"),
    "a step's dt has features": (lambda m: m.step(zeros(2, 3), dt_t=zeros(2, 1)), RuntimeError, "dt should be"),
}
OUR_CONSTRUCTION: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"hidden_size": True}, TypeError, "hidden_size"),
    ({"bidirectional": 1}, TypeError, "bidirectional"),
    ({"dropout": float("nan")}, ValueError, "dropout"),
    ({"dtype": torch.complex64}, RuntimeError, "dtype"),
    ({"coupled": "yes"}, TypeError, "coupled"),
    ({"epsilon": 0}, ValueError, "epsilon"),
    ({"epsilon": 1.0}, ValueError, "epsilon"),
    ({"epsilon": float("nan")}, ValueError, "epsilon"),
    ({"epsilon": "small"}, TypeError, "epsilon"),
    ({"power": "fixed"}, ValueError, "'learned' or a number"),
    ({"power": -0.1}, ValueError, "power"),
    ({"power": float("inf")}, ValueError, "power"),
    ({"power": True}, TypeError, "power"),
    ({"power": None}, TypeError, "power"),
    ({"power_init": 1.5}, ValueError, "power_init"),
    ({"power_init": "normal"}, ValueError, "power_init"),
    ({"engine": "gpu"}, ValueError, "engine should be one of auto"),
    ({"engine": None}, TypeError, "engine"),
]


def build(kind: Callable[..., nn.Module], options: dict[str, Any]) -> nn.Module:
    return kind(**{"input_size": 3, "hidden_size": 4} | options)


@pytest.mark.parametrize(("options", "word"), SHARED_CONSTRUCTION, ids=str)
def test_construction_fails_as_nn_lstm_does(options: dict[str, Any], word: str) -> None:
    expected = raised(lambda: build(nn.LSTM, options))
    assert expected is not None
    with pytest.raises(expected, match=re.escape(word)) as found:
        build(PowerLawLSTM, options)
    assert "\n" not in str(found.value)


@pytest.mark.parametrize(("options", "expected", "word"), OUR_CONSTRUCTION, ids=str)
def test_construction_fails(options: dict[str, Any], expected: type[Exception], word: str) -> None:
    with pytest.raises(expected, match=re.escape(word)) as found:
        build(PowerLawLSTM, options)
    assert found.type is expected
    assert "\n" not in str(found.value)


@pytest.mark.parametrize("mistake", SHARED_RUNS)
def test_running_fails_as_nn_lstm_does(engine: str, mistake: str) -> None:
    run, word = SHARED_RUNS[mistake]
    expected = raised(lambda: run(nn.LSTM(3, 4)))
    assert expected is not None
    with pytest.raises(expected, match=re.escape(word)) as found:
        run(PowerLawLSTM(3, 4, engine=engine))
    assert "\n" not in str(found.value)


@pytest.mark.parametrize("mistake", OUR_RUNS)
def test_running_fails(engine: str, mistake: str) -> None:
    run, expected, word = OUR_RUNS[mistake]
    with pytest.raises(expected, match=re.escape(word)) as found:
        run(PowerLawLSTM(3, 4, engine=engine))
    assert found.type is expected
    assert "\n" not in str(found.value)


def test_batch_first_dt_is_named_so() -> None:
    with pytest.raises(RuntimeError, match=re.escape("(B, T) or (T,) = (5, 2) or (2,)")):
        PowerLawLSTM(3, 4, batch_first=True)(X, dt=zeros(2, 5))


def test_a_bidirectional_layer_cannot_step() -> None:
    with pytest.raises(RuntimeError, match="cannot step"):
        PowerLawLSTM(3, 4, bidirectional=True).step(zeros(2, 3))


def test_dropout_with_one_layer_warns_as_nn_lstm_does() -> None:
    with pytest.warns(UserWarning, match="dropout"):
        nn.LSTM(3, 4, dropout=0.5)
    with pytest.warns(UserWarning, match="dropout"):
        PowerLawLSTM(3, 4, dropout=0.5)


def test_what_is_allowed_is_not_refused() -> None:
    """Zero-length rows, a zero dt, an integer dt, a list as the state, a state of the precision the weights keep."""
    layer = PowerLawLSTM(3, 4)
    layer(X, lengths=torch.tensor([0, 5]), dt=zeros(5, 2))
    layer(X, dt=torch.ones(5, dtype=torch.int64))
    layer(X, [zeros(1, 2, 4), zeros(1, 2, 4)])
    half = PowerLawLSTM(3, 4, engine="reference", dtype=torch.bfloat16)
    for dtype in (torch.bfloat16, torch.float32):
        _, state = half(X.bfloat16(), (zeros(1, 2, 4).to(dtype), zeros(1, 2, 4).to(dtype)))
        assert state.c.dtype == torch.float32
    assert PowerLawLSTM(3, 4, power=0).power.eq(0).all()
    assert PowerLawLSTM(3, 4, power=7).power.eq(7).all()
    assert isinstance(layer(pack_padded_sequence(X, torch.tensor([5, 2])))[0], PackedSequence)


CELL_RUNS: dict[str, tuple[Run, str]] = {
    "x is 3-D": (lambda m: m(X), "(B, I) or (I,)"),
    "x has another feature size": (lambda m: m(zeros(2, 4)), "input_size = 3"),
    "h has another width": (lambda m: m(zeros(2, 3), (zeros(2, 5), zeros(2, 4))), "state.h"),
    "c has another batch": (lambda m: m(zeros(2, 3), (zeros(2, 4), zeros(3, 4))), "state.c"),
    "x is of another type": (lambda m: m(zeros(2, 3).double()), "float32"),
}


class TestCell:
    @pytest.mark.parametrize("mistake", CELL_RUNS)
    def test_fails_as_nn_lstm_cell_does(self, mistake: str) -> None:
        run, word = CELL_RUNS[mistake]
        expected = raised(lambda: run(nn.LSTMCell(3, 4)))
        assert expected is not None
        with pytest.raises(expected, match=re.escape(word)):
            run(PowerLawLSTMCell(3, 4))

    def test_fails(self) -> None:
        cell = PowerLawLSTMCell(3, 4)
        with pytest.raises(ValueError, match="negative"):
            cell(zeros(2, 3), dt=-1.0)
        with pytest.raises(ValueError, match="finite"):
            cell(zeros(2, 3), dt=zeros(2) + torch.nan)
        with pytest.raises(RuntimeError, match="dt should be"):
            cell(zeros(2, 3), dt=zeros(3))
        with pytest.raises(TypeError, match="PowerLawState"):
            cell(zeros(2, 3), zeros(2, 4))
        with pytest.raises(ValueError, match="hidden_size"):
            PowerLawLSTMCell(3, 0)
        with pytest.raises(RuntimeError, match="dtype"):
            PowerLawLSTMCell(3, 4, dtype=torch.int32)


def test_the_forget_gate_fails() -> None:
    gate = PowerLawForgetGate(4)
    with pytest.raises(RuntimeError, match="4 features"):
        gate(zeros(2, 3))
    with pytest.raises(ValueError, match="negative"):
        gate(zeros(2, 4), dt=-0.5)
    with pytest.raises(RuntimeError, match="dt should be"):
        gate(zeros(2, 4), dt=zeros(2, 4))
    with pytest.raises(ValueError, match="size"):
        PowerLawForgetGate(0)
    with pytest.raises(ValueError, match="epsilon"):
        PowerLawForgetGate(4, epsilon=2)
