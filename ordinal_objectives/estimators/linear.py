"""A penalised linear score, fitted first, that the trees start from."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import issparse
from sklearn.exceptions import ConvergenceWarning

from ordinal_objectives.aliases import Estimator, FloatArray, IndexArray, Params, RealArray
from ordinal_objectives.columns import are_missing
from ordinal_objectives.estimators.held_out import (
    Choices,
    RoundSearch,
    Rows,
    Trial,
    TrialOf,
    find_rounds,
    is_auto,
)
from ordinal_objectives.losses import OrdinalLoss
from ordinal_objectives.row_blocks import RowBlocks, blocks_of
from ordinal_objectives.rows import CPU
from ordinal_objectives.threshold_solver import initial_thresholds
from ordinal_objectives.utils.json_of import NOT_IN_FILES
from ordinal_objectives.utils.validation import check_number, signs_of

# Numbers of mean 0 and variance 1, (n_samples, n_numbers), 0 where a value is missing; and for each category the level
# of each row, (n_samples,), -1 where it is missing or unknown.
Encoded = tuple[FloatArray, list[IndexArray]]


_LEAST_GAP = 1e-3
_MOST_STEPS = 5000


@dataclass(frozen=True)
class LinearPart:
    r"""A linear score g(x), to which a model adds its trees.

    Numbers are scaled to mean 0 and variance 1, categories have one weight a level. With z the scaled columns the
    weights w and thresholds t minimise

    .. math:: \sum_i s_i L(y_i, z_i^\top w, t) + \tfrac{1}{2} \lambda \lVert w \rVert^2 ,

    with the loss L of the model and s the sample weights. The thresholds are not kept: the training of the trees finds
    its own. A missing value or an unknown level adds nothing; a number outside the range of the training counts as the
    end of that range.

    Attributes
    ----------
    n_features : int
    places : ndarray of int, shape (n_numbers,)
        Columns of numbers.
    mean, scale, low, high : ndarray of float64, shape (n_numbers,)
        Of each: mean, standard deviation, smallest and largest value of the training.
    levels : dict of int to list of float
        Codes of each column of categories, increasing.
    weights : ndarray of float64, shape (n_numbers,)
        Of the scaled columns of numbers; empty until they are fitted.
    level_weights : list of ndarray of float64, shape (n_levels,) each
        Of the levels of each category.
    missing : float
        A number that stands for a missing value, beside NaN.
    read : callable or None
        ``read(X)`` returns the columns that the part was fitted to, with codes in the place of levels. None: X holds
        them.
    """

    n_features: int
    places: IndexArray
    mean: FloatArray
    scale: FloatArray
    low: FloatArray
    high: FloatArray
    levels: dict[int, list[float]]
    weights: FloatArray
    level_weights: list[FloatArray]
    missing: float = np.nan
    read: Callable[[Any], Any] | None = field(default=None, metadata=NOT_IN_FILES)

    @classmethod
    def of_model(
        cls,
        model: Estimator,
        rows: Rows,
        loss: OrdinalLoss,
        hessian: str,
        categories: Collection[int],
        missing: float = np.nan,
    ) -> LinearPart:
        """Fit the weights with the penalty and the threads of a classifier; see :meth:`fit`."""
        given: Params = {
            "hessian": hessian,
            "categories": categories,
            "missing": missing,
            "n_threads": model.asked_threads(),
        }
        return cls.fit(rows, model.n_classes_, loss, model.linear_l2, **given)

    @classmethod
    def fit(
        cls,
        rows: Rows,
        n_classes: int,
        loss: OrdinalLoss,
        l2: float,
        *,
        hessian: str = "exact",
        categories: Collection[int] = (),
        missing: float = np.nan,
        n_threads: int | None = None,
    ) -> LinearPart:
        """Fit the weights.

        Parameters
        ----------
        rows : Rows
            Their features are numbers, (n_samples, n_features), NaN where they are missing. The linear score is added
            to their start scores.
        n_classes : int
        loss : OrdinalLoss
        l2 : float
            The penalty.
        hessian : str
            One that the loss has; it is not used.
        categories : collection of int
            Columns of codes of categories.
        missing : float
        n_threads : int or None

        Warns
        -----
        ConvergenceWarning
            If the weights are not found in 5,000 steps.
        """
        X, sample_weight, start = _matrix(rows.X), rows.weight, rows.start
        scaled = cls._scaled(X, sample_weight, categories, missing)
        table = scaled._encode(X)
        options = {} if loss.codes is None else {"precision": "float64"}
        row_pass = CPU(n_threads).row_pass(loss, rows.y, n_classes, sample_weight, **options)
        before = np.zeros(len(rows)) if start is None else start
        ends = np.cumsum([n_classes - 1, len(scaled.places), *map(len, scaled.levels.values())])

        def parts(x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, list[FloatArray]]:
            thresholds, weights, *level_weights, _ = np.split(x, ends)
            gaps = np.exp(thresholds[1:]) if loss.ordered else np.diff(thresholds)
            if loss.ordered:  # x holds the first one, and logarithms of the gaps
                thresholds = thresholds[0] + np.concatenate([[0.0], np.cumsum(gaps)])
            return thresholds, gaps, weights, level_weights

        def objective(x: FloatArray) -> tuple[float, FloatArray]:
            thresholds, gaps, weights, level_weights = parts(x)
            now = row_pass(before + _score(table, weights, level_weights), thresholds, hessian)
            threshold_gradient = now.threshold_gradient
            if loss.ordered:  # a gap moves all thresholds above it
                above = np.cumsum(threshold_gradient[::-1])[::-1]
                threshold_gradient = np.concatenate([above[:1], above[1:] * gaps])
            row_gradient = np.asarray(now.gradient, dtype=np.float64)
            of_levels = [
                np.bincount(code + 1, row_gradient, minlength=len(level_weight) + 1)[1:]
                for code, level_weight in zip(table[1], level_weights, strict=True)
            ]
            w = x[ends[0] :]
            gradient = np.concatenate([threshold_gradient, table[0].T @ row_gradient, *of_levels])
            gradient[ends[0] :] += l2 * w
            return float(now.loss + l2 / 2 * w @ w) / total, gradient / total

        total = float(row_pass.total_weight)
        first = initial_thresholds(row_pass.class_weights, loss=loss).thresholds
        if loss.ordered:
            first = np.concatenate([first[:1], np.log(np.maximum(np.diff(first), _LEAST_GAP))])
        x = np.concatenate([first, np.zeros(ends[-1] - ends[0])])
        at_start, _ = objective(x)

        def of_step(x: FloatArray) -> tuple[float, FloatArray]:
            try:
                with np.errstate(over="ignore", invalid="ignore"):
                    return objective(x)
            except ValueError:  # it went too far: thresholds are infinite, or equal where they must differ
                return 2.0 * at_start, np.zeros(len(x))

        def weigh(x: FloatArray) -> None:
            thresholds, _, weights, level_weights = parts(x)
            of_intervals.hold_weights(before + _score(table, weights, level_weights), thresholds)

        of_intervals: Any = row_pass if getattr(row_pass, "between", False) else None
        x = _lowest(of_step, x, None if of_intervals is None else weigh)
        _, _, weights, level_weights = parts(x)
        return replace(scaled, weights=weights, level_weights=level_weights)

    @classmethod
    def _scaled(
        cls, X: RealArray | RowBlocks, weight: FloatArray | None, categories: Collection[int], missing: float
    ) -> LinearPart:
        """Find the scale of each column of numbers and the levels of the others; no weights are fitted."""
        if issparse(X) or isinstance(X, RowBlocks):
            kind = "RowBlocks" if isinstance(X, RowBlocks) else "a sparse matrix"
            raise ValueError(f"X must be an array or a table where linear is not False; got {kind}")
        of_levels = sorted(categories)
        places = np.setdiff1d(np.arange(X.shape[1]), of_levels)
        values = _numbers(X, places, missing)
        known = np.isfinite(values)
        share = known * (1.0 if weight is None else weight[:, np.newaxis])
        total = np.maximum(share.sum(axis=0), np.finfo(np.float64).tiny)
        filled = np.where(known, values, 0.0)
        with np.errstate(over="ignore", invalid="ignore"):  # of numbers near the largest, whose column is left out
            mean = (share * filled).sum(axis=0) / total
            scale = np.sqrt((share * np.where(known, values - mean, 0.0) ** 2).sum(axis=0) / total)
        counts = share > 0
        low = np.where(counts, filled, np.inf).min(axis=0, initial=np.inf)
        high = np.where(counts, filled, -np.inf).max(axis=0, initial=-np.inf)
        usable = np.isfinite(mean) & np.isfinite(scale) & (scale > 0.0)
        mean, scale = np.where(usable, mean, 0.0), np.where(usable, scale, 1.0)
        low, high = np.where(usable, low, 0.0), np.where(usable, high, 0.0)
        levels = {place: np.unique(codes[~np.isnan(codes)]).tolist() for place, codes in _codes(X, of_levels, missing)}
        return cls(X.shape[1], places, mean, scale, low, high, levels, np.zeros(0), [], missing)

    def _encode(self, X: RealArray) -> Encoded:
        values = np.clip(_numbers(X, self.places, self.missing), self.low, self.high)
        numbers: FloatArray = np.nan_to_num((values - self.mean) / self.scale, copy=False, nan=0.0)
        codes = _codes(X, self.levels, self.missing)
        return numbers, [_places_among(np.array(self.levels[place]), values) for place, values in codes]

    def scores(self, X: object) -> FloatArray:
        """Return g(x) of rows, (n_samples,).

        Parameters
        ----------
        X : array-like, data frame or Arrow table, shape (n_samples, n_features)
            As ``predict`` takes them.
        """
        blocks = [self._encode(block) for _, block in blocks_of(self._columns(X))]
        return np.concatenate([_score(block, self.weights, self.level_weights) for block in blocks])

    def contributions(self, X: object) -> FloatArray:
        """Return what each feature adds to g(x), (n_samples, n_features).

        Parameters
        ----------
        X : array-like, data frame or Arrow table, shape (n_samples, n_features)
            As ``predict`` takes them.
        """
        numbers, codes = self._encode(self._columns(X))
        contributions = np.zeros((len(numbers), self.n_features))
        contributions[:, self.places] = numbers * self.weights
        for place, code, weights in zip(self.levels, codes, self.level_weights, strict=True):
            contributions[:, place] = np.append(weights, 0.0)[code]
        return contributions

    def _columns(self, X: object) -> Any:
        return _matrix(X if self.read is None else self.read(X))

    def check(self, n_features: int) -> None:
        """Raise ValueError unless this is a part of so many features: a file may be damaged."""
        numbers = (self.mean, self.scale, self.low, self.high, self.weights)
        if self.n_features != n_features or sorted([*self.places, *self.levels]) != list(range(n_features)):
            raise ValueError(f"the linear part must hold each of the {n_features} features once")
        if any(values.shape != self.places.shape for values in numbers) or (self.scale <= 0.0).any():
            raise ValueError(f"the linear part must hold {len(self.places)} weights and scales above 0")
        if [weights.shape for weights in self.level_weights] != [(len(of),) for of in self.levels.values()]:
            raise ValueError("the linear part must hold one weight for each level")
        if any(of != sorted(set(of)) for of in self.levels.values()):
            raise ValueError("the codes of the linear part must increase")


def _lowest(objective: Callable[..., Any], x: FloatArray, weigh: Callable[[FloatArray], None] | None) -> FloatArray:
    """Return the x of the lowest objective; where ``weigh(x)`` changes it, one that is the lowest of its own."""
    fit = partial(minimize, objective, jac=True, method="L-BFGS-B")
    found = fit(x, options={"maxiter": _MOST_STEPS})
    # The first gradient need not be the objective's, and may lead nowhere.
    n_steps, is_moving = found.nit, True
    while weigh is not None and is_moving and n_steps < _MOST_STEPS:
        weigh(found.x)
        found = fit(found.x, options={"maxiter": _MOST_STEPS - n_steps})
        n_steps, is_moving = n_steps + found.nit, found.nit > 0
    if n_steps >= _MOST_STEPS:  # what ends it otherwise cannot lower the value any further
        says = f"the linear part was not fitted to the end in {n_steps} steps: a larger linear_l2 needs fewer"
        warnings.warn(says, ConvergenceWarning, stacklevel=3)
    fitted: FloatArray = found.x
    return fitted


def _matrix(X: Any) -> Any:
    """Return features as an array: of a frame the columns that hold no numbers, text and vectors, are zeros."""
    if not hasattr(X, "iloc"):
        return X
    columns = [X.iloc[:, place] for place in range(X.shape[1])]
    return np.column_stack([np.zeros(len(X)) if column.dtype == object else column for column in columns])


def _numbers(X: RealArray, places: IndexArray, missing: float) -> FloatArray:
    """Return columns of numbers, NaN where they are missing, as a copy."""
    values: FloatArray = X[:, places].astype(np.float64)
    if not np.isnan(missing):
        values[are_missing(values, missing)] = np.nan
    return values


def _codes(X: RealArray, places: Collection[int], missing: float) -> Iterator[tuple[int, FloatArray]]:
    """Yield the places of columns of codes, and the codes, NaN where they are missing."""
    for place in places:
        yield place, _numbers(X, np.array([place]), missing).ravel()


def _places_among(levels: FloatArray, codes: FloatArray) -> IndexArray:
    """Return the place of each code among increasing ones, -1 where it is none of them."""
    if not len(levels):
        return np.full(len(codes), -1, dtype=np.intp)
    at = np.minimum(np.searchsorted(levels, codes), len(levels) - 1)
    return np.where(levels[at] == codes, at, -1)


def _score(table: Encoded, weights: FloatArray, level_weights: list[FloatArray]) -> FloatArray:
    score: FloatArray = table[0] @ weights
    for code, level_weight in zip(table[1], level_weights, strict=True):
        score += np.append(level_weight, 0.0)[code]  # -1 is the 0
    return score


FitLinear = Callable[[Rows], LinearPart]


def check_linear(
    linear: object, l2: object, name: str, signs: Any, has_linear: bool | None, threshold_update: object
) -> bool:
    """Check what is asked for of a linear part; tell whether there is one whatever the rows say.

    Parameters
    ----------
    linear, l2 : object
        The parameters ``linear`` and ``linear_l2``.
    name : str
        What monotone constraints are called.
    signs : array-like, mapping of signs, str or None
        The constraints, as the library takes them; zeros constrain nothing.
    has_linear : bool or None
        Whether the model that is continued has a linear part; None if none is continued.
    threshold_update : object
        The parameter.

    Raises
    ------
    TypeError, ValueError
        If ``linear`` is neither a boolean nor "auto", ``l2`` no positive number, a linear part stands beside monotone
        constraints or thresholds that stay those of a score of 0, or is asked for where the model that is continued has
        none.
    """
    if not isinstance(linear, (bool, np.bool_)) and not is_auto(linear):
        raise ValueError(f"linear must be True, False or 'auto'; got {linear!r}")
    check_number("linear_l2", l2, above=0.0)
    given = signs if signs is None or isinstance(signs, str) else signs_of(signs, name=name)
    is_monotone = re.search("[1-9]", str(list(given.values()) if isinstance(given, dict) else given))
    if is_monotone and linear is not False:
        raise ValueError(f"linear must be False with {name}: a linear part need not be monotone; got {linear!r}")
    if is_monotone and has_linear:
        raise ValueError(f"{name} cannot continue a model that has a linear part, which need not be monotone")
    always = not is_auto(linear) and bool(linear)
    if always and is_fixed(threshold_update):
        raise ValueError(
            "linear=True needs thresholds that are fitted to the linear part, and threshold_update='fixed' keeps those "
            "of a score of 0: take another threshold_update, or linear=False"
        )
    if always and has_linear is False:
        raise ValueError("linear=True continues only a model with a linear part; this one has none")
    return always


def is_fixed(threshold_update: object) -> bool:
    """Tell whether thresholds stay those of a score of 0, to which no linear part can be added."""
    return isinstance(threshold_update, str) and threshold_update == "fixed"


def with_start(part: LinearPart | None, rows: Rows) -> Rows:
    """Return rows with the linear part added to their start scores; without one the rows as given."""
    if part is None:
        return rows
    score = part.scores(rows.X)
    return replace(rows, start=score if rows.start is None else rows.start + score)


def search(
    model: Estimator,
    fit_linear: FitLinear,
    trial_of: TrialOf,
    choices: Choices,
    params: Params,
    rows: Rows,
    seed: int,
) -> tuple[RoundSearch | None, LinearPart | None]:
    """Find the number of rounds and the settings, and for "auto" whether a linear part lowers the loss.

    Parameters
    ----------
    model : OrdinalClassifier
    fit_linear : callable
        ``fit_linear(rows)`` returns the linear part of some rows.
    choices : Choices
    params : dict of str to object
        The model's parameters: those are searched that are left at "auto".
    trial_of, rows, seed
        Of :func:`.held_out.find_rounds`.

    Returns
    -------
    RoundSearch or None, LinearPart or None
        The second is fitted to all rows. Without a search, "auto" takes none.
    """
    linear = False if is_fixed(model.threshold_update) else model.linear
    settings, rates = choices.left(params, len(rows.weighted))
    best, linear_is_best = None, not is_auto(linear) and bool(linear)
    for with_it in (False, True) if is_auto(linear) else (bool(linear),):
        trial = _with_linear(fit_linear, trial_of) if with_it else trial_of
        found = find_rounds(trial, settings, rows, rates, seed)
        if found is not None and (best is None or found.lowest < best.lowest):
            best, linear_is_best = found, with_it
    return best, fit_linear(rows) if linear_is_best else None


def _with_linear(fit_linear: FitLinear, trial_of: TrialOf) -> TrialOf:
    """Return trials whose trees start from a linear part, fitted without the rows held out."""

    def trial(fit: Rows, held: Rows) -> Trial:
        part = fit_linear(fit)
        return trial_of(with_start(part, fit), with_start(part, held))

    return trial
