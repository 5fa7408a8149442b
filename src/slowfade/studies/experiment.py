"""One run of a study, as data."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from slowfade.training.config import Config, configure


@dataclass(frozen=True)
class Experiment:
    """What to train: all that is not said is as the paper has it."""

    task: str
    core: str
    seed: int = 0
    task_options: Mapping[str, Any] = field(default_factory=dict)
    core_options: Mapping[str, Any] = field(default_factory=dict)
    training: Mapping[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """In words, without the seed."""
        return ", ".join([f"{self.core} on {self.task}", *(f"{name} {value}" for name, value in self._options.items())])

    @property
    def path(self) -> Path:
        """Where it is kept, below a study's folder: the same for the same experiment, whichever study asks for it."""
        digest = hashlib.sha256(json.dumps(dataclasses.asdict(self), sort_keys=True).encode()).hexdigest()[:8]
        words = [self.core, *(f"{name}-{value}" for name, value in self._options.items()), f"seed-{self.seed}", digest]
        return Path("trained", self.task, re.sub(r"[^a-z0-9.]+", "-", "-".join(words).lower()))

    @property
    def _options(self) -> dict[str, Any]:
        return {**self.task_options, **self.core_options}

    def configure(self, **training: Any) -> Config:
        """The whole configuration; ``training`` adds what no number should depend on, such as threads."""
        return configure(
            self.task,
            self.core,
            task_options=self.task_options,
            core_options=self.core_options,
            seed=self.seed,
            **{**self.training, **training},
        )
