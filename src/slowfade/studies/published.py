"""Every number the paper published, once, with its place; rows that it quotes from others carry their source."""

from __future__ import annotations

from typing import Any, NamedTuple

from slowfade.studies.table import Printed


class Published(NamedTuple):
    """One number of the paper."""

    study: str
    row: str
    """As printed."""
    network: str
    """Its name in ``slowfade.cores``."""
    condition: str
    value: Printed
    place: str
    sd: Printed | None = None
    seeds: int | None = None
    hidden: int | None = None
    source: str | None = None
    """Whom the paper quotes; ``None`` where the authors ran it themselves."""


CHANDAR = "Chandar et al. 2019"
LEZCANO = "Lezcano-Casado & Martínez-Rubio 2019"
JANET = "van der Westhuizen & Lasenby 2018"
WISDOM = "Wisdom et al. 2016"

PIXEL_ORDERS = ("in order", "permuted")


def _pixels() -> list[Published]:
    """Test accuracy in percent, mean over three seeds that trained successfully."""
    own = [
        ("LSTM 256 (ours)", "lstm", 256, ("98.7", "91.3")),
        ("LSTM 512 (ours)", "lstm", 512, ("98.6", "91.7")),
        ("pLSTM 256", "powerlaw", 256, ("99.1", "94.4")),
        ("pLSTM 512", "powerlaw", 512, ("99.1", "95.6")),
    ]
    quoted = [
        ("ExpRNN", "exprnn", LEZCANO, ("98.7", "94.7")),
        ("JANET", "janet", JANET, ("99.0", "92.5")),
        ("NRU", "nru", CHANDAR, (None, "95.4")),
        ("SRU", "sru", CHANDAR, (None, "92.5")),
        ("URNN", "urnn", WISDOM, ("97.6", "94.5")),
        ("LSTM", "lstm", "not named in the paper", ("91.9", "91.8")),
    ]
    return [
        *(
            Published("pixels", row, core, condition, Printed(value), "table 1", seeds=3, hidden=hidden)
            for row, core, hidden, values in own
            for condition, value in zip(PIXEL_ORDERS, values, strict=True)
        ),
        *(
            Published("pixels", row, core, condition, Printed(value), "table 1", source=source)
            for row, core, source, values in quoted
            for condition, value in zip(PIXEL_ORDERS, values, strict=True)
            if value is not None
        ),
    ]


def _characters() -> list[Published]:
    """Test bits per character at the epoch with the best validation, mean over five seeds."""
    own = [
        ("LSTM (ours)", "lstm", "ptb-150", 716, "1.426"),
        ("LSTM-500 (ours)", "lstm", "ptb-500", 716, "1.403"),
        ("pLSTM", "powerlaw", "ptb-150", 828, "1.420"),
        ("pLSTM-500", "powerlaw", "ptb-500", 828, "1.396"),
        ("LSTM-500", "lstm", "text8-500", None, "1.552"),
        ("pLSTM-500", "powerlaw", "text8-500", None, "1.544"),
    ]
    quoted = [
        ("LSTM", "lstm", "1.48"),
        ("LSTM-chrono", "chrono", "1.51"),
        ("GRU", "gru", "1.45"),
        ("JANET", "janet", "1.48"),
        ("GORU", "goru", "1.53"),
        ("EURNN", "eurnn", "1.77"),
        ("NRU", "nru", "1.47"),
    ]
    return [
        *(
            Published("characters", row, core, at, Printed(bpc), "table 2", seeds=5, hidden=hidden)
            for row, core, at, hidden, bpc in own
        ),
        *(
            Published("characters", row, core, "ptb-150", Printed(bpc), "table 2", source=CHANDAR)
            for row, core, bpc in quoted
        ),
    ]


def _frequency() -> list[Published]:
    """Accuracy in percent after 70 epochs, mean and standard deviation over five seeds."""
    table = {
        ("LSTM w/time", "lstm", "time"): [("99.45", "0.2"), ("70.7", "17.9"), ("82.73", "0.8")],
        ("Chrono w/time", "chrono", "time"): [("99.45", "0.1"), ("98.47", "0.6"), ("86.25", "1.4")],
        ("pLSTM w/time", "powerlaw", "time"): [("99.49", "0.1"), ("99.41", "0.5"), ("84.64", "2.1")],
        ("LSTM", "lstm", "no time"): [("99.37", "0.1"), ("71.7", "22.2"), ("68.59", "1.4")],
        ("Chrono", "chrono", "no time"): [("99.29", "0.3"), ("99.02", "0.4"), ("69.64", "0.8")],
        ("pLSTM", "powerlaw", "no time"): [("99.29", "0.1"), ("99.15", "0.4"), ("92.57", "0.5")],
    }
    return [
        Published(
            "frequency", row, core, f"{sampling}, {time}", Printed(mean), "table 3", sd=Printed(sd), seeds=5, hidden=110
        )
        for (row, core, time), cells in table.items()
        for sampling, (mean, sd) in zip(("sync-1", "sync-0.1", "async"), cells, strict=True)
    ]


def _sentiment() -> list[Published]:
    """Test accuracy in percent at the epoch with the lowest validation loss, mean over three seeds."""
    place = "section 4.4"
    return [
        Published("sentiment", "LSTM", "lstm", "all reviews", Printed("86.8"), place, seeds=3, hidden=128),
        Published(
            "sentiment", "LSTM with chrono", "chrono", "all reviews", Printed("87.0"), place, seeds=3, hidden=128
        ),
        Published("sentiment", "pLSTM", "powerlaw", "all reviews", Printed("88.1"), place, seeds=3, hidden=154),
    ]


def _resets() -> list[Published]:
    """The learned p and the later-reset units of the copying task."""
    text, figure = "section 5.2", "figure A.4"
    return [
        Published("resets", "mean p, T = 200", "powerlaw", "delay 200", Printed("0.41"), text, hidden=128),
        Published("resets", "mean p, T = 500", "powerlaw", "delay 500", Printed("0.19"), text, hidden=128),
        Published("resets", "t, p at 200 against 500", "powerlaw", "t", Printed("6.9"), text, hidden=128),
        Published("resets", "Cohen's d, p at 200 against 500", "powerlaw", "d", Printed("0.87"), text, hidden=128),
        Published("resets", "later-reset units, T = 200", "powerlaw", "later 200", Printed("25"), figure, hidden=128),
        Published("resets", "later-reset units, T = 500", "powerlaw", "later 500", Printed("20"), figure, hidden=128),
    ]


PUBLISHED: tuple[Published, ...] = (
    *_pixels(),
    *_characters(),
    *_frequency(),
    *_sentiment(),
    *_resets(),
)


def published(study: str) -> list[Published]:
    """What the paper published for a study, in its order."""
    return [number for number in PUBLISHED if number.study == study]


def value(study: str, **fields: Any) -> float:
    """The one number of a study that the authors measured themselves and that these fields tell from the others."""
    own = [number for number in published(study) if number.source is None]
    (found,) = (number for number in own if all(getattr(number, name) == field for name, field in fields.items()))
    return found.value
