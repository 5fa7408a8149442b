"""What a user should hear at run time, once."""

from __future__ import annotations

import warnings
from functools import cache


@cache
def say_once(message: str) -> None:
    """Warn with this message, unless it was said before in this process."""
    warnings.warn(message, RuntimeWarning, stacklevel=3)
