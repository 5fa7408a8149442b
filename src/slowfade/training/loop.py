"""The training loop: plain, and resumable after every step."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import torch
from jaxtyping import Int
from lightning.fabric import Fabric
from torch import Tensor
from torch.nn.utils import clip_grad_norm_

from slowfade import cores
from slowfade.errors import UserError
from slowfade.tasks.task import Batch, Measure, Split, hash_of
from slowfade.training import checkpoint, folder, optimizers
from slowfade.training.checkpoint import Position
from slowfade.training.config import Config
from slowfade.training.model import State
from slowfade.training.progress import Watcher
from slowfade.training.signals import Interruption, Stopped


class Diverged(UserError):
    """The loss or its gradient is no longer a finite number."""


class Loop:
    """One run, from where its folder says it stands to its end. Every process of the run has one.

    Each step is taken on one batch, shared out among the processes. Whatever decides the rest of a run is in
    ``position``, the weights, the optimiser, and what each process keeps for itself (:meth:`own`). The checkpoint holds
    just these, so that a run that was killed goes on as if nothing had happened.
    """

    def __init__(self, fabric: Fabric, config: Config, path: Path) -> None:
        self.fabric, self.config, self.path = fabric, config, path
        self.training, self.task = config.training, config.build_task()
        torch.manual_seed(self.training.seed)
        self.model = config.build_model(self.task)
        self.measured = self.known_measures()
        self.position = Position()
        self.batches: tuple[int, list[Tensor]] = (-1, [])
        if len(self.schedule[0]) < fabric.world_size:
            raise UserError(
                f"{fabric.world_size} processes cannot share batches of {len(self.schedule[0])} sequences: "
                "take fewer --devices"
            )
        self.optimizer = optimizers.build(self.model, self.training)
        compiled: Any = torch.compile(self.model) if self.training.compile else self.model
        self.forward, self.stepper = fabric.setup(compiled, self.optimizer)
        torch.manual_seed(hash_of(self.training.seed, fabric.global_rank))

        self.state: State | None = None
        self.sums = torch.zeros(0, 2, dtype=torch.float64)
        self.saved = self.began = time.monotonic()
        self.interruption = Interruption()

    def run(self, watcher: Watcher) -> dict[str, Any]:
        """Train to the end, then test the best weights. Returns what goes into ``result.json``."""
        self.watcher = watcher
        self.restore()
        self.metrics = folder.Rows(self.path / folder.METRICS, self.position.metrics_bytes) if self.first else None
        self.watcher.begin(self.position, self.steps)
        with self.interruption:
            try:
                self.train()
                return self.test()
            except Stopped:
                self.save()
                raise
            finally:
                if self.metrics:
                    self.metrics.close()

    def train(self) -> None:
        while True:
            if self.evaluation_due:
                self.evaluate()
            if self.finished:
                return self.save()
            self.step()
            if self.position.step % self.training.log_every == 0:
                self.log()
            if self.any(self.interruption.asked):
                raise Stopped
            if self.any(time.monotonic() - self.saved >= self.training.checkpoint_seconds):
                self.save()

    def step(self) -> None:
        """One step of the optimiser."""
        if self.epoch_ended:
            self.position.epoch, self.position.batch, self.state = self.position.epoch + 1, 0, None
        measures = self.backward(self.fetch("train", self.schedule[self.position.batch]))
        norm = clip_grad_norm_(self.model.parameters(), self.training.clip_norm or math.inf)
        if not torch.isfinite(norm):
            self.diverged("the loss or its gradient")
        self.stepper.step()
        self.stepper.zero_grad()
        self.model.core.after_step()
        self.position.step += 1
        self.position.batch += 1
        self.add(measures)
        self.watcher.stepped(self.position.step)

    def backward(self, batch: Batch) -> dict[str, Measure]:
        """The gradient of the mean loss over a batch, and of the core's penalty. Returns what was measured."""
        prediction, state = self.forward(batch, self.state)
        if self.task.carries_state:
            self.state = cores.detach(state)
        loss = self.task.loss(prediction, batch)
        # DDP averages the processes' gradients. Each one's share of the sum, times their number, over the count of all
        # is on average the mean over the whole batch, however its rows are shared out.
        objective = loss.total * (self.fabric.world_size / self.summed(loss.count.to(loss.total.dtype)))
        penalty = self.model.core.penalty()
        self.fabric.backward(objective if penalty is None else objective + penalty)
        with torch.no_grad():
            return {"loss": loss, **self.task.measures(prediction.detach(), batch)}

    def evaluate(self) -> None:
        """Measure on the validation sequences; keep the weights if they are the best so far."""
        self.log()
        row = self.row("validation", self.measure("validation"))
        if not math.isfinite(row["loss"]):
            self.diverged("the validation loss")
        position, training = self.position, self.training
        position.evaluated = position.step
        if position.best is None or self.rank(row) > self.rank(position.best):
            position.best = row
            if self.first:
                folder.write(self.path / folder.BEST, checkpoint.encode(self.model.state_dict()))
        if training.solved is not None:
            name = training.solved_by or training.best
            position.solved = self.task.merit(name, row[name]) >= self.task.merit(name, training.solved)

    def test(self) -> dict[str, Any]:
        """Measure the best weights on the test sequences."""
        best = self.position.best
        assert best is not None
        self.fabric.barrier()
        self.model.load_state_dict(checkpoint.decode(self.path / folder.BEST))
        tested = self.row("test", self.measure("test"), best)
        return {
            "outcome": "solved" if self.position.solved else "finished",
            "steps": self.position.step,
            "epochs": self.position.epoch + 1,
            "parameters": sum(p.numel() for p in self.model.parameters() if p.requires_grad),
            "core_parameters": sum(p.numel() for p in self.model.core.parameters() if p.requires_grad),
            "validation": best,
            "test": tested,
        }

    def rank(self, row: Mapping[str, Any]) -> tuple[float, float]:
        """The better a row is by `best`, the higher; by the loss where that says nothing."""
        best = self.training.best
        return self.task.merit(best, row[best]), -row["loss"]

    @torch.no_grad()
    def known_measures(self) -> list[str]:
        """What the task measures; what the run is judged by is among it."""
        batch = self.task.batch("validation", torch.arange(1))
        measures = ["loss", *self.task.measures(self.model(batch)[0], batch)]
        for flag, name in (("--best", self.training.best), ("--solved-by", self.training.solved_by)):
            if name not in (None, *measures):
                raise UserError(f"{flag} {name}: {self.config.task} measures {', '.join(measures)}")
        return measures

    @torch.no_grad()
    def measure(self, split: Split) -> dict[str, float]:
        """The means of the loss and the measures over all of a split."""
        self.forward.eval()
        sums = torch.zeros(len(self.measured), 2, dtype=torch.float64, device=self.fabric.device)
        state = None
        for numbers in self.task.schedule(split, self.training.batch_size, seed=self.training.seed, epoch=0):
            if self.interruption.asked and self.fabric.world_size == 1:
                self.forward.train()
                raise Stopped
            batch = self.fetch(split, numbers)
            if len(batch.inputs) == 0:  # as many processes as rows, and more, leave some without
                continue
            prediction, state = self.forward(batch, state if self.task.carries_state else None)
            measures = self.task.loss(prediction, batch), *self.task.measures(prediction, batch).values()
            sums += torch.stack([as_sum(measure) for measure in measures])
        self.forward.train()
        return self.means(self.measured, sums)

    def add(self, measures: Mapping[str, Measure]) -> None:
        """Count a training batch in."""
        batch = torch.stack([as_sum(measure) for measure in measures.values()])
        self.position.measures = list(measures)
        self.sums = batch if len(self.sums) == 0 else self.sums + batch

    def log(self) -> None:
        """A training row: the means since the one before."""
        if len(self.sums):
            self.row("train", self.means(self.position.measures, self.sums))
            self.sums = self.sums[:0]

    def means(self, names: list[str], sums: Tensor) -> dict[str, float]:
        total, count = self.summed(sums).T
        return dict(zip(names, (total / count).tolist(), strict=True))

    def row(self, split: Split, values: Mapping[str, float], at: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Write a row of metrics, of this step or of another row's."""
        step, epoch = (at["step"], at["epoch"]) if at else (self.position.step, self.position.epoch + 1)
        row = {"step": step, "epoch": epoch, "split": split, **values}
        if self.metrics:
            self.metrics.append(row)
        self.watcher.row(row)
        return row

    # Where the run stands.

    @property
    def schedule(self) -> list[Int[Tensor, " batch"]]:
        """The batches of this epoch."""
        epoch, training = self.position.epoch, self.training
        if self.batches[0] != epoch:
            batches = self.task.schedule("train", training.batch_size, seed=training.seed, epoch=epoch)
            self.batches = epoch, batches
        return self.batches[1]

    @property
    def steps(self) -> int:
        """How many steps the run has, unless it is solved before."""
        return min(self.training.epochs * len(self.schedule), self.training.max_steps or sys.maxsize)

    @property
    def epoch_ended(self) -> bool:
        return self.position.batch == len(self.schedule)

    @property
    def at_limit(self) -> bool:
        limit = self.training.max_steps
        last_epoch = self.position.epoch + 1 == self.training.epochs
        return (last_epoch and self.epoch_ended) or (limit is not None and self.position.step >= limit)

    @property
    def evaluation_due(self) -> bool:
        position, every = self.position, self.training.evaluate_every
        if position.evaluated == position.step:
            return False
        return self.at_limit or (self.epoch_ended if every is None else position.step % every == 0)

    @property
    def finished(self) -> bool:
        return self.position.solved or self.at_limit

    def save(self) -> None:
        """Replace the checkpoint by a good one."""
        if not all(torch.isfinite(parameter).all() for parameter in self.model.parameters()):
            self.diverged("a weight")
        own = {name: self.gathered(value) for name, value in self.own().items()}
        if self.metrics:
            self.position.metrics_bytes = self.metrics.sync()
            self.position.seconds += time.monotonic() - self.began
            self.began = time.monotonic()
            checkpoint.save(
                self.path / folder.CHECKPOINT,
                self.position,
                self.model.state_dict(),
                optimizers.tensors(self.optimizer),
                own,
            )
            self.watcher.saved(self.position)
        self.saved = time.monotonic()

    def restore(self) -> None:
        """Go on from the checkpoint, if there is one."""
        found = checkpoint.load(folder.whole(self.path / folder.CHECKPOINT))
        if found is None:
            return
        self.position, weights, optimizer, own = found
        if len(own["generator"]) != self.fabric.world_size:
            raise UserError(f"{self.path} was begun with {len(own['generator'])} processes: go on with as many")
        self.model.load_state_dict(weights)
        optimizers.restore(self.optimizer, optimizer)
        mine = {name: value[self.fabric.global_rank] for name, value in own.items()}
        # Copies: PyTorch 2.13 misreads a generator's state that is a part of a larger tensor.
        torch.set_rng_state(mine["generator"].clone())
        if "cuda_generator" in mine:
            torch.cuda.set_rng_state(mine["cuda_generator"].clone(), self.fabric.device)
        self.sums = mine["sums"].to(self.fabric.device)
        rows = len(self.share(self.schedule[0]))
        parts = [mine[name][:, :rows].to(self.fabric.device) for name in sorted(mine) if name.startswith("state.")]
        self.state = tuple(parts) if parts else None

    def own(self) -> dict[str, Tensor]:
        """What each process keeps for itself."""
        own = {"generator": torch.get_rng_state(), "sums": self.sums}
        if self.fabric.device.type == "cuda":
            own["cuda_generator"] = torch.cuda.get_rng_state(self.fabric.device)
        return own | {f"state.{number:02}": self.padded(part) for number, part in enumerate(self.state or ())}

    def padded(self, part: Tensor) -> Tensor:
        """A part of the carried state with as many rows as any process has, as only equal shapes can be gathered."""
        missing = -(-len(self.schedule[0]) // self.fabric.world_size) - part.shape[1]
        return torch.cat([part, part.new_zeros(part.shape[0], missing, *part.shape[2:])], dim=1) if missing else part

    def diverged(self, what: str) -> None:
        raise Diverged(
            f"{what} is no longer finite after step {self.position.step} of {self.path}: try a lower --learning-rate "
            "or a --clip-norm; the last good checkpoint is kept"
        )

    # One process among several.

    @property
    def first(self) -> bool:
        """The process that writes."""
        return self.fabric.is_global_zero

    def fetch(self, split: Split, numbers: Int[Tensor, " batch"]) -> Batch:
        """This process's share of a batch, on its device."""
        return self.fabric.to_device(self.task.batch(split, self.share(numbers)))

    def share(self, numbers: Int[Tensor, " batch"]) -> Int[Tensor, " rows"]:
        """This process's rows of a batch."""
        return numbers.tensor_split(self.fabric.world_size)[self.fabric.global_rank]

    def summed(self, value: Tensor) -> Tensor:
        """The sum over all processes."""
        if self.fabric.world_size == 1:
            return value
        return cast(Tensor, self.fabric.all_reduce(value.detach().clone(), reduce_op="sum"))

    def gathered(self, value: Tensor) -> Tensor:
        """The values of all processes, stacked."""
        if self.fabric.world_size == 1:
            return value.unsqueeze(0)
        value = value.to(self.fabric.device)
        parts = [torch.empty_like(value) for _ in range(self.fabric.world_size)]
        torch.distributed.all_gather(parts, value)
        return torch.stack(parts)

    def any(self, here: bool) -> bool:
        """Whether it is so in any process: all of them have to do the same."""
        return here if self.fabric.world_size == 1 else bool(self.summed(torch.tensor(float(here))) > 0)


def as_sum(measure: Measure) -> Tensor:
    return torch.stack([measure.total.detach().double(), measure.count.double()])
