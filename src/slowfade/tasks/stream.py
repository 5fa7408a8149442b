"""Random numbers by name: a counter-based generator, so that a sequence's number is all it takes to make it.

Philox4x32-10 (Salmon et al. 2011): a keyed mixing of a 128-bit counter into 128 random bits. Nothing is carried from
one draw to the next, so any part of any stream can be had in any order, by any process, many at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from zlib import crc32

import numpy as np
from jaxtyping import Float64, Int64, UInt32, UInt64
from torch import Tensor

Array = np.ndarray

ROUNDS = 10
MULTIPLIERS = np.array([0xD2511F53, 0xCD9E8D57], dtype=np.uint64)
KEY_STEPS = np.array([0x9E3779B9, 0xBB67AE85], dtype=np.uint64)
LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)


def philox(counter: UInt64[Array, 4 * shape], key: UInt64[Array, " 2"]) -> UInt64[Array, 4 * shape]:
    """Philox4x32-10: the counter's and the key's words hold 32 bits each, and so do the result's."""
    shape = (2, *[1] * (counter.ndim - 1))
    even, odd = counter[0::2], counter[1::2]
    for _ in range(ROUNDS):
        product = even * MULTIPLIERS.reshape(shape)
        even = (product >> HALF)[::-1] ^ odd ^ key.reshape(shape)
        odd = (product & LOW)[::-1]
        key = (key + KEY_STEPS) & LOW
    return np.stack([even, odd], axis=1).reshape(counter.shape)


@dataclass(frozen=True)
class Stream:
    """Random numbers of one kind: those of a sequence depend on the seed, the name and the sequence's number only.

    >>> Stream(0, "example").integers(torch.tensor([7]), 3, high=10)
    array([[4, 6, 8]])
    """

    seed: int
    name: str

    def words(self, numbers: Int64[Tensor, " batch"], count: int) -> UInt32[Array, "batch count"]:
        """``count`` times 32 random bits for each sequence; more of them begin with the same."""
        sequences = numbers.numpy().astype(np.uint64)[:, None]
        blocks = np.arange(-(-count // 4), dtype=np.uint64)
        counter = np.empty((4, len(sequences), len(blocks)), dtype=np.uint64)
        counter[0], counter[1], counter[2] = blocks, sequences & LOW, sequences >> HALF
        counter[3] = crc32(self.name.encode())
        key = np.array([self.seed & 0xFFFFFFFF, self.seed >> 32 & 0xFFFFFFFF], dtype=np.uint64)
        words = np.moveaxis(philox(counter, key), 0, -1).reshape(len(sequences), 4 * len(blocks))
        return words[:, :count].astype(np.uint32)

    def uniforms(self, numbers: Int64[Tensor, " batch"], count: int) -> Float64[Array, "batch count"]:
        """Numbers from the open interval (0, 1), 2^32 different ones."""
        return (self.words(numbers, count) + 0.5) * 2.0**-32

    def integers(self, numbers: Int64[Tensor, " batch"], count: int, high: int) -> Int64[Array, "batch count"]:
        """Numbers from ``0 .. high - 1``; each has its share to within ``high / 2^32`` of it."""
        return (self.words(numbers, count).astype(np.uint64) * np.uint64(high) >> HALF).astype(np.int64)
