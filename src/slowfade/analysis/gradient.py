"""Backpropagating through the gate (paper, section 3.3 and appendix A.1), in closed form.

With ``a`` the age before the step, ``q = 1 - r``, ``n = q (a + 1) + ε`` and ``d = q (a + Δt) + 1``, the gate is
``f = (n / d) ** p`` and ::

    ∂f/∂r = -p f (a + 1 - ε (a + Δt)) / (n d)

For ``ε = 0`` this is the paper's ``-p (c - c r) ** (p - 1) / (a + b r) ** (p + 1) c (a + b)``. As ``r`` goes to 1,
``n`` goes to ``ε``: for ``p < 1`` the gradient grows like ``n ** (p - 1)``, without bound at ``ε = 0`` and up to
``p ε ** (p - 1) (a + 1 - ε (a + Δt))`` otherwise.
"""

from __future__ import annotations

import torch
from torch import Tensor


def forget_by_reference_time(age: Tensor, power: Tensor | float, epsilon: float = 0.0) -> Tensor:
    """``∂f_t/∂k_t = -p (1 - ε) (a + ε) ** (p - 1) / (a + 1) ** (p + 1)`` with ``a = t - k_t`` (eq. 9 at ``ε = 0``)."""
    return -power * (1 - epsilon) * (age + epsilon) ** (power - 1) / (age + 1) ** (power + 1)


def forget_by_reset(
    age: Tensor, reset: Tensor, power: Tensor | float, epsilon: float = 0.0, dt: Tensor | float = 1.0
) -> Tensor:
    """``∂f_t/∂r_t``, with ``age`` the age before the step."""
    keep = 1 - reset
    numerator = keep * (age + 1) + epsilon
    denominator = keep * (age + dt) + 1
    change = age + 1 - epsilon * (age + dt)
    return -power * change * numerator ** (power - 1) / denominator ** (power + 1)


def largest_by_reset(age: Tensor, power: Tensor | float, epsilon: float, dt: Tensor | float = 1.0) -> Tensor:
    """``|∂f_t/∂r_t|`` of a unit that resets wholly (``r = 1``): infinite at ``ε = 0`` for ``p < 1``, else the bound."""
    return forget_by_reset(age, torch.ones_like(age), power, epsilon, dt).abs()
