"""Probabilities, classes and contributions of an XGBoost booster that carries its thresholds."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import xgboost

from ordinal_objectives import predictions, threads, trees
from ordinal_objectives.adapters import arguments, prediction
from ordinal_objectives.adapters.xgb import booster as xgb_booster, input_checks, outputs
from ordinal_objectives.aliases import JSON, ArrayLike, FloatArray, IndexArray, NDArray, RealArray
from ordinal_objectives.threshold_solver.record import ThresholdRecord
from ordinal_objectives.utils.shared_docs import documented

# Numbers that a block of rows holds at a time.
_BLOCK = 1 << 24


class _KnownTrees(NamedTuple):
    """Trees of a booster, read once.

    Attributes
    ----------
    n_rounds : int
    checksums : list of int or None
        Of the trees, as the record has them: a booster may have become another model since.
    categories : dict or None
        Those of the training, for slices; see :func:`.booster.rounds_of`.
    ensemble : TreeEnsemble or None
        None where a split is categorical: XGBoost then finds the leaves.
    of_node : list of ndarray of float64, shape (n_nodes, n_thresholds)
        What every leaf adds, by XGBoost's numbers of nodes.
    """

    n_rounds: int
    checksums: list[int] | None
    categories: JSON | None
    ensemble: trees.TreeEnsemble | None
    of_node: list[FloatArray]


_known: weakref.WeakKeyDictionary[xgboost.Booster, _KnownTrees] = weakref.WeakKeyDictionary()


def leaf_scores(
    booster: xgboost.Booster,
    record: ThresholdRecord,
    data: xgboost.DMatrix | RealArray,
    start: int,
    stop: int,
    missing: float = np.nan,
    n_threads: int | None = None,
) -> FloatArray:
    """Return what rounds ``start`` to ``stop - 1`` add to the scores, (n_samples, n_classes - 1).

    Parameters
    ----------
    booster : xgboost.Booster
    record : ThresholdRecord
        The booster's, with shifts.
    data : xgboost.DMatrix, or ndarray of shape (n_samples, n_features)
    start, stop : int
    missing : float, default=nan
        What stands for a missing value in an array.
    n_threads : int or None
    """
    known = _known_trees(booster, record)
    n_threads = threads.effective_n_threads(n_threads)
    if isinstance(data, np.ndarray):
        if known.ensemble is not None:
            scores = np.zeros((len(data), record.n_classes - 1))
            X = np.asarray(data, dtype=np.float32)  # as XGBoost reads it
            X = X if np.isnan(missing) else np.where(np.float32(missing) == X, np.float32(np.nan), X)
            known.ensemble.add_to(scores, X, start, stop, n_threads)
            return scores
        of_columns = {"feature_names": booster.feature_names, "feature_types": booster.feature_types}
        data = xgboost.DMatrix(data, missing=missing, enable_categorical=True, **of_columns)

    def find_leaves(first: int, last: int) -> NDArray[Any]:
        # XGBoost finds leaves only from the first tree on.
        is_whole = (first, last) == (0, known.n_rounds)
        part = booster if is_whole else xgb_booster.rounds_of(booster, first, last, known.categories)
        return part.predict(data, pred_leaf=True)

    scores = np.zeros((data.num_row(), record.n_classes - 1))
    if start == stop or not len(scores):
        return scores
    if known.ensemble is None or type(data) is not xgboost.DMatrix:
        trees.add_by_leaves(scores, find_leaves, known.of_node.__getitem__, start, stop, n_threads)
        return scores
    if data.num_col() < known.ensemble.n_features:
        raise ValueError(f"data must have {known.ensemble.n_features} columns; got {data.num_col()}")
    rows = data.get_data()  # what the matrix does not hold is missing
    step = max(1, _BLOCK // max(rows.shape[1], 1))
    for first in range(0, rows.shape[0], step):
        known.ensemble.add_to(scores[first : first + step], _dense(rows, first, first + step), start, stop, n_threads)
    return scores


def shifts_before(
    model: xgboost.Booster, record: ThresholdRecord | None
) -> Callable[[xgboost.DMatrix], FloatArray] | None:
    """Return a function that gives the shifts of a matrix by a model that is continued; None if it has none."""
    if record is None or record.shifts is None or record.outputs is not None:
        return None
    # The model grows on from here: its trees of today are kept.
    rounds = model.num_boosted_rounds()
    before = xgb_booster.rounds_of(model, 0, rounds)

    def shifts(data: xgboost.DMatrix) -> FloatArray:
        return predictions.without_mean(leaf_scores(before, record, data, 0, rounds))

    return shifts


def _dense(rows: Any, first: int, stop: int) -> NDArray[np.float32]:
    part = rows[first:stop]
    if part.nnz == part.shape[0] * part.shape[1]:
        return part.data.reshape(part.shape)
    block = np.full(part.shape, np.nan, dtype=np.float32)
    block[np.repeat(np.arange(part.shape[0]), np.diff(part.indptr)), part.indices] = part.data
    return block


def check_leaves(booster: xgboost.Booster, record: ThresholdRecord) -> None:
    """Raise ValueError unless a record has vectors for the leaves of the booster's trees."""
    if record.shifts is not None and record.outputs is None:
        _known_trees(booster, record)


