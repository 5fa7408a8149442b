"""The gate's functions against the paper's own form, closed forms and float64."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from paper import forget_gate
from slowfade import elapsed, gate
from support import assert_close, rms_ratio

DOUBLE = torch.float64


def resets(steps: int, units: int, openness: float = 0.0) -> torch.Tensor:
    """Pre-activations of the reset gate, mostly closed or mostly open."""
    return torch.randn(steps, units, dtype=DOUBLE) * 3 + openness


@pytest.mark.parametrize("unit_steps", [True, False])
@pytest.mark.parametrize("openness", [-4.0, 0.0, 4.0])
def test_age_form_is_the_papers(unit_steps: bool, openness: float) -> None:
    steps, epsilon = 60, 1e-3
    power = [0.05, 0.5, 0.95]
    logits = resets(steps, len(power), openness)
    dts = [None if unit_steps else dt for dt in torch.rand(steps, dtype=DOUBLE).mul(3).add(0.01).tolist()]
    for unit, p in enumerate(power):
        age, t, k = torch.zeros((), dtype=DOUBLE), 0.0, 0.0
        for logit, dt in zip(logits[:, unit], dts, strict=True):
            t += 1.0 if dt is None else dt
            decision = gate.power_law_gate(logit, age, p, epsilon=epsilon, dt=1.0 if dt is None else dt)
            f, k = forget_gate(float(torch.sigmoid(logit)), k, t, p, epsilon, dt)
            age = decision.age
            assert decision.forget.item() == pytest.approx(f, rel=1e-11)
            assert decision.admit.item() == pytest.approx(1 - f, rel=1e-8, abs=1e-12)
            assert gate.reference_time(age, t).item() == pytest.approx(k, rel=1e-11, abs=1e-11)


def test_age_form_is_accurate_where_the_clock_is_not() -> None:
    """After a million steps float32 has lost the paper's t - k; the age has lost nothing."""
    units, epsilon, power, t = 4096, 1e-3, 0.4, 1_000_000.0
    logit = torch.randn(units) * 3
    reset = torch.sigmoid(logit.double())
    age = torch.rand(units) * 50  # units that let something in a while ago
    truth = gate.power_law_gate(logit.double(), age.double(), power, epsilon=epsilon)

    with_age = gate.power_law_gate(logit, age, power, epsilon=epsilon).forget.double()
    k = t - 1 - age
    k = reset.float() * t + (1 - reset.float()) * k
    with_clock = (((t - k + 1) / (t - k + epsilon)) ** -power).double()

    worst_with_age = ((with_age - truth.forget) / truth.forget).abs().max()
    assert worst_with_age < 1e-6
    assert rms_ratio(with_clock - truth.forget, truth.forget) > 1e-2


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("age", [0.0, 1.0, 1e3, 1e6, 1e9, 1e12])
def test_gate_has_full_relative_accuracy_at_every_age(dtype: torch.dtype, age: float) -> None:
    """Also of 1 - f, which an old memory brings near zero. Judged at 200 bits."""

    from mpmath import mp, mpf

    mp.prec = 200
    power, epsilon = 0.3, 1e-3
    logits = torch.linspace(-20, 20, 41, dtype=dtype)
    found = gate.power_law_gate(logits, torch.full_like(logits, age), power, epsilon=epsilon)
    p, eps = mpf(torch.tensor(power, dtype=dtype).item()), mpf(epsilon)
    for i, logit in enumerate(logits.tolist()):
        keep = 1 / (1 + mp.exp(mpf(logit)))
        numerator, denominator = keep * (mpf(age) + 1) + eps, keep * (mpf(age) + 1) + 1
        f = (numerator / denominator) ** p
        for name, value, exact in (("forget", found.forget, f), ("admit", found.admit, 1 - f)):
            error = abs(mpf(value[i].item()) / exact - 1)
            assert error < 12 * torch.finfo(dtype).eps, f"{name} at logit {logit}: {mp.nstr(error, 3)}"


@pytest.mark.parametrize("power", [0.0, 0.1, 0.5, 1.0, 2.5, 5.0])
def test_closed_reset_is_the_power_law(power: float) -> None:
    """With r = 0 and a tiny epsilon what is left after t steps is (t + 1) ** -p."""
    kept, age, closed = torch.ones((), dtype=DOUBLE), torch.zeros((), dtype=DOUBLE), torch.tensor(-800.0, dtype=DOUBLE)
    for t in range(1, 200):
        decision = gate.power_law_gate(closed, age, power, epsilon=1e-14)
        kept, age = kept * decision.forget, decision.age
        assert kept.item() == pytest.approx(gate.free_decay(torch.tensor(t, dtype=DOUBLE), power).item(), rel=1e-10)
        assert age.item() == t


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0, 5.0])
def test_open_reset_forgets_all(power: float) -> None:
    """With r = 1 the age is 0 and f = epsilon ** p, whatever came before and however long ago."""
    for age, dt in ((0.0, 1.0), (1e6, 1.0), (3.0, 1e9)):
        opened = gate.power_law_gate(
            torch.tensor(800.0, dtype=DOUBLE), torch.tensor(age, dtype=DOUBLE), power, epsilon=1e-3, dt=dt
        )
        assert opened.forget.item() == pytest.approx(1e-3**power)
        assert opened.age.item() == 0


