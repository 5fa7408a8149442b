"""The layer as a PyTorch module: saved, copied, moved, transformed, distributed; on every engine."""

from __future__ import annotations

import copy
import io
import pickle
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint

from slowfade import PowerLawLSTM, PowerLawState
from support import assert_close, everything, needs_cpu_engine


def example(engine: str = "auto", **options: Any) -> tuple[PowerLawLSTM, Tensor]:
    return PowerLawLSTM(3, 4, 2, bidirectional=True, engine=engine, **options), torch.randn(6, 2, 3)


class TestSaving:
    @pytest.mark.parametrize("power", ["learned", 0.4])
    def test_state_dict(self, power: str | float) -> None:
        layer, x = example(power=power)
        other, _ = example(power=power)
        saved = io.BytesIO()
        torch.save(layer.state_dict(), saved)
        saved.seek(0)
        other.load_state_dict(torch.load(saved, weights_only=True))
        assert torch.equal(other(x)[0], layer(x)[0])

    def test_deepcopy_and_pickle(self, engine: str) -> None:
        layer, x = example(engine)
        for twin in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
            assert repr(twin) == repr(layer)
            assert torch.equal(twin(x)[0], layer(x)[0])
            with torch.no_grad():
                twin.weight_hh_l0 += 1
            assert not torch.equal(twin(x)[0], layer(x)[0])

    def test_state_pickles(self) -> None:
        state = PowerLawState(*torch.randn(3, 1, 2, 4))
        assert_close(tuple(pickle.loads(pickle.dumps(state))), tuple(state), 0.0)

    def test_holds_parameters_and_nothing_else(self) -> None:
        """No flat copies of the weights anywhere: what changes a parameter changes the next output."""
        layer, x = example()
        before, _ = layer(x)
        assert list(layer.buffers()) == []
        with torch.no_grad():
            layer.weight_hh_l1_reverse.add_(1)
        changed, _ = layer(x)
        assert not torch.equal(changed, before)
        layer.weight_hh_l1_reverse = nn.Parameter(layer.weight_hh_l1_reverse.detach() - 1)
        assert_close(layer(x)[0], before)

    def test_meta_device(self) -> None:
        layer = PowerLawLSTM(3, 4, device="meta")
        output, state = layer(torch.empty(6, 2, 3, device="meta"), dt=torch.empty(6, 2, device="meta"))
        assert (output.shape, output.device.type, state.c.shape) == ((6, 2, 4), "meta", (1, 2, 4))
        layer.to_empty(device="cpu")
        layer.reset_parameters()
        assert layer(torch.randn(6, 2, 3))[0].isfinite().all()

    def test_changes_of_type(self, engine: str) -> None:
        layer, x = example(engine)
        expected = layer(x)[0]
        assert_close(layer.double()(x.double())[0].float(), expected)
        assert_close(layer.float()(x)[0], expected)


class TestFunctional:
    def test_functional_call(self, engine: str) -> None:
        layer, x = example(engine)
        other, _ = example(engine)
        found, _ = torch.func.functional_call(layer, dict(other.named_parameters()), (x,))
        assert torch.equal(found, other(x)[0])

    @pytest.mark.parametrize("in_dims", [0, None])
    def test_vmap_over_an_ensemble(self, in_dims: int | None) -> None:
        layers = [example("reference")[0] for _ in range(3)]
        parameters, buffers = torch.func.stack_module_state(layers)
        x = torch.randn(3, 6, 2, 3) if in_dims == 0 else torch.randn(6, 2, 3)
        dt = torch.rand(6, 2)

        def run(parameters: dict[str, Tensor], buffers: dict[str, Tensor], x: Tensor) -> Tensor:
            return torch.func.functional_call(layers[0], (parameters, buffers), (x,), {"dt": dt})[0]

        found = torch.func.vmap(run, in_dims=(0, 0, in_dims))(parameters, buffers, x)
        expected = torch.stack([layer(x[i] if in_dims == 0 else x, dt=dt)[0] for i, layer in enumerate(layers)])
        assert_close(found, expected)

    @needs_cpu_engine
    def test_auto_takes_the_reference_under_a_transform_and_says_so(self) -> None:
        layer, x = example()
        run = torch.func.vmap(lambda row: layer(row)[0])
        with pytest.warns(RuntimeWarning, match=r"reference engine.*torch\.func"):
            found = run(x.unsqueeze(0))
        assert torch.equal(run(x.unsqueeze(0)), found)  # once is enough: a second warning would be an error
        assert_close(found[0], layer(x)[0])
        layer.engine = "cpu"
        with pytest.raises(RuntimeError, match=r"cannot run here.*torch\.func"):
            run(x.unsqueeze(0))

    def test_per_sample_gradients(self) -> None:
        layer, x = example("reference")
        parameters = dict(layer.named_parameters())

        def loss(parameters: dict[str, Tensor], row: Tensor) -> Tensor:
            return torch.func.functional_call(layer, parameters, (row,))[0].square().sum()

        found = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 1))(parameters, x)
        for b in range(2):
            expected = torch.autograd.grad(layer(x[:, b])[0].square().sum(), layer.weight_hh_l0)[0]
            assert_close(found["weight_hh_l0"][b], expected)

    @pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")  # PyTorch's own use of it
    def test_forward_mode_is_reverse_mode(self) -> None:
        layer, x = example("reference", dtype=torch.float64)
        x = x.double()
        assert_close(torch.func.jacfwd(lambda x: layer(x)[0])(x), torch.func.jacrev(lambda x: layer(x)[0])(x), 1e-10)

    def test_parametrisation(self, engine: str) -> None:
        """Weights computed from others, as weight normalisation does it."""
        layer, x = example(engine)
        expected, _ = layer(x)
        nn.utils.parametrizations.weight_norm(layer, "weight_hh_l0")
        output, _ = layer(x)
        assert_close(output, expected)
        output.sum().backward()
        assert layer.parametrizations.weight_hh_l0.original0.grad.isfinite().all()