def _known_trees(booster: xgboost.Booster, record: ThresholdRecord) -> _KnownTrees:
    known = _known.get(booster)
    rounds = booster.num_boosted_rounds()
    if known is None or (known.n_rounds, known.checksums) != (rounds, record.trees):
        theirs = xgb_booster.trees(booster.save_raw("ubj"))[: record.n_iterations]
        pairs = list(zip(theirs, record.leaf_vectors[: len(theirs)], strict=True))
        record.check_leaves(len(xgb_booster.leaf_nodes(tree["left_children"])) for tree in theirs)
        of_node = [_by_node(tree, vectors, record.n_classes - 1) for tree, vectors in pairs]
        ensemble = None
        if not any(tree["categories_nodes"].size for tree in theirs):
            ours = [_as_tree(*both) for both in zip(theirs, of_node, strict=True)]
            ensemble = trees.TreeEnsemble(ours, booster.num_features())
        categories = xgb_booster.categories_of(booster)
        known = _known[booster] = _KnownTrees(rounds, record.trees, categories, ensemble, of_node)
    return known


def _by_node(tree: JSON, vectors: NDArray[np.float32], n_thresholds: int) -> FloatArray:
    """Return what each node of a tree adds; a tree without vectors adds its leaf values to all thresholds alike."""
    leaves = xgb_booster.leaf_nodes(tree["left_children"])
    table = np.zeros((len(tree["left_children"]), n_thresholds))
    if len(vectors):
        table[leaves] = vectors
    else:
        table[leaves] = np.asarray(tree["split_conditions"], dtype=np.float32)[leaves, np.newaxis]
    return table


def _as_tree(tree: JSON, of_node: FloatArray) -> trees.Tree:
    """Return a tree of XGBoost as one of ours, its nodes renumbered so that children are next to each other."""
    nodes = xgb_booster.nodes_of(tree)
    left, right = nodes["left"], nodes.pop("right")
    order, position = [0], np.full(len(left), -1, dtype=np.int32)
    for node in order:
        if left[node] >= 0:
            position[node] = len(order)  # of its left child
            order += [int(left[node]), int(right[node])]
    ours = {name: values[order] for name, values in (nodes | {"left": position}).items()}
    ours["missing_left"] = ours["missing_left"].astype(np.uint8)
    return trees.Tree(
        **ours, value=of_node[order], gain=np.zeros(len(order)), count=np.zeros(len(order), dtype=np.int64)
    )


def proba_of(
    booster: xgboost.Booster,
    record: ThresholdRecord,
    data: xgboost.DMatrix,
    iteration_range: tuple[int, int] | None,
    random_intercept: object = None,
) -> FloatArray:
    """Return class probabilities of a booster whose record is known; see :func:`predict_proba`."""
    input_checks.check_matrix(booster, data)
    has_start = data.get_base_margin().size > 0
    record.check_start(has_start, "data has no base_margin", has_groups=random_intercept is not None)
    end = xgb_booster.last_round(booster, iteration_range)
    xgb_booster.check_all_rounds(booster, record, end)
    if record.outputs is None and record.shifts is not None:
        arguments.check_same_names(booster.feature_names, data.feature_names)
        scores, start = leaf_scores(booster, record, data, 0, end), data.get_base_margin()
        scores = scores + start.astype(np.float64)[:, np.newaxis] if start.size else scores
    else:
        outputs = booster.predict(data, output_margin=True, iteration_range=(0, end))
        of_rows = record.outputs
        scores = outputs.reshape(data.num_row()) if of_rows is None else of_rows.scores(outputs, 0, end)
    return prediction.proba_of(record, scores.astype(np.float64), end, random_intercept)


@documented
@threads.one_thread_after_fork()
def predict_proba(
    booster: xgboost.Booster,
    data: xgboost.DMatrix,
    iteration_range: tuple[int, int] | None = None,
    *,
    random_intercept: object = None,
) -> FloatArray:
    """Return class probabilities of a booster that carries its thresholds.

    Parameters
    ----------
    <<booster>>
    data : xgboost.DMatrix
        Rows to predict.
    <<iteration_range>>
    random_intercept : array-like of shape (n_samples,) or (n_samples, n_effects), frame, or None
        The group of each row, of a booster with random intercepts; None for the average group.

    Returns
    -------
    ndarray of float64, shape (n_samples, n_classes)

    Raises
    ------
    ValueError
        If the booster carries no thresholds, or none for that iteration; if data has levels of categories that the
        training did not have, or the booster holds none, or XGBoost refuses data.
    TypeError
        If ``booster`` is no booster, or ``data`` no DMatrix.

    Examples
    --------
    >>> import numpy as np
    >>> import xgboost
    >>> from ordinal_objectives.adapters import xgb as oxgb
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> y = np.digitize(X[:, 0] + 0.3 * rng.logistic(size=300), [-1.0, 1.0])
    >>> data = xgboost.DMatrix(X, y)
    >>> booster = oxgb.train({"max_depth": 2}, data, 20)
    >>> oxgb.predict_proba(booster, data).shape
    (300, 3)
    """
    booster = xgb_booster.completed(booster)
    return proba_of(booster, xgb_booster.carried_record(booster), data, iteration_range, random_intercept)


