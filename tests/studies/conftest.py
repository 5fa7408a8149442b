"""Small data sets in the formats of the real ones, and all studies run on them once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from slowfade import cli


@pytest.fixture(scope="session")
def small_data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """MNIST, Penn Treebank, IMDB and GloVe, a few samples of each, where the tasks find them."""
    folder = tmp_path_factory.mktemp("data")
    random = np.random.RandomState(0)
    for part, count in (("train", 48), ("t10k", 12)):
        for kind, values in (
            ("images-idx3", random.randint(0, 256, (count, 28, 28))),
            ("labels-idx1", random.randint(0, 10, count)),
        ):
            head = bytes([0, 0, 8, values.ndim]) + np.array(values.shape, ">u4").tobytes()
            (folder / f"{part}-{kind}-ubyte").write_bytes(head + values.astype(np.uint8).tobytes())
    for split, count in (("train", 5000), ("valid", 400), ("test", 400)):
        (folder / f"ptb.char.{split}.txt").write_text(" " + " ".join(random.choice(list("abcde_"), count)) + " \n")
    words = [first + second for first in "abc" for second in "defghij"]
    for half in ("train", "test"):
        for side in ("neg", "pos"):
            (folder / "aclImdb" / half / side).mkdir(parents=True)
            for number in range(20):
                length = random.randint(3, 300)
                (folder / "aclImdb" / half / side / f"{number}_1.txt").write_text(
                    " ".join(random.choice(words, length))
                )
    vectors = [f"{word} " + " ".join(f"{x:.4f}" for x in random.randn(100)) for word in words]
    (folder / "glove.6B.100d.txt").write_text("\n".join(vectors) + "\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLOWFADE_DATA", str(folder))
        patch.setenv("SLOWFADE_CACHE", str(folder / "cache"))
        yield folder


@pytest.fixture(scope="session")
def smoke(small_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of ``slowfade study all --preset smoke``, run from the command line."""
    out = tmp_path_factory.mktemp("smoke")
    assert cli.main(["study", "all", "--preset", "smoke", "--out", str(out)]) == 0
    return out
