"""The bench of the networks: who is compared, and on what."""

from __future__ import annotations

import pytest
from torch import nn

from slowfade import cores
from slowfade.cores.cost import Config, main, measure
from slowfade.errors import UserError


def test_networks_are_compared_at_equal_parameters() -> None:
    config = Config(("powerlaw", "gru", "scrn"), steps=3, batch_size=2, hidden_size=64, rounds=2)
    *_, costs = measure(config)
    assert [cost.name for cost in costs] == list(config.networks)
    lstm = sum(
        parameter.numel() for module in (nn.LSTM(10, 64), nn.Linear(64, 10)) for parameter in module.parameters()
    )
    for cost in costs:
        core = cores.build(cost.name, 10, cost.hidden_size)
        head = nn.Linear(core.output_size, 10)
        assert cost.parameters == sum(p.numel() for module in (core, head) for p in module.parameters())
        assert abs(cost.parameters / lstm - 1) < 0.02
        assert 0 < cost.spread[0] <= cost.ratio <= cost.spread[1]


def test_the_command_prints_a_row_for_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lstm", "janet", "--steps", "2", "--batch-size", "2", "--hidden-size", "8", "--rounds", "1"]) == 0
    printed = capsys.readouterr().out
    assert "lstm" in printed
    assert "janet" in printed
    assert "chrono" not in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["elman"], "no network 'elman'; the networks are powerlaw"),
        (["--rounds", "0"], "rounds should be at least 1"),
        (["--round", "1"], "^Unrecognized"),
    ],
)
def test_mistakes_end_in_one_line(arguments: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        main(arguments)
