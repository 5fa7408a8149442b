"""Shapes in signatures are checked at every call."""

from __future__ import annotations

import jaxtyping

jaxtyping.install_import_hook("slowfade.analysis", "beartype.beartype")
