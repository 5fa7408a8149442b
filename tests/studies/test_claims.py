"""When a claim holds: the tests, on samples whose answer is known, and each study's claims on data made by hand."""

from __future__ import annotations

from typing import Any

import pytest

from slowfade.studies import STUDIES, Preset, Verdict
from slowfade.studies.claims import Claim, beyond, greater, greater_within, true_of_all
from slowfade.studies.copying import NETWORKS, if_learned
from slowfade.studies.findings import Findings, capped
from slowfade.studies.published import published


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
        # Equal means say nothing, whatever the spread, and however they were rounded.
        ([0.9], [0.9], Verdict.UNCLEAR),
        ([0.1 + 0.2], [0.3], Verdict.UNCLEAR),
        ([0.9, 0.9], [0.9, 0.9], Verdict.UNCLEAR),
        ([1.0, 1.0], [0.9, 0.9], Verdict.HOLDS),
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
    claim = greater("a above b", "table 0", [0.9], [0.5], what="accuracy", names=("a", "b"), digits=1, published=0.25)
    assert claim.evidence == "a 0.9 against b 0.5, by 0.4 (paper: 0.2), one run"


def within(networks: list[tuple[list[float], list[float]]], *, paired: bool = True) -> Claim:
    words = {"what": "p", "names": ("a", "b"), "over": "units", "lacking": "no units"}
    return greater_within("a above b", "figure 0", networks, paired=paired, **words)


def test_values_that_belong_together_are_compared_one_by_one() -> None:
    """A shift of 0.01 in every unit is lost among units that differ by 1, but not within each."""
    low = [0.1 * unit for unit in range(10)]
    high = [p + 0.01 + 0.001 * (unit % 2) for unit, p in enumerate(low)]
    assert within([(high, low)]).verdict is Verdict.HOLDS
    assert within([(high, low)], paired=False).verdict is Verdict.UNCLEAR
    assert within([(high, low)]).runs == 1
    assert "n = 10 units" in within([(high, low)]).evidence


def test_several_networks_are_compared_by_their_means() -> None:
    networks = [([0.5 + 0.1 * seed + 0.01 * unit for unit in range(4)], [0.4 + 0.1 * seed]) for seed in range(3)]
    claim = within(networks, paired=False)
    assert (claim.verdict, claim.runs) == (Verdict.HOLDS, 3)
    assert "n = 3 seeds" in claim.evidence
    assert within([*networks, ([0.5], [])]).verdict is Verdict.UNTESTED
    assert within([([0.5], [])]).evidence == "no units"
    assert within([]).evidence == "not run"
    assert within([([0.5], [0.4])]).verdict is Verdict.LEANS


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ([95.6, 95.7, 95.8], Verdict.HOLDS),
        ([94.2, 94.3, 94.1], Verdict.FAILS),
        ([95.0, 96.0], Verdict.UNCLEAR),
        ([96.0], Verdict.LEANS),
        ([95.4], Verdict.UNCLEAR),
        ([], Verdict.UNTESTED),
    ],
)
def test_beyond_a_number_quoted(values: list[float], verdict: Verdict) -> None:
    def claim(values: list[float], *, above: bool) -> Claim:
        bound = 95.4 if above else -95.4
        return beyond("above", "table 1", values, bound, "NRU", what="accuracy", above=above, digits=2)

    assert claim(values, above=True).verdict is verdict
    assert claim([-value for value in values], above=False).verdict is verdict


@pytest.mark.parametrize(
    ("preset", "runs", "verdict", "left"),
    [
        ("paper", 5, Verdict.HOLDS, Verdict.HOLDS),
        ("paper", 5, Verdict.FAILS, Verdict.FAILS),
        ("paper", 1, Verdict.HOLDS, Verdict.LEANS),
        ("laptop", 5, Verdict.HOLDS, Verdict.LEANS),
        ("laptop", 5, Verdict.FAILS, Verdict.AGAINST),
        ("laptop", 5, Verdict.UNCLEAR, Verdict.UNCLEAR),
        ("laptop", 0, Verdict.UNTESTED, Verdict.UNTESTED),
        ("laptop", None, Verdict.HOLDS, Verdict.HOLDS),
        ("smoke", 5, Verdict.UNCLEAR, Verdict.UNTESTED),
        ("smoke", None, Verdict.HOLDS, Verdict.HOLDS),
    ],
)
def test_a_verdict_is_no_more_than_its_runs_allow(
    preset: Preset, runs: int | None, verdict: Verdict, left: Verdict
) -> None:
    assert capped(Claim("a", "table 0", "t", verdict, "e", runs), preset).verdict is left


