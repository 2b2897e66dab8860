"""The CUDA kernels of a GPU: their source, compiled when it is first used, and how they are started.

CuPy keeps what it compiled. A kernel is started with arrays of exactly the types that its source names, one column
after the other in memory; nothing checks that on a GPU, so the tests' stand-in does.
"""

from __future__ import annotations

from enum import IntFlag
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ordinal_objectives.links import Cauchit, Cloglog, Link, Logit, Loglog, Probit

# Threads of a block, and the rows that it takes in a pass: as in machine.cu.
THREADS, BLOCK_ROWS = 256, 1024
# Leaves are numbered in 22 bits of a key, the highest of which stands for no row.
MOST_LEAVES = (1 << 22) - 1
_PARTS = ("machine", "links", "threshold_pass", "leaves")
_STRUCTS: dict[type[Link], str] = {
    Logit: "Logit",
    Probit: "Probit",
    Cloglog: "Cloglog",
    Loglog: "Loglog",
    Cauchit: "Cauchit",
}


class Asked(IntFlag):
    """What a pass is asked for: the bits of threshold_pass.cu."""

    WEIGHTED = 1
    COSTS = 2
    BESIDE = 4
    MAJORIZED = 8
    LOSS = 16
    COLUMNS = 32


@lru_cache
def source() -> str:
    """Return the CUDA source."""
    folder = Path(__file__).parent / "cuda"
    return "\n".join((folder / f"{part}.cu").read_text(encoding="utf-8") for part in _PARTS)


def has_link(link: Link) -> bool:
    """Tell whether the source has a link."""
    return type(link) in _STRUCTS


def options_of(link: Link, real: Any, score: Any) -> tuple[str, ...]:
    """Return what the compiler is told: a link, the type of its terms, and that of the scores."""
    names = {np.dtype(np.float32): "float", np.dtype(np.float64): "double"}
    real, score = names[np.dtype(real)], names[np.dtype(score)]
    return ("--std=c++17", f"-DLINK={_STRUCTS[type(link)]}", f"-DREAL={real}", f"-DSCORE={score}")


def n_blocks_of(n_rows: int, rows_of_block: int = BLOCK_ROWS) -> int:
    """Return the number of blocks for some rows."""
    return -(-n_rows // rows_of_block)


class Kernels:
    """The kernels for one link and one pair of types.

    Parameters
    ----------
    arrays : module
        CuPy, or what stands in for it.
    link : Link
    real, score : type
        float32 or float64: of the terms of a threshold, and of scores.
    """

    def __init__(self, arrays: Any, link: Link, real: Any, score: Any) -> None:
        self._arrays = arrays
        self._module = arrays.RawModule(code=source(), options=options_of(link, real, score))
        self._functions: dict[str, Any] = {}

    def start(self, name: str, n_blocks: int, *args: Any) -> None:
        """Start a kernel; integers among the arguments are its ``int``, floats its ``double``."""
        typed = tuple(
            np.int32(value) if isinstance(value, int) else np.float64(value) if isinstance(value, float) else value
            for value in args
        )
        if name not in self._functions:
            self._functions[name] = self._module.get_function(name)
        self._functions[name]((n_blocks,), (THREADS,), typed)

    def combined(self, parts: Any, n_parts: int, n_cells: int, *, side_by_side: bool, worst: bool = False) -> Any:
        """Return the sum of each cell over the parts of all blocks, or the worst of them, on the device.

        The parts of a cell lie side by side, or the cells of a part do.
        """
        cells = self._arrays.empty(n_cells, dtype=np.float64)
        part_step, cell_step = (1, n_parts) if side_by_side else (n_cells, 1)
        self.start("combine", n_cells, n_parts, np.int64(part_step), np.int64(cell_step), int(worst), parts, cells)
        return cells
