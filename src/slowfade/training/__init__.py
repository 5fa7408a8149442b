"""Training: a model, a loop that survives being killed, a run on disk, many runs."""

from slowfade.training.config import Config, Training, configure
from slowfade.training.loop import Diverged
from slowfade.training.model import Encoder, Model
from slowfade.training.run import Result, Run, open_run, train
from slowfade.training.sweep import train_all

__all__ = [
    "Config",
    "Diverged",
    "Encoder",
    "Model",
    "Result",
    "Run",
    "Training",
    "configure",
    "open_run",
    "train",
    "train_all",
]
