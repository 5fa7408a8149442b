"""What is timed: how much arithmetic a shape is, and sequences of it."""

from __future__ import annotations

import pytest
import torch
from torch.nn.utils.rnn import PackedSequence
from torch.utils.flop_counter import FlopCounterMode

from slowfade import PowerLawLSTM
from slowfade.bench.shapes import SHAPES, Shape, draw


@pytest.mark.parametrize("shape", [Shape(3, 5, 2, 4), Shape(2, 3, 7, 5, layers=3)], ids=str)
def test_operations_are_those_of_the_products(shape: Shape) -> None:
    layer = PowerLawLSTM(shape.inputs, shape.hidden, shape.layers, engine="reference")
    with FlopCounterMode(display=False) as counter:
        output, _ = layer(draw(shape).x)
    steps = shape.batch * shape.steps
    assert shape.flops(3, steps, training=False) == counter.get_total_flops()
    with FlopCounterMode(display=False) as backward:
        output.sum().backward()
    # The reference knows that the state before the first step has no gradient.
    spared = 2 * 3 * shape.hidden * shape.hidden * shape.batch * shape.layers
    total = counter.get_total_flops() + backward.get_total_flops()
    assert shape.flops(3, steps, training=True) == total + spared


def test_the_same_sequences_every_time(small: str) -> None:
    shape = SHAPES[small]
    first, again = draw(shape), draw(shape)
    assert torch.equal(first.x, again.x)
    assert first.x.shape == (shape.steps, shape.batch, shape.inputs)
    assert (first.dt is not None) == shape.timed
    assert (first.lengths is not None) == (shape.shortest is not None)


def test_padding_is_what_is_behind_a_rows_length(small: str) -> None:
    problem = draw(SHAPES[small])
    packed = problem.packed()
    if problem.lengths is None:
        assert packed is problem.x
        assert problem.valid.all()
        return
    assert isinstance(packed, PackedSequence)
    assert problem.lengths[0] == len(problem.x)
    assert problem.valid.sum(0).flatten().tolist() == problem.lengths.tolist()
    assert len(packed.data) == problem.valid.sum()
