"""Text as chunks of contiguous streams."""

from __future__ import annotations

import math
import os
from pathlib import Path

import pytest
import torch

from slowfade import data, tasks
from slowfade.tasks.task import NO_TARGET


@pytest.mark.parametrize("batch_size", [1, 3, 7, 64])
@pytest.mark.parametrize("split", tasks.SPLITS)
def test_streams_are_contiguous(small_data: Path, batch_size: int, split: tasks.Split) -> None:
    """Read row by row, the batches give back the text; targets are the inputs, one further."""
    task = tasks.build("characters", length=17)
    text = torch.tensor(getattr(data.load("ptb"), split))
    batches = [task.batch(split, numbers) for numbers in task.schedule(split, batch_size, seed=0, epoch=0)]
    assert len({batch.inputs.shape for batch in batches}) == 1
    inputs = torch.cat([batch.inputs for batch in batches], dim=1)
    targets = torch.cat([batch.targets for batch in batches], dim=1)
    valid = targets != NO_TARGET
    assert torch.equal(inputs[valid], text[:-1])
    assert torch.equal(targets[valid], text[1:])
    assert valid[:-1].all(), "only the last stream may end early"


def test_few_streams_in_evaluation(small_data: Path) -> None:
    task = tasks.build("characters", length=5)
    assert len(task.schedule("train", 30, seed=0, epoch=0)[0]) == 29
    assert len(task.schedule("validation", 30, seed=0, epoch=0)[0]) == 10
    assert len(task.schedule("validation", 3, seed=0, epoch=0)[0]) == 3


def test_bits(small_data: Path) -> None:
    """Evenly unsure of 7 symbols: log2 7 bits each, whatever is padded."""
    task = tasks.build("characters", length=17)
    assert task.output_size == 7
    for numbers in task.schedule("test", 4, seed=0, epoch=0):
        batch = task.batch("test", numbers)
        measures = task.measures(torch.zeros(*batch.inputs.shape, 7), batch)
        assert measures["bits"].count == (batch.targets != NO_TARGET).sum()
        assert measures["bits"].mean.item() == pytest.approx(math.log2(7))


@pytest.mark.parametrize(("corpus", "symbols", "layers", "budget"), [("ptb", 50, 1, 2.15e6), ("text8", 27, 2, 3.22e6)])
def test_the_papers_budgets(corpus: str, symbols: int, layers: int, budget: float) -> None:
    """Parameters counted by hand: embedding, gates, head; an LSTM has two biases, the power law one and a power."""
    settings = tasks.build("characters", corpus=corpus).settings
    for core, gates, biases, powers in (("lstm", 4, 2, 0), ("powerlaw", 3, 1, 1)):
        ours = settings.for_core(core)
        hidden, width, count = ours.hidden_size, 20, 20 * symbols
        assert ours.num_layers == layers
        for _ in range(layers):
            count += gates * hidden * (width + hidden + biases) + powers * hidden
            width = hidden
        count += (hidden + 1) * symbols
        assert count == pytest.approx(budget, rel=2e-3)


@pytest.mark.data
@pytest.mark.skipif("SLOWFADE_DATA" not in os.environ, reason="needs the real data sets")
def test_real_text() -> None:
    task = tasks.build("characters")
    assert task.output_size == 50
    assert [task.size(split) for split in tasks.SPLITS] == [33450, 2621, 2950]
    schedule = task.schedule("train", 128, seed=0, epoch=0)
    assert (len(schedule), len(schedule[0])) == (262, 128)
    text = "".join(task.text.alphabet[symbol] for symbol in task.batch("train", torch.tensor([0])).inputs[0])
    assert text.startswith("aer_banknote_berlitz_calloway_centrust_cluett_")
