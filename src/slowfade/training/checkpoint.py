"""Where a run stands, on disk: tensors as safetensors, the rest as JSON. Loading it runs no code.

checkpoint/weights.safetensors      the model
checkpoint/optimizer.safetensors    what the optimiser remembers
checkpoint/processes.safetensors    what each process keeps for itself: generators, carried state, running sums
checkpoint/position.json            step, epoch, best so far; how long the metrics were
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
from torch import Tensor, nn

from slowfade.errors import UserError
from slowfade.files import write_through
from slowfade.training import folder

WEIGHTS, OPTIMIZER, PROCESSES, POSITION = (
    "weights.safetensors",
    "optimizer.safetensors",
    "processes.safetensors",
    "position.json",
)


@dataclass
class Position:
    """How far a run has come."""

    step: int = 0
    """Steps of the optimiser."""
    epoch: int = 0
    """Epochs before this one."""
    batch: int = 0
    """Batches of this epoch."""
    evaluated: int = 0
    """The step of the last evaluation."""
    best: dict[str, Any] | None = None
    """The validation row of the best epoch."""
    solved: bool = False
    measures: list[str] = dataclasses.field(default_factory=list)
    """What the running sums sum."""
    metrics_bytes: int = 0
    """How long metrics.jsonl was."""
    seconds: float = 0.0
    """Spent on all this. Not the same in every run."""


def save(
    path: Path,
    position: Position,
    weights: dict[str, Tensor],
    optimizer: dict[str, Tensor],
    processes: dict[str, Tensor],
) -> None:
    """Replace the checkpoint as a whole."""
    with folder.replaced(path) as new:
        for name, tensors in ((WEIGHTS, weights), (OPTIMIZER, optimizer), (PROCESSES, processes)):
            write_through(new / name, encode(tensors))
        folder.write_json(new / POSITION, dataclasses.asdict(position))


def load(path: Path) -> tuple[Position, dict[str, Tensor], dict[str, Tensor], dict[str, Tensor]] | None:
    """What :func:`save` was given; ``None`` where there is no checkpoint yet."""
    if not path.exists():
        return None
    position = Position(**folder.read_json(path / POSITION))
    weights, optimizer, processes = (decode(path / name) for name in (WEIGHTS, OPTIMIZER, PROCESSES))
    return position, weights, optimizer, processes


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """The state of a module, on the CPU."""
    return {name: value.detach().cpu() for name, value in model.state_dict().items()}


def encode(tensors: dict[str, Tensor]) -> bytes:
    return safetensors.torch.save({name: value.detach().cpu().contiguous() for name, value in tensors.items()})


def decode(path: Path) -> dict[str, Tensor]:
    try:
        return safetensors.torch.load_file(path)
    except (OSError, safetensors.SafetensorError) as error:
        raise UserError(f"{path} cannot be read ({error}): remove {path.parent.parent} and run again") from None
