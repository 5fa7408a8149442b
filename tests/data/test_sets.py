"""Every data set in every form it is found in, from small files written here."""

from __future__ import annotations

import gzip
import lzma
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from data import small_files as small
from slowfade import data
from slowfade.data import characters, glove, library, mnist
from slowfade.errors import UserError


def write_mnist_everywhere(folder: Path, form: str) -> None:
    arrays = small.mnist()
    if form == "torchvision":
        small.write_mnist(folder / "MNIST" / "raw", arrays)
    elif form == "compressed":
        small.write_mnist(folder, arrays, ".gz")
    else:
        for file, values in zip(small.MNIST_FILES, arrays, strict=True):
            small.write(folder / file.replace("-idx", ".idx"), small.idx(values))


@pytest.mark.parametrize("form", ["torchvision", "compressed", "dots"])
def test_mnist(folder: Path, form: str) -> None:
    write_mnist_everywhere(folder, form)
    for loaded, written in zip(data.load("mnist"), small.mnist(), strict=True):
        assert isinstance(loaded, np.memmap)
        np.testing.assert_array_equal(loaded, written)


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("train-images-idx3-ubyte", small.idx(np.zeros((5, 28, 28), np.uint8)), "are not of one length"),
        ("train-images-idx3-ubyte", small.idx(np.zeros((6, 28, 28), np.uint8))[:-1], "4,703 values instead of 4,704"),
        ("t10k-labels-idx1-ubyte", b"<html>", "is not an idx file of bytes"),
        ("t10k-labels-idx1-ubyte", b"", "is not an idx file of bytes"),
    ],
)
def test_mnist_that_is_damaged(folder: Path, file: str, content: bytes, message: str) -> None:
    small.write(small.write_mnist(folder, small.mnist()) / file, content)
    with pytest.raises(UserError, match=f"{message}.*: get MNIST again"):
        data.load("mnist")


def text_of(ids: np.ndarray, alphabet: tuple[str, ...]) -> str:
    return "".join(alphabet[number] for number in ids)


@pytest.mark.parametrize("form", ["words", "characters", "compressed", "mikolov"])
def test_ptb(folder: Path, form: str) -> None:
    if form == "mikolov":
        files = {f"./simple-examples/data/ptb.{part}.txt": text for part, text in small.PTB_WORDS.items()}
        small.tar(folder / "simple-examples.tgz", files)
    else:
        source = small.PTB_WORDS if form == "words" else small.PTB_CHARACTERS
        kind, ending = ("", "") if form == "words" else ("char.", ".gz" if form == "compressed" else "")
        for part, text in source.items():
            small.write(folder / "ptb" / f"ptb.{kind}{part}.txt{ending}", text)
    text = data.load("ptb")
    assert text_of(text.train, text.alphabet) == "aer_banknote_<unk>\nno_it_was_n't_black_monday\n"
    assert text_of(text.validation, text.alphabet) == "consumers_may_want\n"
    assert text_of(text.test, text.alphabet) == "N_years_old\nwill_join\n"
    assert list(text.alphabet) == sorted(set("".join(text_of(ids, text.alphabet) for ids in text[:3])))


TEXT8 = " anarchism originated as a term of abuse first used against early working class radicals" * 2


@pytest.mark.parametrize("form", ["text8", "text8.gz", "text8/text8.zip", "text8_first74000000.xz"])
def test_text8(folder: Path, form: str) -> None:
    if form.endswith(".zip"):
        small.zipped(folder / form, {"text8": TEXT8.encode()})
    elif form.endswith(".xz"):
        (folder / form).write_bytes(lzma.compress(TEXT8.encode()))
    else:
        small.write(folder / form, TEXT8.encode())
    text = data.load("text8")
    tail = len(TEXT8) // 10
    whole = TEXT8.replace(" ", "_")
    assert text_of(text.train, text.alphabet) == whole[: -2 * tail]
    assert text_of(text.validation, text.alphabet) == whole[-2 * tail : -tail]
    assert text_of(text.test, text.alphabet) == whole[-tail:]
    assert text.alphabet[:2] == ("_", "a")


def test_text8_cut_short_says_that_its_splits_are_its_own(tmp_path: Path) -> None:
    path = small.write(tmp_path / "text8", TEXT8.encode())
    note = characters.parse_text8([path]).note
    assert "176 of text8's 100,000,000 characters" in note
    assert "its last 17 for test and the 17 before them for validation" in note


def test_text8_of_full_length_must_have_the_published_checksum(tmp_path: Path) -> None:
    path = small.write(tmp_path / "text8", b"a" * 100_000_000)
    with pytest.raises(UserError, match="is damaged"):
        characters.parse_text8([path])


@pytest.mark.parametrize("form", ["aclImdb", "aclImdb_v1.tar.gz", "aclImdb_labelled.tar.xz", "aclImdb.zip"])
def test_imdb(folder: Path, form: str) -> None:
    if form == "aclImdb":
        small.tree(folder, small.reviews())
    else:
        (small.zipped if form.endswith(".zip") else small.tar)(folder / form, small.reviews())
    reviews = data.load("imdb")
    words = [*reviews.vocabulary, "?"]

    def read(texts: data.Texts, number: int) -> str:
        ids = texts.words[texts.offsets[number] : texts.offsets[number + 1]]
        return " ".join(words[number] for number in ids)

    assert reviews.vocabulary[:4] == ("a", ".", "film", "!")
    assert len(reviews.vocabulary) == len(set(reviews.vocabulary)) == 13
    assert reviews.train.labels.tolist() == [0, 1, 1]
    assert read(reviews.train, 0) == "it 's a bore ."
    assert read(reviews.train, 1) == "a film i do n't regret . a gem !"
    assert read(reviews.train, 2) == "a well-made film ."
    assert reviews.test.labels.tolist() == [0, 1]
    assert read(reviews.test, 1) == "a gem ? ? !"
    assert reviews.test.words.min() == -1


