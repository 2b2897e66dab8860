"""Fitted classifiers as models of treelite, which other programs compile or run on a GPU."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ordinal_objectives.aliases import Booster, Estimator
from ordinal_objectives.export.model import ScoringModel, ScoringTree, refuse_effects, scoring_model
from ordinal_objectives.utils import extras, files


def to_treelite(model: Estimator, *, iterations: int | None = None) -> Booster:
    """Return a fitted classifier as a model of treelite, which predicts scores.

    What treelite predicts is f(x) of a model that is ``proportional_``, and else f(x) + v_k(x) of each threshold. The
    thresholds are among its ``attributes``: less the scores they are the linear predictors theta_k - f(x) - v_k(x).
    For the all-threshold loss, also with costs, and the cumulative link, sort these in each row and let the link turn
    them into P(y <= k), whose differences are the class probabilities; see the example.

    Parameters
    ----------
    model : XGBOrdinalClassifier, LGBMOrdinalClassifier or HistGradientBoostingOrdinalClassifier
        Fitted, without a linear part.
    iterations : int or None, default=None
        Number of its first iterations, with the thresholds that belong to them; None for all that it predicts with.

    Returns
    -------
    treelite.Model
        Its regression outputs are the scores: one target, or one for each threshold. Thresholds of its splits and
        values of its leaves are float64, and a row is compared in float64, as the native engine and LightGBM do; of an
        XGBoost model they are float32, as there. NaN is a missing value. A column of categories holds its numbers
        where all levels of the training are whole numbers from 0 to 99,999, and else the place of each level, as
        ``category_levels()`` lists them. Any other whole number, also a negative one, is missing.
        ``attributes`` is a dict of "thresholds", lowest first and exact but for their last digit, the names "loss" and
        "link", and "classes", the labels from the lowest to the highest.

    Raises
    ------
    TypeError
        If ``model`` is another object, or its labels are neither text nor numbers.
    NotFittedError
        Before ``fit``.
    ValueError
        If it has no such iteration, a linear part, a number that stands for a missing value, or, with LightGBM's
        ``zero_as_missing``, features whose zeros are missing.
    ModuleNotFoundError
        If treelite is not installed.

    Examples
    --------
    >>> import numpy as np, treelite
    >>> from ordinal_objectives import HistGradientBoostingOrdinalClassifier
    >>> from ordinal_objectives.export import to_treelite
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=300), [-1.0, 0.0, 1.0])
    >>> model = HistGradientBoostingOrdinalClassifier(max_iter=20).fit(X, y)
    >>> exported = to_treelite(model)
    >>> scores = treelite.gtil.predict(exported, X).reshape(len(X), -1)
    >>> predictors = np.sort(np.array(exported.attributes["thresholds"]) - scores, axis=1)
    >>> proba = np.diff(1 / (1 + np.exp(-predictors)), prepend=0, append=1)
    >>> bool(np.abs(proba - model.predict_proba_ordered(X)).max() < 1e-12)
    True
    """
    model_builder = extras.optional("treelite", "treelite").model_builder
    found = _model_of_trees(model, iterations)
    scorer = found.scorer
    precision = "float32" if scorer.reads_float32 else "float64"
    n_trees, n_outputs, loss = len(scorer.trees), scorer.n_outputs, found.model.trained_spec().loss
    builder = model_builder.ModelBuilder(
        threshold_type=precision,
        leaf_output_type=precision,
        metadata=model_builder.Metadata(
            num_feature=model.n_features_in_,
            task_type="kRegressor",
            average_tree_output=False,
            num_target=n_outputs,
            num_class=[1] * n_outputs,
            leaf_vector_shape=(n_outputs, 1),
        ),
        # -1: a leaf has a value for every target.
        tree_annotation=model_builder.TreeAnnotation(n_trees, [-1 if n_outputs > 1 else 0] * n_trees, [0] * n_trees),
        postprocessor=model_builder.PostProcessorFunc(name="identity"),
        base_scores=scorer.offset.tolist(),
        attributes={
            "thresholds": found.thresholds.tolist(),
            "loss": loss.identity,
            "link": loss.link.identity,
            "classes": files.labels_to_json(found.model.ordered_classes_)[0],
        },
    )
    for tree in scorer.trees:
        _add(builder, tree, counts_rows=not scorer.reads_float32)
    return builder.commit()


def _model_of_trees(model: Estimator, iterations: int | None) -> ScoringModel:
    """Return what a fitted classifier computes; raise ValueError unless it is trees, with NaN as the missing value."""
    found = scoring_model(model, iterations)
    scorer = found.scorer
    refuse_effects(found, "treelite")
    if found.model.linear_ is not None:
        raise ValueError(f"model must be without a linear part; got linear={model.linear!r}: treelite holds only trees")
    if not np.isnan(scorer.missing):
        raise ValueError(f"model must take NaN for missing values, as treelite does; got missing={scorer.missing:g}")
    if len(scorer.zero_is_missing):
        raise ValueError("model must be trained without zero_as_missing, which treelite has no splits for")
    return replace(found, scorer=scorer.by_numbers())


def _add(builder: Any, tree: ScoringTree, *, counts_rows: bool) -> None:
    """Add a tree to those of a builder."""
    builder.start_tree()
    for node in tree.reachable_nodes():
        split: dict[str, object] = {
            "feature_id": int(tree.feature[node]),
            "default_left": bool(tree.missing_left[node]),
            "left_child_key": int(tree.left[node]),
            "right_child_key": int(tree.right[node]),
        }
        builder.start_node(node)
        if tree.feature[node] < 0:
            value = tree.value[node].tolist()
            builder.leaf(value if len(value) > 1 else value[0])
        elif node in tree.categories:
            codes = tree.categories[node].tolist()
            builder.categorical_test(category_list=codes, category_list_right_child=False, **split)
        else:
            builder.numerical_test(threshold=float(tree.threshold[node]), opname="<=", **split)
        if counts_rows:
            builder.data_count(int(tree.count[node]))
        else:  # XGBoost keeps their Hessians instead
            builder.sum_hess(float(tree.count[node]))
        builder.end_node()
    builder.end_tree()
