"""Batches of samples with the times they were taken at."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float, Float64, Int
from torch import Tensor

from slowfade import elapsed
from slowfade.tasks.task import Batch


def sampled(
    values: Float[np.ndarray, "batch time features"],
    times: Float64[np.ndarray, "batch time"],
    lengths: Int[np.ndarray, " batch"],
    targets: Int[Tensor, " batch"],
    *,
    time_input: bool,
) -> Batch:
    """The inputs are the values, and the time if asked for; ``dt`` counts from time 0, when the state is made.

    Times must not decrease past a row's length either; what they and the values are there does not matter.
    """
    valid = np.arange(times.shape[1]) < lengths[:, None]
    inputs = np.concatenate([values, times[..., None]], axis=-1) if time_input else values
    return Batch(
        torch.from_numpy(np.where(valid[..., None], inputs, 0).astype(np.float32)),
        targets,
        torch.from_numpy(lengths),
        (elapsed(torch.from_numpy(times), start=0.0, batch_first=True) * torch.from_numpy(valid)).float(),
    )
