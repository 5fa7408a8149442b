"""GloVe 6B: word vectors of width 100, for 400,000 words (Pennington, Socher and Manning 2014)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float32

from slowfade.data.archives import members
from slowfade.data.dataset import Dataset, Remote
from slowfade.data.store import Parsed, digest_of
from slowfade.errors import UserError

WIDTH = 100
WORDS = 400_000
SHA256 = "95dde4dfd627ab26608d33e76d1195ec059734bd29089ea52cadb08d07c64544"
#: A subset in the file's order is recognised by its first lines.
KNOWN = 2717


class Glove(NamedTuple):
    words: tuple[str, ...]
    """The most frequent first."""
    vectors: Float32[np.ndarray, "words 100"]

    def of(self, words: Sequence[str]) -> tuple[Float32[np.ndarray, "words 100"], Bool[np.ndarray, " words"]]:
        """The vectors of some words, and which were found. Words not found get the mean of those found."""
        rank = {word: number for number, word in enumerate(self.words)}
        rows = np.array([rank.get(word, -1) for word in words], np.int64)
        found = rows >= 0
        if not found.any():
            raise UserError(f"none of the {len(words):,} words has a GloVe vector: they are lower-case English words")
        vectors = self.vectors[rows]
        vectors[~found] = vectors[found].mean(0, dtype=np.float64)
        return vectors, found


def parse(paths: Sequence[Path]) -> Parsed:
    words: list[str] = []
    blocks = []
    sha = hashlib.sha256()
    for name, stream in members(paths[0]):
        if not PurePosixPath(name).name.startswith("glove.6B.100d"):
            continue
        while lines := list(islice(stream, 10_000)):
            sha.update(b"".join(lines))
            pairs = [line.split(b" ", 1) for line in lines]
            blocks.append(_numbers(paths[0], b" ".join(pair[-1] for pair in pairs), len(lines)))
            words.extend(pair[0].decode("utf-8") for pair in pairs)
        break
    if not words:
        raise UserError(f"{paths[0]} does not hold glove.6B.100d.txt: get GloVe 6B again")
    if len(words) >= WORDS and sha.hexdigest() != SHA256:
        raise UserError(f"{paths[0]} is damaged or not the published GloVe 6B: slowfade data fetch glove")
    vectors = np.concatenate(blocks)
    note = "" if len(words) == WORDS else f"{len(words):,} of GloVe 6B's {WORDS:,} words"
    arrays = {"words": np.frombuffer("\n".join(words).encode(), np.uint8), "vectors": vectors}
    return Parsed(arrays, {"words": len(words), "start_sha256": digest_of(vectors[:KNOWN])}, note)


def _numbers(path: Path, text: bytes, lines: int) -> Float32[np.ndarray, "lines 100"]:
    try:
        values = np.array(text.split(), np.float32)
    except ValueError as error:
        raise UserError(f"{path} is damaged ({error}): get glove.6B.100d again") from error
    if values.size != lines * WIDTH:
        raise UserError(
            f"{path} has {values.size / lines:g} numbers a word instead of {WIDTH}: get glove.6B.100d again"
        )
    return values.reshape(lines, WIDTH)


DATASET = Dataset(
    name="glove",
    title="GloVe 6B word vectors, width 100",
    terms="public domain (PDDL)",
    forms=(
        (
            (
                "glove.6B.100d.txt",
                "glove.6B.100d.txt.gz",
                "glove.6B.zip",
                "glove.6B.100d.zip",
                "glove.6B.100d.subset.txt.gz",
            ),
        ),
    ),
    downloads=(
        Remote(
            "glove.6B.zip",
            "617afb2fe6cbd085c235baf7a465b96f4112bd7f7ccb2b2cbd649fed9cbcf2fb",
            (
                "https://nlp.stanford.edu/data/glove.6B.zip",
                "https://downloads.cs.stanford.edu/nlp/data/glove.6B.zip",
                "https://huggingface.co/stanfordnlp/glove/resolve/main/glove.6B.zip",
            ),
        ),
    ),
    megabytes=862,
    parse=parse,
    view=lambda parsed: Glove(tuple(parsed.arrays["words"].tobytes().decode().split("\n")), parsed.arrays["vectors"]),
    genuine={"start_sha256": "51bc32b2a41cec137efe635411cd7e9bdc65f9f2a44630137e95ea87941d4972"},
)
