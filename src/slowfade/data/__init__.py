"""Real data sets on disk: found, checked, parsed once, opened as memory maps."""

from __future__ import annotations

from slowfade.data.characters import Text
from slowfade.data.glove import Glove
from slowfade.data.imdb import Reviews, Texts
from slowfade.data.library import load, names, word_vectors
from slowfade.data.mnist import Mnist
from slowfade.data.physionet import Records
from slowfade.data.tokens import tokenise

__all__ = [
    "Glove",
    "Mnist",
    "Records",
    "Reviews",
    "Text",
    "Texts",
    "load",
    "names",
    "tokenise",
    "word_vectors",
]
