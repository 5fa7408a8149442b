"""Chrono initialisation: where its biases start."""

from __future__ import annotations

import torch
from scipy.stats import kstest

from slowfade import cores
from support import assert_close


def test_memories_are_uniform_up_to_t_max() -> None:
    core = cores.build("chrono", 1, 500, num_layers=2, t_max=200.0)
    for layer in range(2):
        forget = torch.sigmoid(core.bias(layer)[500:1000]).double()
        memory = 1 / (1 - forget)
        # 1 / (1 - σ(log u)) = u + 1 with u ~ U(1, T_max - 1)
        assert kstest(memory.detach().numpy(), "uniform", (2, 198)).pvalue > 1e-3


def test_all_other_biases_follow() -> None:
    core = cores.build("chrono", 3, 50, t_max=20.0)
    input_, forget, candidate, output = core.bias_ih_l0.detach().chunk(4)
    assert_close(input_, -forget)
    assert not candidate.any()
    assert not output.any()
    assert not core.bias_hh_l0.any()


def test_everything_else_is_the_lstm() -> None:
    core, lstm = cores.build("chrono", 3, 10), cores.build("lstm", 3, 10)
    lstm.load_state_dict(core.state_dict())
    x = torch.randn(6, 2, 3)
    assert_close(core(x)[0], lstm(x)[0], 0.0)


def test_seeds_decide() -> None:
    """Not one fixed seed for all, as in code that is about."""
    torch.manual_seed(0)
    first, second = (cores.build("chrono", 2, 5).bias_ih_l0 for _ in range(2))
    torch.manual_seed(0)
    assert torch.equal(cores.build("chrono", 2, 5).bias_ih_l0, first)
    assert not torch.equal(first, second)
