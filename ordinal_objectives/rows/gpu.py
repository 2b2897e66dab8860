"""A GPU as the device that holds the rows of a training, with CuPy arrays: its kernels, passes and other operations.

Arrays over rows stay on the device, and only sums are copied back. Terms of the logit are computed in float32, and in
float64 where that is too coarse; those of other links in float64. Sums are float64, and added up in one order: two runs
agree to the last byte. CuPy keeps the kernels that it compiled. A kernel is started with arrays of exactly the types
that its source names, one column after the other in memory; nothing checks that on a GPU, so the tests' stand-in does.
"""

from __future__ import annotations

import importlib
from dataclasses import replace
from enum import IntFlag
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from ordinal_objectives import losses
from ordinal_objectives.aliases import ArrayLike, FloatArray, IndexArray, IntArray, NDArray, Params, RealArray
from ordinal_objectives.links import Cauchit, Cloglog, Link, Logit, Loglog, Probit
from ordinal_objectives.rows.checked_rows import IN_FLOAT32, IN_FLOAT64, CheckedPass
from ordinal_objectives.rows.device import Array, on_cpu
from ordinal_objectives.utils.extras import how_to_install
from ordinal_objectives.utils.validation import check_shape, check_thresholds

# Threads of a block, and the rows that it takes in a pass: as in machine.cu.
THREADS, BLOCK_ROWS = 256, 1024
# Leaves are numbered in 22 bits of a key, the highest of which stands for no row.
MOST_LEAVES = (1 << 22) - 1
_PARTS = ("machine", "links", "threshold_pass", "leaves")
_STRUCTS: dict[type[Link], str] = {link: link.__name__ for link in (Logit, Probit, Cloglog, Loglog, Cauchit)}
# float32 margins of one score are exact enough up to this spread of the thresholds; derivatives are taken up to the
# other distance. Both as in the native lanes.
_WIDEST, _REACH = 40.0, 80.0
# Sums over leaves are kept by so many blocks, if they take no more numbers than this together.
_MOST_BLOCKS, _MOST_CELLS = 512, 1 << 24
# What leaf_sums adds up: as in leaves.cu.
_WEIGHTS, _ROWS, _MARGINS = range(3)


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


def options_of(link: Link, real: type, score: Array) -> tuple[str, ...]:
    """Return the options of the compiler: a link, the type of its terms, and that of the scores."""
    names = {np.dtype(np.float32): "float", np.dtype(np.float64): "double"}
    types = f"-DREAL={names[np.dtype(real)]}", f"-DSCORE={names[np.dtype(score)]}"
    return ("--std=c++17", f"-DLINK={_STRUCTS[type(link)]}", *types)


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

    def __init__(self, arrays: Any, link: Link, real: type, score: Array) -> None:
        self._arrays = arrays
        self._module = arrays.RawModule(code=source(), options=options_of(link, real, score))
        self._functions: Params = {}

    def start(self, name: str, n_blocks: int, *args: object) -> None:
        """Start a kernel; integers among the arguments are its ``int``, floats its ``double``."""
        typed = tuple(
            np.int32(value) if isinstance(value, int) else np.float64(value) if isinstance(value, float) else value
            for value in args
        )
        if name not in self._functions:
            self._functions[name] = self._module.get_function(name)
        self._functions[name]((n_blocks,), (THREADS,), typed)

    def combined(
        self, parts: Array, n_parts: int, n_cells: int, *, side_by_side: bool, worst: bool = False
    ) -> FloatArray:
        """Return the sum of each cell over the parts of all blocks, or the worst of them, copied from the device.

        The parts of a cell lie side by side, or the cells of a part do.
        """
        cells = self._arrays.empty(n_cells, dtype=np.float64)
        part_step, cell_step = (1, n_parts) if side_by_side else (n_cells, 1)
        self.start("combine", n_cells, n_parts, np.int64(part_step), np.int64(cell_step), int(worst), parts, cells)
        return on_cpu(cells).astype(np.float64, copy=False)


