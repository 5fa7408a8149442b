"""The list of networks, their options and their sizes."""

from __future__ import annotations

import pytest
from torch import nn

from slowfade import cores
from slowfade.cores import Core

PAPER = "powerlaw lstm chrono multiscale gru janet nru sru urnn eurnn goru exprnn nnrnn phased refine lmu scrn"


def test_all_networks_of_the_paper_are_there() -> None:
    assert cores.names() == PAPER.split()
    classes = [cores.network(name) for name in cores.names()]
    assert len(set(classes)) == len(PAPER.split())
    assert all(issubclass(network, Core) for network in classes)


def test_every_network_is_described(name: str) -> None:
    described = cores.describe(name)
    assert described.name == name
    assert all([described.title, described.source, described.summary, described.parameters])
    assert described.uses_time == (name in ("powerlaw", "phased"))
    for option in described.options:
        assert option.help
        assert "\n" not in option.help
    assert described.options == cores.options(name)


def test_every_default_builds_the_network(name: str) -> None:
    defaults = {option.name: option.default for option in cores.options(name)}
    core = cores.build(name, 4, 16, **defaults)
    assert isinstance(core, nn.Module)
    assert f"4, {core.hidden_size}" in repr(core)


def test_an_unknown_network_is_answered_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="no network 'elman'; the networks are powerlaw, lstm, chrono"):
        cores.build("elman", 3, 4)


def test_an_unknown_option_is_answered_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="janet has no option 'gamma'; its options are beta, t_max"):
        cores.build("janet", 3, 4, gamma=1.0)
    with pytest.raises(ValueError, match="lstm has no option 'beta'; it has none"):
        cores.hidden_for_parameters("lstm", 3, 1000, beta=1.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "chrono", "t_max": 2}, "t_max should be more than 2"),
        ({"name": "refine", "variant": "ru"}, "variant should be one of ur, u-, -r"),
        ({"name": "phased", "ratio": 0.0}, "ratio should lie in"),
        ({"name": "phased", "period": (3.0, 1.0)}, "period should be"),
        ({"name": "janet", "t_max": 1}, "t_max should be more than 1"),
        ({"name": "powerlaw", "power": -1.0}, "power should be a finite number"),
    ],
)
def test_an_option_out_of_range_is_refused(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        cores.build(input_size=3, hidden_size=4, **options)


@pytest.mark.parametrize(
    ("inputs", "budget", "outputs", "sizes"),
    [(100, 118_000, 1, {"lstm": 128, "powerlaw": 154}), (20, 2_150_000, 50, {"lstm": 716, "powerlaw": 828})],
    ids=["IMDB", "PTB"],
)
def test_the_papers_sizes_come_from_its_budgets(inputs: int, budget: int, outputs: int, sizes: dict[str, int]) -> None:
    for name, hidden in sizes.items():
        assert cores.hidden_for_parameters(name, inputs, budget, outputs=outputs) == hidden


def test_the_papers_budget_is_counted_to_the_unit() -> None:
    """117,889 and 118,119 parameters on IMDB, with the head."""
    for name, hidden, count in (("lstm", 128, 117_889), ("powerlaw", 154, 118_119)):
        core, head = cores.build(name, 100, hidden), nn.Linear(hidden, 1)
        assert sum(parameter.numel() for module in (core, head) for parameter in module.parameters()) == count


def test_no_size_comes_nearer_to_the_budget(name: str) -> None:
    budget = 20_000
    hidden = cores.hidden_for_parameters(name, 10, budget, outputs=8)

    def miss(size: int) -> int:
        core = cores.build(name, 10, size)
        head = 8 * (core.output_size + 1)
        return abs(sum(parameter.numel() for parameter in core.parameters()) + head - budget)

    found = miss(hidden)
    for other in range(max(hidden // 2, 1), 2 * hidden + 1):
        if cores.network(name).allows(other, **{option.name: option.default for option in cores.options(name)}):
            near = abs(other - hidden) <= 4 or other in (hidden // 2, 2 * hidden)
            assert not near or miss(other) >= found
