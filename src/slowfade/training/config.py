"""What a run is made from: a task, a network, and how it is trained."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from slowfade import cores, tasks
from slowfade.cores.core import Core
from slowfade.errors import UserError
from slowfade.tasks.task import Task
from slowfade.training.model import Encoder, Model


@dataclass(frozen=True)
class Training:
    """How a network is trained: by default as the paper trains on the task."""

    hidden: int
    """Hidden units."""
    epochs: int
    """Times through the training sequences."""
    batch_size: int
    """Sequences per step, over all devices."""
    layers: int = 1
    """Layers of the network, one on the other."""
    seed: int = 0
    """Decides the initial weights, the order of the sequences and the dropout."""
    optimizer: Literal["adam", "rmsprop"] = "adam"
    """RMSprop runs with the paper's alpha of 0.9."""
    learning_rate: float = 1e-3
    """Some networks take a tenth of it for their orthogonal parts."""
    clip_norm: float | None = None
    """Longer gradients are scaled down to this norm."""
    dropout: float = 0.0
    """On the network's output."""
    best: str = "loss"
    """The validation measure that picks the best epoch: the lowest loss or bits, the highest of any other."""
    solved: float | None = None
    """Stop once the validation measure `solved_by` has come this far."""
    solved_by: str | None = None
    """None: the measure `best`."""
    max_steps: int | None = None
    """Stop after so many steps, even within an epoch."""
    evaluate_every: int | None = None
    """Steps between two evaluations on the validation sequences. None: once an epoch."""
    log_every: int = 50
    """Steps over which each training row in metrics.jsonl is the mean."""
    devices: int = 1
    """Processes, each with its own device, that share every batch. Under torchrun: as many as it started."""
    accelerator: Literal["auto", "cpu", "cuda"] = "auto"
    """Where to compute. auto: on the GPU where there is one."""
    precision: Literal["32-true", "64-true", "bf16-mixed"] = "32-true"
    """Of the weights and of the arithmetic."""
    compile: bool = False
    """Compile the model with torch.compile."""
    threads: int | None = None
    """CPU threads per process. None: PyTorch's choice. Sums are rounded differently with another number."""
    checkpoint_seconds: float = 60.0
    """Time between two checkpoints."""
    tensorboard: bool = False
    """Also write TensorBoard's event files into the run's folder."""


#: What a run may be continued with another value of, as no number depends on it.
FREE = ("checkpoint_seconds", "tensorboard")
#: By what share of a budget the nearest size may miss it: networks of such different sizes are not compared as equals.
BUDGET_MISSED = 0.1


