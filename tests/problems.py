"""Layers and sequences of any options and shapes, as hypothesis draws them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from hypothesis import strategies as st
from torch import Tensor

from slowfade import PowerLawLSTM, PowerLawState


class Problem(NamedTuple):
    layer: PowerLawLSTM
    x: Tensor
    dt: Tensor
    lengths: list[int]
    state: PowerLawState


@dataclass(frozen=True)
class Description:
    """What hypothesis draws and prints; the tensors are made from it in the test."""

    inputs: int
    hidden: int
    steps: int
    lengths: list[int]
    options: dict[str, Any]
    scale: float
    age: float
    seed: int

    def build(self, engine: str, dtype: torch.dtype = torch.float64) -> Problem:
        torch.manual_seed(self.seed)
        batch = len(self.lengths)
        # Made in float64 whatever the type, so that it is the same problem in each.
        layer = PowerLawLSTM(self.inputs, self.hidden, engine=engine, dtype=torch.float64, **self.options)
        rows = layer.num_layers * layer.directions
        state = PowerLawState(
            torch.randn(rows, batch, layer.proj_size or self.hidden, dtype=torch.float64).to(dtype),
            torch.randn(rows, batch, self.hidden, dtype=torch.float64).to(dtype),
            (torch.rand(rows, batch, self.hidden, dtype=torch.float64) * self.age).to(dtype),
        )
        x = torch.randn(self.steps, batch, self.inputs, dtype=torch.float64) * self.scale
        dt = torch.rand(self.steps, batch, dtype=torch.float64) * self.scale
        return Problem(layer.to(dtype), x.to(dtype), dt.to(dtype), self.lengths, state)


@st.composite
def problems(
    draw: st.DrawFn, *, most_steps: int = 12, most_rows: int = 6, most_units: int = 20, **fixed: Any
) -> Description:
    hidden, steps = draw(st.integers(1, most_units)), draw(st.integers(1, most_steps))
    options = {
        "num_layers": draw(st.integers(1, 2)),
        "bidirectional": draw(st.booleans()),
        "bias": draw(st.booleans()),
        "coupled": draw(st.booleans()),
        "power": draw(st.sampled_from(["learned", 0.0, 0.4, 5.0])),
        "proj_size": draw(st.integers(0, hidden - 1)),
        "epsilon": draw(st.sampled_from([1e-5, 1e-3, 0.1])),
    }
    return Description(
        inputs=draw(st.integers(1, 9)),
        hidden=hidden,
        steps=steps,
        lengths=draw(st.lists(st.integers(0, steps), min_size=1, max_size=most_rows)),
        options=options | fixed,
        scale=draw(st.sampled_from([0.1, 1.0, 10.0])),
        age=draw(st.sampled_from([0.0, 1.0, 1e4])),
        seed=draw(st.integers(0, 1000)),
    )
