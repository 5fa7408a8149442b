"""How a network trained on one delay does on others (paper, appendix C and figure A.2)."""

from __future__ import annotations

import torch

from slowfade.tasks.copying import COPIED, Copying
from slowfade.tasks.task import Batch, Measure
from slowfade.training.model import Model


@torch.no_grad()
def accuracy_at_delay(model: Model, delay: int, *, sequences: int = 1000, chunk: int = 100) -> float:
    """Element accuracy on copying with another delay, streamed.

    The network is given ``chunk`` steps at a time and its state is carried on, so what it needs of memory does not grow
    with the delay.
    """
    if chunk < COPIED:
        raise ValueError(f"the last chunk should hold the {COPIED} steps of reproduction, got chunk = {chunk}")
    model.eval()
    task = Copying(delay=str(delay), validation_sequences=sequences)
    total = Measure(torch.tensor(0.0), torch.tensor(0.0))
    for numbers in torch.arange(sequences).split(128):
        batch, state = task.batch("test", numbers), None
        steps = batch.inputs.shape[1]
        # The first chunk may be short, so that the last one is whole.
        ends = range(steps % chunk or chunk, steps + 1, chunk)
        for end in ends:
            part = slice(max(end - chunk, 0), end)
            piece = Batch(batch.inputs[:, part], batch.targets[:, part])
            prediction, state = model(piece, state)
        total = task.measures(prediction, piece)["accuracy"] + total
    return float(total.mean)
