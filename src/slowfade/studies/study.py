"""What a study is: which runs, which analysis, which tables and figures, and what the paper claims."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, get_args

from matplotlib.figure import Figure

from slowfade.studies.claims import Claim
from slowfade.studies.experiment import Experiment
from slowfade.studies.table import Table
from slowfade.training import Run

Preset = Literal["smoke", "laptop", "paper"]
PRESETS: tuple[Preset, ...] = get_args(Preset)

Data = dict[str, Any]
"""What an analysis found: JSON values only, so that tables and figures can be made again without the networks."""


class Scale(NamedTuple):
    """What a preset makes of a study."""

    seeds: int
    training: Mapping[str, Any] = {}
    task_options: Mapping[str, Any] = {}
    departure: str = ""
    """How this departs from the paper, for the page."""


class Trained(Sequence[Run]):
    """The runs that a study goes by."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self.runs = list(runs)

    def __getitem__(self, index: Any) -> Any:
        return self.runs[index]

    def __len__(self) -> int:
        return len(self.runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    def of(self, core: str, **options: Any) -> Trained:
        """Those of one network, with these options of the task, the network or the training."""

        def matches(run: Run) -> bool:
            config = run.config
            known = {**vars(config.training), **config.core_options, **config.task_options}
            return config.core == core and all(known.get(name) == value for name, value in options.items())

        return Trained([run for run in self.runs if matches(run)])

    def measured(self, split: str, measure: str, scale: float = 1.0) -> list[float]:
        """One measure of the best epoch of every finished run: ``"test"`` or ``"best"`` (on validation)."""
        return [scale * run.result[split][measure] for run in self.runs if run.result is not None]


class Study(ABC):
    """A table or figure of the paper."""

    name: ClassVar[str]
    title: ClassVar[str]
    place: ClassVar[str]
    """In the paper."""
    about: ClassVar[str]
    """The question, in a sentence or two."""
    scales: ClassVar[Mapping[Preset, Scale]]
    captions: ClassVar[tuple[str, ...]]
    """What each figure shows, and what its bands are, in their order."""
    data: ClassVar[tuple[str, ...]] = ()
    """The real data sets it needs."""

    def datasets(self, preset: Preset) -> tuple[str, ...]:
        """Those that a preset needs."""
        return self.data

    @abstractmethod
    def experiments(self, preset: Preset) -> list[Experiment]:
        """The runs it needs. Those that another study needs too are trained once."""

    @abstractmethod
    def analyse(self, preset: Preset, runs: Trained) -> Data:
        """From runs to findings."""

    @abstractmethod
    def claims(self, data: Data) -> list[Claim]:
        """What the paper claims, tested on our runs."""

    @abstractmethod
    def tables(self, data: Data) -> list[Table]:
        """Published and ours, side by side."""

    @abstractmethod
    def figures(self, data: Data) -> dict[str, Figure]:
        """By name; drawn within ``style.styled()``."""
