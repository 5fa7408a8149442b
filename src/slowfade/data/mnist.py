"""MNIST: 70,000 handwritten digits (LeCun, Cortes and Burges)."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import numpy as np
from jaxtyping import UInt8

from slowfade.data.archives import members
from slowfade.data.dataset import Dataset, Remote
from slowfade.data.store import Parsed, digest_of
from slowfade.errors import UserError


class Mnist(NamedTuple):
    train_images: UInt8[np.ndarray, "60000 28 28"]
    train_labels: UInt8[np.ndarray, " 60000"]
    test_images: UInt8[np.ndarray, "10000 28 28"]
    test_labels: UInt8[np.ndarray, " 10000"]


FILES = {
    "train_images": "train-images-idx3-ubyte",
    "train_labels": "train-labels-idx1-ubyte",
    "test_images": "t10k-images-idx3-ubyte",
    "test_labels": "t10k-labels-idx1-ubyte",
}


def parse(paths: Sequence[Path]) -> Parsed:
    arrays = {}
    for path in paths:
        for name, stream in members(path):
            plain = PurePosixPath(name).name.replace(".idx", "-idx")
            for array, file in FILES.items():
                if plain == file:
                    arrays[array] = idx(path, stream.read())
    missing = [file for array, file in FILES.items() if array not in arrays]
    if missing:
        raise UserError(
            f"{paths[0]} does not hold {' and '.join(missing)}: give the folder with all four files of MNIST"
        )
    for images, labels in (("train_images", "train_labels"), ("test_images", "test_labels")):
        if len(arrays[images]) != len(arrays[labels]):
            raise UserError(f"{paths[0].parent}: {images} and {labels} are not of one length: get MNIST again")
    ordered = {array: arrays[array] for array in FILES}
    facts = {array: len(values) for array, values in ordered.items()}
    return Parsed(ordered, {**facts, "sha256": digest_of(*ordered.values())})


def idx(path: Path, content: bytes) -> UInt8[np.ndarray, ...]:
    """The array in an idx file: two zero bytes, type 8 (unsigned bytes), the rank, big-endian sizes, the values."""
    if len(content) < 4 or content[:3] != b"\0\0\x08" or len(content) < 4 + 4 * content[3]:
        raise UserError(f"{path} is not an idx file of bytes: get MNIST again")
    start = 4 + 4 * content[3]
    shape = tuple(int(size) for size in np.frombuffer(content[4:start], ">u4"))
    if len(content) != start + prod(shape):
        raise UserError(f"{path} has {len(content) - start:,} values instead of {prod(shape):,}: get MNIST again")
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)


def _mirrors(file: str) -> tuple[str, ...]:
    hosts = (
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
        "https://storage.googleapis.com/cvdf-datasets/mnist/",
        "http://yann.lecun.com/exdb/mnist/",
    )
    return tuple(f"{host}{file}" for host in hosts)


CHECKSUMS = {
    "train_images": "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    "train_labels": "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    "test_images": "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    "test_labels": "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
}

DATASET = Dataset(
    name="mnist",
    title="MNIST handwritten digits, 60,000 + 10,000",
    terms="free to use (CC BY-SA 3.0)",
    forms=(
        tuple(
            (file, f"{file}.gz", file.replace("-idx", ".idx"), f"{file.replace('-idx', '.idx')}.gz")
            for file in FILES.values()
        ),
    ),
    downloads=tuple(Remote(f"{file}.gz", CHECKSUMS[array], _mirrors(f"{file}.gz")) for array, file in FILES.items()),
    parse=parse,
    megabytes=12,
    view=lambda parsed: Mnist(**parsed.arrays),
    genuine={
        "train_images": 60000,
        "test_images": 10000,
        "sha256": "06b0d1f124c4e5fa796686ade41a9b778edacc8622f2195a352ef479ad44fc16",
    },
)
