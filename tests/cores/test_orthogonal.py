"""Orthogonal and unitary matrices: against scalar readings, against SciPy, and that they are what they claim."""

from __future__ import annotations

import math

import pytest
import scipy.linalg
import torch

from readings import assert_uniform, turned_by_pairs
from slowfade.cores.orthogonal import RotationLayers, SkewExponential, UpperTriangle
from support import assert_close

STYLES = [("tunable", 2), ("tunable", 4), ("tunable", 8), ("fft", 2)]


@pytest.mark.parametrize("complex_valued", [False, True])
@pytest.mark.parametrize(("style", "capacity"), STYLES)
def test_rotation_layers_turn_pair_after_pair(style: str, capacity: int, complex_valued: bool) -> None:
    layers = RotationLayers(8, style, capacity, complex_valued=complex_valued).double()
    matrix = layers()
    vector = torch.randn(8, dtype=matrix.dtype)
    angles = {name: angle.tolist() for name, angle in layers.named_parameters()}
    expected = torch.tensor(turned_by_pairs(angles, style, capacity, vector.tolist()))
    torch.testing.assert_close((matrix @ vector).to(expected.dtype), expected)


@pytest.mark.parametrize("complex_valued", [False, True])
@pytest.mark.parametrize(("style", "capacity"), [("tunable", 2), ("tunable", 16), ("fft", 2)])
def test_rotation_layers_are_unitary(style: str, capacity: int, complex_valued: bool) -> None:
    layers = RotationLayers(64, style, capacity, complex_valued=complex_valued)
    for dtype, bound in ((torch.float32, 1e-5), (torch.float64, 1e-12)):
        matrix = layers.to(dtype)()
        assert matrix.is_complex() is complex_valued
        assert (matrix.mH @ matrix - torch.eye(64)).abs().max() < bound


def test_rotation_layers_reach_everywhere() -> None:
    """Some entry of the matrix joins every unit with every other once there are enough layers."""
    assert (RotationLayers(8, "fft", 2, complex_valued=False)() != 0).all()
    assert (RotationLayers(8, "tunable", 8, complex_valued=False)() != 0).all()
    assert (RotationLayers(8, "tunable", 2, complex_valued=False)() == 0).any()


@pytest.mark.parametrize(
    ("size", "style", "capacity", "angles"),
    [(10, "tunable", 4, 4 * 9 // 2), (16, "fft", 2, 4 * 8), (2, "tunable", 2, 1)],
)
def test_how_many_angles(size: int, style: str, capacity: int, angles: int) -> None:
    assert RotationLayers(size, style, capacity, complex_valued=False).theta.numel() == angles
    turns = RotationLayers(size, style, capacity, complex_valued=True)
    assert sum(angles.numel() for angles in turns.parameters()) == 2 * angles + size


def test_angles_start_uniform() -> None:
    for angles in RotationLayers(128, "tunable", 64, complex_valued=True).parameters():
        assert_uniform(angles, -math.pi, math.pi)


@pytest.mark.parametrize(
    ("size", "style", "capacity", "message"),
    [
        (7, "tunable", 2, "hidden_size should be even"),
        (8, "tunable", 3, "capacity should be even and 2 or more, got 3"),
        (8, "tunable", 10, "hidden_size should be even and no less than capacity = 10"),
        (12, "fft", 2, "power of two"),
        (1, "fft", 2, "power of two"),
        (8, "butterfly", 2, "style should be one of tunable, fft"),
    ],
)
def test_impossible_sizes(size: int, style: str, capacity: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RotationLayers(size, style, capacity, complex_valued=True)


def test_rotation_layers_gradients() -> None:
    layers = RotationLayers(4, "tunable", 4, complex_valued=True).double()
    values = tuple(p.detach().clone().requires_grad_() for p in layers.parameters())
    names = [name for name, _ in layers.named_parameters()]

    def matrix(*values: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(layers, dict(zip(names, values, strict=True)), ())

    def parts(*values: torch.Tensor) -> torch.Tensor:
        return torch.view_as_real(matrix(*values))

    assert torch.autograd.gradcheck(parts, values)


@pytest.mark.parametrize("block", [1, 2, 3])
def test_upper_triangle(block: int) -> None:
    triangle = UpperTriangle(6, block)
    triangle.entries.data = torch.arange(1.0, triangle.entries.numel() + 1)
    matrix, count = triangle(), 0
    for i in range(6):
        for j in range(6):
            count += j // block > i // block
            assert matrix[i, j] == (count if j // block > i // block else 0)


@pytest.mark.parametrize("init", ["henaff", "cayley"])
def test_exponential_is_scipys_and_orthogonal(init: str) -> None:
    rotation = SkewExponential(11).double()
    rotation.reset_parameters(init)
    rotation.entries.data += 0.1 * torch.randn_like(rotation.entries)
    upper = torch.zeros(11, 11, dtype=torch.float64)
    upper[tuple(torch.triu_indices(11, 11, 1))] = rotation.entries.detach()
    assert_close(rotation(), torch.from_numpy(scipy.linalg.expm((upper - upper.T).numpy())))
    assert (rotation().T @ rotation() - torch.eye(11)).abs().max() < 1e-13


def test_exponential_in_single_precision_stays_orthogonal() -> None:
    rotation = SkewExponential(190)
    rotation.reset_parameters("henaff")
    assert (rotation().T @ rotation() - torch.eye(190)).abs().max() < 1e-5


def test_exponential_gradients() -> None:
    rotation = SkewExponential(4).double()
    entries = torch.randn(6, dtype=torch.float64, requires_grad=True)
    call = torch.func.functional_call
    assert torch.autograd.gradcheck(lambda e: call(rotation, {"entries": e}, ()), (entries,))


@pytest.mark.parametrize("size", [400, 401])
def test_exponential_starts_in_blocks(size: int) -> None:
    """henaff: every pair turns by an angle uniform on (-π, π). cayley: by -tan(u/2), u uniform on (0, π/2)."""
    rotation = SkewExponential(size).double()
    for init in ("henaff", "cayley"):
        rotation.reset_parameters(init)
        matrix = rotation()
        first = torch.arange(0, size - 1, 2)
        angles = torch.atan2(matrix[first, first + 1], matrix[first, first])
        outside = matrix.clone()
        for a, b in ((first, first), (first, first + 1), (first + 1, first), (first + 1, first + 1)):
            outside[a, b] = 0
        assert outside.abs().sum().item() == pytest.approx(size % 2, abs=1e-9)
        if init == "henaff":
            assert_uniform(angles, -math.pi, math.pi)
        else:
            assert_uniform(-2 * torch.atan(angles), 0, math.pi / 2)