def test_imdb_without_reviews(folder: Path) -> None:
    small.tree(folder, {"aclImdb/README": b"read me"})
    with pytest.raises(UserError, match=r"holds no train/pos/0_9\.txt"):
        data.load("imdb")


WORDS = ["the", ",", "n't", "café", "u.s."]


@pytest.mark.parametrize("form", ["glove.6B.100d.txt", "glove.6B.100d.subset.txt.gz", "glove.6B.zip"])
def test_glove(folder: Path, form: str) -> None:
    values, text = small.vectors(WORDS)
    if form.endswith(".zip"):
        small.zipped(folder / form, {"glove.6B.50d.txt": b"the 1 2\n", "glove.6B.100d.txt": text})
    else:
        small.write(folder / form, text)
    vectors, found = data.word_vectors(["u.s.", "zounds", "the", "zounds"])
    np.testing.assert_array_equal(vectors[[0, 2]], values[[4, 0]])
    np.testing.assert_allclose(vectors[1], values[[4, 0]].mean(0), rtol=1e-6)
    np.testing.assert_array_equal(vectors[1], vectors[3])
    assert found.tolist() == [True, False, True, False]
    assert vectors.dtype == np.float32
    np.testing.assert_array_equal(data.load("glove").vectors, values)


def test_no_word_has_a_vector(folder: Path) -> None:
    small.write(folder / "glove.6B.100d.txt", small.vectors(WORDS)[1])
    with pytest.raises(UserError, match="none of the 2 words has a GloVe vector"):
        data.word_vectors(["Zounds", "gadzooks"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"the 1 2 3\n", "instead of 100: get glove.6B.100d again"),
        (b"", "does not hold glove.6B.100d.txt"),
        (b"the " + b"1 " * 99 + b"x\n", "is damaged .could not convert"),
    ],
)
def test_glove_that_is_damaged(folder: Path, text: bytes, message: str) -> None:
    small.write(folder / "glove.6B.100d.txt", text)
    with pytest.raises(UserError, match=message):
        data.load("glove")


def test_part_of_glove_is_not_imported_but_used_where_the_user_says(folder: Path, tmp_path: Path) -> None:
    path = small.write(tmp_path / "elsewhere" / "glove.6B.100d.txt", small.vectors(WORDS)[1])
    parsed = glove.parse([path])
    part = replace(glove.DATASET, genuine={"start_sha256": parsed.facts["start_sha256"]})
    with pytest.raises(UserError, match=r"is not the published glove \(5 of GloVe 6B's 400,000 words\)"):
        library.import_(part, path)
    small.write(folder / "glove.6B.100d.txt", small.vectors(WORDS)[1])
    assert len(part.view(library.opened(part, library.from_folder(part) or folder)).words) == len(WORDS)


def test_glove_of_full_length_must_have_the_published_checksum(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(glove, "WORDS", len(WORDS))
    path = small.write(tmp_path / "glove.6B.100d.txt", small.vectors(WORDS)[1])
    with pytest.raises(UserError, match="damaged or not the published GloVe 6B"):
        glove.parse([path])


@pytest.mark.parametrize("form", ["folders", "archives", "one archive"])
def test_physionet(folder: Path, form: str) -> None:
    files = small.physionet()
    if form == "one archive":
        small.tar(folder / "physionet2012_set-a_set-b.tar.xz", files)
    elif form == "folders":
        small.tree(folder / "challenge", files)
    else:
        small.tree(folder, {name: text for name, text in files.items() if name.startswith("Outcomes")})
        for part, make, ending in (("a", small.tar, "tar.gz"), ("b", small.zipped, "zip")):
            prefix = f"set-{part}/"
            make(folder / f"set-{part}.{ending}", {name: t for name, t in files.items() if name.startswith(prefix)})
    records = data.load("physionet2012")
    assert records.parameters == ("Age", "HR", "Height", "Temp")
    assert records.patients.tolist() == [132539, 132540, 142675]
    assert records.labels.tolist() == [0, 1, 1]
    assert records.offsets.tolist() == [0, 4, 6, 8]
    assert [records.parameters[number] for number in records.parameter[:4]] == ["Age", "Height", "HR", "Temp"]
    np.testing.assert_allclose(records.time, [0, 0, 7 / 60, 47 + 37 / 60, 0, 1.5, 0, 0.7], rtol=1e-6)
    np.testing.assert_allclose(records.value, [54, -1, 73, 37.8, 76, 88.5, 70, 35.1], rtol=1e-6)


def test_physionet_that_is_damaged(folder: Path) -> None:
    files = small.physionet()
    small.tree(folder, files)
    small.write(folder / "set-a" / "132540.txt", files["set-a/132540.txt"][:-8])
    with pytest.raises(UserError, match=r"132540.txt is cut short or damaged"):
        data.load("physionet2012")
    (folder / "set-a" / "132540.txt").unlink()
    with pytest.raises(UserError, match="2 records but outcomes for 3 patients"):
        data.load("physionet2012")


def test_gzip_files_in_a_folder_of_archives(tmp_path: Path) -> None:
    path = small.zipped(tmp_path / "mnist.zip", {})
    files = {
        f"mnist/{name}.gz": gzip.compress(small.idx(values))
        for name, values in zip(small.MNIST_FILES, small.mnist(), strict=True)
    }
    small.zipped(path, files)
    np.testing.assert_array_equal(mnist.parse([path]).arrays["test_images"], small.mnist()[2])
