"""The real data sets, where ``SLOWFADE_DATA`` has them: published counts, and contents known from elsewhere."""

from __future__ import annotations

import hashlib
import os

import numpy as np
import pytest

from slowfade import data
from slowfade.data import library

pytestmark = pytest.mark.data


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> object:
    if not os.environ.get("SLOWFADE_DATA"):
        pytest.skip("SLOWFADE_DATA is not set")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLOWFADE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def facts(name: str) -> dict[str, object]:
    folder = library.from_folder(library.DATASETS[name])
    assert folder is not None, f"SLOWFADE_DATA does not hold {name}"
    parsed = library.opened(library.DATASETS[name], folder)
    return {**parsed.facts, "note": parsed.note}


@pytest.mark.parametrize("name", ["mnist", "ptb", "imdb", "physionet2012"])
def test_as_published(name: str) -> None:
    assert facts(name)["note"] == ""


def test_mnist() -> None:
    mnist = data.load("mnist")
    assert mnist.train_images.shape == (60000, 28, 28)
    assert mnist.test_images.shape == (10000, 28, 28)
    # The counts of the digits, the first labels, and the mean and deviation that everybody normalises with.
    assert np.bincount(mnist.train_labels).tolist() == [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert np.bincount(mnist.test_labels).tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    assert mnist.train_labels[:10].tolist() == [5, 0, 4, 1, 9, 2, 1, 3, 1, 4]
    assert mnist.test_labels[:10].tolist() == [7, 2, 1, 0, 4, 1, 4, 9, 5, 9]
    assert mnist.train_images.mean() / 255 == pytest.approx(0.1307, abs=5e-5)
    assert mnist.train_images.std() / 255 == pytest.approx(0.3081, abs=5e-5)
    assert not mnist.train_images[:, 0, 0].any()


def test_ptb() -> None:
    text = data.load("ptb")
    assert [len(part) for part in text[:3]] == [5017482, 393042, 442423]
    assert len(text.alphabet) == 50
    start = "".join(text.alphabet[number] for number in text.train[:30])
    assert start == "aer_banknote_berlitz_calloway_"
    newline = text.alphabet.index("\n")
    assert [int((part == newline).sum()) for part in text[:3]] == [42068, 3370, 3761]
    words = "".join(text.alphabet[number] for number in text.train).replace("\n", "_eos_").strip("_").split("_")
    assert (len(words), len(set(words))) == (929589, 10000)


def test_text8() -> None:
    text = data.load("text8")
    assert (len(text.validation), len(text.test), len(text.alphabet)) == (5_000_000, 5_000_000, 27)
    start = "".join(text.alphabet[number] for number in text.train[:60])
    assert start == "_anarchism_originated_as_a_term_of_abuse_first_used_against_"
    total = len(text.train) + 10_000_000
    assert ("not the standard ones" in text.note) == (total != 100_000_000)


def test_imdb() -> None:
    reviews = data.load("imdb")
    for texts in (reviews.train, reviews.test):
        assert np.bincount(texts.labels).tolist() == [12500, 12500]
        assert len(texts.words) == texts.offsets[-1]
        assert np.diff(texts.offsets).min() >= 5
    counts = np.bincount(reviews.train.words, minlength=len(reviews.vocabulary))
    assert (np.diff(counts) <= 0).all()
    assert counts.min() == 1
    assert reviews.train.words.min() == 0
    assert reviews.test.words.min() == -1
    first = reviews.train.words[reviews.train.offsets[12500] : reviews.train.offsets[12501]]
    assert " ".join(reviews.vocabulary[word] for word in first).startswith("bromwell high is a cartoon comedy . it ran")


def test_glove_covers_the_vocabulary_of_the_reviews() -> None:
    vocabulary = data.load("imdb").vocabulary[:25000]
    vectors, found = data.word_vectors(vocabulary)
    assert found.mean() > 0.96
    words = data.load("imdb").train.words
    counts = np.bincount(words, minlength=25000)[:25000]
    assert (counts * found).sum() / len(words) > 0.97
    assert found[[vocabulary.index(word) for word in ("n't", "'s", "ca", "--", "...", '"')]].all()
    the = vectors[vocabulary.index("the")]
    np.testing.assert_array_equal(the[:3], np.array([-0.038194, -0.24487, 0.72812], np.float32))
    unknown = vectors[~found]
    np.testing.assert_array_equal(unknown, np.broadcast_to(unknown[0], unknown.shape))
    np.testing.assert_allclose(unknown[0], vectors[found].mean(0, dtype=np.float64), rtol=1e-6)


def test_physionet() -> None:
    records = data.load("physionet2012")
    assert len(records.patients) == len(records.labels) == len(records.offsets) - 1 == 8000
    assert [int(records.labels[:4000].sum()), int(records.labels[4000:].sum())] == [554, 568]
    assert (np.diff(records.patients) > 0).all()
    assert len(records.parameters) == 41
    assert records.time.min() >= 0
    assert records.time.max() <= 48
    within = np.ones(len(records.time) - 1, bool)
    within[records.offsets[1:-1] - 1] = False
    assert (np.diff(records.time)[within] >= 0).all()


def test_the_same_from_words_and_from_characters() -> None:
    places = list(library.sources(library.DATASETS["ptb"]))
    sums = {hashlib.sha256(characters_of(places_).encode()).hexdigest() for places_ in places}
    assert len(places) >= 2
    assert len(sums) == 1


def characters_of(paths: object) -> str:
    return str(library.DATASETS["ptb"].parse(paths).facts["sha256"])
