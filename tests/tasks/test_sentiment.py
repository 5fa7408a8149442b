"""Film reviews: the dictionary, cutting and padding, the split."""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np
import pytest
import torch

from slowfade import data, tasks


def test_words_are_cut_and_padded_right(small_data: Path) -> None:
    task = tasks.build("sentiment", words=12, dictionary=20)
    reviews = data.load("imdb").train
    where = dict.fromkeys((0, 1), 0)
    seen = []
    for split in ("train", "validation"):
        batch = task.batch(split, torch.arange(task.size(split)))
        lengths = task.review_lengths(split)
        assert torch.equal(batch.lengths, lengths.clamp(max=12))
        for row in range(task.size(split)):
            shown = batch.inputs[row, : batch.lengths[row]].tolist()
            assert (batch.inputs[row, batch.lengths[row] :] == 20).all()
            seen.append((shown, int(batch.targets[row]), int(lengths[row])))
            where[int(batch.targets[row])] += 1
    expected = []
    for number in range(40):
        words = reviews.words[reviews.offsets[number] : reviews.offsets[number + 1]].tolist()
        expected.append(([min(word, 20) for word in words[:12]], int(reviews.labels[number]), len(words)))
    assert sorted(seen) == sorted(expected)
    assert where == {0: 20, 1: 20}


def test_unknown_words_get_the_mean_vector(small_data: Path) -> None:
    task = tasks.build("sentiment", dictionary=20)
    table = task.encoding.table
    vectors, found = data.word_vectors(data.load("imdb").vocabulary[:20])
    assert 0 < found.sum() < 20
    mean = torch.from_numpy(vectors[found].mean(0))
    assert table.shape == (21, 100)
    torch.testing.assert_close(table[:20][torch.from_numpy(found)], torch.from_numpy(vectors[found]))
    for row in [*np.flatnonzero(~found).tolist(), 20]:
        torch.testing.assert_close(table[row], mean)
    last = task.batch("test", torch.tensor([0]))
    assert last.inputs[0, last.lengths[0] - 1] == 20, "a word that training never saw"


def test_the_split_is_always_the_same(small_data: Path) -> None:
    first, second = (tasks.build("sentiment") for _ in range(2))
    assert [first.size(split) for split in tasks.SPLITS] == [36, 4, 40]
    for split in tasks.SPLITS:
        assert torch.equal(first.review_lengths(split), second.review_lengths(split))


def test_loss_and_accuracy(small_data: Path) -> None:
    task = tasks.build("sentiment")
    batch = task.batch("test", torch.arange(40))
    assert task.loss(torch.zeros(40, 1), batch).mean.item() == pytest.approx(math.log(2))
    sure = (2.0 * batch.targets - 1)[:, None]
    sure[:10] *= -1
    assert task.measures(sure, batch)["accuracy"].mean == 0.75
    wrong, right = math.log1p(math.exp(1)), math.log1p(math.exp(-1))
    assert task.loss(sure, batch).mean.item() == pytest.approx(0.25 * wrong + 0.75 * right)


@pytest.mark.data
@pytest.mark.skipif("SLOWFADE_DATA" not in os.environ, reason="needs the real data sets")
def test_real_reviews() -> None:
    task = tasks.build("sentiment")
    assert [task.size(split) for split in tasks.SPLITS] == [22_500, 2_500, 25_000]
    validation = task.batch("validation", torch.arange(2_500))
    assert abs(validation.targets.double().mean().item() - 0.5) < 0.03
    assert validation.inputs.shape == (2_500, 400)
    assert task.encoding.table.shape == (25_001, 100)
    assert 150 < task.review_lengths("test").median() < 250
    known = task.batch("test", torch.arange(1000))
    valid = torch.arange(400) < known.lengths[:, None]
    assert (known.inputs[valid] < 25_000).double().mean() > 0.95