@pytest.mark.parametrize("preset", ["smoke", "laptop", "paper"])
def test_the_papers_own_numbers_hold_at_the_papers_scale_only(preset: Preset) -> None:
    data = {"found": _as_published(), "curves": []}
    found = {claim.verdict for claim in Findings("frequency", preset, "", data).claims}
    assert (Verdict.HOLDS in found) is (preset == "paper")
    assert (Verdict.LEANS in found) is (preset == "laptop")
    assert found == {Verdict.UNTESTED} or preset != "smoke"


def test_networks_that_did_not_learn_are_not_compared() -> None:
    claim = compare([0.9, 0.91], [0.5, 0.51])
    learned, begun, never = {"lstm": [0.999, 0.992]}, {"lstm": [0.999, 0.5]}, {"lstm": [0.999], "chrono": [0.13]}
    assert if_learned(claim, learned, True).verdict is Verdict.HOLDS
    assert "LSTM 0.992" in if_learned(claim, learned, True).evidence
    assert if_learned(claim, begun, True).verdict is Verdict.UNTESTED
    assert if_learned(claim, begun, False).verdict is Verdict.HOLDS
    assert if_learned(claim, never, False).verdict is Verdict.UNTESTED
    assert "chrono 0.130" in if_learned(claim, never, False).evidence
    assert if_learned(compare([], [0.5]), {"lstm": []}, True).evidence == "a not run"


def test_a_shorter_budget_decides_no_failure() -> None:
    assert true_of_all("a", "table 0", "t", [True, False], "e").verdict is Verdict.FAILS
    assert true_of_all("a", "table 0", "t", [True, False], "e", whole_budget=False).verdict is Verdict.UNTESTED
    assert true_of_all("a", "table 0", "t", [True, True], "e", whole_budget=False).verdict is Verdict.HOLDS
    assert true_of_all("a", "table 0", "t", [], "").verdict is Verdict.UNTESTED


def verdicts(study: str, data: dict[str, Any]) -> dict[str, Verdict]:
    """Before what the preset makes of them."""
    return {claim.text: claim.verdict for claim in STUDIES[study].claims(data)}


def curve(
    network: str, seed: int, until: int, best: float, delay: str = "200", outcome: str | None = None
) -> dict[str, Any]:
    """Straight up to ``best`` at step ``until``."""
    curves = {name: [[0, until], [0.1, best]] for name in ("accuracy", "sequence_accuracy")}
    return {
        "network": network,
        "seed": seed,
        "delay": delay,
        "outcome": outcome or ("solved" if best > 0.999 else "finished"),
        "curves": {**curves, "loss": [[0, until], [2.0, 0.1]]},
    }


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


def test_copying_a_run_that_has_not_ended_is_not_taken_for_one_that_failed() -> None:
    data = {"delays": ["500"], "whole_budget": True}
    for text, network in (("power law network learns", "powerlaw"), ("LSTM network does not learn", "lstm")):
        curves = [curve(network, 0, 1000, 0.3, "500"), curve(network, 1, 500, 0.3, "500", "unfinished")]
        assert verdicts("copying", {**data, "curves": curves})[f"T = 500: the {text} the task"] is Verdict.UNTESTED
        assert verdicts("copying", {**data, "curves": curves[:1]})[f"T = 500: the {text} the task"] is not (
            Verdict.UNTESTED
        )


