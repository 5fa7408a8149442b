"""Draws ``decay.svg``: how memory decays in each network with a closed form for it, as it is initialised."""

from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import torch

from slowfade import cores

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "slowfade"

LINE, GREY = "#0072B2", "#808080"
UNITS, INPUTS = 1000, 10
FLOOR = 1e-4

time = torch.logspace(0, 4, 61)
names = [name for name in cores.names() if cores.build(name, INPUTS, 16).free_decay(time) is not None]
torch.manual_seed(0)
figure, panels = plt.subplots(
    -(-len(names) // 4), 4, figsize=(9, 1.9 * -(-len(names) // 4) + 0.4), sharex=True, sharey=True, layout="constrained"
)
figure.patch.set_alpha(0)
for axes, name in zip(panels.flat, names, strict=False):
    left = cores.build(name, INPUTS, UNITS).free_decay(time).detach().double().numpy()
    low, high = np.quantile(left, [0.1, 0.9], axis=1)
    axes.fill_between(time, low.clip(FLOOR), high.clip(FLOOR), color=LINE, alpha=0.25, linewidth=0)
    axes.plot(time, left.mean(1), color=LINE, linewidth=2)
    axes.set(xscale="log", yscale="log", xlim=(1, 1e4), ylim=(1e-3, 1.2))
    axes.set_title(cores.describe(name).title, fontsize=9, color=GREY)
    axes.minorticks_off()
    axes.tick_params(colors=GREY, labelsize=8)
    axes.patch.set_alpha(0)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(GREY)
for axes in panels.flat[len(names) :]:
    axes.set_visible(False)
figure.supxlabel("steps since the memory was written", fontsize=9, color=GREY)
figure.supylabel("what is left of it", fontsize=9, color=GREY)
figure.savefig(Path(__file__).with_suffix(".svg"), metadata={"Date": None, "Creator": None})
