"""modReLU, real and complex, against its definition; its gradient; its limits."""

from __future__ import annotations

import cmath

import pytest
import torch

from slowfade.cores.activations import modrelu


@pytest.mark.parametrize(("offset", "guard"), [(0.0, 0.0), (0.01, 0.01), (0.0, 1e-5)])
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_modrelu_is_its_definition(dtype: torch.dtype, offset: float, guard: float) -> None:
    z, bias = torch.randn(7, 5, dtype=dtype), torch.linspace(-1, 1, 5, dtype=torch.float64)
    found = modrelu(z, bias, offset=offset, guard=guard)
    for row, shrunk in zip(z.tolist(), found.tolist(), strict=True):
        for value, result, b in zip(row, shrunk, bias.tolist(), strict=True):
            modulus = max(abs(value) + offset + b, 0.0)
            # A real number's phase is its sign; the guard only matters where a modulus is divided by.
            phase = value / abs(value) if dtype.is_floating_point else value / (abs(value) + guard)
            assert cmath.isclose(result, modulus * phase, rel_tol=1e-12, abs_tol=1e-14)


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_modrelu_keeps_the_phase_and_shifts_the_modulus(dtype: torch.dtype) -> None:
    z, bias = torch.randn(9, 4, dtype=dtype), torch.rand(4, dtype=torch.float64)
    grown = modrelu(z, bias)
    torch.testing.assert_close(grown.abs(), z.abs() + bias)
    torch.testing.assert_close(torch.sgn(grown), torch.sgn(z))
    torch.testing.assert_close(modrelu(z, torch.zeros_like(bias)), z)
    assert not modrelu(z, torch.full_like(bias, -100.0)).any()


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_modrelu_gradients(dtype: torch.dtype) -> None:
    z = torch.randn(3, 4, dtype=dtype, requires_grad=True)
    bias = torch.tensor([-0.2, 0.1, 0.3, 0.0], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda z, b: modrelu(z, b, offset=0.01, guard=0.01), (z, bias))


@pytest.mark.parametrize("dtype", [torch.float32, torch.complex64])
def test_modrelu_at_zero_has_a_finite_gradient(dtype: torch.dtype) -> None:
    z = torch.zeros(2, 3, dtype=dtype, requires_grad=True)
    bias = torch.zeros(3, requires_grad=True)
    modrelu(z, bias, offset=0.01, guard=0.01).abs().sum().backward()
    assert z.grad is not None
    assert torch.isfinite(torch.view_as_real(z.grad) if z.is_complex() else z.grad).all()