def test_copying_nothing_is_said_of_steps_that_only_one_has_taken() -> None:
    """At step 1,000, where the unfinished run stands, the other was lower; what it learned later does not count."""
    ahead = curve("powerlaw", 0, 1000, 0.5, outcome="unfinished")
    behind = curve("chrono", 0, 9000, 1.0)
    found = verdicts("copying", {"delays": ["200"], "whole_budget": False, "curves": [ahead, behind]})
    assert found["T = 200: the power law converges faster than the chrono network"] is Verdict.LEANS
    (table,) = STUDIES["copying"].tables({"delays": ["200"], "whole_budget": False, "curves": [ahead, behind]})
    assert [row[2] for row in table.rows] == ["1 (1 unfinished)", "1", "0"]


def test_copying_two_that_never_began_are_not_compared() -> None:
    """What one of them learned after the other's last step does not count."""
    late = curve("chrono", 0, 9000, 0.9)
    for curves in (
        [curve("powerlaw", 0, 1000, 0.14), curve("chrono", 0, 1000, 0.13)],
        [curve("powerlaw", 0, 1000, 0.14, outcome="unfinished"), late],
    ):
        found = verdicts("copying", {"delays": ["200"], "whole_budget": False, "curves": curves})
        assert found["T = 200: the power law converges faster than the chrono network"] is Verdict.UNTESTED


def _as_published() -> list[dict[str, Any]]:
    """Five seeds with the published means and spreads."""
    return [
        {
            "network": number.network,
            "condition": number.condition,
            "accuracy": [number.value + step * (number.sd or 0) for step in (-1.26, -0.63, 0, 0.63, 1.26)],
        }
        for number in published("frequency")
    ]


def test_frequency_from_the_papers_own_numbers() -> None:
    """Samples with the published means and spreads bear out what the paper says of them."""
    result = verdicts("frequency", {"found": _as_published(), "curves": []})
    assert result["async: the power law network is better without the time as an input than with"] is Verdict.HOLDS
    assert result["async, time: power law and LSTM do equally well"] is Verdict.HOLDS
    assert result["async, time: power law and chrono do equally well"] is Verdict.HOLDS
    assert result["async, no time: the power law network is better than the LSTM network"] is Verdict.HOLDS
    assert result["async: the chrono network is better with the time as an input than without"] is Verdict.HOLDS
    assert result["sync-1, time: all networks do equally well"] is Verdict.HOLDS
    # 71.7 (22.2) over five seeds is too wide to tell.
    assert result["sync-0.1, no time: the power law network is better than the LSTM network"] is Verdict.UNCLEAR


def ablated(network: str, order: str, seed: int, slope: float, whole: float = 1.0) -> list[dict[str, Any]]:
    """Two draws of the order that differ a little."""
    counts = list(range(0, 101, 5))
    return [
        {
            "network": network,
            "order": order,
            "seed": seed,
            "delay": "200",
            "counts": counts,
            "accuracy": [whole - slope * count / 100 - 0.01 * (seed + draw) * (count > 0) for count in counts],
            "units": 128,
        }
        for draw in range(2)
    ]


def ablation(found: list[dict[str, Any]], *, whole_budget: bool = True) -> dict[str, Claim]:
    data = {"delays": ["200"], "found": found, "sequences": 1, "draws": 2, "whole_budget": whole_budget}
    assert STUDIES["ablation"].tables(data)
    return {claim.text: claim for claim in STUDIES["ablation"].claims(data)}


ROBUST = "T = 200: the power law is more robust to random ablation than "
LATER = "T = 200: the power law loses more when the later-reset units go first"


def test_ablation_compares_what_is_kept() -> None:
    slopes = {("powerlaw", "random"): 0.3, ("powerlaw", "later-reset first"): 0.8, ("lstm", "random"): 0.6}
    result = ablation(
        [entry for key, slope in slopes.items() for seed in range(3) for entry in ablated(*key, seed, slope)]
    )
    assert result[ROBUST + "the LSTM"].verdict is Verdict.HOLDS
    assert result[LATER].verdict is Verdict.HOLDS
    assert "n = 3 seeds" in result[LATER].evidence
    assert result[ROBUST + "chrono"].verdict is Verdict.UNTESTED


