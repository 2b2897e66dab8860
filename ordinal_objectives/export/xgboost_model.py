"""Fitted classifiers as boosters of XGBoost, written in its JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from ordinal_objectives.aliases import JSON, Booster, Estimator, FloatArray, NDArray
from ordinal_objectives.export.model import Scorer, ScoringTree, model_of_trees
from ordinal_objectives.leaves.vector import contrasts
from ordinal_objectives.threads import one_thread_after_fork
from ordinal_objectives.threshold_solver.record import VectorOutputs

# XGBoost has its own meaning for these in names of features.
_NOT_IN_NAMES = "[]<"


@one_thread_after_fork()
def to_xgboost(model: Estimator, *, iterations: int | None = None) -> Booster:
    """Return a fitted classifier as a booster of XGBoost, which carries its thresholds.

    What :mod:`ordinal_objectives.adapters.xgb` has for boosters takes it: ``predict_proba``, ``predict`` and, from
    XGBoost 3.3 on where thresholds move with x, ``margin_contributions``. A model that is ``proportional_`` becomes
    trees of one score. The leaves of one with shifts become vectors: the score, and contrasts of the shifts, which the
    booster's thresholds say how to read.

    Parameters
    ----------
    model : HistGradientBoostingOrdinalClassifier, LGBMOrdinalClassifier or XGBOrdinalClassifier
        Fitted, without a linear part.
    iterations : int or None, default=None
        Number of its first iterations, with the thresholds that belong to them; None for all that it predicts with.

    Returns
    -------
    xgboost.Booster
        One round for each iteration. XGBoost compares features in float32: rows whose features are float32 numbers find
        the model's own leaves, also where they lie on the threshold of a split. Others are rounded first, and may find
        others there. Values of leaves, and their sums, are float32. NaN is a missing value. The matrix must have "c"
        among its ``feature_types`` for columns of categories. Such a column holds its numbers where all levels of the
        training are whole numbers from 0 to 99,999, and else the place of each level, as ``category_levels()`` lists
        them. Any other whole number, also a negative one, is missing.
        Features have the names of the training, where XGBoost allows all of them.

    Raises
    ------
    TypeError
        If ``model`` is another object.
    NotFittedError
        Before ``fit``.
    ValueError
        If it has no such iteration, a linear part, a number that stands for a missing value, or, with LightGBM's
        ``zero_as_missing``, features whose zeros are missing; or if it has shifts beside splits by categories, and
        XGBoost is older than 3.3, which does not write both into its files.
    ModuleNotFoundError
        If XGBoost is not installed.

    Examples
    --------
    >>> import numpy as np, xgboost
    >>> from ordinal_objectives import HistGradientBoostingOrdinalClassifier
    >>> from ordinal_objectives.adapters import xgb as oxgb
    >>> from ordinal_objectives.export import to_xgboost
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3)).astype(np.float32)
    >>> y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=300), [-1.0, 0.0, 1.0])
    >>> model = HistGradientBoostingOrdinalClassifier(max_iter=20, proportional=False).fit(X, y)
    >>> proba = oxgb.predict_proba(to_xgboost(model), xgboost.DMatrix(X))
    >>> bool(np.abs(proba - model.predict_proba_ordered(X)).max() < 1e-6)
    True
    """
    import xgboost

    from ordinal_objectives.adapters.xgb.booster import store_record, threshold_record
    from ordinal_objectives.adapters.xgb.outputs import CATEGORICAL_SPLITS, is_at_least

    found = model_of_trees(model, iterations, "XGBoost's JSON")
    scorer, n_rounds = found.scorer, found.n_iter
    if scorer.n_outputs > 1 and scorer.by_category and not is_at_least(CATEGORICAL_SPLITS):
        raise ValueError(
            "model must not have both shifts and splits by categories: XGBoost's files hold both from version 3.3 on; "
            "an older one is installed"
        )
    # Fewer trees have no thresholds with dart, which rescales them, and in a random forest.
    booster = getattr(model, "booster_", None)
    is_ours = isinstance(booster, xgboost.Booster)
    last_only = bool(threshold_record(booster).last_only if is_ours else model.boosting_type == "rf")
    outputs = None
    if scorer.n_outputs > 1:  # the score, and orthonormal contrasts of the shifts
        n = scorer.n_outputs
        outputs = VectorOutputs(contrasts(n, 1.0, 1.0), [np.zeros(n - 1)] * (n_rounds + 1))
        back = np.linalg.inv(outputs.mixing).T
        scorer = scorer.with_outputs(lambda values: values @ back)
    written = booster_of(scorer, types_of(scorer, model.n_features_in_), found.names, n_rounds)
    record = found.record(n_rounds, shifts=None if outputs is None else model.trained_spec().given_shifts)
    store_record(written, replace(record, last_only=last_only, outputs=outputs))
    return written


def booster_of(scorer: Scorer, types: list[str], names: Sequence[str] | None, n_rounds: int) -> Booster:
    """Return an XGBoost booster whose outputs are the sums of a scorer's trees.

    Parameters
    ----------
    scorer : Scorer
    types : list of str
        Of the features, "c" or "float".
    names : sequence of str or None
        Of the features.
    n_rounds : int
        They have the same number of trees each.
    """
    import xgboost

    content = _skeleton(len(types), scorer.n_outputs)
    learner = content["learner"]
    model = learner["gradient_booster"]["model"]
    like, n_trees = model["trees"][0], len(scorer.trees)
    model["trees"] = [_tree(tree, like, number) for number, tree in enumerate(scorer.trees)]
    model["tree_info"] = [0] * n_trees
    model["iteration_indptr"] = np.linspace(0, n_trees, n_rounds + 1).astype(int).tolist()
    n_parallel = n_trees // max(n_rounds, 1) or 1
    model["gbtree_model_param"] |= {"num_trees": str(n_trees), "num_parallel_tree": str(n_parallel)}
    learner["learner_model_param"]["base_score"] = json.dumps(_numbers(scorer.offset))
    learner["feature_types"] = types if "c" in types else []
    if names is not None and not any(sign in name for name in names for sign in _NOT_IN_NAMES):
        learner["feature_names"] = list(names)
    booster = xgboost.Booster()
    # XGBoost's JSON reader does not know escapes of non-ASCII letters, as in names of features.
    booster.load_model(bytearray(json.dumps(content, ensure_ascii=False).encode()))
    return booster


def _skeleton(n_features: int, n_outputs: int) -> JSON:
    """Return the JSON of a booster of one tree without a split, as the XGBoost that is installed writes it."""
    import xgboost

    params: dict[str, object] = {"base_score": 0.0, "nthread": 1, "verbosity": 0, "tree_method": "hist"}
    if n_outputs > 1:
        params |= {"multi_strategy": "multi_output_tree", "num_target": n_outputs}
    data = xgboost.DMatrix(np.zeros((1, n_features)), np.zeros((1, n_outputs)))
    return json.loads(bytes(xgboost.train(params, data, 1).save_raw("json")))


def types_of(scorer: Scorer, n_features: int) -> list[str]:
    """Return the types of features in XGBoost's words: "c" where trees part the rows by categories."""
    by_category = scorer.by_category | set(scorer.levels)
    return ["c" if feature in by_category else "float" for feature in range(n_features)]


