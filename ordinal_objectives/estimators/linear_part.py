"""A penalised linear score, fitted first, that the trees start from."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

from ordinal_objectives.estimators.held_out import Rows
from ordinal_objectives.estimators.linear_columns import Encoded, FloatArray, LinearColumns
from ordinal_objectives.losses import OrdinalLoss
from ordinal_objectives.row_blocks import blocks_of
from ordinal_objectives.rows import CPU
from ordinal_objectives.threshold_solver import initial_thresholds
from ordinal_objectives.utils.files import numbers_from_json
from ordinal_objectives.utils.validation import check_integer

_LEAST_GAP = 1e-3


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
    columns : LinearColumns
    weights : ndarray of float64, shape (n_numbers,)
        Of the scaled columns of numbers.
    level_weights : list of ndarray of float64, shape (n_levels,) each
        Of the levels of each category.
    missing : float
        A number that stands for a missing value, beside NaN.
    read : callable or None
        ``read(X)`` returns the columns that the part was fitted to: the engine's have codes in the place of levels.
        None: X holds them.
    """

    columns: LinearColumns
    weights: FloatArray
    level_weights: list[FloatArray]
    missing: float = np.nan
    read: Callable[[Any], Any] | None = None

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
            The linear score is added to their start scores.
        n_classes : int
        loss : OrdinalLoss
        l2 : float
            The penalty.
        hessian : str
            One that the loss has; it is not used.
        categories : collection of int
            Columns of numbers that are categories.
        missing : float
        n_threads : int or None
        """
        X, codes, sample_weight, start = rows.X, rows.codes, rows.weight, rows.start
        columns = LinearColumns.of(X, sample_weight, categories, missing)
        encoded = columns.encode(X, missing)
        options = {} if loss.codes is None else {"precision": "float64"}
        row_pass: Any = CPU(n_threads).row_pass(loss, codes, n_classes, sample_weight, **options)
        before = np.zeros(len(codes)) if start is None else start
        ends = np.cumsum([n_classes - 1, encoded.numbers.shape[1], *map(len, columns.levels.values())])

        def parts(x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, list[FloatArray]]:
            thresholds, weights, *level_weights, _ = np.split(x, ends)
            gaps = np.exp(thresholds[1:]) if loss.ordered else np.diff(thresholds)
            if loss.ordered:  # x holds the first one, and logarithms of the gaps
                thresholds = thresholds[0] + np.concatenate([[0.0], np.cumsum(gaps)])
            return thresholds, gaps, weights, level_weights

        def objective(x: FloatArray) -> tuple[float, FloatArray]:
            thresholds, gaps, weights, level_weights = parts(x)
            now = row_pass(before + _score(encoded, weights, level_weights), thresholds, hessian)
            of_thresholds = now.threshold_gradient
            if loss.ordered:  # a gap moves all thresholds above it
                above = np.cumsum(of_thresholds[::-1])[::-1]
                of_thresholds = np.concatenate([above[:1], above[1:] * gaps])
            of_rows = np.asarray(now.gradient, dtype=np.float64)
            of_levels = [
                np.bincount(code + 1, of_rows, minlength=len(level_weight) + 1)[1:]
                for code, level_weight in zip(encoded.codes, level_weights, strict=True)
            ]
            w = x[ends[0] :]
            gradient = np.concatenate([of_thresholds, encoded.numbers.T @ of_rows, *of_levels])
            gradient[ends[0] :] += l2 * w
            return float(now.loss + l2 / 2 * w @ w) / total, gradient / total

        total = float(row_pass.total_weight)
        first = initial_thresholds(row_pass.class_weights, loss=loss).thresholds
        if loss.ordered:
            first = np.concatenate([first[:1], np.log(np.maximum(np.diff(first), _LEAST_GAP))])
        x = np.concatenate([first, np.zeros(ends[-1] - ends[0])])
        found = minimize(objective, x, jac=True, method="L-BFGS-B", options={"maxiter": 500})
        _, _, weights, level_weights = parts(found.x)
        return cls(columns, weights, level_weights, missing)

    def scores(self, X: Any) -> FloatArray:
        """Return g(x) of rows, (n_samples,).

        Parameters
        ----------
        X : array-like, data frame or Arrow table, shape (n_samples, n_features)
            As ``predict`` takes them.
        """
        blocks = [self.columns.encode(block, self.missing) for _, block in blocks_of(self._columns(X))]
        return np.concatenate([_score(block, self.weights, self.level_weights) for block in blocks])

    def contributions(self, X: Any) -> FloatArray:
        """Return what each feature adds to g(x), (n_samples, n_features).

        Parameters
        ----------
        X : array-like, data frame or Arrow table, shape (n_samples, n_features)
            As ``predict`` takes them.
        """
        encoded = self.columns.encode(self._columns(X), self.missing)
        of_features = np.zeros((len(encoded.numbers), self.columns.n_features))
        of_features[:, self.columns.places] = encoded.numbers * self.weights
        for place, code, weights in zip(self.columns.levels, encoded.codes, self.level_weights, strict=True):
            of_features[:, place] = np.append(weights, 0.0)[code]
        return of_features

    def _columns(self, X: Any) -> Any:
        return X if self.read is None else self.read(X)

    def to_json(self) -> dict[str, Any]:
        """Return the part in JSON's types; numbers round-trip exactly."""
        of = self.columns
        return {
            "n_features": of.n_features,
            "places": of.places.tolist(),
            **{name: getattr(of, name).tolist() for name in ("mean", "scale", "low", "high")},
            "weights": self.weights.tolist(),
            "levels": [[place, levels] for place, levels in of.levels.items()],
            "level_weights": [weights.tolist() for weights in self.level_weights],
            "missing": None if np.isnan(self.missing) else self.missing,
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any], n_features: int) -> LinearPart:
        """Read what :meth:`to_json` wrote for so many features.

        Raises
        ------
        ValueError, KeyError, TypeError
            If it is damaged.
        """
        numbers = {name: numbers_from_json(content[name], name) for name in ("mean", "scale", "low", "high", "weights")}
        places = [check_integer("places", place, 0, n_features - 1) for place in content["places"]]
        levels = {check_integer("levels", place, 0, n_features - 1): list(of) for place, of in content["levels"]}
        level_weights = [numbers_from_json(weights, "level_weights") for weights in content["level_weights"]]
        all_places = sorted([*places, *levels])
        if content["n_features"] != n_features or all_places != list(range(n_features)):
            raise ValueError(f"the linear part must hold each of the {n_features} features once")
        if any(len(values) != len(places) for values in numbers.values()) or (numbers["scale"] <= 0.0).any():
            raise ValueError(f"the linear part must hold {len(places)} weights and scales above 0")
        if [len(weights) for weights in level_weights] != [len(set(of)) for of in levels.values()]:
            raise ValueError("the linear part must hold one weight for each level")
        weights = numbers.pop("weights")
        columns = LinearColumns(n_features, np.array(places, dtype=np.intp), **numbers, levels=levels)
        missing = content["missing"]
        return cls(columns, weights, level_weights, np.nan if missing is None else float(missing))


def _score(encoded: Encoded, weights: FloatArray, level_weights: list[FloatArray]) -> FloatArray:
    score: FloatArray = encoded.numbers @ weights
    for code, level_weight in zip(encoded.codes, level_weights, strict=True):
        score += np.append(level_weight, 0.0)[code]  # -1 is the 0
    return score