class TestAutocast:
    def test_forward_and_backward(self, engine: str) -> None:
        layer, x = example(engine)
        expected = everything(layer, x)
        with torch.autocast("cpu", torch.bfloat16):
            output, state = layer(x)
            assert output.dtype == torch.bfloat16
            assert {part.dtype for part in state} == {torch.float32}
            found, _ = layer(x.bfloat16())
            assert_close(found.float(), expected["output"], 2e-2)
        assert_close(output.float(), expected["output"], 2e-2)
        output.float().sum().backward()
        for name, parameter in layer.named_parameters():
            assert parameter.grad is not None, name
            assert parameter.grad.dtype == torch.float32
            assert parameter.grad.isfinite().all()

    def test_amid_other_modules(self, engine: str) -> None:
        before, (layer, x), after = nn.Linear(3, 3), example(engine), nn.Linear(8, 2)
        with torch.autocast("cpu", torch.bfloat16):
            result = after(layer(before(x))[0])
        assert result.dtype == torch.bfloat16
        result.float().square().sum().backward()
        exact = after(layer(before(x))[0])
        assert_close(result.float(), exact, 3e-2)
        assert before.weight.grad is not None
        assert before.weight.grad.isfinite().all()

    def test_time_keeps_its_precision(self, engine: str) -> None:
        """Intervals and ages of thousands, which bfloat16 cannot tell apart, come out as in float32."""
        layer, x = example(engine)
        dt = torch.tensor([1001.0, 2.0, 3.0, 1.0, 4095.0, 1.0])
        with torch.autocast("cpu", torch.bfloat16):
            _, state = layer(torch.zeros_like(x), dt=dt)
        _, expected = layer(torch.zeros_like(x), dt=dt)
        assert_close(state.age, expected.age, 1e-2)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_weights(dtype: torch.dtype) -> None:
    """On the reference engine: output in the weights' type, state in float32."""
    layer, x = PowerLawLSTM(3, 4, engine="reference", dtype=dtype), torch.randn(6, 2, 3)
    output, state = layer(x.to(dtype))
    assert output.dtype == dtype
    assert {part.dtype for part in state} == {torch.float32}
    exact = PowerLawLSTM(3, 4, engine="reference")
    exact.load_state_dict(layer.state_dict())
    assert_close(output.float(), exact(x)[0], 3e-2)
    output.float().sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in layer.parameters())  # type: ignore[union-attr]


def test_checkpointing_over_chunks(engine: str) -> None:
    layer = PowerLawLSTM(3, 4, engine=engine)
    x = torch.randn(12, 2, 3)
    expected = everything(layer, x)

    def in_chunks(x: Tensor, state: Any = None) -> tuple[Tensor, PowerLawState]:
        outputs = []
        state = PowerLawState(*(torch.zeros(1, 2, 4) for _ in range(3)))
        for chunk in x.split(4):
            output, state = checkpoint(layer, chunk, state, use_reentrant=False)
            outputs.append(output)
        return torch.cat(outputs), state

    class Chunked(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            for name, parameter in layer.named_parameters():
                self.register_parameter(name, parameter)

        forward = staticmethod(in_chunks)

    assert_close(everything(Chunked(), x), expected)


def train_in_a_group(rank: int, folder: str, engine: str) -> None:
    """One of two processes: half the batch, gradients averaged by DDP."""
    torch.distributed.init_process_group("gloo", f"file://{folder}/meeting", rank=rank, world_size=2)
    torch.manual_seed(0)
    layer, x = example(engine)
    model = DistributedDataParallel(layer)
    optimiser = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(3):
        optimiser.zero_grad()
        model(x[:, rank : rank + 1])[0].square().mean().backward()
        optimiser.step()
    torch.save(layer.state_dict(), Path(folder) / f"{rank}.pt")
    torch.distributed.destroy_process_group()


def test_distributed_data_parallel(engine: str, tmp_path: Path) -> None:
    """Two processes with half the batch each take the steps that one takes with the whole."""
    context = torch.multiprocessing.get_context("spawn")
    workers = [
        context.Process(target=train_in_a_group, args=(rank, str(tmp_path), engine), daemon=True) for rank in (0, 1)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(120)
        assert worker.exitcode == 0
    layer, x = example(engine)
    optimiser = torch.optim.SGD(layer.parameters(), 0.1)
    for _ in range(3):
        optimiser.zero_grad()
        layer(x)[0].square().mean().backward()
        optimiser.step()
    for rank in (0, 1):
        found = torch.load(tmp_path / f"{rank}.pt", weights_only=True)
        assert_close(found, dict(layer.state_dict()))


def test_scripts_may_flatten_parameters() -> None:
    """As those written for ``nn.LSTM`` do; parameters stay where they are."""
    layer = PowerLawLSTM(3, 4)
    before = {name: parameter.data_ptr() for name, parameter in layer.named_parameters()}
    layer.flatten_parameters()
    assert before == {name: parameter.data_ptr() for name, parameter in layer.named_parameters()}


def test_float64_stays_float64_under_autocast(engine: str) -> None:
    """As it does in ``nn.LSTM``."""
    x = torch.randn(5, 2, 3, dtype=torch.float64)
    with torch.autocast("cpu", torch.bfloat16):
        assert PowerLawLSTM(3, 4, engine=engine, dtype=torch.float64)(x)[0].dtype == torch.float64
