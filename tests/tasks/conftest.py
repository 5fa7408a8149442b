"""Small data sets in the formats of the real ones."""

from __future__ import annotations

from pathlib import Path

import jaxtyping
import numpy as np
import pytest

jaxtyping.install_import_hook("slowfade.tasks", "beartype.beartype")

TRAIN_IMAGES, TEST_IMAGES = 60, 12
TEXTS = {"train": 1003, "valid": 401, "test": 250}
REVIEWS = 20
"""Of each side, in each half."""
PATIENTS = 20
"""In each set."""


@pytest.fixture(scope="session")
def small_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("small")
    random = np.random.RandomState(0)
    _write_mnist(folder, random)
    for split, count in TEXTS.items():
        letters = random.choice(list("abcde_"), count - 1)
        (folder / f"ptb.char.{split}.txt").write_text(" " + " ".join(letters) + " \n")
    _write_reviews(folder, random)
    _write_patients(folder, random)
    return folder


@pytest.fixture
def small_data(small_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of small data sets, where the tasks find them."""
    monkeypatch.setenv("SLOWFADE_DATA", str(small_folder))
    monkeypatch.setenv("SLOWFADE_CACHE", str(small_folder / "cache"))
    return small_folder


def _write_mnist(folder: Path, random: np.random.RandomState) -> None:
    for part, count in (("train", TRAIN_IMAGES), ("t10k", TEST_IMAGES)):
        for kind, shape in (("images-idx3", (count, 28, 28)), ("labels-idx1", (count,))):
            values = random.randint(0, 256 if len(shape) == 3 else 10, shape).astype(np.uint8)
            head = bytes([0, 0, 8, len(shape)]) + np.array(shape, ">u4").tobytes()
            (folder / f"{part}-{kind}-ubyte").write_bytes(head + values.tobytes())


def _write_reviews(folder: Path, random: np.random.RandomState) -> None:
    """The vocabulary is w0 to w29, the earlier the more frequent; every third word has no vector."""
    words = [f"{letter}{letter}{second}" for letter in "abc" for second in "abcdefghij"]
    chances = 0.8 ** np.arange(30)
    for half in ("train", "test"):
        for side in ("neg", "pos"):
            path = folder / "aclImdb" / half / side
            path.mkdir(parents=True)
            for number in range(REVIEWS):
                text = random.choice(words, random.randint(3, 40), p=chances / chances.sum())
                (path / f"{number}_1.txt").write_text(" ".join([*text, "unseen"] if half == "test" else text))
    rows = [f"{word} " + " ".join(f"{x:.5f}" for x in random.randn(100)) for word in words[::3]]
    (folder / "glove.6B.100d.txt").write_text("\n".join(rows) + "\n")


def _write_patients(folder: Path, random: np.random.RandomState) -> None:
    for name, start in (("a", 1000), ("b", 2000)):
        (folder / f"set-{name}").mkdir()
        outcomes = ["RecordID,SAPS-I,SOFA,Length_of_stay,Survival,In-hospital_death"]
        for patient in range(start, start + PATIENTS):
            rows = ["Time,Parameter,Value", f"00:00,RecordID,{patient}", "00:00,Age,50", "00:00,Height,-1"]
            for minute in np.sort(random.randint(0, 2880, random.randint(1, 12))):
                clock = f"{minute // 60:02}:{minute % 60:02}"
                rows += [f"{clock},HR,{random.randint(50, 120)}", f"{clock},Temp,{random.uniform(36, 39):.1f}"]
            (folder / f"set-{name}" / f"{patient}.txt").write_text("\n".join(rows) + "\n")
            outcomes.append(f"{patient},1,1,1,1,{patient % 4 == 0:d}")
        (folder / f"Outcomes-{name}.txt").write_text("\n".join(outcomes) + "\n")