@dataclass(frozen=True)
class Config:
    """All that a run is made from. Make one with :func:`configure`."""

    task: str
    core: str
    training: Training
    task_options: Mapping[str, Any] = field(default_factory=dict)
    core_options: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {
            "task": {"name": self.task, **self.task_options},
            "core": {"name": self.core, **self.core_options},
            "training": dataclasses.asdict(self.training),
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Config:
        task, core = ({key: _tuples(value) for key, value in values[part].items()} for part in ("task", "core"))
        return cls(task.pop("name"), core.pop("name"), Training(**values["training"]), task, core)

    def build_task(self) -> Task:
        return tasks.build(self.task, **self.task_options)

    def build_model(self, task: Task) -> Model:
        """The model with its initial weights, drawn from PyTorch's generator as it stands."""
        encoder = Encoder(task.encoding)
        return Model(
            encoder, self.build_core(encoder.output_size), task.output_size, task.every_step, self.training.dropout
        )

    def build_core(self, input_size: int) -> Core:
        try:
            return cores.build(
                self.core,
                input_size,
                self.training.hidden,
                num_layers=self.training.layers,
                batch_first=True,
                **self.core_options,
            )
        except (TypeError, ValueError, RuntimeError) as error:
            raise UserError(f"{self.core}: {str(error).splitlines()[0]}") from None


def configure(
    task: str,
    core: str = "powerlaw",
    *,
    task_options: Mapping[str, Any] | None = None,
    core_options: Mapping[str, Any] | None = None,
    budget: int | None = None,
    **training: Any,
) -> Config:
    """A configuration with the paper's settings for all that is not given.

        >>> configure("copying", "chrono", task_options={"delay": 100}, seed=1, max_steps=1000)

    Args:
        task, core: names, as ``tasks.names()`` and ``cores.names()`` list them.
        task_options: fields of the task.
        core_options: options of the network.
        budget: instead of ``hidden``: as many units as give the network and its head about this many parameters.
        training: fields of :class:`Training`.
    """
    if core not in cores.names():
        raise UserError(f"there is no network {core!r}; the networks are {', '.join(cores.names())}")
    built = tasks.build(task, **(task_options or {}))
    options = all_core_options(built, core, core_options or {})
    if budget is not None:
        if "hidden" in training:
            raise UserError("hidden and budget both say how large the network is: give one of them")
        training["hidden"] = hidden_for(built, core, budget, training.get("layers"), options)
    chosen = default_training(built, core, **training)
    _check(chosen)
    every = {field.name: getattr(built, field.name) for field in dataclasses.fields(built)}
    return Config(task, core, chosen, every, options)


def default_training(task: Task, core: str, **chosen: Any) -> Training:
    """The paper's settings for a network on a task, as far as nothing else is chosen."""
    known = {field.name for field in dataclasses.fields(Training)}
    if unknown := sorted(chosen.keys() - known):
        raise UserError(f"training has no setting {unknown[0]!r}; the settings are {', '.join(sorted(known))}")
    settings = task.settings.for_core(core)
    return Training(
        **{
            "hidden": settings.hidden_size,
            "layers": settings.num_layers,
            **{name: getattr(settings, name) for name in known & set(settings._fields)},
            **chosen,
        }
    )


def hidden_for(task: Task, core: str, budget: int, layers: int | None, options: Mapping[str, Any]) -> int:
    """How many units give a network and its head about so many parameters."""
    if budget < 1:
        raise UserError(f"budget should be at least 1, got {budget}")
    inputs = Encoder(task.encoding).output_size
    others = {"num_layers": layers or task.settings.for_core(core).num_layers, "outputs": task.output_size, **options}
    hidden = cores.hidden_for_parameters(core, inputs, budget, **others)
    count = cores.count_parameters(core, inputs, hidden, **others)
    if abs(count - budget) > BUDGET_MISSED * budget:
        raise UserError(
            f"{core} has no size near {budget:,} parameters; the nearest is {hidden} units with {count:,}: "
            f"choose --budget {count} or --hidden {hidden}"
        )
    return hidden


def all_core_options(task: Task, core: str, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Every option of a network: as chosen, else as the task asks for, else as the network has it."""
    options = {option.name: option.default for option in cores.options(core)}
    if unknown := sorted(chosen.keys() - options):
        there = f"its options are {', '.join(options)}" if options else "it has none"
        raise UserError(f"{core} has no option {unknown[0]!r}; {there}")
    return {**options, **task.settings.core_options.get(core, {}), **chosen}


def differences(stored: Config, asked: Config) -> list[str]:
    """How two configurations differ in what numbers depend on, in words."""
    old, new = _flat(stored), _flat(asked)
    return [
        f"{name} is {old.get(name)!r} there, not {new.get(name)!r}"
        for name in {**old, **new}
        if old.get(name) != new.get(name) and name.split(".")[1] not in FREE
    ]


def _flat(config: Config) -> dict[str, Any]:
    return {f"{part}.{name}": value for part, values in config.to_json().items() for name, value in values.items()}


def _check(training: Training) -> None:
    for name in ("hidden", "epochs", "batch_size", "layers", "log_every", "devices"):
        if getattr(training, name) < 1:
            raise UserError(f"{name} should be at least 1, got {getattr(training, name)}")
    if not -(2**63) <= training.seed < 2**64:
        raise UserError(f"seed should have at most 64 bits, got {training.seed}")
    if not training.checkpoint_seconds >= 0:
        raise UserError(f"checkpoint_seconds should be at least 0, got {training.checkpoint_seconds}")
    for name in ("max_steps", "evaluate_every", "clip_norm", "threads", "learning_rate"):
        value = getattr(training, name)
        if value is not None and not value > 0:
            raise UserError(f"{name} should be more than 0, got {value}")
    if not 0 <= training.dropout < 1:
        raise UserError(f"dropout should be at least 0 and less than 1, got {training.dropout}")
    if training.batch_size % training.devices:
        raise UserError(f"a batch of {training.batch_size} cannot be shared evenly by {training.devices} devices")


def _tuples(value: Any) -> Any:
    """JSON knows lists only; options are tuples."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
