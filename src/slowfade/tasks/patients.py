"""Two days in intensive care as sequences: PhysioNet 2012, measurements of one time grouped into a step."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float32, Float64, Int
from torch import Tensor

from slowfade import data
from slowfade.tasks.task import Split

UNKNOWN = -1
"""What the records say where a descriptor is not known."""
OUTLIERS = (1, 99)
"""Values beyond these percentiles are set to them: records have a pH of 735."""


class Patients:
    """Who died, and what was measured before.

    Set a is for training but its last fifth, which is for validation; set b is for testing.

    A step has what was measured at one time: for each parameter its value, in standard deviations from the mean of the
    training patients, and 1; or 0 and 0.
    """

    output_size = 1

    def __init__(self) -> None:
        records = data.load("physionet2012")
        count = len(records.labels)
        half, kept = count // 2, count // 2 - count // 10
        self.parameters = records.parameters
        self.members: dict[Split, range] = {
            "train": range(kept),
            "validation": range(kept, half),
            "test": range(half, count),
        }
        self.labels = records.labels.astype(np.int64)

        known = np.flatnonzero(records.value != UNKNOWN)
        patient = np.repeat(np.arange(count), np.diff(records.offsets))[known]
        self.time, self.parameter = records.time[known], records.parameter[known]
        self.value = self._standardised(records.value[known], patient < kept)
        self.offsets = np.searchsorted(patient, np.arange(count + 1))
        first = np.diff(patient, prepend=-1).astype(bool) | (np.diff(self.time, prepend=-1) != 0)
        step = first.cumsum()
        self.step = step - step[self.offsets[patient]]
        self.lengths = np.bincount(patient, first, minlength=count).astype(np.int64)

    @property
    def width(self) -> int:
        return 2 * len(self.parameters)

    def size(self, split: Split) -> int:
        return len(self.members[split])

    def sequences(
        self, split: Split, numbers: Int[Tensor, " batch"]
    ) -> tuple[
        Float32[np.ndarray, "batch time features"],
        Float64[np.ndarray, "batch time"],
        Int[np.ndarray, " batch"],
        Int[Tensor, " batch"],
    ]:
        """Values, times in hours, lengths, targets."""
        patients = np.asarray(self.members[split])[numbers.numpy()]
        lengths = self.lengths[patients]
        counts = self.offsets[patients + 1] - self.offsets[patients]
        row = np.repeat(np.arange(len(patients)), counts)
        where = np.arange(len(row)) + np.repeat(self.offsets[patients] - counts.cumsum() + counts, counts)
        step, parameter = self.step[where], self.parameter[where]

        values = np.zeros((len(patients), lengths.max(initial=0), self.width), np.float32)
        values[row, step, parameter] = self.value[where]
        values[row, step, parameter + len(self.parameters)] = 1
        times = np.zeros(values.shape[:2])
        times[row, step] = self.time[where]
        return values, np.maximum.accumulate(times, axis=1), lengths, torch.from_numpy(self.labels[patients])

    def _standardised(
        self, value: Float32[np.ndarray, " measurements"], training: np.ndarray
    ) -> Float32[np.ndarray, " measurements"]:
        result = np.zeros_like(value)
        for parameter in range(len(self.parameters)):
            here = self.parameter == parameter
            if not (here & training).any():
                continue
            low, high = np.percentile(value[here & training], OUTLIERS)
            usual = value[here & training].clip(low, high)
            result[here] = (value[here].clip(low, high) - usual.mean()) / (usual.std() or 1)
        return result
