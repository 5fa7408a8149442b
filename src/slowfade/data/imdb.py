"""IMDB: 50,000 movie reviews, in the official halves for training and test (Maas et al. 2011)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Int32, Int64, UInt8

from slowfade.data.archives import members
from slowfade.data.dataset import Dataset, Remote
from slowfade.data.store import Parsed, digest_of
from slowfade.data.tokens import tokenise
from slowfade.errors import UserError


class Texts(NamedTuple):
    """Review ``i`` is ``words[offsets[i]:offsets[i + 1]]``."""

    words: Int32[np.ndarray, " words"]
    """Ranks in the vocabulary; -1: not in the vocabulary."""
    offsets: Int64[np.ndarray, " reviews_and_one"]
    labels: UInt8[np.ndarray, " reviews"]
    """1 positive, 0 negative."""


class Reviews(NamedTuple):
    train: Texts
    test: Texts
    vocabulary: tuple[str, ...]
    """All words of the training reviews, the most frequent first; equally frequent ones by alphabet."""


MEMBER = re.compile(r"(?:^|/)(train|test)/(pos|neg)/(\d+)_\d+\.txt$")


def parse(paths: Sequence[Path]) -> Parsed:
    """Reviews in the order negative, positive; in each by number."""
    numbers: dict[str, int] = {}
    found: dict[str, dict[tuple[bool, int], Int32[np.ndarray, " words"]]] = {"train": {}, "test": {}}
    for name, stream in members(paths[0]):
        if match := MEMBER.search(name):
            split, side, number = match.groups()
            words = tokenise(stream.read().decode("utf-8"))
            ids = np.array([numbers.setdefault(word, len(numbers)) for word in words], np.int32)
            found[split][side == "pos", int(number)] = ids
    if not (found["train"] and found["test"]):
        raise UserError(f"{paths[0]} holds no train/pos/0_9.txt and the like: get aclImdb_v1 again")

    counts = np.bincount(np.concatenate(list(found["train"].values())), minlength=len(numbers))
    vocabulary = sorted(
        (word for word, number in numbers.items() if counts[number]), key=lambda word: (-counts[numbers[word]], word)
    )
    rank = np.full(len(numbers), -1, np.int32)
    rank[[numbers[word] for word in vocabulary]] = np.arange(len(vocabulary))

    arrays: dict[str, np.ndarray] = {}
    facts: dict[str, object] = {}
    for split, reviews in found.items():
        keys = sorted(reviews)
        arrays[f"{split}_words"] = rank[np.concatenate([reviews[key] for key in keys])]
        arrays[f"{split}_offsets"] = np.cumsum([0, *(len(reviews[key]) for key in keys)], dtype=np.int64)
        arrays[f"{split}_labels"] = np.array([positive for positive, _ in keys], np.uint8)
        positive = int(arrays[f"{split}_labels"].sum())
        facts |= {f"{split}_positive": positive, f"{split}_negative": len(keys) - positive}
    arrays["vocabulary"] = np.frombuffer("\n".join(vocabulary).encode(), np.uint8)
    return Parsed(arrays, {**facts, "sha256": digest_of(*arrays.values())})


def view(parsed: Parsed) -> Reviews:
    train, test = (
        Texts(*(parsed.arrays[f"{split}_{field}"] for field in Texts._fields)) for split in ("train", "test")
    )
    return Reviews(train, test, tuple(parsed.arrays["vocabulary"].tobytes().decode().split("\n")))


DATASET = Dataset(
    name="imdb",
    title="IMDB movie reviews, 25,000 + 25,000",
    terms="research; cite Maas et al. 2011",
    forms=(
        (
            (
                "aclImdb/",
                "aclImdb.zip",
                "aclImdb_v1.tar.gz",
                "aclImdb_v1.tar",
                "aclImdb.tar.gz",
                "aclImdb_labelled.tar.xz",
            ),
        ),
    ),
    downloads=(
        Remote(
            "aclImdb_v1.tar.gz",
            "c40f74a18d3b61f90feba1e17730e0d38e8b97c05fde7008942e91923d1658fe",
            (
                "https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",
                "https://dataset.bj.bcebos.com/imdb%2FaclImdb_v1.tar.gz",
                "https://www.dropbox.com/s/yviic64qv84x73j/aclImdb_v1.tar.gz?dl=1",
            ),
        ),
    ),
    megabytes=84,
    parse=parse,
    view=view,
    genuine={
        "train_positive": 12500,
        "train_negative": 12500,
        "test_positive": 12500,
        "test_negative": 12500,
        "sha256": "e80eb172b17114577ad2ff3f84909150a2fc6f1e08f5cd67daec2bed6d495336",
    },
)
