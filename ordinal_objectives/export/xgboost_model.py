"""Trees of any trainer as boosters of XGBoost, written in its JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from ordinal_objectives.aliases import JSON, Booster, FloatArray, NDArray
from ordinal_objectives.export.model import Scorer, ScoringTree


def booster_of(scorer: Scorer, types: list[str]) -> Booster:
    """Return an XGBoost booster of a scorer's trees, whose leaves have one value each, one tree a round.

    Parameters
    ----------
    scorer : Scorer
        Of one output.
    types : list of str
        Of the features, "c" or "float".
    """
    import xgboost

    content = _skeleton(len(types))
    learner = content["learner"]
    model = learner["gradient_booster"]["model"]
    like, n_trees = model["trees"][0], len(scorer.trees)
    model["trees"] = [_tree(tree, like, number) for number, tree in enumerate(scorer.trees)]
    model["tree_info"] = [0] * n_trees
    model["iteration_indptr"] = list(range(n_trees + 1))
    model["gbtree_model_param"]["num_trees"] = str(n_trees)
    learner["learner_model_param"]["base_score"] = json.dumps(_numbers(scorer.offset))
    learner["feature_types"] = types if "c" in types else []
    booster = xgboost.Booster()
    booster.load_model(bytearray(json.dumps(content).encode()))
    return booster


def _skeleton(n_features: int) -> JSON:
    """Return the JSON of a booster of one tree without a split, as the XGBoost that is installed writes it."""
    import xgboost

    params: dict[str, object] = {"base_score": 0.0, "nthread": 1, "verbosity": 0, "tree_method": "hist"}
    data = xgboost.DMatrix(np.zeros((1, n_features)), np.zeros(1))
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
    inner = tree.feature[nodes] >= 0
    position = np.full(len(tree.feature), -1)
    position[nodes] = np.arange(len(nodes))
    left, right, by_category = position[tree.left[nodes]], position[tree.right[nodes]], by_category[nodes]
    parents = np.full(len(nodes), like["parents"][0])
    for child in (left, right):
        parents[child[inner]] = np.flatnonzero(inner)
    sets = {int(place): sorted(tree.categories[int(nodes[place])].tolist()) for place in np.flatnonzero(by_category)}
    sizes = [len(codes) for codes in sets.values()]
    value = tree.value[nodes, 0]
    conditions = np.where(inner & ~by_category, _first_right(tree.threshold[nodes]), 0.0)
    content = like | {
        "id": number,
        "parents": parents.tolist(),
        "left_children": np.where(inner, left, -1).tolist(),
        "right_children": np.where(inner, right, -1).tolist(),
        "default_left": (inner & tree.missing_left[nodes]).astype(int).tolist(),
        "split_indices": np.where(inner, tree.feature[nodes], 0).tolist(),
        "split_type": by_category.astype(int).tolist(),
        "split_conditions": _numbers(np.where(inner, conditions, value)),
        "categories_nodes": list(sets),
        "categories_sizes": sizes,
        "categories_segments": np.cumsum([0, *sizes])[:-1].tolist(),
        "categories": [code for codes in sets.values() for code in codes],
        "base_weights": _numbers(value),
        "loss_changes": [0.0] * len(nodes),
        "sum_hessian": _numbers(tree.count[nodes]),
    }
    content["tree_param"] = like["tree_param"] | {"num_nodes": str(len(nodes))}
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
