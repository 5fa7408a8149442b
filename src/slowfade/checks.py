"""What a constructor accepts. Each raises the exception class ``nn.LSTM`` raises for the same mistake, in one line."""

from __future__ import annotations

import math
import numbers
import warnings

import torch

from slowfade.gate import PowerInit, power_init_range


def sizes(input_size: int, hidden_size: int, num_layers: int = 1, proj_size: int = 0) -> None:
    named = {
        "input_size": input_size,
        "hidden_size": hidden_size,
        "num_layers": num_layers,
        "proj_size": proj_size,
    }
    for name, value in named.items():
        if not isinstance(value, int) or isinstance(value, bool):
            raise TypeError(f"{name} should be an int, got {type(value).__name__}")
        if value < (0 if name == "proj_size" else 1):
            raise ValueError(f"{name} should be {'0 or more' if name == 'proj_size' else 'positive'}, got {value}")
    if proj_size >= hidden_size:
        raise ValueError(f"proj_size should be smaller than hidden_size = {hidden_size}, got {proj_size}")


def flags(**named: bool) -> None:
    for name, value in named.items():
        if not isinstance(value, bool):
            raise TypeError(f"{name} should be a bool, got {type(value).__name__}")


def dropout(probability: float, num_layers: int) -> None:
    number = isinstance(probability, numbers.Number) and not isinstance(probability, bool)
    if not number or not 0 <= probability <= 1:
        raise ValueError(f"dropout should be a probability in [0, 1], got {probability!r}")
    if probability > 0 and num_layers == 1:
        warnings.warn(f"dropout={probability} does nothing: it acts between layers and there is only one", stacklevel=3)


def gate_options(power: str | float, power_init: PowerInit, epsilon: float) -> None:
    if isinstance(power, str):
        if power != "learned":
            raise ValueError(f"power should be 'learned' or a number, got {power!r}")
    elif isinstance(power, bool) or not isinstance(power, (int, float)):
        raise TypeError(f"power should be 'learned' or a number, got {type(power).__name__}")
    elif not (math.isfinite(power) and power >= 0):
        raise ValueError(f"power should be a finite number >= 0, got {power}")
    power_init_range(power_init)
    if isinstance(epsilon, bool) or not isinstance(epsilon, (int, float)):
        raise TypeError(f"epsilon should be a number, got {type(epsilon).__name__}")
    if not 0 < epsilon < 1:
        raise ValueError(f"epsilon should lie in (0, 1), got {epsilon}")


def one_of(name: str, value: str, known: tuple[str, ...]) -> None:
    if not isinstance(value, str):
        raise TypeError(f"{name} should be a str, got {type(value).__name__}")
    if value not in known:
        raise ValueError(f"{name} should be one of {', '.join(known)}, got {value!r}")


def floating(name: str, dtype: torch.dtype | None) -> None:
    if dtype is not None and not dtype.is_floating_point:
        raise RuntimeError(f"{name} should be a real floating-point type, got {dtype}")