def _tree(tree: ScoringTree, like: JSON, number: int) -> JSON:
    """Return a tree in XGBoost's JSON; ``like`` is one without a split."""
    by_category = np.isin(np.arange(len(tree.feature)), list(tree.categories))
    # XGBoost sends its sets to the right.
    tree = replace(
        tree,
        left=np.where(by_category, tree.right, tree.left),
        right=np.where(by_category, tree.left, tree.right),
        missing_left=tree.missing_left != by_category,
    )
    nodes = np.array(tree.reachable_nodes())  # the children of one are next to each other, as XGBoost wants them
    inner, width = tree.feature[nodes] >= 0, tree.value.shape[1]
    position = np.full(len(tree.feature), -1)
    position[nodes] = np.arange(len(nodes))
    left, right, by_category = position[tree.left[nodes]], position[tree.right[nodes]], by_category[nodes]
    leaf = np.cumsum(~inner) - 1 if width > 1 else np.full(len(nodes), -1)
    parents = np.full(len(nodes), like["parents"][0])
    for child in (left, right):
        parents[child[inner]] = np.flatnonzero(inner)
    sets = {int(place): sorted(tree.categories[int(nodes[place])].tolist()) for place in np.flatnonzero(by_category)}
    sizes = [len(codes) for codes in sets.values()]
    value = tree.value[nodes]
    conditions = np.where(inner & ~by_category, _first_right(tree.threshold[nodes]), 0.0)
    content = like | {
        "id": number,
        "parents": parents.tolist(),
        "left_children": np.where(inner, left, -1).tolist(),
        "right_children": np.where(inner, right, leaf).tolist(),
        "default_left": (inner & tree.missing_left[nodes]).astype(int).tolist(),
        "split_indices": np.where(inner, tree.feature[nodes], 0).tolist(),
        "split_type": by_category.astype(int).tolist(),
        "split_conditions": _numbers(conditions if width > 1 else np.where(inner, conditions, value[:, 0])),
        "categories_nodes": list(sets),
        "categories_sizes": sizes,
        "categories_segments": np.cumsum([0, *sizes])[:-1].tolist(),
        "categories": [code for codes in sets.values() for code in codes],
        "base_weights": _numbers(value.ravel()),
        "loss_changes": [0.0] * len(nodes),
        "sum_hessian": _numbers(tree.count[nodes]),
    }
    content["tree_param"] = like["tree_param"] | {"num_nodes": str(len(nodes))}
    if width > 1:
        content["leaf_weights"] = _numbers(value[~inner].ravel())
    return content


def _first_right(threshold: FloatArray) -> NDArray[np.float32]:
    """Return the smallest float32 numbers above thresholds: x < c is then x <= threshold for float32 numbers."""
    with np.errstate(over="ignore"):
        near = threshold.astype(np.float32)
        above = np.nextafter(near, np.float32(np.inf))
    return np.where(near > threshold, near, above)


def _numbers(values: Iterable[object]) -> list[float]:
    """Return float32 numbers with as few digits as tell them apart, which every parser reads back."""
    return [float(str(value)) for value in np.asarray(values, dtype=np.float32)]
