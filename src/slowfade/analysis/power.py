"""The decay exponents ``p`` of a power-law network, before and after training."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from slowfade.cores.core import Core
from slowfade.cores.powerlaw import PowerLaw
from slowfade.training import Config


def trained_power(core: Core) -> Float[Tensor, " units"]:
    """``p`` of every unit of the last layer."""
    if not isinstance(core, PowerLaw):
        raise ValueError(f"{core.title} has no powers: only the power-law network does")
    return core.layer.power[-1].detach()


def initial_power(config: Config) -> Float[Tensor, " units"]:
    """``p`` as a run drew it before its first step. Its configuration is enough: the seed decides it."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.training.seed)
        return trained_power(config.build_model(config.build_task()).core)
