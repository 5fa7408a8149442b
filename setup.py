"""Builds the C++ engine where it can be built; everything else is in pyproject.toml.

The engine is a plain shared library against PyTorch's stable ABI: no Python symbols, one binary for every Python and
every PyTorch from 2.10 on. Without a compiler or without PyTorch at hand the package installs all the same, and runs on
its reference engine; `slowfade doctor` says so.
"""

import os
import platform
import sysconfig
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

COMMON = [
    "-std=c++17",
    "-O3",
    "-fPIC",
    "-fvisibility=hidden",
    "-fno-math-errno",
    "-fno-trapping-math",
    # The inner loops are short: their speed should not hang on where the linker happens to put them.
    "-falign-functions=64",
    "-falign-loops=64",
    "-g0",
    "-Wall",
    "-Wextra",
    "-Wno-maybe-uninitialized",  # GCC finds it in its own AVX-512 header
]
TORCH_2_10 = "0x020a000000000000"

# The same source once per instruction set; the library chooses among them when it is loaded.
VARIANTS = {
    "x86_64": {
        "baseline": [],
        "avx2": ["-mavx2", "-mfma"],
        "avx512": [
            "-mavx2",
            "-mfma",
            "-mavx512f",
            "-mavx512dq",
            "-mavx512bw",
            "-mavx512vl",
            "-mprefer-vector-width=512",
        ],
    },
}
VARIANTS["AMD64"] = VARIANTS["x86_64"]


def torch_folder() -> Path:
    """Where PyTorch is installed; in the environment that is installed into if an isolated build cannot see it."""
    for folder in (sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), os.environ.get("SLOWFADE_TORCH")):
        if folder and (Path(folder) / "torch" / "include").is_dir():
            return Path(folder) / "torch"
    raise FileNotFoundError("PyTorch is not installed here, and the engine is built against its headers")


class BuildEngine(build_ext):
    def get_ext_filename(self, fullname: str) -> str:
        return fullname.replace(".", os.sep) + ".so"

    def build_extension(self, ext: Extension) -> None:
        try:
            self.build_engine(ext)
        except Exception as error:
            self.warn(f"the C++ engine was not built, slowfade will run on its reference engine: {error}")

    def build_engine(self, ext: Extension) -> None:
        torch = torch_folder()
        extra = os.environ.get("SLOWFADE_CFLAGS", "").split()
        objects = self.compiler.compile(
            ["csrc/library.cpp"],
            output_dir=self.build_temp,
            macros=[("TORCH_TARGET_VERSION", TORCH_2_10)],
            extra_preargs=["-isystem", str(torch / "include")],
            extra_postargs=COMMON + extra,
            depends=ext.depends,
        )
        for name, flags in VARIANTS.get(platform.machine(), {"only": []}).items():
            objects += self.compiler.compile(
                ["csrc/isa.cpp"],
                output_dir=os.path.join(self.build_temp, name),
                extra_postargs=COMMON + flags + extra,
                depends=ext.depends,
            )
        self.compiler.link_shared_object(
            objects,
            self.get_ext_fullpath(ext.name),
            library_dirs=[str(torch / "lib")],
            libraries=["torch_cpu", "torch"],
            extra_postargs=extra,
            target_lang="c++",
        )


setup(
    ext_modules=[
        Extension(
            "slowfade._engine",
            sources=["csrc/library.cpp", "csrc/isa.cpp"],
            depends=[str(path) for path in Path("csrc").glob("*.h")],
        )
    ],
    cmdclass={"build_ext": BuildEngine},
    options={"bdist_wheel": {"py_limited_api": "cp310"}},
)
