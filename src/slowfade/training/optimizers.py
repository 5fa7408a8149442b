"""The paper's optimisers."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor
from torch.optim import Optimizer

from slowfade.training.config import Training
from slowfade.training.model import Model


def build(model: Model, training: Training) -> Optimizer:
    """Adam, or RMSprop with ``alpha = 0.9``; the core says which of its parameters learn at another rate."""
    groups = model.core.parameter_groups()
    own = {id(parameter) for group in groups for parameter in group.parameters}
    others = [parameter for parameter in model.parameters() if id(parameter) not in own and parameter.requires_grad]
    settings = [
        {"params": group.parameters, "lr": group.rate * training.learning_rate} for group in groups if group.parameters
    ]
    settings.append({"params": others, "lr": training.learning_rate})
    match training.optimizer:
        case "adam":
            return torch.optim.Adam(settings, lr=training.learning_rate)
        case "rmsprop":
            return torch.optim.RMSprop(settings, lr=training.learning_rate, alpha=0.9)


def tensors(optimizer: Optimizer) -> dict[str, Tensor]:
    """All an optimiser remembers, by ``parameter number.name``."""
    state = optimizer.state_dict()["state"]
    return {f"{number}.{name}": value for number, values in state.items() for name, value in values.items()}


def restore(optimizer: Optimizer, stored: Mapping[str, Tensor]) -> None:
    """Go on with what :func:`tensors` gave."""
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in stored.items():
        number, name = key.split(".", 1)
        state.setdefault(int(number), {})[name] = value
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})
