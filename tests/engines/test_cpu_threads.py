"""The C++ engine among threads and processes: the same bits every time, no deadlock after a fork, the GIL released."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from slowfade import PowerLawLSTM
from support import assert_close, everything, in_new_process, needs_cpu_engine

pytestmark = needs_cpu_engine


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(("batch", "hidden"), [(1, 200), (3, 40), (37, 24), (64, 150)])
@pytest.mark.parametrize("lengths", [False, True])
@pytest.mark.usefixtures("two_threads")
def test_same_bits_every_time(batch: int, hidden: int, lengths: bool) -> None:
    layer, x = PowerLawLSTM(5, hidden, proj_size=hidden // 2, engine="cpu"), torch.randn(70, batch, 5)
    given = {"dt": torch.rand(70, batch), "lengths": torch.arange(batch) % 71 if lengths else None}
    first = everything(layer, x, **given)
    for _ in range(5):
        assert_close(everything(layer, x, **given), first, 0.0)


def test_number_of_threads_is_respected() -> None:
    """On one thread the engine takes no more CPU time than wall time."""
    layer, x = PowerLawLSTM(64, 256, engine="cpu"), torch.randn(150, 64, 64)
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        start, busy = time.perf_counter(), time.process_time()
        with torch.no_grad():
            layer(x)
        assert time.process_time() - busy <= (time.perf_counter() - start) * 1.2 + 0.02
    finally:
        torch.set_num_threads(before)


@pytest.mark.usefixtures("two_threads")
def test_several_python_threads_at_once() -> None:
    layers = [PowerLawLSTM(5, 20 + i, engine="cpu") for i in range(4)]
    x = torch.randn(50, 16, 5)
    expected = [everything(layer, x) for layer in layers]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            found = list(pool.map(lambda layer: everything(layer, x), layers))
            assert_close(found, expected, 1e-6)


def test_one_layer_shared_by_threads() -> None:
    layer, x = PowerLawLSTM(5, 32, engine="cpu"), torch.randn(50, 16, 5)
    with torch.no_grad():
        expected, _ = layer(x)
    with ThreadPoolExecutor(4) as pool:

        def run(_: int) -> Tensor:
            with torch.no_grad():
                return layer(x)[0]

        for found in pool.map(run, range(20)):
            assert_close(found, expected, 1e-6)


def test_python_goes_on_while_the_engine_runs() -> None:
    """The GIL is released: this thread counts while another is inside one long call."""
    layer, x = PowerLawLSTM(64, 256, engine="cpu"), torch.randn(400, 64, 64)
    inside = threading.Event()

    def run() -> None:
        inside.set()
        with torch.no_grad():
            layer(x)

    worker = threading.Thread(target=run)
    worker.start()
    inside.wait()
    ticks = 0
    while worker.is_alive():
        time.sleep(0.001)
        ticks += 1
    worker.join()
    assert ticks > 20


class Encoded(Dataset[Tensor]):
    """Samples that a worker encodes with the layer."""

    def __init__(self) -> None:
        self.layer, self.x = PowerLawLSTM(5, 20, engine="cpu"), torch.randn(8, 30, 5)

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: int) -> Tensor:
        with torch.no_grad():
            return self.layer(self.x[index])[0]


@pytest.mark.parametrize("start", ["fork", "spawn"])
@pytest.mark.usefixtures("two_threads")
def test_in_a_data_loaders_workers(start: str) -> None:
    """After the parent has used its thread pool, as it does in training."""
    data = Encoded()
    expected = torch.stack([data[i] for i in range(len(data))])
    everything(data.layer, torch.randn(50, 64, 5))
    loader = DataLoader(data, batch_size=4, num_workers=2, multiprocessing_context=start, timeout=60)
    assert_close(torch.cat(list(loader)), expected, 1e-6)


FORK = """
import os, signal, sys, torch
from slowfade import PowerLawLSTM
torch.manual_seed(0)
layer, x = PowerLawLSTM(5, 64, engine="cpu"), torch.randn(40, 64, 5)
def gradient():
    layer.zero_grad()
    layer(x)[0].square().sum().backward()
    return layer.weight_hh_l0.grad.clone()
torch.set_num_threads({before})
expected = gradient()
child = os.fork()
if child == 0:
    signal.alarm(60)
    torch.set_num_threads(1)
    os._exit(0 if torch.allclose(gradient(), expected, rtol=1e-3) else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
assert torch.equal(gradient(), expected)
"""


@pytest.mark.parametrize("before", [1, 2])
def test_after_a_fork(before: int) -> None:
    """Forward and backward in a child process on one thread, whatever pool its parent used.

    More threads are what PyTorch itself cannot do there: after a fork GNU OpenMP waits for threads that are gone, in
    ``torch.exp`` and ``nn.LSTM`` as much as here, which is why a ``DataLoader`` gives its workers one thread.
    """
    assert in_new_process(FORK.format(before=before)).split() == ["0"]
