"""The generator: the published vectors, and that a number alone makes a sequence."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import stats

from slowfade.tasks.stream import Stream, philox


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
        ([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
        (
            [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
            [0xA4093822, 0x299F31D0],
            [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
        ),
    ],
)
def test_published_vectors(counter: list[int], key: list[int], expected: list[int]) -> None:
    """The known answers that come with Random123."""
    assert philox(np.array(counter, np.uint64), np.array(key, np.uint64)).tolist() == expected


def test_a_counter_is_mixed_alone() -> None:
    counters = np.random.RandomState(0).randint(0, 2**32, (4, 5, 3)).astype(np.uint64)
    key = np.array([3, 4], np.uint64)
    together = philox(counters, key)
    for i in range(5):
        for j in range(3):
            assert np.array_equal(philox(counters[:, i, j], key), together[:, i, j])


def test_a_number_always_names_the_same() -> None:
    stream = Stream(5, "somewhere")
    numbers = torch.randperm(1000)
    together = stream.words(numbers, 13)
    for row in (0, 17, 999):
        assert np.array_equal(stream.words(numbers[row : row + 1], 13)[0], together[row])
    assert np.array_equal(stream.words(numbers, 6), together[:, :6])


def test_no_two_streams_agree() -> None:
    numbers = torch.tensor([0, 1, 2**32, 2**32 + 1])
    rows = np.concatenate(
        [Stream(seed, name).words(numbers, 4) for seed in (0, 1, 2**32) for name in ("train", "validation")]
    )
    assert len(np.unique(rows)) == rows.size


def test_uniforms_are_uniform_and_independent() -> None:
    draws = Stream(1, "uniform").uniforms(torch.arange(20_000), 2)
    assert draws.min() > 0
    assert draws.max() < 1
    for column in draws.T:
        assert stats.kstest(column, "uniform").pvalue > 1e-3
    assert abs(np.corrcoef(draws.T)[0, 1]) < 4 / np.sqrt(20_000)
    assert abs(np.corrcoef(draws[:-1, 0], draws[1:, 0])[0, 1]) < 4 / np.sqrt(20_000)


def test_integers_are_balanced() -> None:
    counts = np.bincount(Stream(2, "integers").integers(torch.arange(7_000), 10, high=7).ravel(), minlength=7)
    assert len(counts) == 7
    assert stats.chisquare(counts).pvalue > 1e-3


def test_the_example() -> None:
    assert Stream(0, "example").integers(torch.tensor([7]), 3, high=10).tolist() == [[4, 6, 8]]
