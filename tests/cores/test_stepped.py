"""What all stepped networks get from the scan."""

from __future__ import annotations

import pytest
import torch

from slowfade import cores
from slowfade.cores.stepped import SteppedCore

STEPPED = [name for name in cores.names() if issubclass(cores.network(name), SteppedCore)]


@pytest.mark.parametrize("name", STEPPED)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_autocast_leaves_the_recurrence_in_the_precision_of_its_weights(name: str, dtype: torch.dtype) -> None:
    core, x = cores.build(name, 3, 8), torch.randn(5, 2, 3).to(dtype)
    results = []
    for enabled in (False, True):
        core.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            output, state = core(x if enabled else x.float())
        output.square().sum().backward()
        results.append([output, *state, *(parameter.grad for parameter in core.parameters())])
    for expected, found in zip(*results, strict=True):
        assert torch.equal(found, expected)
