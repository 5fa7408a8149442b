"""Heat maps of the reference time ``k_t``: units down, steps across."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from matplotlib.figure import Figure
from torch import Tensor

from slowfade.studies import style
from slowfade.studies.study import Data


def packed(
    reference: Float[Tensor, "time units"],
    order: Int[Tensor, " units"],
    reproduction: int,
    later: Bool[Tensor, " units"] | None = None,
) -> Data:
    """A map as data: whole steps are fine enough to look at.

    Args:
        reference: ``k_t``.
        order: of the units, from the top.
        reproduction: the last step before reproduction, counted from 0.
        later: which units reset later; they are counted, and must come first in the order to be set apart.
    """
    values = reference[:, order].T.round().to(torch.int64)
    return {
        "reference_time": values.tolist(),
        "reproduction": reproduction + 1,
        "later": None if later is None else int(later.sum()),
    }


def draw(maps: Sequence[tuple[str, Data]]) -> Figure:
    """One panel per map, with a title."""
    figure, ((*panels,),) = style.grid(1, len(maps), width=3.6, height=2.8)
    for panel, (title, found) in zip(panels, maps, strict=True):
        values = np.asarray(found["reference_time"])
        image = panel.imshow(
            values, aspect="auto", cmap="viridis", interpolation="nearest", extent=(0, values.shape[1], len(values), 0)
        )
        panel.set_title(title)
        panel.set_xlabel("step $t$")
        panel.set_ylabel("unit, the oldest first")
        panel.axvline(found["reproduction"], color="white", linewidth=1, linestyle=":")
        if found["later"]:
            panel.axhline(found["later"], color="white", linewidth=1)
            panel.text(
                0.02 * values.shape[1],
                found["later"],
                f"above: {found['later']} reset later",
                color="white",
                va="top",
                size=8,
            )
        figure.colorbar(image, ax=panel, label="reference time $k_t$", shrink=0.9)
    return figure
