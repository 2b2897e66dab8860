"""Fitted classifiers as boosters of LightGBM, written in its text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ordinal_objectives.aliases import Booster, Estimator, FloatArray, IndexArray, NDArray
from ordinal_objectives.export.model import Scorer, ScoringTree, model_of_trees
from ordinal_objectives.threads import one_thread_after_fork
from ordinal_objectives.utils.extras import optional

_CATEGORICAL, _DEFAULT_LEFT, _ZERO_IS_MISSING, _NAN_IS_MISSING = 1, 2, 4, 8
_WORD = 32
# LightGBM writes a section of parameters only where it has read one that is not empty.
_END = """end of trees

feature_importances:

parameters:
[boosting: gbdt]

end of parameters

pandas_categorical:null
"""
# Counts are integers of 32 bits.
_MOST = 2**30


def to_lightgbm(model: Estimator, *, iterations: int | None = None) -> Booster:
    """Return a fitted classifier as a booster of LightGBM, whose raw scores are the model's.

    A model that is ``proportional_`` becomes one tree a round, and the booster carries its thresholds: what
    :mod:`ordinal_objectives.adapters.lgbm` has for boosters, as ``predict_proba`` and ``save_model``, takes it.
    LightGBM has no leaves of several values: a model with shifts becomes n_classes - 1 trees a round, one for each
    threshold, which does not fit into that module. The thresholds are the model's ``thresholds_``; see the example.

    Parameters
    ----------
    model : HistGradientBoostingOrdinalClassifier, XGBOrdinalClassifier or LGBMOrdinalClassifier
        Fitted, without a linear part. Of an XGBoost model the booster compares features in float64, not in float32.
    iterations : int or None, default=None
        Number of its first iterations, with the thresholds that belong to them; None for all that it predicts with.

    Returns
    -------
    lightgbm.Booster
        ``predict(X, raw_score=True)`` returns f(x), (n_samples,), or f(x) + v_k(x), (n_samples, n_classes - 1). Splits
        and leaves are the model's own numbers in float64; of features, LightGBM takes numbers of at most 1e-35 for 0.
        NaN is a missing value. A column of categories holds its numbers where all levels of the training are whole
        numbers from 0 to 99,999, and else the place of each level, as ``category_levels()`` lists them. Any other whole
        number, also a negative one, is missing. Blanks in the names of features become underscores.

    Raises
    ------
    TypeError
        If ``model`` is another object.
    NotFittedError
        Before ``fit``.
    ValueError
        If it has no such iteration, a linear part, a number that stands for a missing value, or sends missing values
        where it sends categories that are not named.
    ModuleNotFoundError
        If LightGBM is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives import HistGradientBoostingOrdinalClassifier
    >>> from ordinal_objectives.export import to_lightgbm
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=300), [-1.0, 0.0, 1.0])
    >>> model = HistGradientBoostingOrdinalClassifier(max_iter=20, proportional=False).fit(X, y)
    >>> scores = to_lightgbm(model).predict(X, raw_score=True)
    >>> predictors = np.sort(model.thresholds_ - scores, axis=1)
    >>> proba = np.diff(1 / (1 + np.exp(-predictors)), prepend=0, append=1)
    >>> bool(np.abs(proba - model.predict_proba_ordered(X)).max() < 1e-12)
    True
    """
    from ordinal_objectives.adapters.lgbm.booster import store_record

    found = model_of_trees(model, iterations, "LightGBM's text", zeros=True)
    names = found.names or [f"Column_{place}" for place in range(model.n_features_in_)]
    booster = booster_of(found.scorer, names)
    if found.scorer.n_outputs == 1:
        store_record(booster, found.record(booster.current_iteration()))
    return booster


@one_thread_after_fork()
def booster_of(scorer: Scorer, names: Sequence[str]) -> Booster:
    """Return a LightGBM booster whose raw scores are a scorer's; one without trees gets one without a split."""
    lightgbm = optional("lightgbm", "lightgbm")
    texts: list[str] = []
    for number, tree in enumerate(scorer.trees or [_constant(scorer.n_outputs)]):
        nodes = np.array(tree.reachable_nodes())
        leaves, inner = nodes[tree.feature[nodes] < 0], nodes[tree.feature[nodes] >= 0]
        splits = _lines(_splits(tree, inner, leaves, scorer) if len(inner) else {"num_leaves": 1, "num_cat": 0})
        for values in (tree.value[leaves] + (scorer.offset if number == 0 else 0.0)).T:
            leaf_value = _joined(map(repr, values.tolist()))
            texts.append(f"Tree={len(texts)}\n{splits}\nleaf_value={leaf_value}\nis_linear=0\nshrinkage=1\n\n\n")
    head = {
        "version": "v4",
        "num_class": scorer.n_outputs,
        "num_tree_per_iteration": scorer.n_outputs,
        "label_index": 0,
        "max_feature_idx": len(names) - 1,
        "feature_names": _joined("_".join(name.split()) or f"Column_{place}" for place, name in enumerate(names)),
        "feature_infos": _joined(["[-inf:inf]"] * len(names)),
        "tree_sizes": _joined(len(text.encode()) for text in texts),
    }
    return lightgbm.Booster(model_str=f"tree\n{_lines(head)}\n\n{''.join(texts)}{_END}")


