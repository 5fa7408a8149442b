"""Turns ``$...$`` and ``$$...$$`` into MathML when the site is built, so that its pages need no script for formulas."""

import re
from typing import Any

from latex2mathml.converter import convert

CODE_OR_MATH = re.compile(r"(```.*?```|`[^`\n]+`)|\$\$(.+?)\$\$|\$([^$\n]+?)\$", re.DOTALL)


def on_page_markdown(markdown: str, **_: Any) -> str:
    def replace(match: re.Match[str]) -> str:
        code, display, inline = match.groups()
        if code is not None:
            return code
        return f"\n\n{convert(display.strip(), display='block')}\n\n" if display else f"<span>{convert(inline)}</span>"

    return CODE_OR_MATH.sub(replace, markdown)
