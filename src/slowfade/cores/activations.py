"""Activations that nn.functional does not have."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F


def modrelu(z: Tensor, bias: Float[Tensor, " units"], *, offset: float = 0.0, guard: float = 0.0) -> Tensor:
    """modReLU (Arjovsky et al. 2016): shrinks or stretches the modulus of ``z`` by ``bias`` and keeps its phase::

        ReLU(|z| + offset + b) z / (|z| + guard)      complex z
        ReLU(|z| + offset + b) sign(z)                real z

    Public versions differ in the small numbers only: those that keep the division finite (``guard``), and those that
    some of them leave inside the modulus (``offset``).
    """
    modulus = z.abs()
    stretched = F.relu(modulus + (bias + offset))
    if z.is_complex():
        return z * (stretched / (modulus + guard))
    return torch.sign(z) * stretched
