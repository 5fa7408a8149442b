"""The GPU engine where there is no GPU: its kernels in Triton's interpreter, and compiled ahead of time for sm_90."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from slowfade import PowerLawLSTM
from support import in_new_process, needs_cpu_engine

pytest.importorskip("triton", reason="triton is not installed")
pytestmark = needs_cpu_engine

COMPILE = """
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from slowfade.engines import triton_kernels as kernels

INTEGERS = ("time_i", "batch_i", "time_dt", "batch_dt", "time_o", "batch_o", "time_d", "batch_d",
            "steps", "batch", "hidden", "padded")
for kernel, own in (
    (kernels.forward_kernel, {"KEEP": True}),
    (kernels.backward_kernel, {"HAS_DOUTPUT": True}),
):
    for cell, gates, values in ((0, 3, 5), (1, 4, 6), (2, 4, 5)):
        constants = {
            "CELL": cell, "GATES": gates, "VALUES": values, "HAS_DT": cell != 2, "REVERSE": False,
            "ROWS": kernels.ROWS, "UNITS": 64, "DEPTH": kernels.DEPTH, "PRECISION": kernels.PRECISION, **own,
        }
        signature = {
            name: "constexpr" if name in constants
            else "i32" if name in INTEGERS
            else "fp32" if name == "epsilon"
            else "*i64" if name == "lengths"
            else "*fp32"
            for name in kernel.arg_names
        }
        source = ASTSource(kernel, signature=signature, constexprs=constants)
        binary = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": kernels.WARPS})
        assert len(binary.asm["cubin"]) > 1000
"""


def test_the_kernels_agree_with_the_cpu_engine() -> None:
    """In a process of its own: Triton asks for its interpreter once, when it is imported.

    And without the shape checks at run time, which would stand between Triton and the source of its kernels.
    """
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--noconftest", str(Path(__file__).with_name("interpreted.py"))],
        env=os.environ | {"TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_reason_is_told_where_there_is_no_gpu() -> None:
    with pytest.raises(RuntimeError, match=r"engine='triton' cannot run here: .* x is on cpu"):
        PowerLawLSTM(3, 4, engine="triton")(torch.randn(2, 1, 3))


def test_the_kernels_compile_for_hopper() -> None:
    """Ahead of time, for sm_90, every cell: a real cubin comes out."""
    in_new_process(COMPILE, environment={"TRITON_DEFAULT_FP_FUSION": "1"})
