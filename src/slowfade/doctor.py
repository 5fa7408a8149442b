"""``slowfade doctor``: what this machine can run, and why not the rest. Needs the core install only."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch

import slowfade
from slowfade.engines import cpu, triton

#: What comes with the extras, and what it is for.
OPTIONAL = {
    "lightning": "training",
    "safetensors": "training",
    "tyro": "the command line",
    "rich": "the command line",
    "pooch": "data sets",
    "scipy": "statistics",
    "matplotlib": "figures",
    "plotly": "the explorer",
    "jinja2": "the report",
    "ray": "many machines",
}


def main(arguments: list[str]) -> int:
    """Print the report; the exit status is 1 where the fast engine cannot run."""
    if arguments:
        print("usage: slowfade doctor\n\nSays what this machine can run, and why not the rest.")
        return 0 if arguments[0] in ("-h", "--help") else 2
    missing = cpu.why_not(torch.empty(0))
    print(report(missing))
    return 0 if missing is None else 1


def report(missing: str | None) -> str:
    """The whole report; ``missing`` is why the C++ engine cannot run."""
    name = processor() or "unknown processor"
    lines = [
        f"slowfade {slowfade.__version__}",
        f"Python   {platform.python_version()} on {platform.system()} {platform.machine()}, {name}",
        f"PyTorch  {torch.__version__}, {torch.get_num_threads()} threads of {os.cpu_count()} cores",
        "",
        "engines",
        "  reference  runs: plain PyTorch, any device",
        f"  cpu        {engine_line(missing)}",
        f"  triton     {gpu_line()}",
        "",
        "the laboratory (pip install 'slowfade[lab]', for Ray 'slowfade[cluster]')",
        *(f"  {name:12}{installed(name) or 'not installed: ' + use}" for name, use in OPTIONAL.items()),
    ]
    return "\n".join(lines)


def engine_line(missing: str | None) -> str:
    if missing is not None:
        return f"does not run: {missing}"
    others = [name for name in cpu.variants() if name != cpu.variant()]
    forced = f" (SLOWFADE_ISA can force {' or '.join(others)})" if others else ""
    return f"runs: C++ on {cpu.variant()}, in float32 and float64{forced}"


def gpu_line() -> str:
    if not torch.cuda.is_available():
        return "does not run: PyTorch sees no CUDA device"
    reason = triton.why_not(torch.empty(0, device="cuda"))
    return f"runs: {torch.cuda.get_device_name()}" if reason is None else f"does not run: {reason}"


def processor() -> str:
    """The processor's name, where the system tells it, else nothing."""
    if sys.platform == "linux":
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    if sys.platform == "darwin":
        command = ["sysctl", "-n", "machdep.cpu.brand_string"]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    return platform.processor()


def installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
