"""Measures of a trained model on some of a task's sequences."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from jaxtyping import Bool

from slowfade.tasks.task import Batch, Measure, Split, Task
from slowfade.training.model import Model


def batches(task: Task, sequences: int, *, split: Split = "test", batch_size: int = 128) -> Iterator[Batch]:
    """The first sequences of a split, or all of them if there are fewer."""
    for numbers in torch.arange(min(sequences, task.size(split))).split(batch_size):
        yield task.batch(split, numbers)


@torch.no_grad()
def measure(model: Model, task: Task, name: str, *, sequences: int, split: Split = "test") -> float:
    """The mean of one measure over the first sequences of a split."""
    model.eval()
    total = Measure(torch.tensor(0.0), torch.tensor(0.0))
    for batch in batches(task, sequences, split=split):
        prediction, _ = model(batch)
        total = task.measures(prediction, batch)[name] + total
    return float(total.mean)


@torch.no_grad()
def correct(model: Model, task: Task, *, split: Split = "test") -> Bool[np.ndarray, " sequences"]:
    """For a classification task: whether each sequence of a split is classified rightly."""
    model.eval()
    found = []
    for batch in batches(task, task.size(split), split=split):
        prediction, _ = model(batch)
        # One output is a logit, several are one per class.
        classes = prediction.argmax(-1) if prediction.shape[-1] > 1 else (prediction[:, 0] > 0).long()
        found.append(classes == batch.targets)
    return torch.cat(found).numpy()
