"""The gate's closed-form gradient against autograd and against the paper's formulas."""

from __future__ import annotations

import pytest
import torch

from slowfade.analysis import gradient
from slowfade.gate import advance_age, log_forget

AGE = torch.tensor([0.3, 4.0, 50.0, 700.0], dtype=torch.float64)


@pytest.mark.parametrize("epsilon", [0.0, 1e-3])
@pytest.mark.parametrize("dt", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("power", [0.2, 0.7, 1.5])
def test_by_reset_is_what_autograd_finds(power: float, dt: float, epsilon: float) -> None:
    reset = torch.tensor([0.05, 0.4, 0.9, 0.999], dtype=torch.float64, requires_grad=True)
    log_forget(AGE, reset, 1 - reset, power, epsilon, dt).exp().sum().backward()
    found = gradient.forget_by_reset(AGE, reset.detach(), power, epsilon, dt)
    torch.testing.assert_close(found, reset.grad, rtol=1e-9, atol=0)


def test_by_reset_is_the_papers_formula_at_epsilon_zero() -> None:
    """Appendix A.1, with t, k_{t-Δt} and Δt on the paper's clock."""
    t, k, dt, p = 40.0, 12.5, 2.0, 0.3
    r = torch.linspace(0, 0.99, 12, dtype=torch.float64)
    a, b, c = t - k + 1, -t + k, t - k + 1 - dt
    paper = -p * (c - c * r) ** (p - 1) / (a + b * r) ** (p + 1) * c * (a + b)
    age_before = torch.full_like(r, t - dt - k)
    torch.testing.assert_close(gradient.forget_by_reset(age_before, r, p, 0.0, dt), paper, rtol=1e-10, atol=0)


def test_by_reference_time_is_equation_9_and_what_autograd_finds() -> None:
    age = AGE.clone().requires_grad_()
    epsilon, p = 1e-3, 0.4
    (((age + epsilon) / (age + 1)) ** p).sum().backward()
    torch.testing.assert_close(gradient.forget_by_reference_time(AGE, p, epsilon), -age.grad, rtol=1e-12, atol=0)
    paper = -p * AGE ** (p - 1) / (AGE + 1) ** (p + 1)
    torch.testing.assert_close(gradient.forget_by_reference_time(AGE, p), paper, rtol=1e-12, atol=0)


def test_chain_rule_joins_the_two() -> None:
    """∂f/∂r = ∂f/∂k ∂k/∂r, and ∂k/∂r = a + 1 for unit steps."""
    reset = torch.tensor([0.1, 0.5, 0.8, 0.95], dtype=torch.float64)
    after = advance_age(AGE, 1 - reset)
    joined = gradient.forget_by_reference_time(after, 0.6, 1e-3) * (AGE + 1)
    torch.testing.assert_close(gradient.forget_by_reset(AGE, reset, 0.6, 1e-3), joined, rtol=1e-12, atol=0)


def test_epsilon_cures_the_divergence() -> None:
    for power in (0.1, 0.5, 0.9):
        assert torch.isinf(gradient.largest_by_reset(AGE, power, 0.0)).all()
        bound = gradient.largest_by_reset(AGE, power, 1e-3)
        expected = power * 1e-3 ** (power - 1) * (AGE + 1) * (1 - 1e-3)
        torch.testing.assert_close(bound, expected, rtol=1e-12, atol=0)
    assert torch.isfinite(gradient.largest_by_reset(AGE, 1.5, 0.0)).all()