def why_no_pass(loss: losses.OrdinalLoss) -> str | None:
    """Return why there is no pass for a loss on a GPU, as a message, or None if there is one."""
    if type(loss) not in (losses.AllThreshold, losses.ImmediateThreshold, losses.CostWeighted, losses.CumulativeLink):
        return f"loss={loss.identity!r} has no pass on a GPU"
    if type(loss) is losses.CumulativeLink and type(loss.link) is not Logit:
        return f"loss={loss.identity!r} has no pass on a GPU with link={loss.link.identity!r}"
    return None if type(loss.link) in _STRUCTS else f"link={loss.link.identity!r} has no pass on a GPU"


class GPU:
    """A device with the arrays of an array library.

    Parameters
    ----------
    arrays : module
        CuPy, or a library with the same functions.
    """

    def __init__(self, arrays: Any) -> None:
        self.arrays = arrays
        self._sent: tuple[Array, Array] = (None, None)
        self._kernels: dict[tuple[object, ...], Kernels] = {}

    def kernels(self, link: Link, real: type, score: Array) -> Kernels:
        """Return the kernels for a link, the type of its terms, and that of the scores."""
        key = type(link), np.dtype(real), np.dtype(score)
        if key not in self._kernels:
            self._kernels[key] = Kernels(self.arrays, link, real, score)
        return self._kernels[key]

    def here(self, array: Array) -> Array:
        """Return an array of floats on this device; one from elsewhere is kept, since a round asks for it again."""
        if not isinstance(array, np.ndarray):
            return array
        if self._sent[0] is not array:
            floats = array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)
            self._sent = (array, self.arrays.asarray(floats))
        return self._sent[1]

    def row_pass(self, *args: Any, **options: Any) -> GPURowPass:
        """Return the pass over rows with one score each."""
        return GPURowPass(self, *args, **options)

    def margin_pass(self, *args: Any, **options: Any) -> GPUMarginPass:
        """Return the pass over rows with a score for each threshold."""
        return GPUMarginPass(self, *args, **options)

    def copy(self, array: Array, dtype: object = None, out: Array = None) -> Array:
        """Return a copy of an array here, whether it comes from NumPy or is here already."""
        if out is not None:
            out[...] = self.here(array)
            return out
        return self.arrays.array(self.here(array), dtype=dtype)

    def columns(self, n_samples: int, n_columns: int) -> Array:
        """Return columns one after the other in memory."""
        return self.arrays.empty((n_columns, n_samples), dtype=np.float32).T

    def times(self, rows: Array, matrix: NDArray[np.float32]) -> Array:
        """Return the product."""
        return rows @ self.arrays.asarray(matrix)

    def weighted_sum(self, weights: Array, rows: Array) -> FloatArray:
        """Return the sums of the columns."""
        return on_cpu(weights @ self.here(rows)).astype(np.float64)

    def scores_of(self, outputs: Array, matrix: NDArray[np.float32], offset: NDArray[np.float32]) -> Array:
        """Return scores, one threshold after the other in memory."""
        columns = self.arrays.asarray(np.ascontiguousarray(matrix.T)) @ self.here(outputs).T
        return (columns - self.arrays.asarray(offset)[:, None]).T

    def middle(self, scores: Array) -> tuple[int, float]:
        """Return how many scores are not 0, and the median of all."""
        xp = self.arrays
        here = self.here(scores)
        if not here.size:
            return 0, 0.0
        n_not_zero = int(xp.count_nonzero(here))
        return n_not_zero, float(xp.median(here)) if n_not_zero else 0.0

    def match_leaves(
        self, before: Array, after: Array, values: FloatArray, order: IntArray
    ) -> tuple[Array, float, float]:
        """Return the leaf of every row."""
        xp, n_rows = self.arrays, len(before)
        after = self.here(after).astype(before.dtype, copy=False)
        leaves = xp.empty(n_rows, dtype=np.int32)
        if not n_rows:  # a worker's, that has no rows
            return leaves, 0.0, 0.0
        kernels, n_blocks = self.kernels(Logit(), np.float32, before.dtype), n_blocks_of(n_rows)
        parts = xp.empty(2 * n_blocks, dtype=np.float64)
        tree = xp.asarray(values), xp.asarray(order)
        kernels.start("match_leaves", n_blocks, np.int64(n_rows), len(values), before, after, *tree, leaves, parts)
        error, largest = kernels.combined(parts, n_blocks, 2, side_by_side=True, worst=True)
        return leaves, float(error), float(largest)

    def renumbered(self, leaves: Array, numbers: IndexArray) -> Array:
        """Return other numbers of leaves."""
        return self.arrays.take(self.arrays.asarray(numbers.astype(np.int32)), leaves)

    def add_leaf_values(self, score: Array, leaves: Array, values: FloatArray, out: Array = None) -> Array:
        """Return a score with a tree more."""
        return self._moved(score, leaves, values, out)

    def add_leaf_vectors(self, scores: Array, leaves: Array, vectors: NDArray[np.float32], out: Array = None) -> Array:
        """Return scores with a tree more."""
        columns = self.arrays.ascontiguousarray(scores.T)
        return self._moved(columns, leaves, vectors.T, None if out is None else out.T).T

    def _moved(self, columns: Array, leaves: Array, values: RealArray, out: Array) -> Array:
        """Return columns, one after the other, with the value of each row's leaf in each, (n_columns, n_leaves)."""
        xp, n_rows = self.arrays, columns.shape[-1]
        total = xp.empty(columns.shape, dtype=columns.dtype) if out is None else out
        if not n_rows:
            return total
        of_leaves = xp.asarray(np.ascontiguousarray(values, dtype=columns.dtype))
        arrays = columns, xp.asarray(leaves, dtype=np.int32), of_leaves, total
        sizes = np.int64(n_rows), columns.size // n_rows, values.shape[-1]
        kernels = self.kernels(Logit(), np.float32, columns.dtype)
        kernels.start("move_scores", n_blocks_of(n_rows, THREADS), *sizes, *arrays)
        return total


