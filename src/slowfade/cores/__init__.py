"""Every recurrent network of the paper, under one interface.

    >>> core = build("janet", 10, 128, beta=1.0)
    >>> output, state = core(torch.randn(50, 3, 10))

Each network is one file, imported when it is first asked for.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from importlib import import_module
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

from slowfade.cores.core import Core, ParameterGroup, detach
from slowfade.cores.sizes import count_parameters as _count_parameters
from slowfade.cores.sizes import hidden_for_parameters as _hidden_for_parameters

__all__ = [
    "Core",
    "Description",
    "Option",
    "ParameterGroup",
    "build",
    "count_parameters",
    "describe",
    "detach",
    "hidden_for_parameters",
    "names",
    "network",
    "options",
]

#: The module of each network, which is its name, and its class there.
_CLASSES = {
    "powerlaw": "PowerLaw",
    "lstm": "LSTM",
    "chrono": "Chrono",
    "multiscale": "Multiscale",
    "gru": "GRU",
    "janet": "JANET",
    "nru": "NRU",
    "sru": "SRU",
    "urnn": "URNN",
    "eurnn": "EURNN",
    "goru": "GORU",
    "exprnn": "ExpRNN",
    "nnrnn": "NNRNN",
    "phased": "PhasedLSTM",
    "refine": "RefineLSTM",
    "lmu": "LMU",
    "scrn": "SCRN",
}


class Option(NamedTuple):
    """Something a network lets one choose: a keyword of its constructor."""

    name: str
    type: Any
    """A type, a ``Literal`` or a union, as annotated."""
    default: Any
    help: str


class Description(NamedTuple):
    name: str
    title: str
    source: str
    summary: str
    parameters: str
    """Their number in one layer, from ``I`` inputs, ``H`` units and the options: a Python expression."""
    uses_time: bool
    options: tuple[Option, ...]


def names() -> list[str]:
    """The networks there are, in the order of the paper's introduction of them here."""
    return list(_CLASSES)


def network(name: str) -> type[Core]:
    """The class of a network."""
    if name not in _CLASSES:
        raise ValueError(f"there is no network {name!r}; the networks are {', '.join(_CLASSES)}")
    return getattr(import_module(f"slowfade.cores.{name}"), _CLASSES[name])


def options(name: str) -> tuple[Option, ...]:
    """The options of a network: the keyword-only arguments of its class, ``Annotated[type, "help"] = default``."""
    constructor: Callable[..., None] = network(name).__init__
    hints = get_type_hints(constructor, include_extras=True)
    found = []
    for parameter in inspect.signature(constructor).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY:
            hint = hints[parameter.name]
            if get_origin(hint) is not Annotated:
                raise TypeError(f"option {parameter.name} of {name} has no help: annotate it with Annotated")
            found.append(Option(parameter.name, get_args(hint)[0], parameter.default, get_args(hint)[1]))
    return tuple(found)


def describe(name: str) -> Description:
    """What a network is, in words."""
    core = network(name)
    return Description(name, core.title, core.source, core.summary, core.formula, core.uses_time, options(name))


def build(
    name: str,
    input_size: int,
    hidden_size: int,
    *,
    num_layers: int = 1,
    batch_first: bool = False,
    **chosen: Any,
) -> Core:
    """A network, by name, with its options; ``ValueError`` names those there are where one is unknown."""
    _check_options(name, chosen)
    return network(name)(input_size, hidden_size, num_layers, batch_first, **chosen)


def hidden_for_parameters(
    name: str, input_size: int, budget: int, *, num_layers: int = 1, outputs: int = 0, **chosen: Any
) -> int:
    """The hidden size whose number of parameters comes nearest to ``budget``.

    Args:
        outputs: counts a linear head with that many outputs and a bias in, as the paper does.
    """
    return _hidden_for_parameters(network(name), input_size, budget, num_layers, outputs, _filled(name, chosen))


def count_parameters(
    name: str, input_size: int, hidden_size: int, *, num_layers: int = 1, outputs: int = 0, **chosen: Any
) -> int:
    """How many parameters a network of that size has, with a head as in :func:`hidden_for_parameters`."""
    return _count_parameters(network(name), input_size, hidden_size, num_layers, outputs, _filled(name, chosen))


def _filled(name: str, chosen: dict[str, Any]) -> dict[str, Any]:
    """All options of a network: as chosen, else as it has them."""
    _check_options(name, chosen)
    return {option.name: option.default for option in options(name)} | chosen


def _check_options(name: str, chosen: dict[str, Any]) -> None:
    known = [option.name for option in options(name)]
    for option in chosen:
        if option not in known:
            there = f"its options are {', '.join(known)}" if known else "it has none"
            raise ValueError(f"{name} has no option {option!r}; {there}")
    for option, value in chosen.items():
        numbers = value if isinstance(value, (tuple, list)) else (value,)
        if any(isinstance(number, float) and not math.isfinite(number) for number in numbers):
            raise ValueError(f"{option} should be finite, got {value}")
