"""expRNN (Lezcano-Casado and Martínez-Rubio 2019): an orthogonal matrix, as the exponential of a skew-symmetric one.

    h_t = modReLU(K x_t + h_{t-1} B; b)          modReLU(z) = ReLU(|z| + b) sign(z)
    B = B₀ expm(A),  A = U - Uᵀ                  U upper triangular, free

Static: ``B₀`` is the identity. Dynamic ("dtriv"): every ``rebase_every`` steps of the optimiser ``B₀ ← B₀ expm(A)``
and ``A ← 0``, so that ``A`` stays near zero, where the exponential's gradient is simple; every ``project_every`` of
those, ``B₀`` is put back onto the orthogonal matrices by its singular value decomposition.

There are H (H - 1) / 2 + H I + H parameters. As in the authors' code (``lezcano/expRNN``) K starts ``N(0, 2/I)``,
b ``U(-0.01, 0.01)``, A block-diagonal ("henaff" or "cayley"), and A is trained at a tenth of the others' rate. That
code keeps all H² entries of the matrix whose triangle it uses, and counts the forward passes it trains on where we
count steps of the optimiser.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from slowfade import checks
from slowfade.cores.activations import modrelu
from slowfade.cores.core import Hidden, ParameterGroup, State
from slowfade.cores.orthogonal import SkewExponential, slow_rotations
from slowfade.cores.stepped import Layer, Prepared, SteppedCore

REBASE_EVERY, PROJECT_EVERY = 100, 100


class ExpRNN(SteppedCore):
    title = "expRNN"
    source = "Lezcano-Casado & Martínez-Rubio 2019"
    summary = "units turned by an orthogonal matrix, the exponential of a skew-symmetric one"
    formula = "H * (H - 1) // 2 + H * I + H"

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        batch_first: bool = False,
        *,
        mode: Annotated[Literal["static", "dynamic"], "where the exponential starts from: the identity, or rebased"] = (
            "static"
        ),
        init: Annotated[Literal["henaff", "cayley"], "how the rotation starts"] = "henaff",
        rebase_every: Annotated[int, "dynamic: steps of the optimiser from one base to the next"] = REBASE_EVERY,
        project_every: Annotated[int, "dynamic: changes of base from one projection to the next"] = PROJECT_EVERY,
    ) -> None:
        super().__init__(input_size, hidden_size, num_layers, batch_first)
        checks.one_of("mode", mode, ("static", "dynamic"))
        if rebase_every < 1 or project_every < 1:
            raise ValueError(f"rebase_every and project_every should be positive, got {rebase_every}, {project_every}")
        if mode == "static" and (rebase_every, project_every) != (REBASE_EVERY, PROJECT_EVERY):
            raise ValueError("rebase_every and project_every need mode 'dynamic'")
        self.stack(ExpRNNLayer, mode=mode, init=init, rebase_every=rebase_every, project_every=project_every)

    def parameter_groups(self) -> list[ParameterGroup]:
        return slow_rotations(self)

    def after_step(self) -> None:
        for index in range(self.num_layers):
            self.layer(index).after_step()  # type: ignore[operator]


class ExpRNNLayer(Layer):
    """``weight_ih (H, I)``, ``bias (H)``, the entries of ``rotation``; dynamic: the buffers ``base`` and ``steps``."""

    base: Tensor | None
    steps: Tensor

    def __init__(
        self, input_size: int, hidden_size: int, *, mode: str, init: str, rebase_every: int, project_every: int
    ) -> None:
        super().__init__(input_size, hidden_size)
        self.init, self.rebase_every, self.project_every = init, rebase_every, project_every
        self.rotation = SkewExponential(hidden_size)
        self.weight_ih = nn.Parameter(torch.empty(hidden_size, input_size))
        self.bias = nn.Parameter(torch.empty(hidden_size))
        self.register_buffer("base", torch.eye(hidden_size) if mode == "dynamic" else None)
        if mode == "dynamic":
            self.register_buffer("steps", torch.zeros((), dtype=torch.int64))
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        nn.init.kaiming_normal_(self.weight_ih, nonlinearity="relu")
        self.bias.uniform_(-0.01, 0.01)
        self.rotation.reset_parameters(self.init)
        if self.base is not None:
            self.steps.zero_()
            self.base.copy_(torch.eye(self.hidden_size))
            self.rebase()

    def matrix(self) -> Tensor:
        """``B``."""
        return self.rotation() if self.base is None else self.base @ self.rotation()

    @torch.no_grad()
    def rebase(self) -> None:
        """``B₀ ← B₀ expm(A)``, ``A ← 0``: the same matrix from a new base."""
        assert self.base is not None
        self.base.copy_(self.matrix())
        self.rotation.entries.zero_()

    @torch.no_grad()
    def after_step(self) -> None:
        if self.base is None:
            return
        self.steps += 1
        if self.steps % self.rebase_every == 0:
            self.rebase()
            if self.steps // self.rebase_every % self.project_every == 0:
                u, _, vh = torch.linalg.svd(self.base)
                self.base.copy_(u @ vh)

    def prepare(self, x: Tensor, dt: Tensor | None) -> Prepared:
        return (F.linear(x, self.weight_ih),), (self.matrix(),)

    def step(self, inputs: tuple[Tensor, ...], state: Any, shared: tuple[Tensor, ...]) -> State:
        return Hidden(modrelu(torch.addmm(inputs[0], state.hidden, shared[0]), self.bias))
