"""What a fitted classifier computes, read from each trainer's model: trees, and the thresholds that cut their sum."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ordinal_objectives.aliases import JSON, BoolArray, FloatArray, IndexArray, IntArray, NDArray
from ordinal_objectives.estimators import ordinal_classifier
from ordinal_objectives.histogram_engine.estimator import HistGradientBoostingOrdinalClassifier
from ordinal_objectives.histogram_engine.multi_output import losses
from ordinal_objectives.histogram_engine.multi_output.estimator import MultiOutputModel
from ordinal_objectives.threads import one_thread_after_fork
from ordinal_objectives.trees import Tree, has_set
from ordinal_objectives.utils.validation import check_integer

if TYPE_CHECKING:
    import lightgbm
    import xgboost

    from ordinal_objectives.adapters.lgbm.estimator import LGBMOrdinalClassifier
    from ordinal_objectives.adapters.xgb.estimator import XGBOrdinalClassifier

_XGBOOST_OBJECTIVES = ("multi:softprob", "binary:logistic")
_LIGHTGBM_OBJECTIVES = ("multiclass", "binary")
# What LightGBM's JSON has for infinity.
_INFINITE = 1e300
# The largest number that an exported tree holds as it is: sets of categories have a bit for each number up to it.
_MOST_NUMBER = 99_999
# Numbers of at most this size are zeros to LightGBM.
LIGHTGBM_ZERO = float(np.float32(1e-35))
# The operator that turns raw predictions of several outputs into probabilities.
_OPERATORS = {losses.SquaredError: "", losses.BinaryCrossEntropy: "Sigmoid", losses.SoftmaxCrossEntropy: "Softmax"}


@dataclass(frozen=True)
class ScoringTree:
    """A tree of any trainer.

    Attributes
    ----------
    feature : ndarray of int32, shape (n_nodes,)
        -1 in a leaf.
    threshold : ndarray of float64, shape (n_nodes,)
        Values up to it go left, infinity where all numbers do. 0 where categories part the rows, and in leaves.
    left, right : ndarray of int32, shape (n_nodes,)
        Children; -1 in a leaf. The root is node 0.
    missing_left : ndarray of bool, shape (n_nodes,)
        Whether missing values go left.
    value : ndarray of float64, shape (n_nodes, n_outputs)
        What a leaf adds; 0 elsewhere.
    count : ndarray of float64, shape (n_nodes,)
        Training rows of each node, or their Hessian where the trainer keeps that.
    categories : mapping of int to ndarray of int64
        Of each node that parts rows by categories: the codes that go left. All others go right.
    """

    feature: IntArray
    threshold: FloatArray
    left: IntArray
    right: IntArray
    missing_left: BoolArray
    value: FloatArray
    count: FloatArray
    categories: Mapping[int, NDArray[np.int64]] = field(default_factory=dict)

    def reachable_nodes(self) -> list[int]:
        """Return the nodes that rows can reach, parents before their children."""
        nodes = [0]
        for node in nodes:
            nodes += [int(self.left[node]), int(self.right[node])] if self.feature[node] >= 0 else []
        return nodes

    def missing_right(self, sizes: Mapping[int, int]) -> ScoringTree:
        """Return the tree in which missing values go right with the categories that no set lists.

        Parameters
        ----------
        sizes : mapping of int to int
            How many categories features have. The nodes of other features stay as they are.
        """
        turned = [node for node in self.categories if self.missing_left[node] and int(self.feature[node]) in sizes]
        left, right, missing_left = self.left.copy(), self.right.copy(), self.missing_left.copy()
        left[turned], right[turned], missing_left[turned] = self.right[turned], self.left[turned], False
        others = {
            node: np.setdiff1d(np.arange(sizes[int(self.feature[node])]), self.categories[node]) for node in turned
        }
        return replace(
            self, left=left, right=right, missing_left=missing_left, categories={**self.categories, **others}
        )


@dataclass(frozen=True)
class Scorer:
    """The trees of a trainer, and how they read a row.

    Attributes
    ----------
    trees : list of ScoringTree
        In their order.
    offset : ndarray of float64, shape (n_outputs,)
        What is added to the sum of the trees: the score f, or f + v_k of each threshold.
    reads_float32 : bool
        Whether features are rounded to float32 before they are compared with a threshold, as in XGBoost.
    missing : float
        A number that stands for a missing value, beside NaN.
    zero_is_missing : ndarray of int, shape (n,)
        Features whose zeros are missing.
    levels : dict of int to list
        Levels of the columns that hold categories by value; the code of a level is its place. A level that is missing
        or unknown is a missing value.
    """

    trees: list[ScoringTree]
    offset: FloatArray
    reads_float32: bool = False
    missing: float = np.nan
    zero_is_missing: IndexArray = field(default_factory=lambda: np.zeros(0, np.intp))
    levels: Mapping[int, list[object]] = field(default_factory=dict)

    @property
    def n_outputs(self) -> int:
        """1 if the trees add up to the score f, n_classes - 1 if they add up to f + v_k of each threshold."""
        return len(self.offset)

    @property
    def by_category(self) -> set[int]:
        """Features by whose categories a tree parts rows."""
        return {int(tree.feature[node]) for tree in self.trees for node in tree.categories}

    def with_unknown_missing(self) -> Scorer:
        """Return the scorer whose sets of categories leave out the side of missing values, where levels are known.

        A number that is no code goes with the missing values then, in every format.
        """
        sizes = {place: max(1, len(levels)) for place, levels in self.levels.items()}
        return replace(self, trees=[tree.missing_right(sizes) for tree in self.trees])

    def by_numbers(self) -> Scorer:
        """Return the scorer whose categories are the numbers that rows of an exported tree hold."""
        numbers = {place: _numbers_of(levels) for place, levels in self.levels.items()}
        trees = [
            replace(
                tree,
                categories={
                    node: numbers[feature][codes] if (feature := int(tree.feature[node])) in numbers else codes
                    for node, codes in tree.categories.items()
                },
            )
            for tree in self.trees
        ]
        return replace(self, trees=trees)

    def with_outputs(self, change: Callable[[FloatArray], FloatArray]) -> Scorer:
        """Return the scorer of other outputs, by a linear function of the last axis."""
        trees = [replace(tree, value=change(tree.value)) for tree in self.trees]
        return replace(self, trees=trees, offset=change(self.offset))


@dataclass(frozen=True)
class ScoringModel:
    """What the first iterations of a fitted classifier compute.

    Attributes
    ----------
    scorer : Scorer
    thresholds : ndarray of float64, shape (n_classes - 1,)
        Those that belong to the trees.
    n_iter : int
        Number of these iterations.
    model : OrdinalClassifier
        The fitted classifier: loss, linear part, labels and decision are its own.
    """

    scorer: Scorer
    thresholds: FloatArray
    n_iter: int
    model: ordinal_classifier.OrdinalClassifier


def scoring_model(model: object, iterations: int | None = None) -> ScoringModel:
    """Return what a fitted classifier of this package computes.

    Parameters
    ----------
    model : XGBOrdinalClassifier, LGBMOrdinalClassifier or HistGradientBoostingOrdinalClassifier
    iterations : int or None, default=None
        Number of its first iterations, with the thresholds that belong to them; None for all that it predicts with.

    Raises
    ------
    TypeError
        If it is another object.
    NotFittedError
        Before ``fit``.
    ValueError
        If it has no such iteration, or its booster has no trees that could be written down.
    """
    readers: dict[str, Callable[[Any, int], Scorer]] = {
        "XGBOrdinalClassifier": _read_xgboost,
        "LGBMOrdinalClassifier": _read_lightgbm,
        "HistGradientBoostingOrdinalClassifier": _read_engine,
    }
    read = next((readers[kind.__name__] for kind in type(model).__mro__ if kind.__name__ in readers), None)
    if read is None or not isinstance(model, ordinal_classifier.OrdinalClassifier):
        raise TypeError(f"model must be one of {', '.join(readers)}; got {type(model).__name__}")
    check_is_fitted(model)
    n_iter = model.n_iter_ if iterations is None else check_integer("iterations", iterations, 0, model.n_iter_)
    scorer = read(model, n_iter).with_unknown_missing()
    return ScoringModel(scorer, model.threshold_history_[n_iter], n_iter, model)


def _numbers_of(levels: Sequence[Any]) -> NDArray[np.int64]:
    """Return the number that stands for each level in a row of an exported tree: the level itself, or its place.

    Formats of trees hold sets of small whole numbers, so that a column keeps its numbers where all of them are such.
    """
    are_held = all(
        not isinstance(level, str) and 0 <= level <= _MOST_NUMBER and float(level).is_integer() for level in levels
    )
    return np.array(levels if are_held else range(len(levels)), dtype=np.int64)


def refuse_effects(found: ScoringModel, name: str) -> None:
    """Raise ValueError if a model has random effects, which no format holds but the model's own."""
    if found.model.fitted_effects():
        raise ValueError(f"model must be without random_intercept: {name} does not hold effects of groups")


