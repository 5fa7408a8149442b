"""The paper's numbers: all rows there, each with its place, relations the text states."""

from __future__ import annotations

from statistics import mean

from slowfade.studies.published import PUBLISHED, published


def test_every_cell_of_the_tables_is_there() -> None:
    pixels, characters, frequency = (published(name) for name in ("pixels", "characters", "frequency"))
    assert len(pixels) == 10 * 2 - 2
    assert len(characters) == 6 + 7
    assert len(frequency) == 6 * 3
    assert all(number.sd is not None for number in frequency)


def test_quoted_rows_carry_their_source() -> None:
    quoted = [number for number in PUBLISHED if number.source]
    assert {number.row for number in quoted} == {
        "ExpRNN", "JANET", "NRU", "SRU", "URNN", "LSTM", "LSTM-chrono", "GRU", "GORU", "EURNN",
    }  # fmt: skip
    assert all(number.place.startswith(("table", "figure", "section")) for number in PUBLISHED)


def test_nothing_is_there_twice() -> None:
    keys = [(number.study, number.row, number.condition) for number in PUBLISHED]
    assert len(keys) == len(set(keys))


def test_what_the_text_says_of_the_tables() -> None:
    """Section 5.4 rounds the async row: about 83 and 86 with time for the LSTMs, about 84 for the power law."""
    values = {(number.row, number.condition): number.value for number in published("frequency")}
    assert round(values["LSTM w/time", "async, time"]) == 83
    assert round(values["Chrono w/time", "async, time"]) == 86
    best = max(published("pixels"), key=lambda number: (number.condition == "permuted", number.value))
    assert best.row == "pLSTM 512"
    own = [number for number in published("characters") if not number.source]
    assert mean(n.value for n in own if n.network == "powerlaw") < mean(n.value for n in own if n.network == "lstm")
