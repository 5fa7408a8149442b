"""What the paper claims, and whether it holds in our runs, by a stated test."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from slowfade.analysis.statistics import TTest, one_sample_t_test, paired_t_test, summary, t_test

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
    runs: int | None = 0
    """The fewest that any side of it rests on; ``None``: it is in closed form and rests on none."""


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
    published: float | None = None,
) -> Claim:
    """That one mean is greater than another, over seeds.

    Args:
        published: by how much it is so in the paper.
    """
    test = f"{what}: Welch's t-test over seeds at {LEVEL:.0%}; from single runs only the direction"
    if not high or not low:
        missing = " and ".join(name for name, values in zip(names, (high, low), strict=True) if not values)
        return untested(text, place, test, f"{missing} not run")
    evidence = _means(high, low, names, digits)
    if published is not None:
        evidence += f", by {summary(high).mean - summary(low).mean:.{digits}f} (paper: {published:.{digits}f})"
    runs = min(len(high), len(low))
    welch = t_test(high, low) if runs > 1 else None
    evidence += f", {_result(welch)}, n = {len(high)} and {len(low)}" if welch else ", one run"
    verdict = _verdict(summary(high).mean, summary(low).mean, welch)
    return Claim(text, place, test, verdict, evidence, runs)


def greater_within(
    text: str,
    place: str,
    networks: Sequence[tuple[Sequence[float], Sequence[float]]],
    *,
    what: str,
    names: tuple[str, str],
    over: str,
    paired: bool,
    lacking: str = "not run",
) -> Claim:
    """That one mean is greater than another within each network: over the networks of all seeds, two means of each.

    A single network is tested over its units or the like, which says nothing of another network.

    Args:
        networks: the high and the low values of each.
        over: what the values of a network are.
        paired: the values of a network belong together, one by one.
        lacking: what to say where a network has no such values.
    """
    alone = "paired" if paired else "Welch's"
    test = f"{what}: paired t-test over seeds at {LEVEL:.0%}; of a single network, {alone} over {over}"
    if not networks:
        return untested(text, place, test)
    if not all(high and low for high, low in networks):
        return untested(text, place, test, lacking)
    if len(networks) == 1:
        (high, low), values = networks[0], over
    else:
        high, low = ([summary(side).mean for side in sides] for sides in zip(*networks, strict=True))
        paired, values = True, "seeds"
    result = None
    if min(len(high), len(low)) > 1:
        result = paired_t_test(high, low) if paired else t_test(high, low)
    count = f"{len(high)}" if paired else f"{len(high)} and {len(low)}"
    evidence = f"{_means(high, low, names, 3)}, {_result(result) if result else 'too few for a test'}"
    verdict = _verdict(summary(high).mean, summary(low).mean, result)
    return Claim(text, place, test, verdict, f"{evidence}, n = {count} {values}", len(networks))


def beyond(
    text: str, place: str, values: Sequence[float], bound: float, whose: str, *, what: str, above: bool, digits: int
) -> Claim:
    """That a mean over seeds is above, or below, a number somebody published."""
    test = f"{what}: t-test over seeds against the number quoted at {LEVEL:.0%}; from a single run only the direction"
    if not values:
        return untested(text, place, test)
    mean = summary(values).mean
    result = one_sample_t_test([value - bound for value in values]) if len(values) > 1 else None
    verdict = _verdict(mean, bound, result) if above else _verdict(bound, mean, result)
    evidence = f"{mean:.{digits}f} against {bound} ({whose}), {_result(result) if result else 'one run'}"
    return Claim(text, place, test, verdict, f"{evidence}, n = {len(values)}" if result else evidence, len(values))


def true_of_all(
    text: str, place: str, test: str, outcomes: Sequence[bool], evidence: str, *, whole_budget: bool = True
) -> Claim:
    """That something comes to be so in every run; after a shorter budget than the paper's, one that is not yet so
    decides nothing."""
    if not outcomes:
        return untested(text, place, test)
    if all(outcomes):
        return Claim(text, place, test, Verdict.HOLDS, evidence, len(outcomes))
    if not whole_budget:
        return untested(text, place, test, f"{evidence}, before the paper's budget was spent")
    return Claim(text, place, test, Verdict.FAILS, evidence, len(outcomes))


def direction(high: float, low: float) -> Verdict:
    """What two numbers say without a test: nothing if they are equal."""
    if math.isclose(high, low, rel_tol=1e-9):
        return Verdict.UNCLEAR
    return Verdict.LEANS if high > low else Verdict.AGAINST


def probability(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def _verdict(high: float, low: float, test: TTest | None) -> Verdict:
    """Whether the high mean is the greater one."""
    way = direction(high, low)
    if test is None or way is Verdict.UNCLEAR:
        return way
    if not test.p < LEVEL:
        return Verdict.UNCLEAR
    return Verdict.HOLDS if way is Verdict.LEANS else Verdict.FAILS


def _means(high: Sequence[float], low: Sequence[float], names: tuple[str, str], digits: int) -> str:
    means = summary(high).mean, summary(low).mean
    return " against ".join(f"{name} {mean:.{digits}f}" for name, mean in zip(names, means, strict=True))


def _result(test: TTest) -> str:
    return f"t = {test.t:.2f}, {probability(test.p)}"