def _splits(tree: ScoringTree, inner: IndexArray, leaves: IndexArray, scorer: Scorer) -> dict[str, object]:
    """Return the fields of a tree but for the values of its leaves; LightGBM numbers inner nodes and leaves apart."""
    place = {node: number for number, node in enumerate(inner.tolist())}
    place |= {node: ~number for number, node in enumerate(leaves.tolist())}
    rows, sets = [], list[NDArray[np.uint32]]()
    for node in inner.tolist():
        feature, missing_left = int(tree.feature[node]), bool(tree.missing_left[node])
        left, right = place[int(tree.left[node])], place[int(tree.right[node])]
        if node not in tree.categories:
            missing = _ZERO_IS_MISSING if feature in scorer.zero_is_missing else _NAN_IS_MISSING
            rows.append((missing | _DEFAULT_LEFT * missing_left, repr(float(tree.threshold[node])), left, right))
            continue
        if missing_left:  # LightGBM sends missing values to the right there
            raise ValueError(
                f"model must know the categories of feature {feature}, where it sends missing values to the left: "
                f"LightGBM sends them to the right, with the categories that are not listed"
            )
        rows.append((_CATEGORICAL | _NAN_IS_MISSING, str(len(sets)), left, right))
        sets.append(_bits(tree.categories[node]))
    decision, threshold, lefts, rights = zip(*rows, strict=True)
    count = _whole(tree.count)
    fields = {
        "num_leaves": len(leaves),
        "num_cat": len(sets),
        "split_feature": _joined(tree.feature[inner]),
        "threshold": _joined(threshold),
        "decision_type": _joined(decision),
        "left_child": _joined(lefts),
        "right_child": _joined(rights),
        "leaf_count": _joined(count[leaves]),
        "internal_count": _joined(count[inner]),
    }
    if sets:
        fields["cat_boundaries"] = _joined(np.cumsum([0, *map(len, sets)]))
        fields["cat_threshold"] = _joined(np.concatenate(sets))
    return fields


def _constant(n_outputs: int) -> ScoringTree:
    """Return a tree of one leaf, which adds nothing."""
    none, no = np.full(1, -1, np.int32), np.zeros(1, bool)
    return ScoringTree(none, np.zeros(1), none, none, no, np.zeros((1, n_outputs)), np.ones(1))


def _bits(codes: NDArray[np.int64]) -> NDArray[np.uint32]:
    """Return a set of codes, a bit each from the lowest of the first word on."""
    bits = np.zeros(_WORD * (int(codes.max(initial=0)) // _WORD + 1), dtype=np.uint8)
    bits[codes] = 1
    return np.packbits(bits, bitorder="little").view("<u4").astype(np.uint32)


def _whole(count: FloatArray) -> NDArray[np.int64]:
    """Return counts, or Hessians in their place, as integers above 0 in the same proportions."""
    if not np.array_equal(count, np.rint(count)) or count.max() > _MOST:
        count = count / max(count[0], np.finfo(np.float64).tiny) * _MOST
    return np.maximum(np.rint(count), 1).astype(np.int64)


def _joined(values: Iterable[object]) -> str:
    return " ".join(map(str, values))


def _lines(fields: dict[str, object]) -> str:
    return "\n".join(f"{name}={value}" for name, value in fields.items())
