"""Draws ``forgetting.svg``: how an exponential and a power law forget (the paper's figure 1)."""

from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "slowfade"

EXPONENTIAL, POWER_LAW, GREY = "#0072B2", "#009E73", "#808080"

steps = np.arange(0, 201)
figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
figure.patch.set_alpha(0)
axes.patch.set_alpha(0)
axes.plot(steps, 0.97**steps, color=EXPONENTIAL, linewidth=2)
axes.plot(steps, (steps + 1.0) ** -0.3, color=POWER_LAW, linewidth=2)
axes.text(82, 0.11, "LSTM: exponential, $0.97^t$", color=EXPONENTIAL)
axes.text(82, 0.3, "power law, $(t+1)^{-0.3}$", color=POWER_LAW)
axes.set(xlim=(0, 200), ylim=(0, 1.02), xlabel="steps since the memory was written", ylabel="what is left of it")
axes.xaxis.label.set_color(GREY)
axes.yaxis.label.set_color(GREY)
axes.tick_params(colors=GREY)
for side, spine in axes.spines.items():
    spine.set_visible(side in ("left", "bottom"))
    spine.set_color(GREY)
figure.savefig(Path(__file__).with_suffix(".svg"), metadata={"Date": None, "Creator": None})