def test_ablation_a_network_that_never_learned_is_not_robust() -> None:
    found = [*ablated("powerlaw", "random", 0, 0.3), *ablated("lstm", "random", 0, 0.0, whole=0.13)]
    for whole_budget in (True, False):
        result = ablation(found, whole_budget=whole_budget)
        assert result[ROBUST + "the LSTM"].verdict is Verdict.UNTESTED
        assert "LSTM 0.130" in result[ROBUST + "the LSTM"].evidence


def test_ablation_what_is_kept_counts_from_chance() -> None:
    """From 0.5 down to chance is all that network had, though it is but three quarters of its accuracy."""
    found = [*ablated("powerlaw", "random", 0, 0.7), *ablated("lstm", "random", 0, 0.36, whole=0.5)]
    claim = ablation(found, whole_budget=False)[ROBUST + "the LSTM"]
    assert claim.verdict is Verdict.LEANS
    assert claim.runs == 1, "draws of the order are no test of networks"
    assert ablation(found)[ROBUST + "the LSTM"].verdict is Verdict.UNTESTED


def test_ablation_below_chance_nothing_is_left_to_lose() -> None:
    """Two networks as good as guesses or worse once any unit is silent have both kept nothing but the start."""
    found = [*ablated("powerlaw", "random", 0, 0.0), *ablated("lstm", "random", 0, 0.0)]
    for entry in found:
        rest = 0.125 if entry["network"] == "lstm" else 0.0
        entry["accuracy"] = [1.0] + [rest] * 20
    assert ablation(found)[ROBUST + "the LSTM"].verdict is Verdict.UNCLEAR


def test_ablation_of_one_network_pairs_the_draws() -> None:
    found = [*ablated("powerlaw", "random", 0, 0.3), *ablated("powerlaw", "later-reset first", 0, 0.8)]
    claim = ablation(found)[LATER]
    assert (claim.verdict, claim.runs) == (Verdict.HOLDS, 1)
    assert "n = 2 draws of the order" in claim.evidence
    claim = ablation(ablated("powerlaw", "random", 0, 0.3))[LATER]
    assert (claim.verdict, claim.evidence) == (Verdict.UNTESTED, "a network has no later-reset units")


def network_at(delay: str, trained: float, later: int, seed: int = 0, accuracy: float = 1.0) -> dict[str, Any]:
    spread = [(unit - 63.5) / 1000 for unit in range(128)]
    return {
        "delay": delay,
        "seed": seed,
        "accuracy": accuracy,
        "initial": [0.35 + s for s in spread],
        "trained": [trained + 0.01 * seed + 1.01 * s for s in spread],
        "later": [unit < later for unit in range(128)],
        "later_by_share": {str(share): later for share in (0.25, 0.5, 0.75, 0.9)},
        "map": None,
    }


def resets(found: list[dict[str, Any]]) -> dict[str, Any]:
    return {"delays": ["200", "500"], "whole_budget": True, "found": found}


def test_resets_from_units_made_by_hand() -> None:
    result = verdicts("resets", resets([network_at("200", 0.41, 25), network_at("500", 0.19, 60)]))
    assert result["T = 200: around a fifth of the units reset later"] is Verdict.HOLDS
    assert result["T = 500: around a fifth of the units reset later"] is Verdict.FAILS
    assert result["T = 200: later-reset units have smaller p than the others"] is Verdict.HOLDS
    assert result["p is larger after T = 200 than after T = 500"] is Verdict.LEANS
    assert result["T = 200: p shifts slightly to the right by training"] is Verdict.HOLDS


def test_resets_of_several_seeds_are_tested_over_seeds() -> None:
    data = resets([network_at(delay, p, 25, seed) for delay, p in (("200", 0.41), ("500", 0.19)) for seed in range(3)])
    claims = {claim.text: claim for claim in STUDIES["resets"].claims(data)}
    larger = claims["p is larger after T = 200 than after T = 500"]
    assert (larger.verdict, larger.runs) == (Verdict.HOLDS, 3)
    assert "by 0.220 (paper: 0.220)" in larger.evidence
    rows = {row[0]: row for row in STUDIES["resets"].tables(data)[0].rows}
    # Of one network of 128 units against another, not of 384 against 384: those would be larger by sqrt(3).
    t, d = rows["t, p at 200 against 500"][3], rows["Cohen's d, p at 200 against 500"][3]
    assert t.n == d.n == 3
    assert t.mean == pytest.approx(d.mean * (128 / 2) ** 0.5)


