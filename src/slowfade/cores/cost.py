"""``slowfade bench --cores``: what a training step of each network costs at equal parameters, in ``nn.LSTM``'s."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import torch
import tyro
from rich.console import Console
from rich.progress import track
from rich.table import Table
from torch import Tensor, nn
from torch.nn import functional as F

from slowfade import cores
from slowfade.errors import UserError
from slowfade.flags import one_line
from slowfade.timing import Spread, interleaved

#: The copy task's: eight letters, the blank and the signal, in and out.
SYMBOLS = 10


@dataclass(frozen=True)
class Config:
    """The cost of a training step on the copy task, for every network at equal parameters, relative to nn.LSTM.

    All networks take turns in every round, and the median of their ratios to nn.LSTM's time in the same round counts.
    """

    networks: tyro.conf.Positional[tuple[str, ...]] = ()
    """Which networks; all if none is named."""
    steps: int = 220
    """Length of the sequences."""
    batch_size: int = 128
    """Sequences at once."""
    hidden_size: int = 128
    """Units of the nn.LSTM whose number of parameters all others match."""
    rounds: int = 5
    """How often every network is timed."""
    threads: int | None = None
    """Threads to use; PyTorch's own choice if not given."""


class Cost(NamedTuple):
    name: str
    hidden_size: int
    parameters: int
    """With the head."""
    ratio: float
    """The median of its time over that of ``nn.LSTM``."""
    spread: tuple[float, float]
    """The smallest and the largest ratio."""


def main(arguments: list[str]) -> int:
    config = one_line(Config, arguments, prog="slowfade bench --cores")
    if config.threads is not None:
        torch.set_num_threads(config.threads)
    console = Console()
    rounds = track(measure(config), "timing", config.rounds + 1, console=console, transient=True)
    *_, costs = rounds
    console.print(table(costs))
    console.print(
        f"Copying, {config.steps} steps, batch {config.batch_size}, {torch.get_num_threads()} threads, "
        f"{config.rounds} rounds: median (smallest to largest) of the ratio to nn.LSTM."
    )
    return 0


def measure(config: Config) -> Iterator[list[Cost]]:
    """What is known after each round: after the first, which warms up, nothing."""
    for field in ("steps", "batch_size", "hidden_size", "rounds"):
        if getattr(config, field) < 1:
            raise UserError(f"{field.replace('_', '-')} should be at least 1, got {getattr(config, field)}")
    known = cores.names()
    if unknown := [name for name in config.networks if name not in known]:
        raise UserError(f"there is no network {unknown[0]!r}; the networks are {', '.join(known)}")
    budget = cores.build("lstm", SYMBOLS, config.hidden_size)
    size = sum(parameter.numel() for parameter in budget.parameters()) + SYMBOLS * (config.hidden_size + 1)
    symbols = torch.randint(SYMBOLS, (config.steps, config.batch_size))
    steps: dict[str, Callable[[], None]] = {"nn.LSTM": training_step(nn.LSTM(SYMBOLS, config.hidden_size), symbols)}
    shapes: dict[str, tuple[int, int]] = {}
    for name in config.networks or known:
        hidden = cores.hidden_for_parameters(name, SYMBOLS, size, outputs=SYMBOLS)
        core = cores.build(name, SYMBOLS, hidden)
        head = SYMBOLS * (core.output_size + 1)
        shapes[name] = hidden, sum(parameter.numel() for parameter in core.parameters()) + head
        steps[name] = training_step(core, symbols)
    ratios: dict[str, list[float]] = {name: [] for name in shapes}
    for number, times in enumerate(islice(interleaved(steps), config.rounds + 1)):
        if number:
            for name, found in ratios.items():
                found.append(times[name] / times["nn.LSTM"])
        spreads = {name: Spread.of(found) for name, found in ratios.items() if found}
        yield [
            Cost(name, *shapes[name], ratio.median, (ratio.smallest, ratio.largest)) for name, ratio in spreads.items()
        ]


def training_step(core: nn.Module, symbols: Tensor) -> Callable[[], None]:
    """One step of training on sequences of symbols, as a function: forward, loss, backward, optimiser."""
    inputs = F.one_hot(symbols, SYMBOLS).float()
    width: Any = getattr(core, "output_size", None) or core.hidden_size
    head = nn.Linear(width, SYMBOLS)
    optimizer = torch.optim.Adam([*core.parameters(), *head.parameters()])

    def step() -> None:
        optimizer.zero_grad()
        prediction = head(core(inputs)[0])
        loss = F.cross_entropy(prediction.flatten(0, 1), symbols.flatten())
        penalty = core.penalty() if isinstance(core, cores.Core) else None
        (loss if penalty is None else loss + penalty).backward()
        optimizer.step()
        if isinstance(core, cores.Core):
            core.after_step()

    return step


def table(costs: Sequence[Cost]) -> Table:
    """The costs, cheapest first."""
    made = Table("network", "units", "parameters", "time / nn.LSTM")
    for column in made.columns[1:]:
        column.justify = "right"
    for cost in sorted(costs, key=lambda cost: cost.ratio):
        low, high = cost.spread
        made.add_row(
            cost.name, str(cost.hidden_size), f"{cost.parameters:,}", f"{cost.ratio:.2f} ({low:.2f} to {high:.2f})"
        )
    return made