class _GPUPass(CheckedPass):
    """Base of both passes.

    Parameters
    ----------
    device : GPU
    loss : OrdinalLoss
        A sum over thresholds with a link of this package, or the cumulative link with the logit.
    y, n_classes, sample_weight, part
        See :class:`.checked_rows.CheckedPass`.

    Raises
    ------
    ValueError
        If the device has no pass for the loss, or an argument is out of range.
    """

    def __init__(
        self,
        device: GPU,
        loss: losses.OrdinalLoss,
        y: ArrayLike,
        n_classes: int,
        sample_weight: ArrayLike | None = None,
        *,
        part: bool = False,
    ) -> None:
        refused = why_no_pass(loss)
        if refused is not None:
            raise ValueError(f"{refused}; train on the CPU")
        super().__init__(loss, y, n_classes, sample_weight, part=part)
        self._device, self._xp = device, device.arrays
        self._in_floats = type(loss.link) is Logit
        self.loss_precision = IN_FLOAT32 if self._in_floats else IN_FLOAT64
        self._codes = self._xp.asarray(self.y.astype(np.int32))
        none = np.zeros(1)
        self._weights = self._xp.asarray((none if self._weight is None else self._weight).astype(np.float32))
        self._of_costs = self._xp.asarray((none if self._costs is None else self._costs).astype(np.float64))
        self._common = Asked(0) if self._weight is None else Asked.WEIGHTED
        if self._costs is not None:
            self._common |= Asked.COSTS
        if type(loss) in (losses.ImmediateThreshold, losses.CumulativeLink):
            self._common |= Asked.BESIDE

    def leaf_weights(self, leaves: Array, n_leaves: int) -> FloatArray:
        """Return the sum of the weights of each leaf's rows, float64 (n_leaves,)."""
        kernels = self._device.kernels(self.loss.link, self._real, np.float32)
        nothing = self._xp.empty(1, dtype=np.float32)
        given = self._kernel_arguments(nothing, np.zeros(self.n_classes - 1), self._common, self._real)
        return self._by_leaf(kernels, [*given, nothing, nothing], leaves, n_leaves, _WEIGHTS, 1)[:, 0]

    @property
    def _real(self) -> type:
        """Type of the terms, unless thresholds are wide."""
        return np.float32 if self._in_floats else np.float64

    def _kernel_arguments(
        self, scores: Array, theta: FloatArray, asked: Asked, real: type, *, step: int = 0
    ) -> list[Array]:
        """Return the arguments of the kernels: the rows, their scores and the thresholds.

        ``real`` is the type of the terms, ``step`` what lies between a row's scores: 0 if it has one.
        """
        limit = within = np.inf
        if real is np.float32:
            limit, within = _REACH, np.inf if step else _REACH
        elif isinstance(self.loss.link, (Cloglog, Loglog)):
            limit = min(self._limit, self.loss.link.argument_limit)
        sizes = np.int64(len(self.y)), np.int64(step), len(theta), int(asked)
        ends = float(theta.max() - within), float(theta.min() + within), float(limit)
        return [*sizes, scores, self._codes, self._weights, self._of_costs, self._xp.asarray(theta), *ends]

    def _pass(
        self, kernels: Kernels, given: list[Array], *, want_loss: bool = True, columns: Array = None
    ) -> losses.RoundStatistics:
        """Return the statistics of a round; see the native passes."""
        xp, n_rows, n_thresholds = self._xp, len(self.y), self.n_classes - 1
        gradient, hessian = xp.empty(n_rows, dtype=np.float32), xp.empty(n_rows, dtype=np.float32)
        n_sums, n_blocks = 2 * n_thresholds + 3, n_blocks_of(n_rows)
        sums = np.zeros(n_sums)
        if n_rows:
            asked = Asked(given[3]) | (Asked.LOSS if want_loss else Asked(0))
            asked |= Asked(0) if columns is None else Asked.COLUMNS
            arguments = [*given[:3], int(asked), *given[4:]]
            parts = xp.empty(n_sums * n_blocks, dtype=np.float64)
            beside = hessian if columns is None else columns.T  # one column after the other in memory
            kernels.start("threshold_pass", n_blocks, *arguments, gradient, hessian, beside, parts)
            sums = kernels.combined(parts, n_blocks, n_sums, side_by_side=True)
        if not np.isfinite(sums[: 2 * n_thresholds]).all():
            raise ValueError("raw_prediction holds NaN or infinite scores; they must be numbers")
        loss, n_clipped, n_floored = sums[2 * n_thresholds :]
        of_rows = losses.RoundSums(
            loss=float(loss) if want_loss else 0.0,
            threshold_gradient=sums[:n_thresholds],
            threshold_hessian=sums[n_thresholds : 2 * n_thresholds],
            threshold_hessian_off=np.zeros(n_thresholds - 1),
            n_floored=int(n_floored),
            n_clipped=int(n_clipped),
        )
        return losses.RoundStatistics(gradient, hessian, np.empty((0, n_thresholds)), of_rows)

    def _by_leaf(
        self, kernels: Kernels, given: list[Array], leaves: Array, n_leaves: int, what: int, n_columns: int
    ) -> FloatArray:
        """Return sums of columns over the rows of each leaf, float64 (n_leaves, n_columns)."""
        leaves = self._xp.asarray(leaves, dtype=np.int32)
        if leaves.shape != self.y.shape or n_leaves > MOST_LEAVES:
            self.check_leaves(leaves, min(n_leaves, MOST_LEAVES))
        if not len(self.y):
            return np.zeros((n_leaves, n_columns))
        n_cells = n_leaves * n_columns + 1
        n_blocks = min(n_blocks_of(len(self.y)), max(1, min(_MOST_BLOCKS, _MOST_CELLS // n_cells)))
        cells = self._xp.zeros(n_blocks * n_cells, dtype=np.float64)
        kernels.start("leaf_sums", n_blocks, *given, leaves, n_leaves, what, n_columns, cells)
        sums = kernels.combined(cells, n_blocks, n_cells, side_by_side=False)
        if sums[-1]:
            self.check_leaves(leaves, n_leaves)
        return sums[:-1].reshape(n_leaves, n_columns)


class GPURowPass(_GPUPass):
    """One pass over rows with one score each: :class:`.native.RowStatistics` on a GPU.

    Gradient and Hessian of a result are the device's arrays. Cross terms of single rows are not offered.

    Parameters
    ----------
    device, loss, y, n_classes, sample_weight, part
        See :class:`_GPUPass`.
    """

    def __call__(
        self, raw_prediction: Array, thresholds: ArrayLike, hessian: str = "majorized", *, want_loss: bool = True
    ) -> losses.RoundStatistics:
        """Return the statistics of the rows at a score, of either device, and a set of thresholds."""
        self.loss.check_hessian(hessian)
        theta = check_thresholds(thresholds, self.n_classes, ordered=self.loss.ordered)
        self.loss.check_gaps(theta, self.class_weights)
        score = self._device.here(raw_prediction)
        check_shape("raw_prediction", score, self.y.shape)
        wide = not self._in_floats or np.ptp(theta) > _WIDEST
        real = np.float64 if wide else np.float32
        kernels = self._device.kernels(self.loss.link, real, score.dtype)
        asked = self._common | (Asked.MAJORIZED if hessian == "majorized" else Asked(0))
        given = self._kernel_arguments(score, theta, asked, real)
        found = self._pass(kernels, given, want_loss=want_loss)
        if type(self.loss) is losses.CumulativeLink:
            gaps = _gap_sums(theta, self.class_weights)
            found = replace(found, sums=found.sums + (gaps if want_loss else replace(gaps, loss=0.0)))
        self._latest = kernels, [*given, found.gradient, found.hessian]
        return found

    def leaf_sums(self, leaves: Array, n_leaves: int) -> losses.LeafSums:
        """Return the sums of the latest call over the leaves of a tree, added up in float64."""
        kernels, given = self._latest_of("a score")
        sums = self._by_leaf(kernels, given, leaves, n_leaves, _ROWS, self.n_classes + 1)
        return losses.LeafSums(sums[:, 0], sums[:, 1], sums[:, 2:])


class GPUMarginPass(_GPUPass):
    """One pass over rows with a score for each threshold: :class:`.margins.MarginStatistics` on a GPU.

    Scores are arrays (n_samples, n_classes - 1) that hold one threshold after the other in memory.

    Parameters
    ----------
    device, loss, y, n_classes, sample_weight, part
        See :class:`_GPUPass`.
    in_doubles : bool, default=False
        Whether scores are kept in float64.

    Attributes
    ----------
    scores_dtype : type
        float32 or float64.
    """

    shares_scores = False

    def __init__(self, *args: Any, in_doubles: bool = False, **options: Any) -> None:
        super().__init__(*args, **options)
        self.loss.check_shifts()
        self._in_floats = self._in_floats and not in_doubles
        self.scores_dtype: type = self._real
        self.loss_precision = IN_FLOAT32 if self._in_floats else IN_FLOAT64

    def __call__(
        self,
        scores: Array,
        thresholds: ArrayLike,
        hessian: str = "majorized",
        *,
        want_loss: bool = True,
        want_rows: bool = True,
        columns: Array = None,
    ) -> losses.RoundStatistics:
        """Return the statistics of the rows at scores and thresholds; rows' derivatives come with them anyway.

        ``columns``, (n_samples, 2 (n_classes - 1)), is filled with the gradients of every threshold, then the Hessians.
        """
        self.loss.check_hessian(hessian)
        theta = check_thresholds(thresholds, self.n_classes, ordered=False)
        here = self._checked(scores)
        asked = self._common | (Asked.MAJORIZED if hessian == "majorized" else Asked(0))
        kernels, given = self._kernels(here), self._kernel_arguments(here, theta, asked, self._real, step=len(self.y))
        found = self._pass(kernels, given, want_loss=want_loss, columns=columns)
        self._latest = kernels, [*given, found.gradient, found.hessian]
        return found

    def leaf_sums(self, leaves: Array, n_leaves: int) -> tuple[FloatArray, FloatArray]:
        """Return G and H of every leaf and threshold at the latest call, float64 (n_leaves, n_classes - 1) each."""
        kernels, given = self._latest_of("scores")
        sums = self._by_leaf(kernels, given, leaves, n_leaves, _MARGINS, 2 * (self.n_classes - 1))
        return sums[:, ::2], sums[:, 1::2]

    def loss_of_prediction(self, scores: Array, thresholds: ArrayLike) -> float:
        """Return the loss of the margins as predictions use them: sorted in each row, if the loss has an order."""
        theta = check_thresholds(thresholds, self.n_classes, ordered=False)
        here = self._checked(scores)
        kernels, n_rows = self._kernels(here), len(self.y)
        if self.loss.ordered and n_rows:
            inverted = self._xp.empty(here.shape, dtype=here.dtype)
            arrays = here, self._xp.asarray(theta), inverted
            kernels.start("sort_margins", n_blocks_of(n_rows, THREADS), np.int64(n_rows), len(theta), *arrays)
            here, theta = inverted, np.zeros_like(theta)
        return self._pass(kernels, self._kernel_arguments(here, theta, self._common, self._real, step=n_rows)).loss

    def _kernels(self, here: Array) -> Kernels:
        return self._device.kernels(self.loss.link, self._real, here.dtype)

    def _checked(self, scores: Array) -> Array:
        """Return scores here, one threshold after the other, (n_classes - 1, n_samples)."""
        here = self._device.here(scores)
        check_shape("scores", here, (len(self.y), self.n_classes - 1))
        return self._xp.ascontiguousarray(here.T)


def _gap_sums(theta: FloatArray, class_weights: FloatArray) -> losses.RoundSums:
    """Return what the cumulative link with the logit adds to the immediate-threshold loss.

    It is minus log(1 - exp(-gap)) for the gap between the two thresholds of each inner class, whatever the score is.
    """
    inner = np.flatnonzero(class_weights[1:-1] > 0)
    weight, gap = class_weights[1 + inner], np.diff(theta)[inner]
    upwards, downwards = np.expm1(gap), -np.expm1(-gap)
    slope, bend = np.zeros(len(theta) - 1), np.zeros(len(theta) - 1)
    slope[inner], bend[inner] = -weight / upwards, weight / (downwards * upwards)
    return losses.RoundSums(
        loss=float(-(weight * np.log(downwards)).sum()),
        threshold_gradient=np.append(0.0, slope) - np.append(slope, 0.0),
        threshold_hessian=np.append(0.0, bend) + np.append(bend, 0.0),
        threshold_hessian_off=-bend,
        n_floored=0,
        n_clipped=0,
    )


def cupy_of(ordinal: int) -> tuple[ModuleType | None, str]:
    """Return CuPy if its arrays are on this GPU, or None and the reason."""
    try:
        cupy = importlib.import_module("cupy")
    except ImportError:
        return None, f"CuPy is not installed ({how_to_install('gpu')})"
    if not cupy.is_available():
        return None, "CuPy finds no GPU"
    try:
        # What a training needs of CuPy: CUDA's compiler and its libraries are loaded when they are first needed.
        few = cupy.ones((2, 2), np.float32)
        float((cupy.exp(few) @ few).sum())
    except Exception as error:  # whatever CuPy and the libraries of CUDA raise
        return None, f"CuPy does not work here: {error}"
    current = int(cupy.cuda.runtime.getDevice())
    if current != ordinal:
        return None, f"CuPy's arrays are on GPU {current}; choose one by CUDA_VISIBLE_DEVICES instead"
    return cupy, ""
