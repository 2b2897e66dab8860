"""The trees of an XGBoost booster: refuse parameters that do not go with a joint step, renew leaves."""

from __future__ import annotations

import json
import zlib
from typing import Any

import numpy as np
import xgboost
from numpy.typing import NDArray

from ordinal_objectives.adapters.xgb.raw_trees import arrays, leaf_nodes, spans
from ordinal_objectives.spec import TREE_UPDATES


def check_configuration(booster: xgboost.Booster, threshold_update: str) -> None:
    """Refuse what would silently spoil an ordinal training, as far as the booster's configuration shows it."""
    learner = json.loads(booster.save_config())["learner"]
    num_class = int(learner["learner_model_param"]["num_class"])
    if num_class > 0:
        raise ValueError(
            f"params['num_class'] = {num_class} is not allowed beside an ordinal objective: one score serves all "
            f"classes; pass n_classes to the objective instead"
        )
    objective = learner["learner_train_param"]["objective"]
    # XGBoost fills in this one when no objective is given.
    if objective != "reg:squarederror":
        raise ValueError(
            f"params['objective'] = {objective!r} is not allowed beside an ordinal objective; leave it out and pass "
            f"obj=objective alone"
        )
    found = why_not_renewed(booster) if threshold_update in TREE_UPDATES else None
    if found is not None:
        parameter, reason = found
        raise ValueError(
            f"{parameter} is not allowed with threshold_update={threshold_update!r}: {reason}; "
            f"threshold_update='newton' supports it"
        )


def why_not_renewed(booster: xgboost.Booster) -> tuple[str, str] | None:
    """Return a parameter that makes a leaf other than -G / (H + lambda), or a round other than one tree, and why."""
    settings = json.loads(booster.save_config())["learner"]["gradient_booster"]
    reason = {
        "reg_alpha": "an L1 penalty shrinks leaves on its own terms",
        "max_delta_step": "it cuts leaf values",
        "monotone_constraints": "renewed leaves can break them",
        "num_parallel_tree": "the leaves of parallel trees overlap",
        "process_type": "the trees exist already",
        "rate_drop": "dropped trees change the score behind the newest one",
        "one_drop": "dropped trees change the score behind the newest one",
        "booster": "a round must add one plain tree and leave the others alone",
    }
    found: dict[str, Any] = {}
    if settings["name"] != "gbtree":
        found["booster"] = settings["name"]
    else:
        tree, forest = settings["tree_train_param"], settings["gbtree_train_param"]
        found |= {name: float(tree[name]) for name in ("reg_alpha", "max_delta_step") if float(tree[name])}
        if any(sign in tree["monotone_constraints"] for sign in "123456789"):
            found["monotone_constraints"] = tree["monotone_constraints"]
        # Newer versions of XGBoost call dart a gbtree that drops trees.
        dart = settings.get("dart_train_param", {})
        found |= {name: float(dart[name]) for name in ("rate_drop", "one_drop") if float(dart.get(name, 0))}
        n_parallel = int(settings["gbtree_model_param"]["num_parallel_tree"])
        found |= {"num_parallel_tree": n_parallel} if n_parallel > 1 else {}
        # The configuration names process_type='default' beside these updaters too.
        updates = forest["updater_seq"].split(",")[0] in ("refresh", "prune", "sync")
        found |= {"process_type": "update"} if updates or forest["process_type"] != "default" else {}
    return next(((f"params[{name!r}] = {value!r}", reason[name]) for name, value in found.items()), None)


def rounds_of(
    booster: xgboost.Booster, first: int, stop: int, categories: dict[str, Any] | None = None
) -> xgboost.Booster:
    """Return the rounds ``first`` to ``stop - 1`` of a booster, which read categories as the whole booster does.

    In XGBoost 3.2 a slice lacks the codes that the categories had in training, so it uses those of the matrix at hand.
    ``categories`` are those of the booster, read from it unless given.
    """
    part = xgboost.Booster.__getitem__(booster, slice(first, stop))  # XGBoost's own trees, also during a training
    if "c" in (booster.feature_types or ()):
        categories = categories or categories_of(booster)
        content = json.loads(bytes(part.save_raw("json")))
        own = content["learner"]["gradient_booster"]["model"]
        if own.get("cats") != categories:
            own["cats"] = categories
            # XGBoost's JSON reader does not know escapes of non-ASCII letters, as in names of features.
            _load(part, bytearray(json.dumps(content, ensure_ascii=False).encode()))
    return part


def renew_leaves(booster: xgboost.Booster, first_tree: int, leaf_values: list[NDArray[np.float64]]) -> None:
    """Write new leaf values into the trees from ``first_tree`` on, as many as the booster has.

    Parameters
    ----------
    booster : xgboost.Booster
        Changed in place; its attributes and configuration stay.
    first_tree : int
    leaf_values : list of ndarray of float64, shape (n_leaves,)
        In the order of each tree's nodes.
    """
    raw = booster.save_raw("ubj")
    trees = zip(arrays(raw, "left_children"), arrays(raw, "split_conditions"), strict=True)
    for (left_children, numbers), values in zip(list(trees)[first_tree:], leaf_values, strict=False):
        nodes = leaf_nodes(left_children)
        numbers[nodes] = values.reshape(nodes.shape)
    _load(booster, raw)


def _load(booster: xgboost.Booster, raw: bytearray) -> None:
    """Make a booster the model that a file with these bytes would hold; its configuration stays."""
    configuration = booster.save_config()
    booster.load_model(raw)
    booster.load_config(configuration)


def checksums(booster: xgboost.Booster) -> list[int]:
    """Return a checksum of each round: thresholds of splits and values of leaves. Empty without trees."""
    raw, rounds = booster.save_raw("ubj"), booster.num_boosted_rounds()
    # Leaves with several outputs have an array of their own.
    trees = sorted([*spans(raw, "leaf_weights"), *spans(raw, "split_conditions")])
    per_round = len(trees) // max(rounds, 1)
    sums = [0] * (rounds if trees else 0)
    for t in range(len(sums)):
        for start, stop in trees[t * per_round : (t + 1) * per_round]:
            sums[t] = zlib.crc32(raw[start:stop], sums[t])
    return sums


def nodes_of_trees(booster: xgboost.Booster) -> list[int]:
    """Return the number of nodes of each tree."""
    return [(stop - start) // 4 for start, stop in spans(booster.save_raw("ubj"), "split_conditions")]


def categories_of(booster: xgboost.Booster) -> dict[str, Any] | None:
    """Return the categories that the trees were grown on, as a booster's JSON file has them; None without any."""
    if "c" not in (booster.feature_types or ()):
        return None
    content = json.loads(bytes(xgboost.Booster.save_raw(booster, "json")))
    grown = content["learner"]["gradient_booster"]
    categories: dict[str, Any] | None = grown.get("gbtree", grown)["model"].get("cats")  # dart holds trees one deeper
    return categories
