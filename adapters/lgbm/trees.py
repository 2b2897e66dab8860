"""The trees of a LightGBM booster: refuse parameters, read the newest tree, renew leaves."""

from __future__ import annotations

import re
from typing import Any

import lightgbm
import numpy as np
from numpy.typing import NDArray

from ordinal_objectives.adapters.followed_scores import GrownTree
from ordinal_objectives.spec import TREE_UPDATES

DART = (
    "LightGBM drops trees whenever a custom objective or a metric reads the training score, so the thresholds are not "
    "learned for the trees of the model, and some of these can stay subtracted"
)
SHIFTS, NEWTON = "proportional=False", "threshold_update='newton'"
_FOREST = "LightGBM grows random forests with built-in objectives alone"
_REFUSED_BOOSTING = {"dart": DART, "rf": _FOREST, "random_forest": _FOREST}
# Parameters that make a leaf other than -G / (H + lambda), with the values that do not.
_REFUSED = {
    "lambda_l1": (("0",), "an L1 penalty shrinks leaves on its own terms"),
    "max_delta_step": (("0",), "it cuts leaf values"),
    "path_smooth": (("0",), "it mixes a leaf with its parents"),
    "monotone_constraints": (("",), "renewed leaves can break them"),
    "linear_tree": (("0",), "its leaves are linear models"),
}


def check_parameters(booster: lightgbm.Booster, threshold_update: str) -> None:
    """Raise ValueError for a booster's parameter that is not allowed with the threshold update."""
    text = booster.model_to_string(num_iteration=1)
    refuse_boosting("boosting", _parameter(text, "boosting"))
    if threshold_update in TREE_UPDATES:
        _check_leaves(text, f"threshold_update={threshold_update!r}")


def why_not_renewed(booster: lightgbm.Booster) -> str | None:
    """Return a booster's parameter that makes a leaf other than -G / (H + lambda), and why, or None."""
    found = _unfit(booster.model_to_string(num_iteration=1))
    return found and ": ".join(found)


def let_train_without_features(booster: lightgbm.Booster) -> None:
    """Let a booster train with a custom objective where no feature has a split, as it does with LightGBM's own.

    LightGBM's ``update`` sets the objective to "none" before the first tree, which ``train`` has done already. Without
    features that ends in an error of its C++ code, which is not prepared for new parameters there. What ``update``
    looks at has no public name.
    """
    data = booster.train_set
    if not any(data.feature_num_bin(feature) for feature in range(data.num_feature())):
        vars(booster)["_Booster__set_objective_to_none"] = True


def refuse_boosting(name: str, value: Any) -> None:
    """Raise ValueError for a kind of boosting, given by parameter ``name``, that ordinal objectives do not allow."""
    reason = _REFUSED_BOOSTING.get(str(value).lower())
    if reason is not None:
        raise ValueError(f"params[{name!r}] = {value!r} is not allowed beside an ordinal objective: {reason}")


def _check_leaves(text: str, what: str) -> None:
    found = _unfit(text)
    if found is not None:
        parameter, reason = found
        raise ValueError(
            f"{parameter} is not allowed with {what}: {reason}; "
            f"{'proportional=True' if what == SHIFTS else NEWTON} supports it"
        )


def _unfit(text: str) -> tuple[str, str] | None:
    for name, (harmless, reason) in _REFUSED.items():
        value = _parameter(text, name)
        if value in harmless or (name == "monotone_constraints" and not re.search("[1-9]", value)):
            continue
        return f"params[{name!r}] = {value}", reason
    return None


def newest_tree(booster: lightgbm.Booster, what: str) -> GrownTree:
    """Return the tree of the last iteration; raise ValueError if its parameters do not go with what renews it."""
    iteration = booster.current_iteration() - 1
    text = booster.model_to_string(num_iteration=1, start_iteration=iteration)
    _check_leaves(text, what)  # callbacks can change parameters in every round
    tree = booster.num_trees() - 1

    def route(data: lightgbm.Dataset) -> NDArray[np.int32] | None:
        try:
            rows = data.get_data()
        except lightgbm.basic.LightGBMError:
            return None  # LightGBM frees the raw rows unless told otherwise
        leaves = booster.predict(rows, pred_leaf=True, start_iteration=iteration, num_iteration=1)
        return np.asarray(leaves).ravel().astype(np.int32)

    def renew(leaf_values: NDArray[np.float64]) -> None:
        for leaf, value in enumerate(leaf_values.tolist()):
            booster.set_leaf_output(tree, leaf, value)

    return GrownTree(
        leaf_values=leaf_values_in(text),
        learning_rate=float(_line(text, "shrinkage")),
        reg_lambda=float(_parameter(text, "lambda_l2")),
        value_type=np.float64,
        route=route,
        renew=renew,
    )


def leaf_values_in(text: str) -> NDArray[np.float64]:
    """Return the leaf values of the first tree of a model's text, (n_leaves,)."""
    return np.array(_line(text, "leaf_value").split(), dtype=np.float64)


def _line(text: str, name: str) -> str:
    start = text.index(f"\n{name}=") + len(name) + 2
    return text[start : text.index("\n", start)]


def _parameter(text: str, name: str) -> str:
    start = text.index(f"\n[{name}: ") + len(name) + 4
    return text[start : text.index("]\n", start)]


def initial_score(data: lightgbm.Dataset) -> NDArray[Any]:
    """Return the score of a data set before the first tree, float64 (n_samples,)."""
    score = data.get_init_score()
    return np.zeros(data.num_data()) if score is None else np.asarray(score, dtype=np.float64)
