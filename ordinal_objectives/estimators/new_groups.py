"""Effects of new groups, from labelled rows of them: trees, thresholds and other effects stay."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from scipy.sparse import csc_matrix, diags, hstack
from scipy.sparse.linalg import spsolve
from sklearn.utils.validation import check_is_fitted

from ordinal_objectives import tables
from ordinal_objectives.aliases import ArrayLike, FloatArray, IntArray, Table
from ordinal_objectives.estimators.ordinal_classifier import OrdinalClassifier
from ordinal_objectives.losses import OrdinalLoss
from ordinal_objectives.random_effects import GroupColumn, RandomEffects
from ordinal_objectives.rows import CPU
from ordinal_objectives.threads import one_thread_after_fork
from ordinal_objectives.threshold_solver.effect_errors import beyond, widened
from ordinal_objectives.threshold_solver.random_intercept import IntegratedEffects, RowsWithScores
from ordinal_objectives.utils import documented, validation

# Newton steps to the modes at most, the shortest share of one that is tried, and how far the last one moves an effect.
_MOST_STEPS, _LEAST_SHARE, _AT_REST = 100, 1e-6, 1e-6


@documented
@one_thread_after_fork()
def with_groups[Classifier: OrdinalClassifier](
    self: Classifier, X: object, y: ArrayLike, sample_weight: ArrayLike | None = None, **start: ArrayLike | None
) -> Classifier:
    """Return a copy of the model that knows further groups of ``random_intercept``, by labelled rows of them.

    Trees, thresholds, variances and the effects of known groups stay. The effects of new groups are the modes of their
    posterior distributions given these, of several columns together: where the likelihood with the penalty
    b^2 / (2 tau^2) of each is highest. Rows of known groups alone change nothing.

    Parameters
    ----------
    <<X, **start>>
    y : array-like of shape (n_samples,)
        Labels, among ``classes_``.
    sample_weight : array-like of shape (n_samples,), or None, default=None
        A row with weight 2 counts as two rows. Weights of classes by ``class_weight`` are multiplied with it.

    Returns
    -------
    estimator
        A fitted copy, whose ``random_effects_`` has the new groups after the others. Stages before its last have no
        effects of theirs.

    Raises
    ------
    NotFittedError
        Before ``fit``.
    ValueError
        If the model was trained without ``random_intercept``, or with ``class_weight="balanced"``, whose weights are
        not kept.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives import HistGradientBoostingOrdinalClassifier
    >>> rng = np.random.default_rng(0)
    >>> clinic, dose = np.arange(600) % 30, rng.normal(size=600)
    >>> effects = rng.normal(size=30)
    >>> stage = np.digitize(dose + effects[clinic] + rng.logistic(size=600), [-1.0, 1.0])
    >>> X, known = np.column_stack([dose, clinic]), clinic < 25
    >>> model = HistGradientBoostingOrdinalClassifier(loss="cumulative_link", random_intercept=1, random_state=0)
    >>> model = model.fit(X[known], stage[known])
    >>> more = model.with_groups(X[~known], stage[~known])
    >>> len(model.random_effects_.groups), len(more.random_effects_.groups)
    (25, 30)
    """
    check_is_fitted(self)
    if not self._effects:
        raise ValueError("with_groups needs a model that was trained with random_intercept; this one has no groups")
    X = tables.as_table(X)
    self._check_features(X, reset=False)  # refused as predictions refuse it
    codes = self.encode_labels(y)
    if len(codes) != X.shape[0]:
        raise ValueError(f"X and y must have the same number of rows; got {X.shape[0]} and {len(codes)}")
    weight = validation.row_weights(sample_weight, len(codes)) * _class_weights(self)[codes]
    return _take_groups(copy.deepcopy(self), X, codes, weight, start)


def _take_groups[Classifier: OrdinalClassifier](
    self: Classifier, X: Table, codes: IntArray, weight: FloatArray, start: Mapping[str, ArrayLike | None]
) -> Classifier:
    """Take the groups of labelled rows."""
    before, columns = self._effects, GroupColumn.with_new(X, self._groups)
    self._groups, self._effects = columns, ()
    checked = self._check_features(X, reset=False)
    rows = RowsWithScores(checked, codes, self.n_classes_, weight, self._scores_of_checked(checked, start))
    effects = [_extended(*one) for one in zip(before, columns, strict=True)]
    found = _found(effects, rows, self._fitted_loss, self.thresholds_, getattr(self, "n_jobs", None))
    self._effects = tuple(one.at_end(self.n_iter_) for one in found)
    self._carry()
    return self


def _class_weights(self: OrdinalClassifier) -> FloatArray:
    """Return the weight of each class in the training of a model, (n_classes,)."""
    asked = self.class_weight
    if isinstance(asked, str):
        raise ValueError(
            f"with_groups needs a model whose class_weight is None or a dict, since the weights that "
            f"{asked!r} found are not kept; got class_weight={asked!r}"
        )
    return np.array([(asked or {}).get(label, 1.0) for label in self.ordered_classes_.tolist()])


def _extended(effects: RandomEffects, column: GroupColumn) -> RandomEffects:
    """Return effects with those of new groups, of which nothing is known."""
    n_new = len(column.groups) - len(effects.groups)
    errors = np.append(effects.standard_errors, np.full(n_new, effects.variance**0.5))
    return replace(effects, column=column, effects=np.pad(effects.effects, (0, n_new)), standard_errors=errors)


def _found(
    effects: Sequence[RandomEffects],
    rows: RowsWithScores,
    loss: OrdinalLoss,
    thresholds: FloatArray,
    n_threads: int | None,
) -> list[RandomEffects]:
    """Return effects with those of the groups that are new, as in predictions, where they have rows of any weight."""
    are_new = []
    for one in effects:
        n = len(one.groups)
        weight = np.bincount(one.column.numbers(rows.X), rows.weight, n + 2)[:n]
        are_new.append((one.effects == 0.0) & (weight > 0.0))
    modes = _joint_modes(effects, are_new, rows, loss, thresholds, n_threads)
    found = []
    for one, is_new, of_new in zip(effects, are_new, modes, strict=True):
        moved = one.effects.copy()
        moved[is_new] = of_new
        found.append(replace(one, effects=moved))
    for i, (before, one, is_new) in enumerate(zip(effects, found, are_new, strict=True)):
        given = rows._replace(scores=rows.scores + sum(of.of_rows(rows.X) for of in (*found[:i], *found[i + 1 :])))
        n_known = max(int(np.count_nonzero(before.effects)), 1)
        of_group = IntegratedEffects(one, given, loss, n_threads).deviations(thresholds) ** 2
        # Known groups have a mean of their own: the new one's share that is shrunk away differs from it.
        share = of_group / one.variance
        given_variance = of_group + share * of_group / n_known + share**2 * beyond(one.variance, one.variance_error)
        by_variance = (share * one.effects / one.variance * one.variance_error) ** 2
        errors = widened(given_variance, by_variance, n_known)
        found[i] = replace(one, standard_errors=np.where(is_new, errors, one.standard_errors))
    return found


def _joint_modes(
    effects: Sequence[RandomEffects],
    are_new: Sequence[FloatArray],
    rows: RowsWithScores,
    loss: OrdinalLoss,
    thresholds: FloatArray,
    n_threads: int | None,
) -> list[FloatArray]:
    """Return the modes of the new groups' effects in each column, by joint Newton steps."""
    n, blocks, known = len(rows.y), [], rows.scores
    for one, is_new in zip(effects, are_new, strict=True):
        number = np.append(np.where(is_new, np.cumsum(is_new) - 1, -1), [-1, -1])[one.column.codes(rows.X)]
        some = np.flatnonzero(number >= 0)
        blocks.append(csc_matrix((np.ones(len(some)), (some, number[some])), shape=(n, int(is_new.sum()))))
        known = known + one.of_rows(rows.X)
    design, sizes = hstack(blocks, format="csc"), [block.shape[1] for block in blocks]
    precision = np.repeat([1.0 / one.variance for one in effects], sizes)
    row_pass = CPU(n_threads).row_pass(loss, rows.y, rows.n_classes, rows.weight)
    modes = np.zeros(len(precision))
    now = row_pass(known, thresholds, "exact")
    value = now.loss
    for _ in range(_MOST_STEPS if len(modes) else 0):
        curvature = design.T @ diags(now.hessian.astype(np.float64)) @ design + diags(precision)
        step = -spsolve(curvature.tocsc(), design.T @ now.gradient.astype(np.float64) + precision * modes)
        share, highest = 1.0, row_pass.highest_loss(value)
        while share >= _LEAST_SHARE:
            moved = modes + share * step
            now = row_pass(known + design @ moved, thresholds, "exact")
            value = now.loss + float(precision @ moved**2) / 2.0
            if value <= highest:
                break
            share /= 2.0
        modes = moved
        if np.abs(share * step).max() <= _AT_REST:
            break
    return np.split(modes, np.cumsum(sizes)[:-1])
