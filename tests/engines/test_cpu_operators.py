"""The C++ engine's operators as PyTorch sees them: schema, shapes, gradients, compilation, export, fallbacks."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim
from torch.utils._python_dispatch import TorchDispatchMode

from slowfade import PowerLawLSTM, PowerLawLSTMCell
from slowfade.engines import choose, cpu
from support import assert_close, derivatives, everything, needs_cpu_engine

pytestmark = needs_cpu_engine

DOUBLE = torch.float64


def power_law_arguments(
    *, coupled: bool = True, projected: int = 0, bias: bool = True, dt: bool = True, dtype: torch.dtype = DOUBLE
) -> tuple[Any, ...]:
    steps, batch, inputs, hidden, gates = 5, 3, 2, 4, 3 if coupled else 4
    recurrent = projected or hidden
    tensors = [
        torch.randn(steps, batch, inputs, dtype=dtype),
        torch.rand(steps, batch, dtype=dtype) + 0.1 if dt else None,
        torch.tensor([5] * batch),  # shorter rows would leave NaN in what is kept, and NaN is no equal of itself
        torch.randn(batch, recurrent, dtype=dtype),
        torch.randn(batch, hidden, dtype=dtype),
        torch.rand(batch, hidden, dtype=dtype),
        torch.randn(gates * hidden, inputs, dtype=dtype),
        torch.randn(gates * hidden, recurrent, dtype=dtype),
        torch.randn(gates * hidden, dtype=dtype) if bias else None,
        torch.randn(recurrent, hidden, dtype=dtype) if projected else None,
        torch.rand(hidden, dtype=dtype),
    ]
    for tensor in tensors:
        if tensor is not None and tensor.is_floating_point():
            tensor.requires_grad_()
    return (*tensors, 1e-3, coupled)


class TestRegistration:
    @pytest.mark.parametrize("reverse", [False, True])
    @pytest.mark.parametrize("batch_first", [False, True])
    @pytest.mark.parametrize("form", [{}, {"coupled": False, "projected": 2}, {"bias": False, "dt": False}], ids=str)
    @pytest.mark.usefixtures("unchecked")
    def test_opcheck_power_law(self, form: dict[str, Any], batch_first: bool, reverse: bool) -> None:
        arguments = (*power_law_arguments(**form), reverse, batch_first)
        torch.library.opcheck(torch.ops.slowfade.power_law, (*arguments, True))
        constant = tuple(value.detach() if isinstance(value, Tensor) else value for value in arguments)
        torch.library.opcheck(torch.ops.slowfade.power_law, (*constant, False))

    @pytest.mark.parametrize("dtype", [torch.float32, DOUBLE])
    @pytest.mark.usefixtures("unchecked")
    def test_opcheck_backward(self, dtype: torch.dtype) -> None:
        arguments = tuple(
            value.detach() if isinstance(value, Tensor) else value
            for value in (*power_law_arguments(projected=2, dtype=dtype), False, True)
        )
        output, h, _, age, kept = torch.ops.slowfade.power_law(*arguments, True)
        tensors, options = arguments[:11], arguments[11:]
        for wanted in (0, 1, 0b1010101010, 0b1111111111):
            outside = (torch.randn_like(output), torch.randn_like(h), None, torch.randn_like(age))
            torch.library.opcheck(
                torch.ops.slowfade.power_law_backward,
                (*outside, *tensors, output, kept, *options, wanted),
                test_utils=("test_schema", "test_faketensor"),
            )

    @pytest.mark.parametrize("projected", [0, 2])
    @pytest.mark.usefixtures("unchecked")
    def test_opcheck_lstm(self, projected: int) -> None:
        x, _, lengths, h, c, _, ih, hh, bias, hr, *_ = power_law_arguments(coupled=False, projected=projected)
        torch.library.opcheck(torch.ops.slowfade.lstm, (x, lengths, h, c, ih, hh, bias, hr, False, False, True))

    @pytest.mark.parametrize(
        ("place", "bad", "word"),
        [
            (0, torch.zeros(5, 3, dtype=DOUBLE), "x should be"),
            (0, torch.zeros(5, 3, 2).half(), "float32 and float64"),
            (1, torch.zeros(5, 4, dtype=DOUBLE), "dt should be"),
            (1, torch.zeros(5, 3), "dt should be"),
            (2, torch.tensor([5, 6, 0]), "between 0 and T = 5"),
            (2, torch.tensor([5, -1, 0]), "between 0 and T = 5"),
            (2, torch.tensor([5, 1, 0], dtype=torch.int32), "int64"),
            (2, torch.tensor([5, 1]), r"int64 of shape \(B,\)"),
            (3, torch.zeros(3, 5, dtype=DOUBLE), "h has the wrong shape"),
            (4, torch.zeros(3, 4), "not of x's type"),
            (5, torch.zeros(2, 4, dtype=DOUBLE), "state has the wrong shape"),
            (6, torch.zeros(12, 3, dtype=DOUBLE), "weight_ih has the wrong shape"),
            (7, torch.zeros(12, 3, dtype=DOUBLE), "weight_hh should be"),
            (8, torch.zeros(11, dtype=DOUBLE), "bias has the wrong shape"),
            (9, torch.zeros(3, 4, dtype=DOUBLE), "weight_hr has the wrong shape"),
            (10, torch.zeros(5, dtype=DOUBLE), "power has the wrong shape"),
        ],
    )
    def test_takes_nothing_on_trust(self, place: int, bad: Tensor, word: str) -> None:
        """Called directly with the wrong thing, an operator refuses; it never reads past a tensor's end."""
        arguments: list[Any] = [*power_law_arguments(), False, False, False]
        arguments[place] = bad
        with torch.no_grad(), pytest.raises(RuntimeError, match=word):
            torch.ops.slowfade.power_law(*arguments)

    @pytest.mark.parametrize(
        ("name", "bad", "word"),
        [
            ("output", torch.zeros(1, 1, 1, dtype=DOUBLE), "output has the wrong shape"),
            ("output", torch.zeros(5, 3, 4), "not of x's type"),
            ("doutput", torch.zeros(5, 1, 4, dtype=DOUBLE), "the output's gradient has the wrong shape"),
            ("dh", torch.zeros(3, 5, dtype=DOUBLE), "the state's gradient has the wrong shape"),
            ("kept", torch.zeros(5, 3, 5, 7, dtype=DOUBLE), "kept has the wrong shape"),
            ("kept", torch.zeros(5, 3, 5, 8), "not of x's type"),
        ],
    )
    def test_backward_takes_nothing_on_trust(self, name: str, bad: Tensor, word: str) -> None:
        arguments = power_law_arguments()
        with torch.no_grad():
            output, h, _, _, kept = torch.ops.slowfade.power_law(*arguments, False, False, True)
            given = {"output": output, "kept": kept, "doutput": torch.ones_like(output), "dh": torch.ones_like(h)}
            given[name] = bad
            with pytest.raises(RuntimeError, match=word):
                torch.ops.slowfade.power_law_backward(
                    given["doutput"], given["dh"], None, None, *arguments[:11], given["output"], given["kept"],
                    *arguments[11:], False, False, 1,
                )  # fmt: skip

    def test_saved_tensors_may_come_back_in_another_layout(self) -> None:
        """As hooks that move them away and back may have it."""
        layer, x = PowerLawLSTM(3, 20, engine="cpu", dtype=DOUBLE), torch.randn(6, 2, 3, dtype=DOUBLE)
        expected = everything(layer, x)

        def turned(tensor: Tensor) -> Tensor:
            return tensor.mT.contiguous().mT if tensor.dim() > 1 else tensor

        with torch.autograd.graph.saved_tensors_hooks(turned, lambda tensor: tensor):
            found = everything(layer, x)
        assert_close(found, expected)


