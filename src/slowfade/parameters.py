"""Parameters that the layer, the cell and the gate have in common."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Tensor, nn

from slowfade.gate import PowerInit, initial_power_logit


def register(
    module: nn.Module,
    shapes: Mapping[str, tuple[int, ...] | None],
    hidden_size: int,
    power: str | float,
    suffix: str = "",
    *,
    device: torch.device | str | None = None,
    dtype: torch.dtype | None = None,
) -> None:
    """Empty parameters ``name + suffix`` of the shapes given (``None``: absent), and the power, learned or fixed."""
    for name, shape in shapes.items():
        made = None if shape is None else nn.Parameter(torch.empty(shape, device=device, dtype=dtype))
        module.register_parameter(name + suffix, made)
    if power == "learned":
        logit = nn.Parameter(torch.empty(hidden_size, device=device, dtype=dtype))
        module.register_parameter("power_logit" + suffix, logit)
    else:
        # Full precision whatever the weights' type: the power decides over thousands of steps.
        value = torch.full((hidden_size,), float(power), device=device, dtype=_at_least_float32(dtype))
        module.register_buffer("fixed_power" + suffix, value)


def power(module: nn.Module, suffix: str = "") -> Float[Tensor, " hidden"]:
    """``p``, one per unit: ``σ(p̂)`` where it is learned."""
    logit = getattr(module, "power_logit" + suffix, None)
    if logit is None:
        return getattr(module, "fixed_power" + suffix)
    return torch.sigmoid(logit.to(_at_least_float32(logit.dtype)))


@torch.no_grad()
def initialise(module: nn.Module, hidden_size: int, power_init: PowerInit) -> None:
    """Power logits as ``power_init`` says, every other parameter ``U(-1/√H, 1/√H)``."""
    bound = 1 / math.sqrt(hidden_size)
    for name, parameter in module.named_parameters(recurse=False):
        if name.startswith("power_logit"):
            parameter.copy_(initial_power_logit(power_init, hidden_size, device=parameter.device))
        else:
            parameter.uniform_(-bound, bound)


def _at_least_float32(dtype: torch.dtype | None) -> torch.dtype:
    return torch.promote_types(dtype or torch.get_default_dtype(), torch.float32)
