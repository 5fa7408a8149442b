"""The multi-timescale LSTM: what its timescales are, and that they stay."""

from __future__ import annotations

import torch
from scipy.stats import invgamma, kstest

from slowfade import cores
from slowfade.cores.multiscale import forget_bias
from support import assert_close


def test_the_bias_gives_the_timescale() -> None:
    timescale = torch.logspace(-2, 8, 200, dtype=torch.float64)
    bias = forget_bias(timescale)
    assert bias.isfinite().all()
    # log σ(b) = -1/T, from -b alone where σ(b) is too small to see.
    assert_close(torch.nn.functional.logsigmoid(bias), -1 / timescale)
    moderate = timescale > 0.1
    assert_close(bias[moderate], -torch.log(torch.exp(1 / timescale[moderate]) - 1), 1e-6)


def test_timescales_are_inverse_gamma() -> None:
    core = cores.build("multiscale", 1, 500, num_layers=2)
    for layer in range(2):
        timescale = getattr(core, f"timescale_l{layer}").double().numpy()
        assert kstest(timescale, invgamma(0.56).cdf).pvalue > 1e-3


def test_timescales_are_not_trained() -> None:
    core = cores.build("multiscale", 3, 10)
    before = core.bias(0).detach()[:20].clone()
    optimizer = torch.optim.AdamW(core.parameters(), lr=0.1, weight_decay=0.5)
    for _ in range(3):
        core(torch.randn(5, 2, 3))[0].square().sum().backward()
        optimizer.step()
    after = core.bias(0).detach()[:20]
    assert torch.equal(after, before)
    assert_close(after[:10], -after[10:])


def test_everything_else_is_the_lstm() -> None:
    core, lstm = cores.build("multiscale", 3, 10).double(), cores.build("lstm", 3, 10).double()
    with torch.no_grad():
        lstm.weight_ih_l0.copy_(core.weight_ih_l0)
        lstm.weight_hh_l0.copy_(core.weight_hh_l0)
        lstm.bias_hh_l0.zero_()
        forget = -torch.log(torch.expm1(1 / core.timescale_l0))
        lstm.bias_ih_l0.copy_(torch.cat([-forget, forget, core.bias_l0]))
    x = torch.randn(6, 2, 3, dtype=torch.float64)
    assert_close(core(x)[0], lstm(x)[0])


def test_units_together_fade_along_a_power_law() -> None:
    """The mean of e^{-t/T} over T ~ InverseGamma(0.56, 1) is (1 + t)^-0.56."""
    core = cores.build("multiscale", 1, 2000).double()
    time = torch.tensor([1.0, 3.0, 10.0, 30.0], dtype=torch.float64)
    assert_close(core.free_decay(time).mean(-1), (1 + time) ** -0.56, 0.05)