def _read_engine(model: HistGradientBoostingOrdinalClassifier, n_iter: int) -> Scorer:
    if n_iter < model.n_iter_:
        model.check_stages()
    offset = np.zeros(1 if model.proportional_ else len(model.thresholds_))
    return _engine_scorer(model.grown_trees().trees[:n_iter], offset, model.category_levels())


def multi_output_scorer(model: MultiOutputModel) -> tuple[Scorer, str]:
    """Return the scorer of a fitted estimator of several outputs, and the operator that its predictions go through."""
    loss, start, ensemble = model.trained_parts()
    if type(loss) not in _OPERATORS:
        raise ValueError(f"model must have a built-in loss; a graph cannot hold {type(loss).__name__}")
    return _engine_scorer(ensemble.trees, start, model.category_levels()), _OPERATORS[type(loss)]


def _engine_scorer(trees: list[Tree], offset: FloatArray, levels: dict[int, list[object]]) -> Scorer:
    sizes = {place: len(column) for place, column in levels.items()}
    return Scorer([_engine_tree(tree, sizes) for tree in trees], offset, levels=levels)


def _engine_tree(tree: Tree, sizes: dict[int, int]) -> ScoringTree:
    """Return a tree of the engine, whose columns of categories have so many levels."""
    inner = tree.feature >= 0
    categories = {}
    for node in np.flatnonzero(has_set(tree.categories, len(inner))).tolist():
        assert tree.categories is not None
        bits = np.unpackbits(tree.categories[node].astype("<u8").view(np.uint8), bitorder="little")
        categories[node] = np.flatnonzero(bits[: sizes[int(tree.feature[node])]])
    return ScoringTree(
        feature=tree.feature,
        threshold=tree.threshold,
        left=tree.left,
        right=np.where(inner, tree.left + 1, -1).astype(np.int32),
        missing_left=tree.missing_left.astype(bool),
        value=tree.value.reshape(len(inner), -1),
        count=tree.count.astype(np.float64),
        categories=categories,
    )


