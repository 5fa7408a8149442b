"""Input, normalised once at the border: whatever the user brings, the recurrences see time-major padded batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from slowfade.gate import values_visible


class Sequences(NamedTuple):
    """A batch of sequences, time-major, with the way back to the layout it came in."""

    x: Float[Tensor, "time batch inputs"]
    dt: Float[Tensor, "time batch"] | None
    lengths: Int[Tensor, " batch"] | None
    batched: bool = True
    batch_first: bool = False
    packed: PackedSequence | None = None

    def restore(self, output: Float[Tensor, "time batch features"]) -> Tensor | PackedSequence:
        """An output of the recurrence, in the layout of the input."""
        if self.packed is not None:
            assert self.lengths is not None
            data = pack_padded_sequence(output, self.lengths.cpu()).data
            return self.packed._replace(data=data)
        if not self.batched:
            return output.squeeze(1)
        return output.transpose(0, 1) if self.batch_first else output

    def restore_state(self, part: Shaped[Tensor, "layers batch *features"]) -> Tensor:
        """A part of a state, with its rows in the order the user knows."""
        if self.packed is not None and self.packed.unsorted_indices is not None:
            return part.index_select(1, self.packed.unsorted_indices)
        return part if self.batched else part.squeeze(1)

    def restore_layers(self, values: Shaped[Tensor, "layers time batch *features"]) -> Tensor:
        """Values of every layer and step, in the layout of the input; those of a ``PackedSequence`` stay padded."""
        if self.packed is not None and self.packed.unsorted_indices is not None:
            return values.index_select(2, self.packed.unsorted_indices)
        if not self.batched:
            return values.squeeze(2)
        return values.transpose(1, 2) if self.batch_first else values

    def arrange_state(self, part: Shaped[Tensor, "layers *batch features"]) -> Tensor:
        """The inverse of :meth:`restore_state`."""
        if self.packed is not None and self.packed.sorted_indices is not None:
            return part.index_select(1, self.packed.sorted_indices)
        return part if self.batched else part.unsqueeze(1)


def normalise(
    x: Tensor | PackedSequence,
    dt: Tensor | PackedSequence | None = None,
    lengths: Tensor | Sequence[int] | None = None,
    *,
    input_size: int,
    batch_first: bool,
) -> Sequences:
    """Check a sequence and bring it into the one form the recurrences know.

    The exceptions are those ``nn.LSTM`` raises for the same mistake.
    """
    if isinstance(x, PackedSequence):
        return _unpack(x, dt, lengths, input_size)
    if not isinstance(x, Tensor):
        raise TypeError(f"x should be a tensor or a PackedSequence, got {type(x).__name__}")
    if x.dim() not in (2, 3):
        raise ValueError(f"x should be 2-D (unbatched) or 3-D, got {x.dim()}-D")
    _check_features(x, input_size)
    if isinstance(dt, PackedSequence):
        raise TypeError("dt is packed but x is not: pack both, or neither")
    batched = x.dim() == 3
    batch_first = batch_first and batched
    time_major = (x.transpose(0, 1) if batch_first else x) if batched else x.unsqueeze(1)
    steps, batch = time_major.shape[:2]
    counts = None if lengths is None else _normalise_lengths(lengths, steps, batch, batched, x.device)
    return Sequences(
        time_major,
        None if dt is None else _normalise_dt(dt, steps, batch, batch_first, batched, x, counts),
        counts,
        batched,
        batch_first,
    )


def valid_steps(steps: int, lengths: Int[Tensor, " batch"]) -> Bool[Tensor, "time batch"]:
    """Where rows are not padding."""
    return torch.arange(steps, device=lengths.device).unsqueeze(-1) < lengths


def backward_intervals(
    dt: Float[Tensor, "time batch"], lengths: Int[Tensor, " batch"] | None
) -> Float[Tensor, "time batch"]:
    """``dt`` for the backward direction, which waits between two samples as long as the forward one does.

    Coming from step ``t + 1``, step ``t`` is reached after ``dt[t + 1]``. The first wait is the forward direction's.
    """
    if dt.shape[0] == 0:
        return dt
    turned = dt.roll(-1, 0)
    if lengths is None:
        return turned
    last = (lengths - 1).clamp(min=0).unsqueeze(0)
    return turned.scatter(0, last, dt[:1])


def interval(dt: Tensor | float, x: Float[Tensor, "*batch features"]) -> Float[Tensor, "*batch"]:
    """The ``dt`` of one step, a number or one for each row of ``x``, checked."""
    if not isinstance(dt, Tensor):
        dt = x.new_zeros((), dtype=_time_dtype(x)) + dt  # not torch.tensor(dt): that would be compiled for each number
    if dt.dim() and dt.shape != x.shape[:-1]:
        raise RuntimeError(f"dt should be a number or of shape {tuple(x.shape[:-1])}, got {tuple(dt.shape)}")
    return _checked_intervals(dt, x).expand(x.shape[:-1])


def check_type(x: Tensor, dtype: torch.dtype, error: type[Exception]) -> None:
    """``x`` should be of the weights' type, unless autocast makes them one."""
    if x.dtype != dtype and not autocasting(x.device.type):
        raise error(f"x should be {dtype} like the weights, got {x.dtype}: convert one of them")


