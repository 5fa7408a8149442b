"""When a claim holds: the tests, on samples whose answer is known, and each study's claims on data made by hand."""

from __future__ import annotations

from typing import Any

import pytest

from slowfade.studies import STUDIES, Verdict
from slowfade.studies.claims import Claim, greater
from slowfade.studies.copying import NETWORKS


def compare(high: list[float], low: list[float]) -> Claim:
    return greater("a above b", "table 0", high, low, what="accuracy", names=("a", "b"))


@pytest.mark.parametrize(
    ("high", "low", "verdict"),
    [
        ([0.9, 0.91, 0.92], [0.5, 0.51, 0.52], Verdict.HOLDS),
        ([0.5, 0.51, 0.52], [0.9, 0.91, 0.92], Verdict.FAILS),
        ([0.5, 0.9, 0.7], [0.6, 0.8, 0.69], Verdict.UNCLEAR),
        ([0.9], [0.5], Verdict.LEANS),
        ([0.9], [0.5, 0.6, 0.4], Verdict.LEANS),
        ([0.5], [0.9], Verdict.AGAINST),
        ([], [0.9], Verdict.UNTESTED),
        ([0.9, 0.8], [], Verdict.UNTESTED),
    ],
)
def test_greater(high: list[float], low: list[float], verdict: Verdict) -> None:
    assert compare(high, low).verdict is verdict


def test_evidence_says_how_many_and_how_sure() -> None:
    claim = compare([0.9, 0.91, 0.92], [0.5, 0.51, 0.52])
    assert claim.evidence.startswith("a 0.910 against b 0.510, t = ")
    assert "n = 3 and 3" in claim.evidence
    assert compare([0.9], [0.5]).evidence == "a 0.900 against b 0.500, one run"
    assert compare([], [0.5]).evidence == "a not run"


def verdicts(study: str, data: dict[str, Any]) -> dict[str, Verdict]:
    return {claim.text: claim.verdict for claim in STUDIES[study].claims(data)}


def curve(network: str, seed: int, until: int, best: float, delay: str = "200") -> dict[str, Any]:
    """Straight up to ``best`` at step ``until``."""
    curves = {name: [[0, until], [0.1, best]] for name in ("accuracy", "sequence_accuracy")}
    return {"network": network, "seed": seed, "delay": delay, "curves": {**curves, "loss": [[0, until], [2.0, 0.1]]}}


def test_copying_the_one_that_learned_sooner_is_the_faster() -> None:
    curves = [curve("powerlaw", seed, 1000 + 10 * seed, 1.0) for seed in range(3)]
    curves += [curve("chrono", seed, 5000 + 10 * seed, 1.0) for seed in range(3)]
    curves += [curve("lstm", 0, 9000, 0.6)]
    found = verdicts("copying", {"delays": ["200"], "whole_budget": True, "curves": curves})
    assert found["T = 200: the power law converges faster than the chrono network"] is Verdict.HOLDS
    assert found["T = 200: the power law converges faster than the LSTM network"] is Verdict.LEANS
    assert found["T = 200: the power law network learns the task"] is Verdict.HOLDS
    assert found["T = 500: the LSTM network does not learn the task"] is Verdict.UNTESTED


def test_copying_on_a_shorter_budget_decides_no_failure() -> None:
    curves = [curve("powerlaw", 0, 1000, 0.9), curve("lstm", 0, 1000, 0.3, "500")]
    found = verdicts("copying", {"delays": ["200", "500"], "whole_budget": False, "curves": curves})
    assert found["T = 200: the power law network learns the task"] is Verdict.UNTESTED
    assert found["T = 500: the LSTM network does not learn the task"] is Verdict.UNTESTED
    found = verdicts("copying", {"delays": ["200", "500"], "whole_budget": True, "curves": curves})
    assert found["T = 200: the power law network learns the task"] is Verdict.FAILS
    assert found["T = 500: the LSTM network does not learn the task"] is Verdict.HOLDS


def test_frequency_from_the_papers_own_numbers() -> None:
    """Samples with the published means and spreads bear out what the paper says of them."""
    from slowfade.studies.published import published

    found = [
        {
            "network": number.network,
            "condition": number.condition,
            "accuracy": [number.value + step * (number.sd or 0) for step in (-1.26, -0.63, 0, 0.63, 1.26)],
        }
        for number in published("frequency")
    ]
    result = verdicts("frequency", {"found": found, "curves": []})
    assert result["async, no time: the power law network is better than the LSTM network"] is Verdict.HOLDS
    assert result["async: the chrono network is better with the time as an input than without"] is Verdict.HOLDS
    assert result["sync-1, time: all networks do equally well"] is Verdict.HOLDS
    # 71.7 (22.2) over five seeds is too wide to tell.
    assert result["sync-0.1, no time: the power law network is better than the LSTM network"] is Verdict.UNCLEAR


