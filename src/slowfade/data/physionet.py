"""PhysioNet/CinC Challenge 2012: 48 hours of 8,000 intensive-care stays, irregularly sampled; which patients died?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import numpy as np
from jaxtyping import Float32, Int32, Int64, UInt8

from slowfade.data.archives import members
from slowfade.data.dataset import Dataset, Remote
from slowfade.data.store import Parsed, digest_of
from slowfade.errors import UserError


class Records(NamedTuple):
    """Patient ``i`` has the measurements ``offsets[i]`` up to ``offsets[i + 1]``, in order of time."""

    time: Float32[np.ndarray, " measurements"]
    """Hours since admission."""
    parameter: UInt8[np.ndarray, " measurements"]
    """Which one was measured: an index into ``parameters``."""
    value: Float32[np.ndarray, " measurements"]
    """-1 where a descriptor (age, gender, height, kind of unit, weight at admission) is unknown."""
    offsets: Int64[np.ndarray, " patients_and_one"]
    labels: UInt8[np.ndarray, " patients"]
    """1 if the patient died in hospital."""
    patients: Int32[np.ndarray, " patients"]
    """Record numbers, rising: set a, then set b."""
    parameters: tuple[str, ...]


RECORD = re.compile(r"^(\d+)\.txt$")
OUTCOMES = re.compile(r"^Outcomes-([ab])\.txt$")


class Record(NamedTuple):
    """One patient; parameters are numbered as they come."""

    time: Float32[np.ndarray, " measurements"]
    parameter: UInt8[np.ndarray, " measurements"]
    value: Float32[np.ndarray, " measurements"]


def parse(paths: Sequence[Path]) -> Parsed:
    numbers: dict[str, int] = {}
    records: dict[int, Record] = {}
    died: dict[int, int] = {}
    facts: dict[str, object] = {}
    for path in paths:
        for name, stream in members(path):
            file = PurePosixPath(name).name
            if match := RECORD.match(file):
                rows = [row for row in _rows(path, file, stream.read(), 3) if row[1] != "RecordID"]
                records[int(match[1])] = Record(
                    np.array([_hours(row[0]) for row in rows], np.float32),
                    np.array([numbers.setdefault(row[1], len(numbers)) for row in rows], np.uint8),
                    np.array([float(row[2]) for row in rows], np.float32),
                )
            elif match := OUTCOMES.match(file):
                outcomes = {int(row[0]): int(row[-1]) for row in _rows(path, file, stream.read(), 6)}
                died |= outcomes
                facts |= {f"set_{match[1]}": len(outcomes), f"deaths_{match[1]}": sum(outcomes.values())}
    if not records or records.keys() != died.keys():
        raise UserError(
            f"{paths[0]} has {len(records):,} records but outcomes for {len(died):,} patients: get PhysioNet 2012 again"
        )

    patients = sorted(records)
    ordered = [records[patient] for patient in patients]
    parameters = sorted(numbers)
    rank = np.zeros(len(numbers), np.uint8)
    rank[[numbers[parameter] for parameter in parameters]] = np.arange(len(parameters))
    arrays: dict[str, np.ndarray] = {
        "time": np.concatenate([record.time for record in ordered]),
        "parameter": rank[np.concatenate([record.parameter for record in ordered])],
        "value": np.concatenate([record.value for record in ordered]),
        "offsets": np.cumsum([0, *(len(record.time) for record in ordered)], dtype=np.int64),
        "labels": np.array([died[patient] for patient in patients], np.uint8),
        "patients": np.array(patients, np.int32),
        "parameters": np.frombuffer("\n".join(parameters).encode(), np.uint8),
    }
    return Parsed(arrays, {**facts, "measurements": len(arrays["time"]), "sha256": digest_of(*arrays.values())})


@cache
def _hours(clock: str) -> float:
    hours, minutes = clock.split(":")
    return int(hours) + int(minutes) / 60


def _rows(path: Path, file: str, content: bytes, columns: int) -> list[list[str]]:
    _, *rows = [line.split(",") for line in content.decode("ascii").splitlines()]
    if any(len(row) != columns for row in rows):
        raise UserError(f"{path}: {file} is cut short or damaged: get PhysioNet 2012 again")
    return rows


def view(parsed: Parsed) -> Records:
    arrays = dict(parsed.arrays)
    parameters = tuple(arrays.pop("parameters").tobytes().decode().split("\n"))
    return Records(**arrays, parameters=parameters)


HOSTS = (
    "https://physionet.org/files/challenge-2012/1.0.0/",
    "https://physionet-open.s3.amazonaws.com/challenge-2012/1.0.0/",
    "https://archive.physionet.org/challenge/2012/",
)
CHECKSUMS = {
    "set-a.tar.gz": "8cb250f179cd0952b4b9ebcf8954b63d70383131670fac1cfee13deaa13ca920",
    "set-b.tar.gz": "b1637a2a423a8e76f8f087896cfc5fdf28f88519e1f4e874fbda69b2a64dac30",
    "Outcomes-a.txt": "2613ea60ccda29f87571a7d6b09ad130858a8ccd66325bd073365925026883c2",
    "Outcomes-b.txt": "1305f29734da374a809483229a99f33a9230aa8d4fa74b1a2d6ad788136423d5",
}

DATASET = Dataset(
    name="physionet2012",
    title="PhysioNet Challenge 2012: 8,000 intensive-care stays, sets a and b",
    terms="Open Data Commons Attribution",
    forms=(
        (
            ("set-a/", "set-a.zip", "set-a.tar.gz"),
            ("set-b/", "set-b.zip", "set-b.tar.gz"),
            ("Outcomes-a.txt",),
            ("Outcomes-b.txt",),
        ),
        (("physionet2012_set-a_set-b.tar.xz",),),
    ),
    downloads=tuple(
        Remote(file, sha256, tuple(f"{host}{file}" for host in HOSTS)) for file, sha256 in CHECKSUMS.items()
    ),
    megabytes=16,
    parse=parse,
    view=view,
    genuine={
        "set_a": 4000,
        "deaths_a": 554,
        "set_b": 4000,
        "deaths_b": 568,
        "sha256": "94559d1cc20df9997fcf2c449155da94da3098b97b0c101eaec2f87d233e0c75",
    },
)
