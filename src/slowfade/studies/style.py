"""How every figure looks: one place for colours, sizes and labels.

Colours are Okabe and Ito's, which people with any kind of colour vision tell apart; a network has the same one in every
figure. Ink (text, axes) is one special shade that the report turns into the page's own text colour.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

#: Nearly black, and nothing else has it: so that a page can replace it by its own text colour.
INK = "#1b1c1d"
MUTED = "#7f8285"

COLOURS = {
    "powerlaw": "#0072b2",
    "chrono": "#e69f00",
    "lstm": "#d55e00",
    "gru": "#009e73",
    "janet": "#cc79a7",
    "nru": "#56b4e9",
    "phased": "#8c6bb1",
}
"""The rest are grey: a figure with more than seven colours says nothing."""

LABELS = {
    "powerlaw": "power law",
    "chrono": "chrono",
    "lstm": "LSTM",
    "gru": "GRU",
    "janet": "JANET",
    "nru": "NRU",
    "sru": "SRU",
    "urnn": "URNN",
    "eurnn": "EURNN",
    "goru": "GORU",
    "exprnn": "expRNN",
    "phased": "phased LSTM",
}

FEW = 5
"""A line through fewer points than these shows the points: through one there is nothing else to see."""

STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "axes.titlecolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "lines.linewidth": 1.6,
    "figure.constrained_layout.use": True,
    "figure.dpi": 150,
    "savefig.dpi": 200,
    "savefig.transparent": True,
    "svg.fonttype": "none",
    "svg.hashsalt": "slowfade",
    "pdf.fonttype": 42,
}


def colour(network: str) -> str:
    return COLOURS.get(network, MUTED)


def label(network: str) -> str:
    return LABELS.get(network, network)


def styled() -> AbstractContextManager[None]:
    """The style, for the length of a ``with``; figures are drawn off screen."""
    return matplotlib.rc_context(STYLE)


def grid(
    rows: int = 1, columns: int = 1, *, width: float = 3.2, height: float = 2.2
) -> tuple[Figure, list[list[Axes]]]:
    """Panels in rows."""
    figure = Figure(figsize=(width * columns + 0.6, height * rows + 0.2))
    return figure, [list(row) for row in figure.subplots(rows, columns, squeeze=False)]


def line(
    axes: Axes,
    x: ArrayLike,
    y: ArrayLike,
    network: str,
    *,
    spread: ArrayLike | None = None,
    text: str | None = None,
    dashed: bool = False,
    marker: str | None = None,
    shade: Any = None,
) -> None:
    """A curve in its network's colour, or another shade, with its uncertainty as a band.

    :func:`name_lines` writes its name beside it.
    """
    style = "--" if dashed else "-"
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    marker = marker or ("o" if x.size < FEW else None)
    shade = colour(network) if shade is None else shade
    text = label(network) if text is None else text
    axes.plot(x, y, style, marker=marker, markersize=3, color=shade, label=text)
    if spread is not None and np.any(spread):
        axes.fill_between(x, y - spread, y + spread, color=shade, alpha=0.2, linewidth=0)


def name_lines(axes: Axes, *, gap: float = 0.075) -> None:
    """Every labelled line's name at its right end, in its colour, moved apart where they would overlap.

    Call it last: it reads the limits of the axes.
    """
    low, high = axes.get_ylim()
    lines = [line for line in axes.get_lines() if not str(line.get_label()).startswith("_")]
    ends = [_height(axes, float(np.asarray(line.get_ydata())[-1])) for line in lines]
    for line, height in zip(lines, _apart(ends, gap), strict=True):
        axes.annotate(
            str(line.get_label()),
            xy=(1.0, height),
            xytext=(4, 0),
            xycoords="axes fraction",
            textcoords="offset points",
            color=line.get_color(),
            fontsize=8,
            va="center",
            annotation_clip=False,
        )
    axes.set_ylim(low, high)


def _height(axes: Axes, value: float) -> float:
    """Where a value stands between the bottom (0) and the top (1) of the axes, whatever their scale."""
    _, height = axes.transAxes.inverted().transform(axes.transData.transform((axes.get_xlim()[0], value)))
    return float(np.clip(height, 0, 1))


def _apart(heights: Sequence[float], gap: float) -> list[float]:
    """The heights, in the order given, moved as little as needed for neighbours to be ``gap`` apart."""
    order = sorted(range(len(heights)), key=lambda i: heights[i])
    placed = [heights[i] for i in order]
    for _ in range(200):
        moved = False
        for lower in range(len(placed) - 1):
            short = gap - (placed[lower + 1] - placed[lower])
            if short > 1e-9:
                placed[lower], placed[lower + 1] = placed[lower] - short / 2, placed[lower + 1] + short / 2
                moved = True
        if not moved:
            break
    result = [0.0] * len(heights)
    for index, height in zip(order, placed, strict=True):
        result[index] = height
    return result


def save(figure: Figure, stem: Path) -> list[Path]:
    """The figure as SVG, PDF and PNG beside each other."""
    files = [stem.with_suffix(suffix) for suffix in (".svg", ".pdf", ".png")]
    with styled():
        # Laid out once, for all three.
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        figure.savefig(files[0], metadata={"Date": None})
        figure.savefig(files[1], metadata={"CreationDate": None})
        figure.savefig(files[2], transparent=False, facecolor="white")
    return files