def member_scorer(estimator: object, by_value: Sequence[int]) -> Scorer | None:
    """Return the scorer of XGBoost's or LightGBM's own classifier, or None for any other estimator.

    It has log-odds of the second of two classes, or else an output for each class, the inputs of a softmax.
    """
    readers = {"XGBClassifier": _read_xgboost_multiclass, "LGBMClassifier": _read_lightgbm_multiclass}
    read: Callable[[Any, Sequence[int]], Scorer] | None = readers.get(type(estimator).__name__)
    return None if read is None else read(estimator, by_value)


@one_thread_after_fork()
def _read_xgboost(model: XGBOrdinalClassifier, n_iter: int) -> Scorer:
    from ordinal_objectives.adapters.xgb.booster import check_all_rounds, threshold_record

    booster, record = model.booster_, threshold_record(model.booster_)
    check_all_rounds(booster, record, n_iter)
    n_thresholds = record.n_classes - 1

    def add(number: int, output: int, values: FloatArray) -> FloatArray:
        if values.shape[1] > 1 or record.shifts is None or record.outputs is not None:
            return values
        vectors = record.leaf_vectors[number]
        return vectors.astype(np.float64) if len(vectors) else np.repeat(values, n_thresholds, axis=1)

    scorer = _xgboost_scorer(booster, n_iter, add)
    scorer = replace(scorer, missing=model.columns_.missing, levels=model.columns_.levels)
    if record.outputs is None:
        return replace(scorer, offset=np.repeat(scorer.offset, 1 if record.shifts is None else n_thresholds))
    mixing = record.outputs.mixing
    scorer = replace(scorer, offset=np.broadcast_to(scorer.offset, len(mixing))).with_outputs(lambda of: of @ mixing.T)
    return replace(scorer, offset=scorer.offset - (record.outputs.offset(n_iter) - record.outputs.offset(0)))


