"""The paper's tables and figures: which runs, which analysis, what the paper published and claims."""

from __future__ import annotations

from types import MappingProxyType

from slowfade.errors import UserError
from slowfade.studies.ablation import AblationStudy
from slowfade.studies.characters import CharactersStudy
from slowfade.studies.claims import Claim, Verdict
from slowfade.studies.copying import CopyingStudy
from slowfade.studies.decay import DecayStudy
from slowfade.studies.experiment import Experiment
from slowfade.studies.fixed_power import FixedPowerStudy
from slowfade.studies.frequency import FrequencyStudy
from slowfade.studies.generalisation import GeneralisationStudy
from slowfade.studies.pixels import PixelsStudy
from slowfade.studies.resets import ResetsStudy
from slowfade.studies.sentiment import SentimentStudy
from slowfade.studies.study import PRESETS, Preset, Scale, Study, Trained
from slowfade.studies.table import Table
from slowfade.studies.variable_copying import VariableCopyingStudy

__all__ = [
    "PRESETS",
    "STUDIES",
    "Claim",
    "Experiment",
    "Preset",
    "Scale",
    "Study",
    "Table",
    "Trained",
    "Verdict",
    "named",
]

#: In the order of the paper.
STUDIES: MappingProxyType[str, Study] = MappingProxyType(
    {
        study.name: study
        for study in (
            DecayStudy(),
            CopyingStudy(),
            PixelsStudy(),
            CharactersStudy(),
            SentimentStudy(),
            FixedPowerStudy(),
            ResetsStudy(),
            AblationStudy(),
            FrequencyStudy(),
            VariableCopyingStudy(),
            GeneralisationStudy(),
        )
    }
)


def named(name: str) -> list[Study]:
    """A study, or with "all" every one."""
    if name == "all":
        return list(STUDIES.values())
    if name not in STUDIES:
        raise UserError(f"there is no study {name!r}; the studies are {', '.join(STUDIES)} and all")
    return [STUDIES[name]]
