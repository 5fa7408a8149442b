"""Who is timed: all compute the same, each on its own engine, and one that does not is caught."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from slowfade import PowerLawLSTM
from slowfade.bench.check import error
from slowfade.bench.contestants import CONTESTANTS, Contestant
from slowfade.bench.paper_loop import PaperLoop
from slowfade.bench.shapes import SHAPES, draw
from support import assert_close


@pytest.mark.parametrize("name", [name for name in CONTESTANTS if name != "compiled"])
def test_every_contestant_computes_what_it_should(name: str, small: str) -> None:
    contestant, shape = CONTESTANTS[name], SHAPES[small]
    assert error(contestant, contestant.build(shape), shape, draw(shape)) < 1e-5


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # torch.compile has warnings of its own
def test_a_compiled_step_computes_what_it_should(unchecked: None) -> None:
    contestant, shape = CONTESTANTS["compiled"], SHAPES["step"]._replace(steps=3)
    assert error(contestant, contestant.build(shape), shape, draw(shape)) < 1e-5


class Forgetful(nn.LSTM):
    """An LSTM whose last step went astray, in the output or only on the way back."""

    astray = "output"

    def forward(self, x: Tensor, state: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        output, state = super().forward(x, state)
        last = 1.01 * output[-1:] if self.astray == "output" else output[-1:].detach()
        return torch.cat([output[:-1], last]), state


@pytest.mark.parametrize("astray", ["output", "gradient"])
@pytest.mark.parametrize("small", ["plain"], indirect=True)
def test_a_wrong_result_is_seen(astray: str, small: str) -> None:
    shape = SHAPES[small]
    contestant = CONTESTANTS["nn.LSTM"]._replace(build=lambda shape: Forgetful(shape.inputs, shape.hidden))
    network = contestant.build(shape)
    network.astray = astray
    assert error(contestant, network, shape, draw(shape)) > contestant.bound


@pytest.mark.parametrize("small", ["plain"], indirect=True)
def test_what_is_not_a_number_is_wrong(small: str) -> None:
    shape = SHAPES[small]
    contestant: Contestant = CONTESTANTS["powerlaw"]
    network = contestant.build(shape)
    with torch.no_grad():
        network.weight_ih_l0[0, 0] = torch.nan
    assert error(contestant, network, shape, draw(shape)) == float("inf")


@pytest.mark.parametrize("with_dt", [False, True])
@pytest.mark.parametrize("layers", [1, 2])
def test_the_authors_loop_is_the_layer_chunk_by_chunk(with_dt: bool, layers: int) -> None:
    layer = PowerLawLSTM(2, 4, layers, engine="reference", dtype=torch.float64)
    loop = PaperLoop(layer)
    x, dt = torch.randn(7, 3, 2, dtype=torch.float64), 2 * torch.rand(7, 3, dtype=torch.float64)
    expected, _ = layer(x, dt=dt if with_dt else None)
    state, chunks = None, []
    for some, gaps in zip(x.split(3), dt.split(3), strict=True):
        output, state = loop(some, state, dt=gaps if with_dt else None)
        chunks.append(output)
    assert_close(torch.cat(chunks), expected)