def test_resets_of_networks_that_did_not_learn_or_have_no_such_units() -> None:
    assert set(verdicts("resets", resets([network_at("200", 0.41, 25, accuracy=0.5)])).values()) == {Verdict.UNTESTED}
    claims = {claim.text: claim for claim in STUDIES["resets"].claims(resets([network_at("200", 0.41, 0)]))}
    claim = claims["T = 200: later-reset units have smaller p than the others"]
    assert (claim.verdict, claim.evidence) == (Verdict.UNTESTED, "a network has no later-reset units, or no others")


def generalisation(accuracy: dict[str, list[float]], *, whole: float = 1.0, seeds: int = 1) -> dict[str, Claim]:
    found = [
        {"network": n, "trained": 200, "seed": seed, "whole": whole, "accuracy": accuracy[n]}
        for n in NETWORKS
        for seed in range(seeds)
    ]
    data = {"sequences": 512, "tested": [50, 200, 1000], "whole_budget": True, "found": found}
    return {claim.text.removeprefix("trained at 200: "): claim for claim in STUDIES["generalisation"].claims(data)}


AS_THE_PAPER = {"lstm": [0.9, 0.95, 0.3], "chrono": [0.5, 1.0, 0.8], "powerlaw": [0.7, 1.0, 0.5]}


def test_generalisation_is_compared_with_the_better_of_the_others() -> None:
    result = generalisation(AS_THE_PAPER)
    assert result["all networks are above chance at every delay"].verdict is Verdict.HOLDS
    assert result["the LSTM generalises best to shorter delays"].verdict is Verdict.LEANS
    assert result["chrono generalises best to longer delays"].verdict is Verdict.LEANS
    assert result["the power law falls between the LSTM and chrono"].verdict is Verdict.LEANS
    result = generalisation({**AS_THE_PAPER, "powerlaw": [0.9, 1.0, 0.5]})
    assert result["the LSTM generalises best to shorter delays"].verdict is Verdict.UNCLEAR
    assert result["the power law falls between the LSTM and chrono"].verdict is Verdict.UNCLEAR
    result = generalisation({**AS_THE_PAPER, "powerlaw": [0.95, 1.0, 0.5]})
    assert result["the power law falls between the LSTM and chrono"].verdict is Verdict.AGAINST


@pytest.mark.parametrize(("lowest", "verdict"), [(0.14, "holds"), (0.128, "not significant"), (0.11, "does not hold")])
def test_generalisation_chance_is_an_eighth_with_a_margin(lowest: float, verdict: str) -> None:
    """1/9 would take guesses for memory."""
    result = generalisation({**AS_THE_PAPER, "lstm": [0.9, 1.0, lowest]})
    assert result["all networks are above chance at every delay"].verdict.value == verdict


def test_generalisation_of_networks_that_did_not_learn_is_not_tested() -> None:
    assert {claim.verdict for claim in generalisation(AS_THE_PAPER, whole=0.6).values()} == {Verdict.UNTESTED}


def fixed(best: dict[float, list[float]], *, whole_budget: bool = True) -> dict[str, Verdict]:
    curves = [
        {
            "network": "powerlaw",
            "seed": seed,
            "power": power,
            "outcome": "finished",
            "curves": {"accuracy": [[0, 1000], [0.1, value]]},
        }
        for power, values in best.items()
        for seed, value in enumerate(values)
    ]
    data = {"delay": 50, "powers": list(best), "whole_budget": whole_budget, "curves": curves}
    assert len(STUDIES["fixed-power"].tables(data)[0].rows) == len(best)
    return verdicts("fixed-power", data)


LEARN = "T = 50: networks with p of 1 or more have difficulty learning, those with smaller p learn"
SOONER = "T = 50: the smaller p, the sooner the task is learned"


def test_fixed_power_needs_order_and_a_gap_at_one() -> None:
    best = {0.1: [1.0], 0.4: [0.999], 0.7: [0.995], 0.9: [0.992], 1.0: [0.4], 1.5: [0.2]}
    assert set(fixed(best).values()) == {Verdict.HOLDS}
    assert fixed({**best, 1.0: [0.999]})[LEARN] is Verdict.FAILS


