"""Pixel by pixel: the reading order, the split, the real digits."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import torch

from slowfade import data, tasks


def test_reading_order(small_data: Path) -> None:
    """Row after row from top to bottom, from 0 to 1."""
    batch = tasks.build("pixels").batch("train", torch.tensor([4, 7]))
    images = data.load("mnist").train_images[[4, 7]]
    for row, image in zip(batch.inputs, images, strict=True):
        for step in (0, 27, 28, 400, 783):
            assert row[step, 0] == np.float32(image[step // 28, step % 28]) / 255
    assert batch.targets.tolist() == data.load("mnist").train_labels[[4, 7]].tolist()


def test_split(small_data: Path) -> None:
    """The last sixth of the training images is for validation."""
    task = tasks.build("pixels")
    assert [task.size(split) for split in tasks.SPLITS] == [50, 10, 12]
    images = data.load("mnist").train_images
    first = task.batch("validation", torch.tensor([0])).inputs.view(28, 28)
    assert torch.equal(first, torch.from_numpy(images[50].astype(np.float32) / 255))


@pytest.mark.parametrize("permutation", ["92916", "lmu", "nru"])
def test_permuted(small_data: Path, permutation: str) -> None:
    plain = tasks.build("pixels").batch("test", torch.arange(5)).inputs
    task = tasks.build("pixels", permuted=True, permutation=permutation)
    permuted = task.batch("test", torch.arange(5)).inputs
    assert sorted(task.order.tolist()) == list(range(784))
    assert torch.equal(permuted, plain[:, task.order])
    assert not torch.equal(permuted, plain)


def test_permutations_are_those_of_the_papers() -> None:
    """Their first entries, as the named generators give them."""
    orders = {name: tasks.build("pixels", permuted=True, permutation=name).order for name in ("92916", "lmu", "nru")}
    assert orders["lmu"].tolist() == np.random.RandomState(0).permutation(784).tolist()
    assert orders["92916"].tolist() == np.random.RandomState(92916).permutation(784).tolist()
    shuffled = np.random.RandomState(50)
    shuffled.permutation(60_000)
    assert orders["nru"].tolist() == shuffled.permutation(784).tolist()


@pytest.mark.data
@pytest.mark.skipif("SLOWFADE_DATA" not in os.environ, reason="needs the real data sets")
def test_real_digits() -> None:
    task = tasks.build("pixels")
    assert [task.size(split) for split in tasks.SPLITS] == [50_000, 10_000, 10_000]
    whole = task.batch("test", torch.arange(10_000))
    assert whole.inputs.mean().item() == pytest.approx(0.1325, abs=1e-4)
    assert whole.targets[:10].tolist() == [7, 2, 1, 0, 4, 1, 4, 9, 5, 9]
    assert torch.bincount(task.batch("train", torch.arange(50_000)).targets).min() > 4500
