"""What the training loop costs around the network: copying with a delay of 200, 128 units.

Interleaved, in one process: a whole step of the loop, and only the network, forward and backward, on the same batch.
Prints medians and the share of the step that is spent outside the network.

    python benchmarks/loop.py [NETWORK] [ROUNDS]
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import mkdtemp

import torch

from slowfade.training import configure
from slowfade.training.loop import Loop
from slowfade.training.progress import Watcher
from slowfade.training.run import build_fabric


def seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


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

    for action in (loop.step, alone) * 3:
        action()
    times = [(seconds(loop.step), seconds(alone)) for _ in range(int(rounds))]
    step, only = (statistics.median(column) for column in zip(*times, strict=True))
    print(f"{core}: step {1e3 * step:.1f} ms, network alone {1e3 * only:.1f} ms, outside it {1 - only / step:.1%}")


if __name__ == "__main__":
    main(*sys.argv[1:])
