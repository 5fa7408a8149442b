"""Draws ``decay.svg``: how memory decays in each network with a closed form for it, as the network is initialised."""

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

# Blue and green as in forgetting.svg; all three stand out from white and from nearly black alike.
OWN, POWER_LAW, GREY = "#0072B2", "#009E73", "#808080"
INPUTS, UNITS, DRAWS = 10, 128, 200
FLOOR = 1e-4

time = torch.cat([torch.zeros(1), torch.logspace(0, 4, 121)]).double()
shown = time[1:]


def drawn(name: str) -> Tensor:
    """Every unit of many networks: a unit a column."""
    return torch.cat([cores.build(name, INPUTS, UNITS).free_decay(time).detach() for _ in range(DRAWS)], dim=1)


def option(name: str, wanted: str) -> object:
    return next(option.default for option in cores.options(name) if option.name == wanted)


def averages(rates: tuple[float, ...]) -> Tensor:
    """A moving average that keeps ``rate`` of itself at each step: a rate a column."""
    return torch.tensor(rates).double() ** time.unsqueeze(-1)


def windowed() -> Tensor:
    """The LMU's memory of one input, ``Ā^t B̄``, by the length of the function it stands for."""
    layer: LMULayer = cores.build("lmu", INPUTS, UNITS).layers[0]
    a, b = (torch.from_numpy(part) for part in window(layer.order, layer.theta))
    # The squared length of the i-th Legendre polynomial is proportional to 1 / (2i + 1).
    share = 1 / (2 * torch.arange(layer.order) + 1)
    lengths = []
    for _ in range(int(time[-1]) + 1):
        lengths.append(float((b.square() * share).sum().sqrt()))
        b = a @ b
    left = np.array(lengths) / lengths[0]
    return torch.from_numpy(np.interp(time, np.arange(len(left)), left)).unsqueeze(-1)


torch.manual_seed(0)
units = {name: drawn(name) for name in cores.names() if cores.build(name, INPUTS, 16).free_decay(time) is not None}
fixed = {
    "SRU, averages": averages(option("sru", "alphas")),
    "SCRN, context": averages((option("scrn", "alpha"),)),
    "LMU, memory": windowed(),
    "orthogonal and unitary": torch.ones(len(time), 1),
}
assert len(units) + len(fixed) == 12

figure, panels = plt.subplots(3, 4, figsize=(9.2, 6), sharex=True, sharey=True, layout="constrained")
figure.patch.set_alpha(0)
reference = units["powerlaw"].mean(1)[1:]
for axes, (name, left) in zip(panels.flat, (units | fixed).items(), strict=True):
    left = left[1:].numpy()
    colour = POWER_LAW if name == "powerlaw" else OWN
    if name in units:
        low, high = np.quantile(left, [0.1, 0.9], axis=1)
        axes.fill_between(shown, low.clip(FLOOR), high.clip(FLOOR), color=colour, alpha=0.3, linewidth=0)
    if name != "powerlaw":
        axes.plot(shown, reference, color=POWER_LAW, linewidth=1, linestyle=(0, (4, 2)))
    axes.plot(shown, left.mean(1) if name in units else left, color=colour, linewidth=2)
    axes.set(xscale="log", yscale="log", xlim=(1, 1e4), ylim=(1e-3, 1.3))
    axes.set_xticks([1, 10, 100, 1000, 10_000], ["1", "10", "100", "1,000", "10,000"])
    axes.set_yticks([1e-3, 1e-2, 1e-1, 1], ["0.001", "0.01", "0.1", "1"])
    axes.minorticks_off()
    axes.set_title(cores.describe(name).title if name in units else name, fontsize=9, color=GREY)
    axes.tick_params(colors=GREY, labelsize=8)
    axes.patch.set_alpha(0)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(GREY)
figure.supxlabel("steps since the memory was written", fontsize=9, color=GREY)
figure.supylabel("what is left of it", fontsize=9, color=GREY)
figure.savefig(Path(__file__).with_suffix(".svg"), metadata={"Date": None, "Creator": None})
