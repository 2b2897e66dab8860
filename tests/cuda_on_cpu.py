"""CuPy's RawModule where there is no GPU: the CUDA source is compiled as C++, and its blocks run one after the other.

A GPU takes whatever a kernel is given. Here arguments must have the types that the source names, and arrays must lie in
memory as a kernel reads them.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path

import numpy as np

HEADER = Path(__file__).with_suffix(".hpp")
BUILT = Path(__file__).parents[1] / "build" / "cuda_on_cpu"
WARNINGS = ("-Wall", "-Wextra", "-Werror")
TYPES = {"int": np.int32, "Index": np.int64, "unsigned": np.uint32, "float": np.float32, "double": np.float64}
# Threads and blocks run in reverse while this is set: results must not depend on it.
backwards = False


@lru_cache
def library(code: str, options: tuple[str, ...]) -> ctypes.CDLL:
    """Return the source as a library of the machine; it is compiled once for all processes."""
    key = hashlib.sha256("\n".join((code, HEADER.read_text(), *options)).encode()).hexdigest()[:24]
    built = BUILT / f"{key}.so"
    if not built.exists():
        BUILT.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=BUILT) as folder:
            text, fresh = Path(folder, "kernels.cpp"), Path(folder, "kernels.so")
            text.write_text(code)
            compiler = [os.environ.get("CXX", "c++"), *options, "-O1", *WARNINGS, "-shared", "-fPIC"]
            done = subprocess.run(
                [*compiler, "-include", str(HEADER), str(text), "-o", str(fresh)],
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stderr
            fresh.replace(built)
    return ctypes.CDLL(str(built))


@lru_cache
def parameters(code: str, name: str, options: tuple[str, ...]) -> list[tuple]:
    """Return type, whether it is an array, and whether it is only read, of each parameter of a kernel."""
    found = re.search(rf"KERNEL {name}\(([^)]*)\)", code)
    assert found, f"the source has no kernel {name}"
    macros = dict(option[2:].split("=") for option in options if option.startswith("-D"))
    described = []
    for parameter in found[1].split(","):
        words = parameter.replace("*", " * ").split()
        only_read = words[0] == "const"
        kind = words[only_read]
        described.append((TYPES[macros.get(kind, kind)], "*" in words, only_read))
    return described


class RawModule:
    """Kernels of a source.

    ``started`` has the name of every kernel that was started, of all modules.
    """

    started: list[str] = []  # noqa: RUF012

    def __init__(self, *, code, options):
        self._code, self._options = code, options

    def get_function(self, name):
        kernels, described = library(self._code, self._options), parameters(self._code, name, self._options)

        def start(grid, block, args):
            (n_blocks,), (n_threads,) = grid, block
            assert n_blocks > 0, "CUDA starts no kernel without blocks"
            assert n_threads == 256
            assert len(args) == len(described)
            passed = [_passed(name, at, arg, *of) for at, (arg, of) in enumerate(zip(args, described, strict=True))]
            RawModule.started.append(name)
            order = reversed(range(n_blocks)) if backwards else range(n_blocks)
            for number in order:
                kernels.begin_block(ctypes.c_uint(number), ctypes.c_uint(n_blocks), ctypes.c_bool(backwards))
                getattr(kernels, name)(*passed)

        return start


def _passed(name, at, arg, kind, is_array, only_read):
    """Return an argument for ctypes, if a kernel may be given it."""
    where = f"argument {at} of {name}"
    if not is_array:
        assert type(arg) is kind, f"{where} must be {kind}; got {type(arg)}"
        return np.ctypeslib.as_ctypes_type(kind)(arg.item())
    kept = arg.kept
    assert kept.dtype == kind, f"{where} must hold {kind}; got {kept.dtype}"
    assert kept.flags.c_contiguous, f"{where} must be contiguous; its strides are {kept.strides}"
    assert only_read or kept.flags.writeable
    return ctypes.c_void_p(kept.ctypes.data)