def test_fixed_power_counts_every_seed() -> None:
    best = {0.1: [1.0, 1.0], 0.9: [0.2, 1.0], 1.5: [0.2, 0.2]}
    assert fixed(best)[LEARN] is Verdict.FAILS
    assert fixed({0.1: [1.0, 1.0], 1.5: [1.0, 0.2]})[LEARN] is Verdict.FAILS
    assert fixed(best, whole_budget=False)[LEARN] is Verdict.UNCLEAR, "equal at the edges"


def test_fixed_power_after_a_shorter_budget() -> None:
    def found(small: float, large: float) -> Verdict:
        return fixed({0.1: [0.9], 0.9: [small], 1.0: [large], 1.5: [0.2]}, whole_budget=False)[LEARN]

    assert found(0.5, 0.3) is Verdict.LEANS
    assert found(0.3, 0.3) is Verdict.UNCLEAR
    assert found(0.3, 0.4) is Verdict.UNCLEAR
    never = fixed({0.1: [0.12], 0.5: [0.13], 1.0: [0.14], 1.5: [0.13]}, whole_budget=False)
    assert set(never.values()) == {Verdict.UNTESTED}
    assert fixed({0.1: [0.3], 1.5: [0.8]}, whole_budget=False)[LEARN] is Verdict.AGAINST


def test_variable_copying_is_judged_at_the_delays_that_were_run() -> None:
    data = {"delays": ["20:50"], "whole_budget": False, "maps": []}
    data["curves"] = [curve("powerlaw", 0, 1000, 1.0, "20:50"), curve("lstm", 0, 1000, 0.3, "20:50")]
    found = verdicts("variable-copying", data)
    assert found["T = 20:50: the power law network learns the task"] is Verdict.HOLDS
    assert found["T = 20:50: the LSTM network does not learn the task"] is Verdict.UNTESTED
    assert Findings("variable-copying", "laptop", "", data).claims[0].verdict is Verdict.LEANS


def pixels(accuracies: list[float], *, whole_budget: bool) -> dict[str, Verdict]:
    found = [{"row": "pLSTM 512", "condition": "permuted", "accuracy": accuracies}]
    return verdicts("pixels", {"whole_budget": whole_budget, "found": found, "curves": []})


def test_pixels_every_run_trains() -> None:
    text = "every run of the power law trains successfully"
    assert pixels([95.6, 95.5, 95.7], whole_budget=True)[text] is Verdict.HOLDS
    assert pixels([95.6, 11.0, 95.7], whole_budget=True)[text] is Verdict.FAILS
    assert pixels([95.6, 11.0, 95.7], whole_budget=False)[text] is Verdict.UNTESTED


def test_characters_below_every_network_quoted() -> None:
    found = [{"network": "powerlaw", "condition": "ptb-150", "quoted": False, "bits": [1.420, 1.421, 1.419]}]
    result = verdicts("characters", {"conditions": ["ptb-150"], "found": found, "curves": []})
    assert result["ptb-150: the power law needs fewer bits per character than every network quoted"] is Verdict.HOLDS


def test_long_reviews_gain_more_over_seeds() -> None:
    def found(gains: dict[str, list[float]]) -> Verdict:
        entries = [{"network": n, "accuracy": [], "bins": [], "long_over_short": g} for n, g in gains.items()]
        return list(verdicts("sentiment", {"found": entries}).values())[-1]

    assert found({"lstm": [-1.0, -1.1, -0.9], "chrono": [], "powerlaw": [1.0, 1.1, 0.9]}) is Verdict.HOLDS
    assert found({"lstm": [-1.0, 1.0], "chrono": [], "powerlaw": [1.0, 0.5]}) is Verdict.UNCLEAR
    assert found({"lstm": [-1.0], "chrono": [], "powerlaw": [1.0]}) is Verdict.LEANS
    assert found({"lstm": [], "chrono": [], "powerlaw": [1.0]}) is Verdict.UNTESTED
