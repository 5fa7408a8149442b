"""One table, four forms."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path

from slowfade.analysis.statistics import Summary
from slowfade.studies.table import NONE, Printed, Table

TABLE = Table(
    "example",
    "An example",
    ("network", "published", "ours", "seeds", "difference"),
    [
        ("LSTM & friends", 68.59, Summary(67.123456, 0.5, 3), 3, -1.466544),
        ("a | b", Summary(92.57, 0.5, 5), Summary(96.0, math.nan, 1), 1, 3.43),
        ("100 %", 1.0, "not run", None, None),
    ],
    note="A note.",
)


def test_people_read_rounded_numbers() -> None:
    assert TABLE.lines == [
        ["LSTM & friends", "68.59", "67.12 ± 0.50", "3", "-1.47"],
        ["a | b", "92.57 ± 0.50", "96.00", "1", "3.43"],
        ["100 %", "1.00", "not run", NONE, NONE],
    ]
    assert TABLE.numeric == [False, True, True, True, True]


def test_columns_of_numbers_are_flush_right_whatever_is_lacking() -> None:
    rows = [("12,000 (2)", "not run", "3 (1 unfinished)", None), ("not reached", None, "1", "–")]
    assert Table("t", "T", ("a", "b", "c", "d"), rows).numeric == [True, True, True, False]


def test_printed_numbers_keep_their_digits() -> None:
    rows = [(Printed("98.7"), Summary(Printed("99.45"), Printed("0.2"), 5)), (Printed("1.420"), 1.42)]
    table = Table("t", "T", ("a", "b"), rows)
    assert table.lines == [["98.7", "99.45 ± 0.2"], ["1.420", "1.42"]]
    assert table.csv().splitlines()[1:] == ["98.7,99.45,0.2,5", "1.420,1.42,,"]
    assert Printed("1.420") - 0.42 == 1.0


def test_csv_keeps_every_digit_and_splits_means() -> None:
    rows = list(csv.DictReader(io.StringIO(TABLE.csv())))
    assert rows[0] == {
        "network": "LSTM & friends",
        "published": "68.59",
        "published sd": "",
        "published n": "",
        "ours": "67.123456",
        "ours sd": "0.5",
        "ours n": "3",
        "seeds": "3",
        "difference": "-1.466544",
    }
    assert (rows[1]["ours sd"], rows[2]["ours"], rows[2]["difference"]) == ("", "not run", "")


def test_markdown_is_a_table() -> None:
    lines = TABLE.markdown().splitlines()
    assert lines[0] == "**An example**"
    assert lines[2] == "| network | published | ours | seeds | difference |"
    assert lines[3] == "| --- | ---: | ---: | ---: | ---: |"
    assert lines[5].startswith("| a \\| b | 92.57 ± 0.50 |")
    assert lines[-1] == "A note."


def test_latex_is_escaped() -> None:
    text = TABLE.latex()
    assert "LSTM \\& friends & 68.59 & 67.12 $\\pm$ 0.50 & 3 & -1.47 \\\\" in text
    assert "100 \\% & 1.00 & not run & -- & -- \\\\" in text
    assert "\\begin{tabular}{lrrrr}" in text
    assert "\\caption{An example. A note.}" in text


def test_all_forms_are_saved(tmp_path: Path) -> None:
    TABLE.save(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["example.csv", "example.md", "example.tex"]


def test_an_empty_table_has_a_header() -> None:
    empty = Table("empty", "Empty", ("a", "b"), [])
    assert "| a | b |" in empty.markdown()
    assert empty.csv() == "a,b\n"