class Recorder(TorchDispatchMode):
    """What the operators were asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[str, Any, Any]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if str(func).startswith("slowfade"):
            self.calls.append((str(func).split(".")[1], args, result))
        return result


class TestOnlyWhatIsWanted:
    @pytest.mark.parametrize("wanted", ["x", "dt", "state 0", "state 1", "state 2", "weight_ih_l0", "power_logit_l0"])
    def test_one_gradient(self, wanted: str) -> None:
        layer = PowerLawLSTM(3, 4, engine="cpu", dtype=DOUBLE)
        inputs = {"x": torch.randn(6, 2, 3, dtype=DOUBLE), "dt": torch.rand(6, 2, dtype=DOUBLE)}
        state = torch.rand(3, 1, 2, 4, dtype=DOUBLE)
        everywhere = everything(layer, inputs["x"], tuple(state), dt=inputs["dt"])
        for name, parameter in layer.named_parameters():
            parameter.requires_grad_(name == wanted)
        inputs |= {f"state {i}": part for i, part in enumerate(state)}
        for name, tensor in inputs.items():
            tensor.requires_grad_(name == wanted)
        with Recorder() as recorder:
            output, end = layer(inputs["x"], tuple(inputs[f"state {i}"] for i in range(3)), dt=inputs["dt"])
            found = derivatives([output, *end], inputs | dict(layer.named_parameters()))
        assert_close(found, {name: everywhere[name] for name in found})
        (_, _, results) = recorder.calls[-1]
        assert recorder.calls[-1][0] == "power_law_backward"
        assert sum(result.numel() > 0 for result in results) == 1

    def test_nothing_is_kept_where_no_gradient_is_wanted(self) -> None:
        layer, x = PowerLawLSTM(3, 4, engine="cpu"), torch.randn(6, 2, 3)
        with Recorder() as recorder:
            layer(x)
            with torch.no_grad():
                layer(x)
            layer.requires_grad_(False)
            layer(x)
        assert [call[-1][-1].numel() > 0 for call in recorder.calls] == [True, False, False]


class TestFallbacks:
    """To the reference, said once, where the engine cannot go."""

    def test_double_backward(self) -> None:
        layer, x = PowerLawLSTM(3, 4, dtype=DOUBLE), torch.randn(6, 2, 3, dtype=DOUBLE, requires_grad=True)
        output, _ = layer(x)
        with pytest.warns(RuntimeWarning, match="differentiates a gradient on its reference engine"):
            (first,) = torch.autograd.grad(output.square().sum(), x, create_graph=True)
        (again,) = torch.autograd.grad(layer(x)[0].square().sum(), x, create_graph=True)  # silent from now on
        assert torch.equal(first, again)
        (plain,) = torch.autograd.grad(layer(x)[0].square().sum(), x)
        assert_close(first, plain, 1e-11)
        found = torch.autograd.grad(first.square().sum(), [x, *layer.parameters()])
        layer.engine = "reference"
        (first,) = torch.autograd.grad(layer(x)[0].square().sum(), x, create_graph=True)
        assert_close(found, torch.autograd.grad(first.square().sum(), [x, *layer.parameters()]), 1e-10)

    @pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
    def test_other_types(self, dtype: torch.dtype) -> None:
        layer, x = PowerLawLSTM(3, 4, dtype=dtype), torch.randn(6, 2, 3, dtype=dtype)
        with pytest.warns(RuntimeWarning, match=f"reference engine.*not in {dtype}"):
            found, _ = layer(x)
        assert torch.equal(found, layer(x)[0])
        layer.engine = "cpu"
        with pytest.raises(RuntimeError, match="engine='cpu' cannot run here"):
            layer(x)

    @pytest.mark.usefixtures("unchecked")
    @pytest.mark.filterwarnings("ignore::DeprecationWarning")
    def test_transforms_within_a_compiled_function(self) -> None:
        layer, x, direction = PowerLawLSTM(3, 4), torch.randn(5, 2, 3), torch.randn(5, 2, 3)

        def forward_mode(x: Tensor) -> Tensor:
            return torch.func.jvp(lambda y: layer(y)[0].sum(), (x,), (direction,))[1]

        def reverse_mode(x: Tensor) -> Tensor:
            return torch.func.grad(lambda y: layer(y)[0].sum())(x)

        with pytest.warns(RuntimeWarning, match="reference engine"):
            expected = forward_mode(x), reverse_mode(x)
        assert_close((compiled(forward_mode)(x), compiled(reverse_mode)(x)), expected)

    def test_forward_mode(self) -> None:
        layer, x = PowerLawLSTM(3, 4), torch.randn(6, 2, 3)
        with torch.autograd.forward_ad.dual_level():
            assert choose("reference", x) == "reference"
            with pytest.raises(RuntimeError, match="forward-mode"):
                choose("cpu", x, *layer.parameters())
        assert choose("auto", x, *layer.parameters()) == "cpu"

    def test_mixed_types_go_where_the_weights_are(self) -> None:
        """An interval in float64 is cast, as on the reference."""
        layers = [PowerLawLSTM(3, 4, engine=engine) for engine in ("cpu", "reference")]
        layers[1].load_state_dict(layers[0].state_dict())
        x, state, dt = torch.randn(6, 2, 3), torch.rand(3, 1, 2, 4), torch.rand(6, 2, dtype=DOUBLE)
        found, expected = (everything(layer, x, tuple(state), dt=dt) for layer in layers)
        assert_close(found, expected, 1e-5)
        assert {name: value.dtype for name, value in found.items()} == {n: v.dtype for n, v in expected.items()}


class Model(nn.Module):
    """The layer between others, as a user has it."""

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.before = nn.Linear(5, 3)
        self.layer = PowerLawLSTM(3, 4, 2, bidirectional=True, batch_first=True, **options)
        self.after = nn.Linear(8, 2)

    def forward(self, x: Tensor, dt: Tensor | None = None, lengths: Tensor | None = None) -> Tensor:
        output, state = self.layer(torch.relu(self.before(x)), dt=dt, lengths=lengths)
        return self.after(output) + state.c.sum() + state.age.mean()


def compiled(model: Callable[..., Any], backend: str = "aot_eager", **options: Any) -> Callable[..., Any]:
    torch._dynamo.reset()
    return torch.compile(model, fullgraph=True, backend=backend, **options)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
class TestCompile:
    @pytest.mark.parametrize("given", [(), ("dt",), ("dt", "lengths")], ids=str)
    def test_whole_model_forward_and_backward(self, given: tuple[str, ...]) -> None:
        self.check_compiled(Model(engine="cpu"), given, "aot_eager")

    def test_reference(self) -> None:
        self.check_compiled(Model(engine="reference"), ("dt", "lengths"), "aot_eager")

    @pytest.mark.slow
    def test_inductor(self, engine: str) -> None:
        self.check_compiled(Model(engine=engine), ("dt", "lengths"), "inductor")

    def check_compiled(self, model: nn.Module, given: tuple[str, ...], backend: str) -> None:
        x = torch.randn(3, 2, 5)
        arguments = {"dt": torch.rand(3, 2), "lengths": torch.tensor([2, 1, 0])}
        arguments = {name: arguments[name] for name in given}
        outputs = []
        for run in (model, compiled(model, backend)):
            output = run(x, **arguments)
            outputs.append([output, *derivatives([output], dict(model.named_parameters())).values()])
        assert_close(outputs[1], outputs[0])

    def test_no_recompilation_when_time_or_batch_change(self) -> None:
        model = Model(engine="cpu")
        run = compiled(model, dynamic=True)
        torch._dynamo.utils.counters.clear()
        for batch, steps in [(3, 4), (2, 9), (7, 5), (5, 30)]:
            x, dt = torch.randn(batch, steps, 5), torch.rand(batch, steps)
            output = run(x, dt)
            assert_close(output, model(x, dt))
            output.sum().backward()
        assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1

    def test_automatic_dynamic_settles_on_one_graph_more(self) -> None:
        """Without being told, PyTorch compiles once for the first shape and once for all others."""
        model = Model(engine="cpu")
        run = compiled(model)
        torch._dynamo.utils.counters.clear()
        for batch, steps in ((3, 4), (2, 9), (7, 5), (5, 30), (4, 11)):
            run(torch.randn(batch, steps, 5))
        assert torch._dynamo.utils.counters["stats"]["unique_graphs"] <= 3

    def test_step_and_cell(self, engine: str) -> None:
        layer, x = PowerLawLSTM(3, 4, engine=engine), torch.randn(2, 3)
        state = layer.step(x)[1].detach()
        run = compiled(layer.step)
        for dt in (0.5, 0.25, 3.0, *range(10)):
            found, end = run(x, state, float(dt))
            expected, expected_end = layer.step(x, state, float(dt))
            assert_close((found, *end), (expected, *expected_end))
        cell = PowerLawLSTMCell(3, 4)
        assert_close(tuple(compiled(cell)(x, None, 0.5)), tuple(cell(x, None, 0.5)))

    def test_autocast(self) -> None:
        model, x = Model(engine="cpu"), torch.randn(3, 4, 5)
        with torch.autocast("cpu", torch.bfloat16):
            found, expected = compiled(model)(x), model(x)
        assert found.dtype == expected.dtype
        assert_close(found.float(), expected.float(), 1e-2)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
class TestExport:
    @pytest.mark.parametrize("strict", [False, True])
    def test_with_any_batch_and_length(self, strict: bool) -> None:
        model, x = Model(engine="cpu").eval(), torch.randn(3, 4, 5)
        batch, time = Dim("batch", min=1, max=64), Dim("time", min=1, max=4096)
        shapes = {"x": {0: batch, 1: time}, "dt": {0: batch, 1: time}, "lengths": {0: batch}}
        arguments = (x, torch.rand(3, 4), torch.tensor([4, 2, 3]))
        exported = torch.export.export(model, arguments, dynamic_shapes=shapes, strict=strict)
        assert "slowfade.power_law" in str(exported.graph)
        saved = io.BytesIO()
        torch.export.save(exported, saved)
        saved.seek(0)
        again = torch.export.load(saved).module()
        for size in ((3, 4), (7, 50)):
            x, dt, lengths = torch.randn(*size, 5), torch.rand(*size), torch.randint(1, size[1], size[:1])
            assert_close(again(x, dt, lengths), model(x, dt, lengths))

    def test_what_was_exported_without_gradients_can_be_trained(self) -> None:
        model, x = Model(engine="cpu"), torch.randn(3, 4, 5)
        with torch.no_grad():
            exported = torch.export.export(model, (x,)).module()
        with Recorder() as recorder:
            output = exported(x)
        assert all(results[-1].numel() == 0 for _, _, results in recorder.calls)
        found = derivatives([output], dict(exported.named_parameters()))
        assert_close(found, derivatives([model(x)], dict(model.named_parameters())))


def test_autocast_computes_in_single_precision() -> None:
    layer, x = PowerLawLSTM(3, 4, engine="cpu"), torch.randn(6, 2, 3)
    with torch.autocast("cpu", torch.bfloat16), Recorder() as recorder:
        output, _ = layer(x.bfloat16())
    ((_, arguments, results),) = recorder.calls
    assert {value.dtype for value in arguments if isinstance(value, Tensor)} == {torch.float32}
    assert {value.dtype for value in results} == {torch.float32}
    assert output.dtype == torch.bfloat16
    assert_close(output.float(), layer(x.bfloat16().float())[0], 1e-2)


def test_variants_are_known() -> None:
    assert cpu.variant() in cpu.variants()