@one_thread_after_fork()
def _read_xgboost_multiclass(model: xgboost.XGBClassifier, by_value: Sequence[int]) -> Scorer:
    if model.objective not in _XGBOOST_OBJECTIVES:
        raise ValueError(f"objective of a member must be {' or '.join(_XGBOOST_OBJECTIVES)}; got {model.objective!r}")
    booster = model.get_booster()
    n_outputs = 1 if model.n_classes_ == 2 else int(model.n_classes_)

    def add(number: int, output: int, values: FloatArray) -> FloatArray:
        return np.where(np.arange(n_outputs) == output, values, 0.0) if values.shape[1] == 1 else values

    # The best round, where any callback stopped early, is the last that it predicts with.
    n_iter = getattr(model, "best_iteration", booster.num_boosted_rounds() - 1) + 1
    scorer = _xgboost_scorer(booster, n_iter, add)
    offset = np.log(scorer.offset / (1.0 - scorer.offset)) if n_outputs == 1 else scorer.offset
    offset = np.broadcast_to(offset, n_outputs).astype(np.float64)
    return replace(scorer, offset=offset, missing=model.missing)


def _xgboost_scorer(booster: xgboost.Booster, n_iter: int, add: Callable[[int, int, FloatArray], FloatArray]) -> Scorer:
    """Return the scorer of a booster's first rounds, read from its JSON; its offset is ``base_score``.

    Parameters
    ----------
    booster : xgboost.Booster
    n_iter : int
    add : callable
        From the number of a tree, the output that it belongs to, and what its leaves hold, (n_leaves, n_values), to
        what they add to the outputs, (n_leaves, n_outputs).
    """
    learner = json.loads(bytes(booster.save_raw("json")))["learner"]
    boosting = learner["gradient_booster"]
    if boosting["name"] == "gblinear":
        raise ValueError("model must have trees; booster='gblinear' has none")
    model = boosting.get("gbtree", boosting)["model"]
    stop = model["iteration_indptr"][n_iter]
    weights = boosting.get("weight_drop") or model.get("weight_drop") or [1.0] * stop
    parts = zip(model["trees"][:stop], weights[:stop], model["tree_info"][:stop], strict=True)
    trees = []
    for number, (tree, weight, output) in enumerate(parts):
        width = int(tree["tree_param"]["size_leaf_vector"])
        if width > 1:
            values = np.array(tree["leaf_weights"], dtype=np.float64).reshape(-1, width)
        else:
            leaves = np.array(tree["left_children"]) == -1
            values = np.array(tree["split_conditions"], dtype=np.float64)[leaves, np.newaxis]
        trees.append(_xgboost_tree(tree, add(number, output, values) * weight))
    base = np.array(json.loads(learner["learner_model_param"]["base_score"]), dtype=np.float64).ravel()
    from ordinal_objectives.adapters.xgb.input_checks import levels_of

    return Scorer(trees, base, reads_float32=True, levels=levels_of(booster))


def _xgboost_tree(tree: JSON, leaf_values: FloatArray) -> ScoringTree:
    from ordinal_objectives.adapters.xgb.booster import nodes_of

    nodes = nodes_of(tree)
    segments = zip(tree["categories_nodes"], tree["categories_segments"], tree["categories_sizes"], strict=True)
    codes = np.array(tree["categories"], dtype=np.int64)
    categories = {node: codes[start : start + size] for node, start, size in segments}
    left, right, by_category = nodes["left"], nodes["right"], list(categories)
    # XGBoost's sets go right.
    left[by_category], right[by_category] = right[by_category], left[by_category]
    nodes["missing_left"][by_category] ^= True
    nodes["threshold"][by_category] = 0.0
    value = np.zeros((len(left), leaf_values.shape[1]))
    value[nodes["feature"] < 0] = leaf_values
    count = np.array(tree["sum_hessian"], dtype=np.float64)
    return ScoringTree(**nodes, value=value, count=count, categories=categories)


@one_thread_after_fork()
def _read_lightgbm(model: LGBMOrdinalClassifier, n_iter: int) -> Scorer:
    from ordinal_objectives.adapters.lgbm.booster import check_all_rounds, threshold_record

    booster, record = model.booster_, threshold_record(model.booster_)
    check_all_rounds(booster, record, n_iter)
    content = booster.dump_model(num_iteration=n_iter, start_iteration=0) if n_iter else {"tree_info": []}
    n_outputs = 1 if record.shifts is None else record.n_classes - 1

    def value_of(number: int, leaf: JSON) -> FloatArray:
        vectors = record.leaf_vectors[number] if record.shifts is not None else ()
        if not len(vectors):
            return np.full(n_outputs, leaf["leaf_value"])
        return np.asarray(vectors[leaf.get("leaf_index", 0)], dtype=np.float64)

    return _lightgbm_scorer(content, n_outputs, value_of, model.columns_.levels)


