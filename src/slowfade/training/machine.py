"""What a figure was measured with: versions and machine, and nothing that names the machine."""

from __future__ import annotations

import os
import platform
from typing import Any

import torch

import slowfade
from slowfade.doctor import processor
from slowfade.training.run import commit


def versions() -> dict[str, Any]:
    return {
        "slowfade": slowfade.__version__,
        "commit": commit(),
        "torch": torch.__version__,
        "python": platform.python_version(),
    }


def machine() -> dict[str, Any]:
    found: dict[str, Any] = {
        "processor": processor() or platform.machine(),
        "cores": os.cpu_count(),
        "system": platform.system(),
    }
    if torch.cuda.is_available():
        found["gpu"] = torch.cuda.get_device_name()
    return found
