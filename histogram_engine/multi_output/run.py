"""One training: every round grows one tree whose leaves move all outputs, or those worth most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from ordinal_objectives import _core
from ordinal_objectives.aliases import FloatArray, IndexArray, NDArray
from ordinal_objectives.estimators.held_out import Rows
from ordinal_objectives.histogram_engine import binning, fit_loop, run
from ordinal_objectives.histogram_engine.multi_output.losses import HESSIANS, MultiOutputLoss
from ordinal_objectives.histogram_engine.parameters import GrowthParameters, choice, integer, number
from ordinal_objectives.leaves import vector
from ordinal_objectives.rows.checked_rows import IN_FLOAT32, IN_FLOAT64
from ordinal_objectives.threads import effective_n_threads
from ordinal_objectives.threshold_solver import Diagnostics, longest_step, quadratic
from ordinal_objectives.trees import Tree
from ordinal_objectives.utils.validation import call_read_only, check_finite, check_shape

# Numbers of a block of rows: its scores, derivatives and columns stay in the cache.
_BLOCK = 1 << 16
_NO_THRESHOLDS = np.zeros(0)


@dataclass(kw_only=True)
class MultiOutputParameters(GrowthParameters):
    """Parameters of a training of several outputs; HistGradientBoostingMultiOutputRegressor says what they mean."""

    l2_regularization: float = number(1.0, at_least=0.0)
    max_outputs: int | None = integer(None, 1, or_none=True)
    search: str = choice(*vector.SEARCHES)
    hessian: str = choice(*HESSIANS)


@dataclass(frozen=True)
class RowsWithTargets(Rows):
    """Rows with their targets; the class codes are zeros where there are none."""

    targets: Any = None


def predictions(loss: MultiOutputLoss, raw_prediction: FloatArray, *n_columns: int) -> NDArray[Any]:
    """Return what a loss predicts, (n_rows, one of n_columns); raise ValueError if it is no such array of numbers."""
    name, n = type(loss).__name__, len(raw_prediction)
    predicted = np.asarray(call_read_only(name, loss.predict, raw_prediction))
    if 1 in n_columns and predicted.shape == (n,):
        predicted = predicted[:, np.newaxis]
    allowed = [(n, k) for k in n_columns]
    if predicted.dtype.kind not in "fiub" or predicted.shape not in allowed:
        got = f"{predicted.shape} of the type {predicted.dtype}"
        raise ValueError(f"{name}.predict must return real numbers, {' or '.join(map(str, allowed))}; got {got}")
    check_finite(predicted, f"{name}.predict", "it must return finite numbers")
    return predicted


class CheckedLoss:
    """A loss whose results are checked for the shapes and types of a training; see :class:`.losses.MultiOutputLoss`.

    Whether derivatives are finite depends on the raw prediction, so the training checks it: a step that is too long may
    end where they are infinite, and is halved.

    Parameters
    ----------
    loss : MultiOutputLoss
    n_columns : tuple of int
        How many columns its predictions may have.
    """

    def __init__(self, loss: MultiOutputLoss, n_columns: tuple[int, ...]) -> None:
        self._loss, self._n_columns = loss, n_columns
        self.name = type(loss).__name__
        self._first: dict[str, Any] = {}  # shape of the Hessian, without rows, for each `hessian`

    def start(self, y: NDArray[Any], weight: FloatArray | None) -> FloatArray:
        """Return the raw prediction before the first tree."""
        answer = call_read_only(self.name, self._loss.start, y, weight)
        start: FloatArray = self._numbers(answer, "start", "answer").astype(np.float64)
        if start.ndim != 1 or not start.size or not np.isfinite(start).all():
            raise ValueError(f"{self.name}.start must return one finite number for each output; got {start}")
        return start

    def predictions(self, raw_prediction: FloatArray) -> NDArray[Any]:
        """Return what it predicts; see :func:`predictions`."""
        return predictions(self._loss, raw_prediction, *self._n_columns)

    def derivatives(
        self, y: NDArray[Any], raw_prediction: FloatArray, hessian: str
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]:
        """Return the loss of each row, which may be infinite, the gradient and the Hessian.

        Raises
        ------
        ValueError
            If one of them has another shape or type than it may, the Hessian another than at the first call, or a
            row's loss is NaN or minus infinity.
        """
        answer = call_read_only(self.name, self._loss.derivatives, y, raw_prediction, hessian)
        name, (n, d) = f"{self.name}.derivatives", raw_prediction.shape
        loss, gradient, second = answer
        loss, gradient = self._numbers(loss, "derivatives", "loss"), self._numbers(gradient, "derivatives", "gradient")
        second = None if second is None else self._numbers(second, "derivatives", "Hessian")
        check_shape(f"the loss of {name}", loss, (n,))
        check_shape(f"the gradient of {name}", gradient, (n, d))
        if not loss.min() > -np.inf:
            raise ValueError(f"{name} must return losses that are numbers; got {loss[int(np.argmin(loss))]}")
        shape = None if second is None else second.shape[1:]
        allowed = {(1,), (d,), (d, d), None} if hessian not in self._first else {self._first[hessian]}
        if shape not in allowed or (second is not None and len(second) != n):
            raise ValueError(
                f"{name} must return one Hessian for each row, of one of the shapes {allowed}, the same at every call; "
                f"got {shape}"
            )
        self._first[hessian] = shape
        return loss, gradient, second

    def _numbers(self, answer: object, method: str, what: str) -> NDArray[Any]:
        array = np.asarray(answer)
        if array.dtype.kind not in "fiub":
            raise ValueError(f"{self.name}.{method} must return real numbers; its {what} has the type {array.dtype}")
        return array


@dataclass(frozen=True)
class OutputColumns:
    """The columns of a row.

    Attributes
    ----------
    n_outputs : int
    kind : {"shared", "diagonal", "full"}
        One Hessian for all outputs, one for each, or the lower triangle of a matrix.
    is_count : bool
        The one Hessian is 1 for every row: the count that the engine carries anyway.
    """

    n_outputs: int
    kind: str
    is_count: bool = False

    @classmethod
    def of(cls, gradient: FloatArray, hessian: FloatArray | None, n_outputs: int, *, weighted: bool) -> OutputColumns:
        """Return the columns that derivatives of this shape need.

        Raises
        ------
        ValueError
            If there are more outputs than the engine takes.
        """
        shared = hessian is None or hessian.shape[1:] == (1,)
        kind = "shared" if shared else "diagonal" if hessian is not None and hessian.ndim == 2 else "full"
        most = _core.max_full_outputs if kind == "full" else _core.max_outputs
        if n_outputs > most:
            hint = "; hessian='diagonal' takes more" if kind == "full" else ""
            raise ValueError(f"a leaf has at most {most} outputs here; got {n_outputs}{hint}")
        return cls(n_outputs, kind, hessian is None and not weighted)

    @property
    def n_columns(self) -> int:
        """Columns in front of the count: gradients, then Hessians."""
        d = self.n_outputs
        n_hessians = {"shared": 0 if self.is_count else 1, "diagonal": d, "full": d * (d + 1) // 2}
        return d + n_hessians[self.kind]

    def hold(self, statistics: NDArray[np.float32]) -> bool:
        """Tell whether rows' columns are finite, and no Hessian on a diagonal is negative."""
        used = statistics[:, : self.n_columns]
        return bool(np.isfinite(used).all()) and bool(np.min(used[:, self._diagonal()], initial=0.0) >= 0.0)

    def refuse(self, statistics: NDArray[np.float32], name: str) -> NoReturn:
        """Raise ValueError: a loss of this name has returned what columns do not :meth:`hold`."""
        used = statistics[:, : self.n_columns]
        wrong = ~np.isfinite(used)
        wrong[:, self._diagonal()] |= used[:, self._diagonal()] < 0.0
        row, column = np.argwhere(wrong)[0]
        what = "gradient" if column < self.n_outputs else "Hessian"
        raise ValueError(
            f"{name}.derivatives must return finite gradients, and Hessians that are finite and not negative, which "
            f"float32 holds times the rows' weights; got the {what} {used[row, column]:g} in row {row}"
        )

    def _diagonal(self) -> slice | IndexArray:
        d = self.n_outputs
        if self.kind != "full":
            return slice(d, self.n_columns)
        j = np.arange(d)
        return d + j * (j + 3) // 2

    def fill(
        self,
        statistics: NDArray[np.float32],
        gradient: FloatArray,
        hessian: FloatArray | None,
        weight: FloatArray | None,
    ) -> None:
        """Write the derivatives of some rows, times their weights, into the rows' columns (n_rows, width)."""
        d = self.n_outputs
        statistics[:, :d] = gradient
        if hessian is not None and hessian.ndim == 3:
            lower = np.tril_indices(d)
            hessian = hessian[:, lower[0], lower[1]]
        if not self.is_count:
            statistics[:, d : self.n_columns] = 1.0 if hessian is None else hessian
        if weight is not None:
            statistics[:, : self.n_columns] *= weight[:, np.newaxis]

    def split(self, sums: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return gradients and Hessians of rows or of sums over them (n, width), in the shapes of a loss."""
        d = self.n_outputs
        if self.kind != "full":
            return sums[:, :d], sums[:, d : 2 * d if self.kind == "diagonal" else d + 1]
        H = np.zeros((len(sums), d, d))
        lower = np.tril_indices(d)
        H[:, lower[0], lower[1]] = sums[:, d : self.n_columns]
        H[:, lower[1], lower[0]] = sums[:, d : self.n_columns]
        return sums[:, :d], H


class TargetEvaluationSet(fit_loop.EvaluationSet):
    """Rows that no tree is grown on; their raw prediction follows the trees.

    Parameters
    ----------
    name : str
    rows : RowsWithTargets
    loss : CheckedLoss
    hessian : str
    start : ndarray of float64, shape (n_outputs,)
    n_threads : int or None
    """

    def __init__(
        self,
        name: str,
        rows: RowsWithTargets,
        loss: CheckedLoss,
        hessian: str,
        start: FloatArray,
        n_threads: int | None,
    ) -> None:
        super().__init__(name, rows.X, np.tile(start, (len(rows.targets), 1)), n_threads)
        # A full Hessian is not used.
        self._rows, self._loss, self._hessian = rows, loss, "diagonal" if hessian == "full" else hessian

    def measure(self, thresholds: FloatArray) -> fit_loop.Measured:
        """Return the weighted mean loss; there are no thresholds."""
        of_rows, *_ = self._loss.derivatives(self._rows.targets, self._score, self._hessian)
        loss = float(np.average(of_rows, weights=self._rows.weight))
        return {self.name: loss}, loss


class MultiOutputRun:
    """One training run.

    Parameters
    ----------
    parameters : MultiOutputParameters
    loss : CheckedLoss
    rows : RowsWithTargets
        Read, never changed.
    seed : int
        Draws the rows that the cuts of a large table are computed from, and with the iteration those of a tree.
    n_threads : int or None
    earlier : GrownModel or None
        A model that is continued.
    categories : mapping of int to int, or None
        Columns that hold numbers of categories, and how many each has.

    Attributes
    ----------
    start : ndarray of float64, shape (n_outputs,)
        The raw prediction before the first tree.
    raw_prediction : ndarray of float64, shape (n_samples, n_outputs)
        That of the newest iteration.
    thresholds : ndarray of float64, shape (0,)
    curvature : None
    effects : tuple
        There are no thresholds.
    diagnostics : Diagnostics
        Counters.
    """

    thresholds = _NO_THRESHOLDS
    curvature: FloatArray | None = None
    effects: tuple[()] = ()

    def __init__(
        self,
        parameters: MultiOutputParameters,
        loss: CheckedLoss,
        rows: RowsWithTargets,
        *,
        seed: int = 0,
        n_threads: int | None = None,
        earlier: fit_loop.GrownModel | None = None,
        categories: Mapping[int, int] | None = None,
    ) -> None:
        X, sample_weight, y, threads = rows.X, rows.weight, rows.targets, effective_n_threads(n_threads)
        self.parameters, self._loss, self._y, self._weight = parameters, loss, y, sample_weight
        if earlier is None:
            self.start = loss.start(y, sample_weight)
            self.raw_prediction = np.tile(self.start, (len(y), 1))
            loss.predictions(self.raw_prediction[: len(self.start) + 1])  # not as many rows as outputs
            self.cuts, self.iteration = binning.find_cuts(X, parameters.max_bins, sample_weight, seed, categories), 0
        else:
            assert earlier.start is not None
            self.start, grown = earlier.start, earlier.ensemble
            self.raw_prediction = np.tile(self.start, (len(y), 1))
            self.cuts, self.iteration = earlier.cuts, len(grown)
            grown.add_to(self.raw_prediction, X, 0, self.iteration, threads)
        _, gradient, hessian = loss.derivatives(y[:2], self.raw_prediction[:2], parameters.hessian)
        self._columns = OutputColumns.of(gradient, hessian, len(self.start), weighted=sample_weight is not None)
        d = self._columns.n_outputs
        self._most = d if parameters.max_outputs is None else min(parameters.max_outputs, d)
        if self._columns.kind == "full":
            if self._most < d:
                raise ValueError(f"max_outputs={self._most} needs outputs that are separate: hessian='diagonal'")
            if parameters.l2_regularization == 0.0:
                raise ValueError("hessian='full' inverts matrices: it needs l2_regularization > 0; got 0.0")
        self._by_category = bool(categories)
        options = parameters.category_options(categories or {})
        self._engine = binning.bin_rows(X, self.cuts, threads, in_float64=binning.uneven(sample_weight), **options)
        self._statistics = self._engine.statistics(self._columns.n_columns)
        self._total_weight = float(len(y) if sample_weight is None else sample_weight.sum())
        shares = parameters.subsample, parameters.colsample_bytree
        self._sampler = run.Sampler(len(y), len(self.cuts), sample_weight, *shares, seed, n_threads=threads)
        self._leaf_of_row = np.zeros(len(y), np.int32)
        self._next_raw = np.empty_like(self.raw_prediction)  # swapped with raw_prediction after a step
        self.diagnostics = Diagnostics()
        self._rounding = IN_FLOAT64  # of the loss sum, relative
        self._loss_sum = self._evaluate(np.zeros((1, d)))
        if not np.isfinite(self._loss_sum):
            raise ValueError(
                f"{loss.name} must be finite before the first tree; got a mean loss of {self.training_loss}"
            )
        self._least = abs(self._loss_sum)  # losses near 0 have the rounding error of the first one
        self._settle()

    @property
    def training_loss(self) -> float:
        """Weighted mean loss of all training rows at the newest iteration."""
        return self._loss_sum / self._total_weight

    def advance(self) -> Tree:
        """Grow one tree and return it, after the longest of the steps eta, eta/2, ... that does not raise the loss.

        The loss is that of all training rows, whichever of them the tree was grown on.
        """
        tree = Tree.from_bins(self._grow(), self.cuts, self._columns.n_outputs)
        leaves, steps = tree.leaves, self.parameters.learning_rate * self._steps(tree)

        def loss_at(share: float, _: FloatArray) -> float:
            tree.value[leaves] = share * steps if share > 0.0 else 0.0
            return self._evaluate(tree.value)

        highest = self._loss_sum + self._rounding * max(abs(self._loss_sum), self._least)
        nothing = _NO_THRESHOLDS, _NO_THRESHOLDS
        _, share = longest_step(*nothing, loss_at, highest, ordered=False, diagnostics=self.diagnostics)
        if share == 0.0:
            loss_at(0.0, _NO_THRESHOLDS)
        self._settle()
        self.iteration += 1
        return tree

    def _grow(self) -> dict[str, Any]:
        parameters, columns = self.parameters, self._columns
        sample, features = self._sampler.draw(self.iteration)
        noise = self._category_noise() if self._by_category else 0.0
        growth = parameters.growth(features, sample.rows, self._leaf_of_row, category_noise=noise)
        first_hessian = n_outputs = columns.n_outputs
        asked = n_outputs, columns.kind, first_hessian, self._most, parameters.search == "restricted"
        return self._engine.grow_multi_output(growth, *asked)

    def _category_noise(self) -> float:
        """Return the squared gradients over the Hessians, of the outputs on average: what categories gain by chance."""
        gradient, hessian = self._columns.split(self._statistics)
        d, step = gradient.shape[1], len(gradient) // run.NOISE_ROWS + 1
        g, h = gradient[::step].astype(np.float64), hessian[::step].astype(np.float64)
        curvature = np.einsum("njj->", h) if h.ndim == 3 else h.sum() * (d / h.shape[1])
        return float((g**2).sum() / curvature) if curvature > 0.0 else 0.0

    def _steps(self, tree: Tree) -> FloatArray:
        """Return the leaves' steps, (n_leaves, n_outputs)."""
        sums = self._engine.leaf_sums(self._leaf_of_row, len(tree.left), None)
        l2 = self.parameters.l2_regularization
        outputs = None
        if self._most < self._columns.n_outputs:
            restricted = self.parameters.search == "restricted"
            sums = quadratic.added_up(sums, tree.left) if restricted else sums
            worth = vector.output_values(*self._columns.split(sums), l2)
            if restricted:  # both children of a split move the same outputs: those with the largest sum of gains
                for node in np.flatnonzero(tree.left >= 0):
                    children = slice(tree.left[node], tree.left[node] + 2)
                    worth[children] = worth[tree.left[node]] + worth[tree.left[node] + 1]
            outputs = vector.largest(worth[tree.leaves], self._most)
        G, H = self._columns.split(sums[tree.leaves])
        if self._columns.kind != "full":
            flat = ((G != 0.0) & (H + l2 <= 0.0)).any(axis=1)
            self.diagnostics.add(n_flat_leaves=int(np.count_nonzero(flat)))
        return vector.output_steps(G, H, l2, outputs)

    def _evaluate(self, values: FloatArray) -> float:
        """Return the loss sum after a step by the values of the rows' leaves; leave the derivatives in the columns."""
        columns, self._tried, self._hold = self._columns, 0.0, True
        block = max(1, _BLOCK // columns.n_columns)
        for begin in range(0, len(self._y), block):
            rows = slice(begin, begin + block)
            raw, weight = self._next_raw[rows], None if self._weight is None else self._weight[rows]
            np.add(self.raw_prediction[rows], values.take(self._leaf_of_row[rows], axis=0), out=raw)
            with np.errstate(over="ignore"):  # a step that is too long is halved
                of_rows, gradient, hessian = self._loss.derivatives(self._y[rows], raw, self.parameters.hessian)
                columns.fill(self._statistics[rows], gradient, hessian, weight)
            self._hold = self._hold and columns.hold(self._statistics[rows])
            self._tried += float(np.sum(of_rows) if weight is None else weight @ of_rows)
            if of_rows.dtype == np.float32:
                self._rounding = IN_FLOAT32
        return self._tried

    def _settle(self) -> None:
        """Take the state at which the loss was evaluated last."""
        if not self._hold:
            self._columns.refuse(self._statistics, self._loss.name)
        self._loss_sum = self._tried
        self.raw_prediction, self._next_raw = self._next_raw, self.raw_prediction
