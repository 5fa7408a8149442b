"""Recurrent networks whose memory fades along a power law."""

from slowfade.cell import PowerLawForgetGate, PowerLawLSTMCell
from slowfade.gate import elapsed
from slowfade.layer import PowerLawLSTM, PowerLawTrace
from slowfade.state import PowerLawState

__all__ = [
    "PowerLawForgetGate",
    "PowerLawLSTM",
    "PowerLawLSTMCell",
    "PowerLawState",
    "PowerLawTrace",
    "elapsed",
]

__version__ = "0.1.0"
