"""Networks of equal size: the paper compares at equal numbers of parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from slowfade.cores.core import Core


def count_parameters(
    network: type[Core],
    input_size: int,
    hidden_size: int,
    num_layers: int,
    outputs: int,
    options: Mapping[str, Any],
) -> int:
    """How many parameters a network has, with a linear head of ``outputs`` outputs, from its formula alone."""

    def value(formula: str, inputs: int) -> int:
        known = {**options, "I": inputs, "H": hidden_size}
        return int(eval(formula, {"__builtins__": {}, "len": len, "log2": math.log2, "sqrt": math.sqrt}, known))

    width = value(network.output_formula, input_size)
    first, others = value(network.formula, input_size), value(network.formula, width)
    return first + (num_layers - 1) * others + outputs * (width + 1 if outputs else 0)


def hidden_for_parameters(
    network: type[Core], input_size: int, budget: int, num_layers: int, outputs: int, options: Mapping[str, Any]
) -> int:
    """The hidden size, among those the network allows, whose number of parameters comes nearest to ``budget``."""

    def count(size: int) -> int:
        return count_parameters(network, input_size, size, num_layers, outputs, options)

    def allowed(size: int, step: int) -> int:
        while size > 0 and not network.allows(size, **options):
            size += step
        return size

    high = allowed(1, 1)
    while count(high) < budget:
        high = allowed(2 * high, 1)
    low = 0
    while high - low > 1:
        middle = allowed((low + high) // 2, -1)
        if middle <= low:
            # Nothing allowed in the lower half: go up to the first allowed size of the upper one.
            middle = allowed((low + high) // 2, 1)
            if middle >= high:
                break
        if count(middle) < budget:
            low = middle
        else:
            high = middle
    if low == 0 or count(high) - budget < budget - count(low):
        return high
    return low
