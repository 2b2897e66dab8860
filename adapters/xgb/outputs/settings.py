"""Shifts as outputs of XGBoost: its settings, and parameters that cannot be used with them.

XGBoost 3.2 and later find a tree's structure on one gradient and fit a vector in every leaf to others. What works
beside that differs from version to version.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import xgboost
from numpy.typing import NDArray

from ordinal_objectives.leaves.shifts import Shifts
from ordinal_objectives.leaves.vector import contrasts

# The first versions that support each: older ones end the training with other messages, or do something else.
VECTOR_LEAVES = (3, 2)
CATEGORICAL_SPLITS = CONTRIBUTIONS = DART = (3, 3)
INTERACTION_CONSTRAINTS = (3, 4)
# Before, min_child_weight bounds the Hessian of every output, and no split: an output below it is 0. From then on it
# bounds the mean of the Hessians of the outputs that judge splits.
MIN_CHILD_WEIGHT = (3, 4)
_GROWERS = ("grow_quantile_histmaker", "grow_gpu_hist")


def is_at_least(version: tuple[int, int]) -> bool:
    """Tell whether the XGBoost that is installed is of this version or later."""
    return tuple(map(int, xgboost.__version__.split(".")[:2])) >= version


def refuse_before(version: tuple[int, int], what: str) -> None:
    """Raise ValueError if the XGBoost that is installed is older than the first version that can do it."""
    if not is_at_least(version):
        raise ValueError(
            f"{what}: beside shifts that XGBoost fits itself this needs XGBoost {version[0]}.{version[1]} or later; "
            f"{xgboost.__version__} is installed"
        )


def ask_for_outputs(
    booster: xgboost.Booster, n_classes: int, shifts: Shifts, n_split_outputs: int | None = 1
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what to set in a booster that is about to be trained for vector leaves, and what when it is trained.

    Parameters
    ----------
    booster : xgboost.Booster
    n_classes : int
    shifts : Shifts
    n_split_outputs : int or None, default=1
        How many outputs judge splits; None for all.

    Raises
    ------
    ValueError
        If a parameter does not go with them; the message names it.
    """
    before = json.loads(booster.save_config())["learner"]
    n_outputs = int(before["learner_model_param"]["num_target"])
    if n_outputs not in (1, n_classes - 1):
        raise ValueError(f"params['num_target'] must be n_classes - 1 = {n_classes - 1}; got {n_outputs}")
    found = _why_not(before["gradient_booster"])
    if found is not None:
        raise ValueError(
            f"{found[0]} does not go with shifts that XGBoost fits itself: {found[1]}; leave it out, or use "
            f"shift_method='renewal' or proportional=True"
        )
    tree = before["gradient_booster"]["tree_train_param"]
    told = {"multi_strategy": "multi_output_tree", "num_target": n_classes - 1, "tree_method": "hist"}
    afterwards: dict[str, Any] = {}
    share = _share_of_bound(n_classes, float(tree["reg_lambda"]), shifts, n_split_outputs)
    if share != 1.0:
        afterwards["min_child_weight"] = float(tree["min_child_weight"])
        told["min_child_weight"] = share * afterwards["min_child_weight"]
    return told, afterwards


def reg_lambda_of(booster: xgboost.Booster) -> float:
    """Return the penalty of every number in a leaf."""
    settings = json.loads(booster.save_config())["learner"]["gradient_booster"]["tree_train_param"]
    return float(settings["reg_lambda"])


def start_outputs(score: NDArray[Any] | None, n_classes: int) -> NDArray[Any] | None:
    """Return the outputs of rows that start at a score and without shifts, (n_samples, n_classes - 1)."""
    return None if score is None else np.pad(score[:, np.newaxis], ((0, 0), (0, n_classes - 2)))


def smallest_share(n_classes: int, reg_lambda: float, shifts: Shifts) -> float:
    """Return how small an output's Hessian is beside the score's where all thresholds have the same."""
    return float(_shares(n_classes, reg_lambda, shifts).min())


def _share_of_bound(n_classes: int, reg_lambda: float, shifts: Shifts, n_split_outputs: int | None) -> float:
    """Return how small what XGBoost compares with min_child_weight is beside the score's Hessian."""
    if not is_at_least(MIN_CHILD_WEIGHT):
        return smallest_share(n_classes, reg_lambda, shifts)
    return float(_shares(n_classes, reg_lambda, shifts)[:n_split_outputs].mean())


def _shares(n_classes: int, reg_lambda: float, shifts: Shifts) -> NDArray[np.float64]:
    """Return the Hessian of every output beside the score's where all thresholds have the same."""
    C = contrasts(n_classes - 1, reg_lambda, shifts.l2, shifts.penalty)
    return np.append(1.0, (C**2).mean(axis=0))


def _why_not(settings: dict[str, Any]) -> tuple[str, str] | None:
    """Return a parameter that vector leaves rule out, with its value, and why."""
    if settings["name"] == "gblinear":
        return "params['booster'] = 'gblinear'", "it has no trees"
    # XGBoost 3.2 calls dart a booster of its own, with a gbtree inside.
    is_dart = settings["name"] == "dart"
    settings = settings.get("gbtree", settings)
    tree, forest = settings["tree_train_param"], settings["gbtree_train_param"]
    rates = settings.get("dart_train_param", {})
    if is_dart or any(float(rates.get(name, 0)) for name in ("rate_drop", "one_drop")):
        refuse_before(DART, "params['booster'] = 'dart'")
    if tree["interaction_constraints"]:
        refuse_before(INTERACTION_CONSTRAINTS, "params['interaction_constraints']")
    if not float(tree["reg_lambda"]) > 0.0:
        return f"params['reg_lambda'] = {float(tree['reg_lambda']):g}", "the penalty of shifts is a multiple of it"
    if any(sign in tree["monotone_constraints"] for sign in "123456789"):
        return f"params['monotone_constraints'] = {tree['monotone_constraints']!r}", "XGBoost has none for them"
    if forest["tree_method"] not in ("auto", "hist"):
        return f"params['tree_method'] = {forest['tree_method']!r}", "only 'hist' grows leaves with several outputs"
    if forest["process_type"] != "default" or (settings["specified_updater"] and forest["updater_seq"] not in _GROWERS):
        return (
            f"params['updater'] = {forest['updater_seq']!r}",
            "only new trees of 'hist' have leaves with several outputs",
        )
    return None