def check_state(
    name: str, part: Tensor, shape: tuple[int, ...], weight: Tensor
) -> Shaped[Tensor, "*layers batch features"] | Shaped[Tensor, "*layers features"]:
    """A part of a state in the precision the recurrence keeps: the weights', but never less than float32."""
    if tuple(part.shape) != shape:
        raise RuntimeError(f"state.{name} should be {shape}, got {tuple(part.shape)}")
    kept = torch.promote_types(weight.dtype, torch.float32)
    fits = part.dtype in (weight.dtype, kept) or (part.is_floating_point() and autocasting(part.device.type))
    if part.device != weight.device or not fits:
        raise RuntimeError(
            f"state.{name} should be {kept} on {weight.device} like the weights, got {part.dtype} on {part.device}"
        )
    return part.to(kept)


def autocasting(device: str) -> bool:
    return torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device)


def _check_features(x: Tensor, input_size: int) -> None:
    if x.shape[-1] != input_size:
        raise RuntimeError(f"x should have input_size = {input_size} features, got {x.shape[-1]}")


def _normalise_dt(
    dt: Tensor,
    steps: int,
    batch: int,
    batch_first: bool,
    batched: bool,
    like: Tensor,
    lengths: Int[Tensor, " batch"] | None,
) -> Float[Tensor, "time batch"]:
    if not isinstance(dt, Tensor):
        raise TypeError(f"dt should be a tensor, got {type(dt).__name__}")
    allowed: list[tuple[int, ...]] = [(steps,)]
    if batched:
        allowed.append((batch, steps) if batch_first else (steps, batch))
    if tuple(dt.shape) not in allowed:
        names = "(B, T) or (T,)" if batch_first else "(T, B) or (T,)" if batched else "(T,)"
        expected = " or ".join(str(shape) for shape in reversed(allowed))
        raise RuntimeError(f"dt should be {names} = {expected} for this x, got {tuple(dt.shape)}")
    if dt.dim() == 1:
        dt = dt.unsqueeze(-1).expand(steps, batch)
    elif batch_first:
        dt = dt.transpose(0, 1)
    return _checked_intervals(dt, like, None if lengths is None else valid_steps(steps, lengths))


def _checked_intervals(
    dt: Shaped[Tensor, "*shape"], like: Tensor, valid: Bool[Tensor, "*shape"] | None = None
) -> Float[Tensor, "*shape"]:
    """``dt`` where ``like`` is, in its precision or float32. What is padding may be anything, and is made 1."""
    if dt.is_complex() or dt.dtype == torch.bool:
        raise TypeError(f"dt should be real numbers, got {dt.dtype}")
    dt = dt.to(device=like.device, dtype=_time_dtype(like))
    if valid is not None:
        dt = torch.where(valid, dt, 1.0)
    if values_visible(dt) and not bool(((dt >= 0) & torch.isfinite(dt)).all()):
        raise ValueError("dt should be finite and not negative: it is the time since the previous sample")
    return dt


def _time_dtype(x: Tensor) -> torch.dtype:
    # Half precision cannot count past a few hundred steps, so time never goes below float32.
    return torch.promote_types(x.dtype, torch.float32)


def _normalise_lengths(
    lengths: Tensor | Sequence[int], steps: int, batch: int, batched: bool, device: torch.device
) -> Int[Tensor, " batch"]:
    if not batched:
        raise RuntimeError("lengths go with batched input; x is unbatched")
    counts = torch.as_tensor(lengths, device=device)
    if counts.numel() == 0 and not isinstance(lengths, Tensor):
        counts = counts.long()  # an empty list has no type of its own
    if counts.is_floating_point() or counts.is_complex() or counts.dtype == torch.bool:
        raise TypeError(f"lengths should be integers, got {counts.dtype}")
    if counts.shape != (batch,):
        raise RuntimeError(f"lengths should be (B,) = ({batch},), got {tuple(counts.shape)}")
    if values_visible(counts) and not bool(((counts >= 0) & (counts <= steps)).all()):
        raise RuntimeError(f"lengths should lie between 0 and T = {steps}")
    return counts.to(torch.int64)


def _unpack(x: PackedSequence, dt: Tensor | PackedSequence | None, lengths: object, input_size: int) -> Sequences:
    if lengths is not None:
        raise RuntimeError("lengths go with padded input; a PackedSequence brings its own")
    if x.data.dim() != 2:
        raise RuntimeError(f"a packed x should have 2-D data, got {x.data.dim()}-D")
    _check_features(x.data, input_size)
    # The rows stay in packed order here; only states and the final repacking need the user's order.
    padded, counts = pad_packed_sequence(PackedSequence(x.data, x.batch_sizes))
    if dt is not None:
        if not isinstance(dt, PackedSequence):
            raise TypeError("x is packed, so dt should be a PackedSequence packed like x")
        same_order = torch.equal(_packed_order(dt), _packed_order(x))
        if not torch.equal(dt.batch_sizes, x.batch_sizes) or not same_order or dt.data.shape != x.data.shape[:1]:
            raise RuntimeError("dt should be packed like x: the same lengths and order, one number per step")
        intervals, _ = pad_packed_sequence(PackedSequence(_checked_intervals(dt.data, x.data), dt.batch_sizes))
    return Sequences(
        padded, None if dt is None else intervals, counts.to(x.data.device), True, False, PackedSequence(*x)
    )


def _packed_order(packed: PackedSequence) -> Int[Tensor, " batch"]:
    """Which row stands where in the packing."""
    rows = int(packed.batch_sizes[0])
    return torch.arange(rows) if packed.sorted_indices is None else packed.sorted_indices.cpu()