@settings(max_examples=200)
@given(
    logit=st.floats(-1e4, 1e4),
    age=st.floats(0, 1e12),
    power=st.floats(0, 5),
    dt=st.one_of(st.just(1.0), st.floats(0, 1e12)),
    epsilon=st.sampled_from([1e-6, 1e-3, 0.5]),
)
def test_gate_stays_within_bounds(logit: float, age: float, power: float, dt: float, epsilon: float) -> None:
    tensors = [torch.tensor(value, requires_grad=True) for value in (logit, age, power, dt)]
    z, a, p, d = tensors
    found = gate.power_law_gate(z, a, p, epsilon=epsilon, dt=d)
    assert 0 <= found.reset <= 1
    assert 0 <= found.age <= (age + dt) * (1 + 1e-6)
    # A sample that comes epsilon or more after the last can only fade; sooner, f may pass 1 by what epsilon adds.
    assert 0 <= found.forget <= (1 if dt >= epsilon else (1 + epsilon) ** power) * (1 + 1e-6)
    assert (found.forget + found.admit).item() == pytest.approx(1, rel=1e-6)
    for gradient in torch.autograd.grad(found.forget + found.admit * 2 + found.age, tensors):
        assert gradient.isfinite()


def test_gate_differentiates_twice() -> None:
    inputs = [torch.randn(5, dtype=DOUBLE), torch.rand(5, dtype=DOUBLE) * 9, torch.rand(5, dtype=DOUBLE)]
    inputs = [tensor.requires_grad_() for tensor in (*inputs, torch.rand(5, dtype=DOUBLE) + 0.1)]

    def run(logit: torch.Tensor, age: torch.Tensor, power: torch.Tensor, dt: torch.Tensor) -> tuple:
        return tuple(gate.power_law_gate(logit, age, power, dt=dt))

    assert torch.autograd.gradcheck(run, inputs)
    assert torch.autograd.gradgradcheck(run, inputs)


class TestInitialPower:
    def test_uniform(self) -> None:
        power = torch.sigmoid(gate.initial_power_logit("uniform", 20_000))
        assert 0 < power.min() < 0.01
        assert 0.99 < power.max() < 1
        assert power.mean().item() == pytest.approx(0.5, abs=0.01)

    def test_interval_and_number(self) -> None:
        power = torch.sigmoid(gate.initial_power_logit((0.2, 0.3), 1000))
        assert 0.2 <= power.min() <= power.max() <= 0.3
        assert_close(torch.sigmoid(gate.initial_power_logit(0.25, 3)), torch.full((3,), 0.25), 1e-6)

    def test_logits_are_finite_even_at_the_ends(self) -> None:
        assert gate.initial_power_logit((0.0, 1e-30), 100).isfinite().all()

    @pytest.mark.parametrize("bad", ["normal", 0.0, 1.0, -0.5, (0.5, 0.5), (0.6, 0.4), (0, 2), True, math.nan, None])
    def test_rejects(self, bad: object, unchecked: None) -> None:
        with pytest.raises(ValueError, match="power_init should be"):
            gate.initial_power_logit(bad, 3)  # type: ignore[arg-type]


class TestElapsed:
    def test_one_dimension(self) -> None:
        assert elapsed(torch.tensor([3.0, 3.5, 7.0])).tolist() == [0, 0.5, 3.5]
        assert elapsed(torch.tensor([3.0, 3.5, 7.0]), 1.0).tolist() == [2, 0.5, 3.5]

    def test_batches_and_layouts(self) -> None:
        times = torch.tensor([[1.0, 10.0, 0.0], [2.0, 10.5, 0.25]])  # (T, B)
        expected = torch.tensor([[1.0, 1.0, 0.0], [1.0, 0.5, 0.25]])
        start = torch.tensor([0.0, 9.0, 0.0])
        assert torch.equal(elapsed(times, start), expected)
        assert torch.equal(elapsed(times.T, start, batch_first=True), expected.T)

    def test_integer_clocks_keep_their_seconds(self) -> None:
        seconds = torch.tensor([1_750_000_000, 1_750_000_001, 1_750_000_003])
        found = elapsed(seconds)
        assert found.tolist() == [0, 1, 2]
        assert found.dtype == torch.float32

    def test_no_samples(self) -> None:
        assert elapsed(torch.zeros(0, 3)).shape == (0, 3)
        assert elapsed(torch.zeros(0), 1.0).shape == (0,)

    def test_padding_has_no_time(self) -> None:
        times = torch.tensor([[1.0, 2.0, 5.0], [3.0, 4.0, torch.nan], [6.0, 0.0, -1.0]])
        expected = torch.tensor([[0.0, 1.0, 3.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
        assert torch.equal(elapsed(times, batch_first=True, lengths=[3, 2, 0]), expected)
        assert torch.equal(elapsed(times.T, lengths=torch.tensor([3, 2, 1])), expected.T)

    def test_gradient_reaches_the_timestamps(self) -> None:
        times = torch.tensor([1.0, 2.0, 4.0], requires_grad=True)
        (elapsed(times, 0.5) * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
        assert times.grad is not None
        assert times.grad.tolist() == [-9, -90, 100]

    def test_rejects(self) -> None:
        with pytest.raises(ValueError, match="not decrease"):
            elapsed(torch.tensor([1.0, 0.5]))
        with pytest.raises(ValueError, match="not lie before start"):
            elapsed(torch.tensor([1.0, 1.5]), 2.0)
        with pytest.raises(ValueError, match="dimensions"):
            elapsed(torch.zeros(2, 2, 2))
