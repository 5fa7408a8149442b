"""How a recurrence is run over time, and the one function that chooses.

``reference``  plain PyTorch: any device, any dtype, differentiable any number of times
``cpu``        the C++ engine: the whole sequence in one call, float32 and float64 on the CPU
``triton``     the GPU engine: the whole sequence in one kernel, float32 on CUDA devices
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from slowfade.engines import cpu, reference, triton
from slowfade.engines.notices import say_once
from slowfade.engines.reference import Step, Weights
from slowfade.state import State

__all__ = ["ENGINES", "Step", "Weights", "choose", "lstm", "power_law"]

ENGINES = ("auto", "reference", "cpu", "triton")

#: The fastest engine of a device; on others it is the reference.
FASTEST = {"cpu": "cpu", "cuda": "triton"}


def choose(engine: str, x: Tensor, *others: Tensor | None, projected: bool = False) -> str:
    """The engine that will run these tensors. "auto" falls back to the reference and says so once, with the reason."""
    chosen = FASTEST.get(x.device.type, "reference") if engine == "auto" else engine
    if chosen == "reference":
        return chosen
    reason = cpu.why_not(x, *others) if chosen == "cpu" else triton.why_not(x, *others, projected=projected)
    if reason is None:
        return chosen
    if engine != "auto":
        raise RuntimeError(f"engine={engine!r} cannot run here: {reason}")
    if not torch.compiler.is_compiling():
        say_once(f"slowfade runs on its reference engine, which is slower: {reason}")
    return "reference"


def power_law(
    engine: str,
    x: Float[Tensor, "time batch inputs"],
    dt: Float[Tensor, "time batch"] | None,
    lengths: Int[Tensor, " batch"] | None,
    state: State,
    weights: Weights,
    *,
    epsilon: float,
    coupled: bool,
    reverse: bool = False,
    batch_first: bool = False,
) -> tuple[Float[Tensor, "time batch recurrent"], State]:
    """Run one layer in one direction on the engine asked for; arguments as in :func:`slowfade.engines.reference.run`.

    ``batch_first`` says how the output should lie in memory; its shape is time-major either way.
    """
    if choose(engine, x, dt, *state, *weights, projected=weights.hr is not None) != "reference":
        return cpu.power_law(
            x,
            dt,
            lengths,
            state,
            weights,
            epsilon=epsilon,
            coupled=coupled,
            reverse=reverse,
            batch_first=batch_first,
        )
    kept, end = reference.run(x, dt, lengths, state, weights, epsilon=epsilon, coupled=coupled, reverse=reverse)
    return kept["hidden"], end


def lstm(
    engine: str,
    x: Float[Tensor, "time batch inputs"],
    lengths: Int[Tensor, " batch"] | None,
    h: Float[Tensor, "batch hidden"],
    c: Float[Tensor, "batch hidden"],
    weight_ih: Float[Tensor, "gates_hidden inputs"],
    weight_hh: Float[Tensor, "gates_hidden hidden"],
    bias: Float[Tensor, " gates_hidden"] | None = None,
    *,
    batch_first: bool = False,
) -> tuple[Float[Tensor, "time batch hidden"], tuple[Tensor, Tensor]]:
    """Run one layer of an LSTM on the engine asked for; arguments as in :func:`slowfade.engines.reference.lstm`."""
    if choose(engine, x, h, c, weight_ih, weight_hh, bias) != "reference":
        return cpu.lstm(x, lengths, h, c, weight_ih, weight_hh, bias, batch_first=batch_first)
    return reference.lstm(x, lengths, h, c, weight_ih, weight_hh, bias)
