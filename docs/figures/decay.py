"""Draws ``decay.svg``: how memory decays in each network with a closed form for it, as the network is initialised."""

import io
import re
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import Tensor

from slowfade import cores
from slowfade.cores.lmu import LMULayer, window

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "slowfade"
matplotlib.rcParams["svg.fonttype"] = "none"
matplotlib.rcParams["font.sans-serif"] = ["DejaVu Sans", "Verdana"]

# Blue and green as in forgetting.svg; all three stand out from white and from nearly black alike.
OWN, POWER_LAW, GREY = "#0072B2", "#009E73", "#808080"
INPUTS, UNITS, DRAWS = 10, 128, 200
FLOOR = 1e-9

time = torch.logspace(0, 4, 49).double()


def drawn(name: str) -> Tensor:
    """Every unit of many networks: a unit a column."""
    return torch.cat([cores.build(name, INPUTS, UNITS).free_decay(time).detach() for _ in range(DRAWS)], dim=1)


def option(name: str, wanted: str) -> object:
    return next(option.default for option in cores.options(name) if option.name == wanted)


def averages(rates: tuple[float, ...]) -> tuple[Tensor, Tensor]:
    """A moving average that keeps ``rate`` of itself at each step: a rate a column. One that keeps nothing is none."""
    return time, torch.tensor([rate for rate in rates if rate]).double() ** time.unsqueeze(-1)


def windowed() -> tuple[Tensor, Tensor]:
    """The LMU's memory of one input, ``Ā^t B̄``, by the length of the function it stands for."""
    layer: LMULayer = cores.build("lmu", INPUTS, UNITS).layers[0]
    a, b = (torch.from_numpy(part) for part in window(layer.order, layer.theta))
    # The squared length of the i-th Legendre polynomial is proportional to 1 / (2i + 1).
    share = 1 / (2 * torch.arange(layer.order) + 1)
    lengths = []
    for _ in range(int(1.5 * layer.theta)):
        lengths.append((b.square() * share).sum().sqrt())
        b = a @ b
    # The window ends abruptly: there, every fourth step.
    end = torch.arange(int(0.95 * layer.theta), len(lengths), 4)
    steps = torch.cat([time[time < end[0]].long(), end]).unique()
    return steps, (torch.stack(lengths) / lengths[0])[steps].unsqueeze(-1)


torch.manual_seed(0)
units = {name: drawn(name) for name in cores.names() if cores.build(name, INPUTS, 16).free_decay(time) is not None}
fixed = {
    "SRU, averages": averages(option("sru", "alphas")),
    "SCRN, context": averages((option("scrn", "alpha"),)),
    "LMU, memory": windowed(),
    "orthogonal and unitary": averages((1.0,)),
}
assert len(units) + len(fixed) == 12

figure, panels = plt.subplots(3, 4, figsize=(9.2, 6), sharex=True, sharey=True, layout="constrained")
figure.patch.set_alpha(0)
for axes, name in zip(panels.flat, units | fixed, strict=True):
    colour = POWER_LAW if name == "powerlaw" else OWN
    if name != "powerlaw":
        axes.plot(time[::3], units["powerlaw"].mean(1)[::3], color=POWER_LAW, linewidth=1, linestyle=(0, (4, 2)))
    if name in units:
        low, high = np.quantile(units[name].numpy().clip(FLOOR), [0.1, 0.9], axis=1)
        seen = high > FLOOR
        axes.fill_between(time[seen], low[seen], high[seen], color=colour, alpha=0.3, linewidth=0)
        axes.plot(time, units[name].mean(1), color=colour, linewidth=2)
    else:
        axes.plot(*fixed[name], color=colour, linewidth=2)
    axes.set(xscale="log", yscale="log", xlim=(1, 1e4), ylim=(1e-3, 1.3))
    axes.set_xticks([1, 10, 100, 1000, 10_000], ["1", "", "100", "", "10,000"])
    axes.set_yticks([1e-3, 1e-2, 1e-1, 1], ["0.001", "0.01", "0.1", "1"])
    axes.minorticks_off()
    axes.set_title(cores.describe(name).title if name in units else name, fontsize=9, color=GREY)
    axes.tick_params(colors=GREY, labelsize=8)
    axes.patch.set_alpha(0)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(GREY)
panels[0, 1].text(40, 0.4, "power-law LSTM", fontsize=8, color=POWER_LAW)
figure.supxlabel("steps since the memory was written", fontsize=9, color=GREY)
figure.supylabel("what is left of it", fontsize=9, color=GREY)

drawing = io.StringIO()
figure.savefig(drawing, format="svg", metadata={"Date": None, "Creator": None})
# A hundredth of a point is fine enough, and a path fits on a line.
text = re.sub(r"(\.\d\d)\d+(?=[^<>]*>)", r"\1", drawing.getvalue())
text = re.sub(r" ?\n(?=[MLCz\"])", " ", text)
Path(__file__).with_suffix(".svg").write_text(text)
