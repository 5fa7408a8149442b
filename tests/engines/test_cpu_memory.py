"""What the C++ engine holds on to: for backward no more than ``nn.LSTM``, in inference nothing that grows with time."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from slowfade import PowerLawLSTM
from support import in_new_process, needs_cpu_engine

pytestmark = needs_cpu_engine


def bytes_saved(layer: nn.Module, x: Tensor, **given: Any) -> int:
    """Of storage that autograd keeps alive between forward and backward, without parameters and input."""
    storages: dict[int, int] = {}

    def note(tensor: Tensor) -> Tensor:
        storages[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        output, _ = layer(x, **given)
    for held in (x, *layer.parameters()):
        storages.pop(held.untyped_storage().data_ptr(), None)
    assert output.requires_grad
    return sum(storages.values())


@pytest.mark.parametrize(
    ("steps", "batch", "inputs", "hidden"), [(220, 128, 10, 128), (400, 64, 100, 154), (100, 100, 1, 512)]
)
def test_keeps_no_more_than_nn_lstm(steps: int, batch: int, inputs: int, hidden: int) -> None:
    x = torch.randn(steps, batch, inputs)
    ours = bytes_saved(PowerLawLSTM(inputs, hidden, engine="cpu"), x)
    theirs = bytes_saved(nn.LSTM(inputs, hidden), x)
    assert ours <= theirs


def peak(body: str) -> int:
    """Peak resident bytes that ``body`` adds, in a process of its own."""
    return int(
        in_new_process(f"""
import resource, torch
from torch import nn
from slowfade import PowerLawLSTM
torch.set_num_threads(1)
def run(make, steps, batch, inputs, train):
    layer = make(inputs)
    x = torch.randn(steps, batch, inputs)
    def once(x):
        if train:
            layer(x)[0].sum().backward()
        else:
            with torch.no_grad():
                layer(x)
    once(x[:2])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    once(x)
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)
{body}
""")
    )


def test_training_peaks_no_higher_than_nn_lstm() -> None:
    ours = peak("run(lambda i: PowerLawLSTM(i, 128, engine='cpu'), 400, 128, 10, True)")
    theirs = peak("run(lambda i: nn.LSTM(i, 128), 400, 128, 10, True)")
    assert ours <= theirs * 1.02


def test_inference_holds_the_output_and_a_constant() -> None:
    output = 20_000 * 16 * 128 * 4
    extra = [
        peak(f"run(lambda i: PowerLawLSTM(i, 128, engine='cpu'), {steps}, 16, 8, False)") for steps in (2_000, 20_000)
    ]
    assert extra[1] <= output + 16e6
    assert extra[1] - extra[0] <= output * 1.02
