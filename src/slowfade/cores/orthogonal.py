"""Orthogonal and unitary matrices, built from free parameters once per sequence."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from slowfade import checks
from slowfade.cores.core import Core, ParameterGroup

#: Layers of rotations in the tunable style, unless told otherwise.
CAPACITY = 2


class UpperTriangle(nn.Module):
    """A matrix with free entries above its diagonal, or above its ``block`` x ``block`` diagonal blocks; zero at first.

    ``entries`` holds them row by row. Called, it gives the matrix.
    """

    rows: Tensor
    columns: Tensor

    def __init__(self, size: int, block: int = 1) -> None:
        super().__init__()
        self.size = size
        of_block = torch.arange(size) // block
        rows, columns = torch.nonzero(of_block.unsqueeze(-1) < of_block, as_tuple=True)
        self.register_buffer("rows", rows, persistent=False)
        self.register_buffer("columns", columns, persistent=False)
        self.entries = nn.Parameter(torch.zeros(len(rows)))

    def forward(self) -> Float[Tensor, "size size"]:
        return self.entries.new_zeros(self.size, self.size).index_put((self.rows, self.columns), self.entries)


class SkewExponential(UpperTriangle):
    """``expm(U - Uᵀ)``: a rotation, from the ``size (size - 1) / 2`` free entries of an upper triangle ``U``."""

    def forward(self) -> Float[Tensor, "size size"]:
        upper = super().forward()
        return torch.matrix_exp(upper - upper.T)

    @torch.no_grad()
    def reset_parameters(self, init: str) -> None:
        """Block-diagonal, ``[[0, s], [-s, 0]]`` for every pair of units; an odd last unit stays alone.

        ``henaff``: ``s ~ U(-π, π)``. ``cayley``: ``s = -sqrt((1 - cos u) / (1 + cos u))``, ``u ~ U(0, π/2)``; that is
        ``-tan(u / 2)``.
        """
        checks.one_of("init", init, ("henaff", "cayley"))
        self.entries.zero_()
        paired = (self.columns == self.rows + 1) & (self.rows % 2 == 0)
        draws = self.entries.new_empty(self.size // 2)
        if init == "henaff":
            self.entries[paired] = draws.uniform_(-math.pi, math.pi)
        else:
            self.entries[paired] = -torch.tan(draws.uniform_(0, math.pi / 2) / 2)


class RotationLayers(nn.Module):
    """The matrix of an EUNN (Jing et al. 2017): a product of layers ``L_n ... L_2 L_1``, each turning disjoint pairs.

    Every pair ``(a, b)`` turns by its own angles::

        a' = cosθ a - e^{iφ} sinθ b
        b' = sinθ a + e^{iφ} cosθ b

    and a complex product ends in a diagonal of phases ``e^{iω}``. A real one has no ``φ`` and no ``ω``.

    Args:
        style: ``tunable``, ``capacity`` layers that in turn pair (0, 1), (2, 3), ... and (1, 2), (3, 4), ...; the
            latter leave the first and the last unit alone, and as many layers as units span all unitary matrices. Or
            ``fft``, log2(size) layers that pair units size/2 apart, then size/4, ..., then neighbours.

    Called, it gives the dense matrix: the layers act on the identity once, and a step is then a single product. Where
    there are few layers for many units, ``turned`` with the ``factors``, made once, is cheaper.
    """

    angle: Tensor
    partner: Tensor
    second: Tensor

    def __init__(self, size: int, style: str, capacity: int, *, complex_valued: bool) -> None:
        super().__init__()
        pairs = paired_units(size, style, capacity)
        count = sum(len(first) for first, _ in pairs)
        # Per layer and unit: the number of its angle (one past the last where it is left alone), the unit it turns
        # with, and whether it is the second of the two.
        angle = torch.full((len(pairs), size), count)
        partner = torch.arange(size).repeat(len(pairs), 1)
        second = torch.zeros(len(pairs), size, dtype=torch.bool)
        start = 0
        for layer, (a, b) in enumerate(pairs):
            angle[layer, a] = angle[layer, b] = torch.arange(start, start + len(a))
            partner[layer, a], partner[layer, b] = b, a
            second[layer, b] = True
            start += len(a)
        self.register_buffer("angle", angle, persistent=False)
        self.register_buffer("partner", partner, persistent=False)
        self.register_buffer("second", second, persistent=False)
        self.theta = nn.Parameter(torch.empty(count))
        self.phi = nn.Parameter(torch.empty(count)) if complex_valued else None
        self.omega = nn.Parameter(torch.empty(size)) if complex_valued else None
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """All angles ``U(-π, π)``."""
        for angles in self.parameters():
            angles.uniform_(-math.pi, math.pi)

    def forward(self) -> Tensor:
        return self.turned(torch.eye(self.angle.shape[1], device=self.angle.device), *self.factors()).T

    def factors(self) -> tuple[Tensor, Tensor]:
        """What each unit takes of itself and of its partner in every layer, ``(layers, units)`` each."""
        theta = self._per_unit(self.theta)
        cos, sin = torch.cos(theta), torch.sin(theta)
        turn = torch.ones_like(cos) if self.phi is None else phase(self._per_unit(self.phi))
        own, other = cos * torch.where(self.second, turn, 1.0), sin * torch.where(self.second, 1.0, -turn)
        if self.omega is None:
            return own, other
        last = torch.cat([torch.ones_like(own[:-1]), phase(self.omega).unsqueeze(0)])
        return last * own, last * other

    def turned(self, rows: Tensor, own: Tensor, other: Tensor) -> Tensor:
        """Rows of units, each turned by all layers: the matrix applied without being made."""
        for own_l, other_l, partner in zip(own, other, self.partner, strict=True):
            rows = own_l * rows + other_l * rows[..., partner]
        return rows

    def _per_unit(self, angles: Float[Tensor, " angles"]) -> Float[Tensor, "layers units"]:
        return torch.cat([angles, angles.new_zeros(1)])[self.angle]


def phase(angle: Float[Tensor, "*shape"]) -> Tensor:
    """``e^{i angle}``."""
    return torch.complex(torch.cos(angle), torch.sin(angle))


def rotatable(size: int, style: str, capacity: int) -> bool:
    """Whether an EUNN of that style has matrices of that size."""
    return size > 1 and size & (size - 1) == 0 if style == "fft" else size % 2 == 0 and size >= capacity


def paired_units(size: int, style: str, capacity: int) -> list[tuple[Tensor, Tensor]]:
    """The first and the second units of the pairs that each layer of an EUNN turns."""
    checks.one_of("style", style, ("tunable", "fft"))
    if style == "tunable" and (capacity < 2 or capacity % 2):
        raise ValueError(f"capacity should be even and 2 or more, got {capacity}")
    if style == "fft" and capacity != CAPACITY:
        raise ValueError(f"capacity needs style 'tunable', got capacity {capacity} and style 'fft'")
    if not rotatable(size, style, capacity):
        wanted = "a power of two" if style == "fft" else f"even and no less than capacity = {capacity}"
        raise ValueError(f"hidden_size should be {wanted} for style {style!r}, got {size}")
    units = torch.arange(size)
    if style == "tunable":
        firsts = [units[layer % 2 : -1 : 2] for layer in range(capacity)]
        return [(first, first + 1) for first in firsts]
    strides = [size >> layer for layer in range(1, size.bit_length())]
    return [(units[(units & stride) == 0], units[(units & stride) != 0]) for stride in strides]


def slow_rotations(core: Core) -> list[ParameterGroup]:
    """The groups of a network whose rotations are trained at a tenth of the rate of the rest."""
    rotations = [module.entries for module in core.modules() if isinstance(module, SkewExponential)]
    slow = {id(entries) for entries in rotations}
    others = [parameter for parameter in core.parameters() if id(parameter) not in slow]
    return [ParameterGroup(others, 1.0), ParameterGroup(rotations, 0.1)]