@documented(like=predict_proba)
@threads.one_thread_after_fork()
def predict(
    booster: xgboost.Booster,
    data: xgboost.DMatrix,
    iteration_range: tuple[int, int] | None = None,
    *,
    decision_rule: str = "median",
    cost_matrix: ArrayLike | None = None,
    random_intercept: object = None,
) -> IndexArray:
    """Return class codes of a booster that carries its thresholds.

    Parameters
    ----------
    <<booster, data, iteration_range, decision_rule, cost_matrix, random_intercept>>

    Returns
    -------
    ndarray of int, shape (n_samples,)

    Examples
    --------
    >>> import numpy as np
    >>> import xgboost
    >>> from ordinal_objectives.adapters import xgb as oxgb
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> y = np.digitize(X[:, 0] + 0.3 * rng.logistic(size=300), [-1.0, 1.0])
    >>> data = xgboost.DMatrix(X, y)
    >>> booster = oxgb.train({"max_depth": 2}, data, 20)
    >>> oxgb.predict(booster, data)[:4], y[:4]
    (array([1, 1, 1, 2]), array([1, 1, 0, 2]))
    """
    booster = xgb_booster.completed(booster)
    record = xgb_booster.carried_record(booster)
    find = partial(proba_of, booster, record, data, iteration_range, random_intercept)
    return prediction.decide(record, find, decision_rule, cost_matrix)


@documented
@threads.one_thread_after_fork()
def margin_contributions(
    booster: xgboost.Booster, data: xgboost.DMatrix, iteration_range: tuple[int, int] | None = None
) -> FloatArray:
    """Return the contributions of all features to the margins theta_k - f(x) - v_k(x), which say P(y <= k).

    XGBoost splits each of its outputs into one SHAP value for each feature and a bias. The margins are the thresholds
    less a linear function of the outputs, so theirs are the same function of those values.

    Parameters
    ----------
    booster : xgboost.Booster
        Proportional, or trained with ``shift_method="host"``, and carrying its thresholds.
    data : xgboost.DMatrix
        Rows to explain.
    <<iteration_range>>

    Returns
    -------
    ndarray of float64, shape (n_samples, n_classes - 1, n_features + 1)
        Lowest threshold first; the last column is the bias, with the threshold. They sum to the margins, which are
        those before any sorting. A positive number raises P(y <= k).

    Raises
    ------
    ValueError
        If the booster carries no thresholds, or shifts that XGBoost does not know, or XGBoost is too old.
    TypeError
        If ``booster`` is no booster, or ``data`` no DMatrix.

    Examples
    --------
    >>> import numpy as np, xgboost
    >>> from ordinal_objectives.adapters import xgb as oxgb
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=300), [-1.0, 0.0, 1.0])
    >>> dtrain = xgboost.DMatrix(X, y)
    >>> booster = oxgb.train({"max_depth": 2}, dtrain, 20)
    >>> oxgb.margin_contributions(booster, dtrain).shape
    (300, 3, 4)
    """
    booster = xgb_booster.completed(booster)
    record = xgb_booster.carried_record(booster)
    input_checks.check_matrix(booster, data)
    n_features = booster.num_features()
    if data.num_col() != n_features:  # XGBoost's room for them is another one
        raise ValueError(f"data must have the model's {n_features} columns; got {data.num_col()}")
    record.check_start(data.get_base_margin().size > 0, "data has no base_margin")
    end = xgb_booster.last_round(booster, iteration_range)
    xgb_booster.check_all_rounds(booster, record, end)
    if record.outputs is None and record.shifts is not None:
        raise ValueError(
            "the shifts of this booster are kept beside XGBoost, which has no contributions for them; train with "
            "shift_method='host' or proportional=True"
        )
    if record.outputs is not None:
        outputs.refuse_before(outputs.CONTRIBUTIONS, "margin_contributions")
    of_outputs = booster.predict(data, pred_contribs=True, iteration_range=(0, end)).astype(np.float64)
    bias = record.at(end)
    if record.outputs is None or record.n_classes == 2:
        contributions = -np.repeat(of_outputs.reshape(len(of_outputs), 1, n_features + 1), record.n_classes - 1, axis=1)
    else:
        contributions = -np.einsum("kj,njf->nkf", record.outputs.mixing, of_outputs)
        bias = bias + record.outputs.offset(end)
    contributions[:, :, -1] += bias
    return contributions
