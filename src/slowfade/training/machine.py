"""What a figure was measured with: versions and machine, and nothing that names the machine."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch

import slowfade
from slowfade.training.run import commit


def versions() -> dict[str, Any]:
    return {
        "slowfade": slowfade.__version__,
        "commit": commit(),
        "torch": torch.__version__,
        "python": platform.python_version(),
    }


def machine() -> dict[str, Any]:
    found: dict[str, Any] = {"processor": processor(), "cores": os.cpu_count(), "system": platform.system()}
    if torch.cuda.is_available():
        found["gpu"] = torch.cuda.get_device_name()
    return found


def processor() -> str:
    if sys.platform == "linux":
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        found = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
        if found:
            return found[0]
    if sys.platform == "darwin":
        command = ["sysctl", "-n", "machdep.cpu.brand_string"]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    return platform.processor() or platform.machine()