@one_thread_after_fork()
def _read_lightgbm_multiclass(model: lightgbm.LGBMClassifier, by_value: Sequence[int]) -> Scorer:
    booster = model.booster_
    content = booster.dump_model(num_iteration=model.best_iteration_ or None)
    objective, *details = str(content.get("objective", "")).split()
    if model.get_params().get("pred_early_stop"):
        raise ValueError("pred_early_stop of a member must be False; got True, which stops adding up trees row by row")
    if content["average_output"]:
        raise ValueError("boosting_type of a member must be one whose trees add up; got 'rf', whose mean is taken")
    if objective not in _LIGHTGBM_OBJECTIVES or details not in (["sigmoid:1"], [f"num_class:{model.n_classes_}"]):
        allowed = " or ".join(_LIGHTGBM_OBJECTIVES)
        raise ValueError(f"objective of a member must be {allowed}; got {content.get('objective')!r}")
    n_outputs = int(content["num_tree_per_iteration"])

    def value_of(number: int, leaf: JSON) -> FloatArray:
        return np.where(np.arange(n_outputs) == number % n_outputs, leaf["leaf_value"], 0.0)

    levels = booster.pandas_categorical or []
    if by_value and len(by_value) != len(levels):
        raise ValueError(
            f"X_example must have the {len(levels)} column(s) of a category type that the training had; it has "
            f"{len(by_value)}"
        )
    return _lightgbm_scorer(content, n_outputs, value_of, dict(zip(by_value, levels, strict=False)))


def _lightgbm_scorer(
    content: JSON,
    n_outputs: int,
    value_of: Callable[[int, JSON], FloatArray],
    levels: Mapping[int, list[Any]],
) -> Scorer:
    """Return the scorer of trees in LightGBM's JSON.

    Parameters
    ----------
    content : dict
        The model in JSON.
    n_outputs : int
    value_of : callable
        What a leaf of a tree, given by its number, adds to each output.
    levels : mapping of int to list
        Of the columns of categories.
    """
    zero_is_missing = set[int]()
    trees = [
        _lightgbm_tree(tree["tree_structure"], n_outputs, partial(value_of, number), zero_is_missing)
        for number, tree in enumerate(content["tree_info"])
    ]
    return Scorer(
        trees,
        np.zeros(n_outputs),
        zero_is_missing=np.array(sorted(zero_is_missing), dtype=np.intp),
        levels=levels,
    )


def _lightgbm_tree(
    root: JSON, n_outputs: int, value_of: Callable[[JSON], FloatArray], zero_is_missing: set[int]
) -> ScoringTree:
    """Return a tree of LightGBM's JSON; features whose zeros are missing in it are added to a set."""
    nodes, children = [root], []
    for node in nodes:
        inner = "left_child" in node
        children.append((len(nodes), len(nodes) + 1) if inner else (-1, -1))
        nodes += [node["left_child"], node["right_child"]] if inner else []
    left, right = np.array(children, dtype=np.int32).T
    threshold, missing_left = np.zeros(len(nodes)), np.zeros(len(nodes), dtype=bool)
    value, categories = np.zeros((len(nodes), n_outputs)), {}
    for number, node in enumerate(nodes):
        if "left_child" not in node:
            if node.get("leaf_coeff"):
                raise ValueError("model must have leaves of one value; with linear_tree=True they are linear models")
            value[number] = value_of(node)
        elif node["decision_type"] == "==":  # sets go left, all else goes right
            categories[number] = np.array([int(code) for code in node["threshold"].split("||")], dtype=np.int64)
        else:
            threshold[number] = node["threshold"] if node["threshold"] < _INFINITE else np.inf  # all numbers go left
            missing_left[number] = node["default_left"]
            if node["missing_type"] == "None":  # where the training had none, one counts as 0
                missing_left[number] = threshold[number] >= 0.0
            elif node["missing_type"] == "Zero":
                zero_is_missing.add(int(node["split_feature"]))
            if -LIGHTGBM_ZERO <= threshold[number] <= LIGHTGBM_ZERO:  # all that are zeros to it go where 0 does
                threshold[number] = LIGHTGBM_ZERO if threshold[number] >= 0.0 else np.nextafter(-LIGHTGBM_ZERO, -1.0)
    return ScoringTree(
        feature=np.array([node.get("split_feature", -1) for node in nodes], dtype=np.int32),
        threshold=threshold,
        left=left,
        right=right,
        missing_left=missing_left,
        value=value,
        count=np.array([node.get("internal_count", node.get("leaf_count", 0)) for node in nodes], dtype=np.float64),
        categories=categories,
    )
