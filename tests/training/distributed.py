"""What each of several processes does, imported by name as each is to find it."""

from __future__ import annotations

from pathlib import Path

import torch
from lightning.fabric import Fabric

from slowfade.training import Config
from slowfade.training.loop import Loop


def gradients(fabric: Fabric, configs: dict[str, Config], path: Path) -> None:
    """Save the gradients of the first step, as the optimiser would be given them."""
    found = {}
    for name, config in configs.items():
        loop = Loop(fabric, config, path)
        loop.backward(loop.fetch("train", loop.schedule[0]))
        found[name] = {key: parameter.grad for key, parameter in loop.model.named_parameters()}
    if fabric.is_global_zero:
        torch.save(found, path)
