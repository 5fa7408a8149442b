"""What the training loop costs around the network: copying with a delay of 200, the paper's batch and units.

In turns, in one process: a whole step of the loop; and only the network, forward and backward, on inputs that are
encoded already and with a gradient that is given. What the step takes longer is the loop's share: making the batch, the
encoder, the head, the loss, the measures, clipping, the optimiser. Prints medians over the rounds.

    python benchmarks/loop.py [NETWORK] [ROUNDS]
"""

from __future__ import annotations

import sys
from itertools import islice
from pathlib import Path
from statistics import median
from tempfile import mkdtemp

import torch

from slowfade.timing import interleaved
from slowfade.training import configure
from slowfade.training.loop import Loop
from slowfade.training.progress import Watcher
from slowfade.training.run import build_fabric, subnormals_flushed


def main(core: str = "powerlaw", rounds: str = "30") -> None:
    config = configure("copying", core)
    fabric = build_fabric(config, 1, launched=False)
    fabric.launch()
    loop = Loop(fabric, config, Path(mkdtemp()))
    loop.watcher = Watcher()
    network = loop.model.core
    with torch.no_grad():
        inputs = loop.model.encoder(loop.fetch("train", loop.schedule[0]).inputs)
    gradient = torch.randn(*inputs.shape[:2], network.output_size)

    def alone() -> None:
        network(inputs)[0].backward(gradient)
        network.zero_grad()  # or the loop's next step would add to it

    with subnormals_flushed():
        times = list(islice(interleaved({"step": loop.step, "alone": alone}), 3, 3 + int(rounds)))
    step, only = (median(taken[name] for taken in times) for name in ("step", "alone"))
    share = median(1 - taken["alone"] / taken["step"] for taken in times)
    print(f"{core}: step {1e3 * step:.1f} ms, network alone {1e3 * only:.1f} ms, outside it {share:.1%}")


if __name__ == "__main__":
    main(*sys.argv[1:])
