"""The data sets in miniature, in the formats they are published in, written to disk."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from pathlib import Path

import numpy as np

MNIST_FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)
PTB_WORDS = {
    "train": b" aer banknote <unk> \n no it was n't black monday \n",
    "valid": b" consumers may want \n",
    "test": b" N years old \n will join \n",
}
PTB_CHARACTERS = {
    "train": b"a e r _ b a n k n o t e _ < u n k > \n n o _ i t _ w a s _ n ' t _ b l a c k _ m o n d a y \n ",
    "valid": b"c o n s u m e r s _ m a y _ w a n t \n ",
    "test": b"N _ y e a r s _ o l d \n w i l l _ j o i n \n ",
}
REVIEWS = {
    "train/pos/0_9.txt": "A film I don't regret.<br /><br />A gem!",
    "train/pos/10_7.txt": "A well-made film.",
    "train/neg/2_1.txt": "It's a bore.",
    "test/pos/1_10.txt": "A gem, zounds!",
    "test/neg/0_2.txt": "A bore.",
    "train/unsup/0_0.txt": "Unlabelled words.",
}
RECORDS = {
    "set-a/132539.txt": ["00:00,RecordID,132539", "00:00,Age,54", "00:00,Height,-1", "00:07,HR,73", "47:37,Temp,37.8"],
    "set-a/132540.txt": ["00:00,RecordID,132540", "00:00,Age,76", "01:30,HR,88.5"],
    "set-b/142675.txt": ["00:00,RecordID,142675", "00:00,Age,70", "00:42,Temp,35.1"],
}
OUTCOMES = {
    "Outcomes-a.txt": ["132539,6,1,5,-1,0", "132540,16,8,8,-1,1"],
    "Outcomes-b.txt": ["142675,27,14,9,7,1"],
}


def idx(values: np.ndarray) -> bytes:
    return bytes([0, 0, 8, values.ndim]) + b"".join(size.to_bytes(4, "big") for size in values.shape) + values.tobytes()


def mnist(seed: int = 0) -> list[np.ndarray]:
    """Images and labels of 6 training and 3 test digits."""
    random = np.random.default_rng(seed)
    shapes = [(6, 28, 28), (6,), (3, 28, 28), (3,)]
    return [random.integers(256 if len(shape) == 3 else 10, size=shape, dtype=np.uint8) for shape in shapes]


def write_mnist(folder: Path, arrays: list[np.ndarray], ending: str = "") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for file, values in zip(MNIST_FILES, arrays, strict=True):
        write(folder / f"{file}{ending}", idx(values))
    return folder


def write(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def reviews() -> dict[str, bytes]:
    return {f"aclImdb/{name}": text.encode() for name, text in REVIEWS.items()}


def physionet() -> dict[str, bytes]:
    records = {name: "\n".join(["Time,Parameter,Value", *rows, ""]) for name, rows in RECORDS.items()}
    header = "RecordID,SAPS-I,SOFA,Length_of_stay,Survival,In-hospital_death"
    outcomes = {name: "\n".join([header, *rows, ""]) for name, rows in OUTCOMES.items()}
    return {name: text.encode() for name, text in (records | outcomes).items()}


def vectors(words: list[str]) -> tuple[np.ndarray, bytes]:
    """Vectors of some words, and GloVe's file of them."""
    values = np.random.default_rng(1).normal(size=(len(words), 100)).round(5).astype(np.float32)
    lines = [" ".join([word, *(f"{number:.5f}" for number in row)]) for word, row in zip(words, values, strict=True)]
    return values, "".join(f"{line}\n" for line in lines).encode()


def tree(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        write(folder / name, content)
    return folder


def tar(path: Path, files: dict[str, bytes]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, f"w:{path.suffix[1:].replace('tgz', 'gz').replace('tar', '')}") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def zipped(path: Path, files: dict[str, bytes]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path