def test_ablation_compares_what_is_kept() -> None:
    def entry(network: str, order: str, seed: int, slope: float) -> dict[str, Any]:
        counts = list(range(0, 101, 5))
        accuracy = [1 - slope * count / 100 - 0.01 * seed * (count > 0) for count in counts]
        return {
            "network": network, "order": order, "seed": seed, "delay": "200", "counts": counts, "accuracy": accuracy,
            "units": 128,
        }  # fmt: skip

    slopes = {("powerlaw", "random"): 0.3, ("powerlaw", "later-reset first"): 0.8, ("lstm", "random"): 0.6}
    found = [entry(*key, seed, slope) for key, slope in slopes.items() for seed in range(3)]
    result = verdicts("ablation", {"delays": ["200"], "found": found, "sequences": 1, "draws": 1})
    assert result["T = 200: the power law is more robust to random ablation than the LSTM"] is Verdict.HOLDS
    assert result["T = 200: the power law loses more when the later-reset units go first"] is Verdict.HOLDS
    assert result["T = 200: the power law is more robust to random ablation than chrono"] is Verdict.UNTESTED


def test_resets_from_units_made_by_hand() -> None:
    def entry(delay: str, trained: float, later: int) -> dict[str, Any]:
        spread = [(unit - 63.5) / 1000 for unit in range(128)]
        marked = [unit < later for unit in range(128)]
        return {
            "delay": delay, "seed": 0, "accuracy": 1.0, "initial": [0.35 + s for s in spread],
            "trained": [trained + s for s in spread], "later": marked, "later_by_share": {}, "map": {},
        }  # fmt: skip

    result = verdicts("resets", {"delays": ["200", "500"], "found": [entry("200", 0.41, 25), entry("500", 0.19, 60)]})
    assert result["T = 200: around a fifth of the units reset later"] is Verdict.HOLDS
    assert result["T = 500: around a fifth of the units reset later"] is Verdict.FAILS
    assert result["T = 200: later-reset units have smaller p than the others"] is Verdict.HOLDS
    assert result["p is larger after T = 200 than after T = 500"] is Verdict.HOLDS
    assert result["T = 200: p shifts slightly to the right by training"] is Verdict.HOLDS


def test_generalisation_is_compared_with_the_better_of_the_others() -> None:
    tested = [50, 200, 1000]
    accuracy = {"lstm": [0.9, 0.95, 0.3], "chrono": [0.5, 1.0, 0.8], "powerlaw": [0.7, 1.0, 0.5]}
    found = [{"network": n, "trained": 200, "seed": 0, "accuracy": accuracy[n]} for n in NETWORKS]
    result = verdicts("generalisation", {"sequences": 1, "tested": tested, "found": found})
    assert result["trained at 200: all networks are above chance at every delay"] is Verdict.HOLDS
    assert result["trained at 200: the LSTM generalises best to shorter delays"] is Verdict.LEANS
    assert result["trained at 200: chrono generalises best to longer delays"] is Verdict.LEANS


def test_fixed_power_needs_order_and_a_gap_at_one() -> None:
    def entry(power: float, best: float) -> dict[str, Any]:
        return {"network": "powerlaw", "seed": 0, "power": power, "curves": {"accuracy": [[0, 1000], [0.1, best]]}}

    curves = [
        entry(0.1, 1.0),
        entry(0.4, 0.999),
        entry(0.7, 0.995),
        entry(0.9, 0.992),
        entry(1.0, 0.4),
        entry(1.5, 0.2),
    ]
    data = {"delay": 200, "powers": [0.1, 0.4, 0.7, 0.9, 1.0, 1.5], "whole_budget": True, "curves": curves}
    assert set(verdicts("fixed-power", data).values()) == {Verdict.HOLDS}
    curves[4] = entry(1.0, 0.999)
    assert Verdict.FAILS in verdicts("fixed-power", data).values()


def test_long_reviews_gain_more() -> None:
    def bins(short: float, long: float) -> list[dict[str, Any]]:
        sizes = {"standard_error": 0.0, "n": 20_000}
        return [
            {"low": 0, "high": 150, "accuracy": short, **sizes},
            {"low": 150, "high": 5000, "accuracy": long, **sizes},
        ]

    found = [
        {"network": "lstm", "accuracy": [86.8, 86.9], "bins": bins(0.87, 0.86)},
        {"network": "chrono", "accuracy": [87.0, 87.1], "bins": []},
        {"network": "powerlaw", "accuracy": [88.1, 88.2], "bins": bins(0.87, 0.89)},
    ]
    assert set(verdicts("sentiment", {"found": found}).values()) == {Verdict.HOLDS}
