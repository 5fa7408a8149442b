"""What the paper claims, and whether it holds in our runs, by a stated test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple

from slowfade.analysis.statistics import summary, t_test

LEVEL = 0.05
"""Of significance."""


class Verdict(str, Enum):
    HOLDS = "holds"
    LEANS = "points that way"
    """By single runs, or on a smaller scale than the paper's."""
    UNCLEAR = "not significant"
    AGAINST = "points the other way"
    FAILS = "does not hold"
    UNTESTED = "not tested"


class Claim(NamedTuple):
    text: str
    place: str
    test: str
    verdict: Verdict
    evidence: str

    def json(self) -> dict[str, str]:
        return {**self._asdict(), "verdict": self.verdict.value}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Claim:
        return cls(**{**fields, "verdict": Verdict(fields["verdict"])})


WELCH = f"Welch's t-test over seeds at {LEVEL:.0%}; from single runs only the direction"


def untested(text: str, place: str, test: str, why: str = "not run") -> Claim:
    return Claim(text, place, test, Verdict.UNTESTED, why)


def greater(
    text: str,
    place: str,
    high: Sequence[float],
    low: Sequence[float],
    *,
    what: str,
    names: tuple[str, str],
    digits: int = 3,
    over: str = "seeds",
) -> Claim:
    """That one mean is greater than another, over seeds (or draws)."""
    test = f"{what}: {WELCH}".replace("seeds", over)
    if not high or not low:
        missing = " and ".join(name for name, values in zip(names, (high, low), strict=True) if not values)
        return untested(text, place, test, f"{missing} not run")
    means = summary(high).mean, summary(low).mean
    evidence = " against ".join(f"{name} {mean:.{digits}f}" for name, mean in zip(names, means, strict=True))
    right_way = means[0] > means[1]
    if min(len(high), len(low)) < 2:
        return Claim(text, place, test, Verdict.LEANS if right_way else Verdict.AGAINST, f"{evidence}, one run")
    welch = t_test(high, low)
    evidence += f", t = {welch.t:.2f}, {probability(welch.p)}, n = {len(high)} and {len(low)}"
    if welch.p >= LEVEL:
        return Claim(text, place, test, Verdict.UNCLEAR, evidence)
    return Claim(text, place, test, Verdict.HOLDS if right_way else Verdict.FAILS, evidence)


def true_of_all(text: str, place: str, test: str, outcomes: Sequence[bool], evidence: str) -> Claim:
    """That something is so in every run."""
    if not outcomes:
        return untested(text, place, test)
    return Claim(text, place, test, Verdict.HOLDS if all(outcomes) else Verdict.FAILS, evidence)


def probability(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
