"""How a review is split into the words that GloVe knows."""

from __future__ import annotations

import re

#: Typographic and Windows punctuation, in the signs GloVe knows.
PLAIN = str.maketrans(
    {
        "’": "'",
        "´": "'",
        "\x91": "'",
        "\x92": "'",
        "\x93": '"',
        "\x94": '"',
        "\x85": "...",
        "\x96": " -- ",
        "\x97": " -- ",
    }
)
CONTRACTIONS = re.compile(r"(?<=[^\W_])(n't|'(?:s|m|d|ll|re|ve))\b")
TOKENS = re.compile(
    r"""
      n't | '(?:s|m|d|ll|re|ve)\b       # what contractions leave
    | (?:[^\W\d_]\.){2,}                # u.s.
    | \d+(?:[.,:]\d+)*                  # 1,000 3.5 7:30
    | [^\W_]+(?:[-'][^\W_]+)*           # words, hyphens kept: well-made, o'clock
    | \.\.\. | -- | [^\w\s]             # punctuation, each its own token
    """,
    re.VERBOSE,
)


def tokenise(text: str) -> list[str]:
    """Words and punctuation in lower case, as Penn Treebank and GloVe split them.

    ``<br />`` separates like a blank. Contractions are cut before their clitic: ``don't`` is ``do n't``, ``can't`` is
    ``ca n't``, ``it's`` is ``it 's``. Hyphenated words stay whole. Underscores, used for emphasis, are dropped.

    >>> tokenise("Don't miss it.<br /><br />It's _well-made_!")
    ['do', "n't", 'miss', 'it', '.', 'it', "'s", 'well-made', '!']
    """
    plain = text.lower().replace("<br />", " ").translate(PLAIN)
    return TOKENS.findall(CONTRACTIONS.sub(r" \1", plain))
