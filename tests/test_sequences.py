"""Input brought into the one form the recurrences know, and back."""

from __future__ import annotations

import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from slowfade.sequences import Sequences, backward_intervals, interval, normalise


def test_unit_order_of_a_packed_sequence_survives() -> None:
    x, lengths = torch.randn(5, 3, 2), torch.tensor([2, 5, 3])
    packed = pack_padded_sequence(x, lengths, enforce_sorted=False)
    sequences = normalise(packed, input_size=2, batch_first=True)
    assert sequences.lengths is not None
    assert sequences.lengths.tolist() == [5, 3, 2]
    restored, counts = pad_packed_sequence(sequences.restore(sequences.x))
    assert counts.tolist() == lengths.tolist()
    for b, count in enumerate(lengths):
        assert torch.equal(restored[:count, b], x[:count, b])
    state = torch.arange(3.0).view(1, 3, 1)
    assert torch.equal(sequences.restore_state(sequences.arrange_state(state)), state)
    assert sequences.arrange_state(state).flatten().tolist() == [1, 2, 0]


def test_layouts_are_views() -> None:
    """Nothing is copied to bring a batch-first or unbatched tensor into time-major form."""
    for x, batch_first in ((torch.randn(2, 5, 3), True), (torch.randn(5, 2, 3), False), (torch.randn(5, 3), False)):
        sequences = normalise(x, torch.rand(5), input_size=3, batch_first=batch_first)
        assert sequences.x.shape == (5, 1 if x.dim() == 2 else 2, 3)
        assert sequences.x.data_ptr() == x.data_ptr()
        assert sequences.restore(sequences.x).stride() == x.stride()
        assert sequences.dt is not None
        assert sequences.dt.shape == sequences.x.shape[:2]


def test_backward_intervals_by_hand() -> None:
    dt = torch.tensor([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0], [4.0, 40.0]])
    # From the last step to the first: the first wait, then the time between each two samples, nearest to the end first.
    whole = backward_intervals(dt, None)
    assert whole.flip(0).T.tolist() == [[1, 4, 3, 2], [10, 40, 30, 20]]
    short = backward_intervals(dt, torch.tensor([4, 2]))
    assert short[:, 0].flip(0).tolist() == [1, 4, 3, 2]
    assert short[:2, 1].flip(0).tolist() == [10, 20]
    assert backward_intervals(dt[:0], None).shape == (0, 2)
    assert backward_intervals(dt, torch.tensor([0, 1]))[0, 1] == 10


def test_interval_of_a_step() -> None:
    x = torch.zeros(2, 3, dtype=torch.float64)
    assert interval(0.1, x).tolist() == [0.1, 0.1]
    assert interval(torch.tensor([1, 2]), x).dtype == torch.float64
    assert interval(torch.tensor(2.0), x[0]).shape == ()


def test_time_never_goes_below_single_precision() -> None:
    x = torch.zeros(4, 2, 3, dtype=torch.bfloat16)
    sequences: Sequences = normalise(x, torch.full((4,), 1001.0), input_size=3, batch_first=False)
    assert sequences.dt is not None
    assert sequences.dt.dtype == torch.float32
    assert (sequences.dt == 1001).all()
