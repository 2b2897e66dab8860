"""A booster of XGBoost: its trees, in the bytes of its model and round by round, and the record that it carries.

XGBoost writes models as UBJSON: the length of an array's name in eight bytes and the name, the type of its numbers,
their count in eight bytes, and the numbers, all big-endian. Arrays of trees are found in these bytes; nothing else is
parsed.
"""

from __future__ import annotations

import json
import weakref
import zlib
from collections.abc import Callable
from dataclasses import replace
from operator import index
from typing import Any

import numpy as np
import xgboost

from ordinal_objectives.adapters import prediction
from ordinal_objectives.adapters.followed_scores import GrownTree
from ordinal_objectives.aliases import JSON, ArrayLike, FloatArray, IndexArray, IntArray, NDArray
from ordinal_objectives.spec import TREE_UPDATES
from ordinal_objectives.threads import one_thread_after_fork
from ordinal_objectives.threshold_solver.record import ThresholdRecord
from ordinal_objectives.utils.shared_docs import documented

# How XGBoost calls the type of an array, and how NumPy does.
_OF_NODES = {
    "left_children": ("l", ">i4"),
    "right_children": ("l", ">i4"),
    "split_conditions": ("d", ">f4"),
    "split_indices": ("l", ">i4"),
    "default_left": ("U", "u1"),
    "categories_nodes": ("l", ">i4"),
}
_TYPES = _OF_NODES | {"leaf_weights": ("d", ">f4")}


def spans(raw: bytes | bytearray, name: str) -> list[tuple[int, int]]:
    """Return where the numbers of an array begin and end, for each tree that has it."""
    # No attribute of the booster can look like this: the length holds bytes of zero.
    head = len(name).to_bytes(8, "big") + f"{name}[${_TYPES[name][0]}#L".encode()
    size = np.dtype(_TYPES[name][1]).itemsize
    found, at = [], raw.find(head)
    while at >= 0:
        start = at + len(head) + 8
        stop = start + size * int.from_bytes(raw[start - 8 : start], "big")
        found.append((start, stop))
        at = raw.find(head, stop)
    return found


def arrays(raw: bytes | bytearray, name: str) -> list[NDArray[Any]]:
    """Return an array of each tree that has it; those of a bytearray can be written to."""
    kind = np.dtype(_TYPES[name][1])
    return [np.frombuffer(raw, kind, (stop - start) // kind.itemsize, start) for start, stop in spans(raw, name)]


def trees(raw: bytes | bytearray) -> list[dict[str, NDArray[Any]]]:
    """Return the arrays of each tree by XGBoost's names, as far as prediction by a score needs them."""
    nodes = zip(*(arrays(raw, name) for name in _OF_NODES), strict=True)
    return [dict(zip(_OF_NODES, tree, strict=True)) for tree in nodes]


def nodes_of(tree: JSON) -> dict[str, NDArray[Any]]:
    """Return the nodes of a tree, from its arrays or its JSON, as :class:`~ordinal_objectives.trees.Tree` names them.

    Values up to ``threshold`` go to the child ``left``, others to ``right``, which are -1 in leaves, as is ``feature``.
    Where categories part the rows, ``threshold`` means nothing.
    """
    left, right = (np.array(tree[f"{side}_children"], dtype=np.int32) for side in ("left", "right"))
    inner = left != -1
    # XGBoost sends x < c to the left, in float32.
    below = np.nextafter(np.asarray(tree["split_conditions"], dtype=np.float32), np.float32(-np.inf))
    return {
        "feature": np.where(inner, tree["split_indices"], -1).astype(np.int32),
        "threshold": np.where(inner, below, 0.0).astype(np.float64),
        "left": left,
        "right": np.where(inner, right, -1).astype(np.int32),
        "missing_left": inner & np.asarray(tree["default_left"], dtype=np.bool_),
    }


def leaf_nodes(left_children: ArrayLike) -> IndexArray:
    """Return the numbers of a tree's leaves among its nodes, ascending."""
    return np.flatnonzero(np.asarray(left_children) == -1)


def settings_of(booster: xgboost.Booster) -> JSON:
    """Return the configuration of a booster's learner."""
    return json.loads(booster.save_config())["learner"]


def check_configuration(booster: xgboost.Booster, threshold_update: str) -> None:
    """Refuse what would silently spoil an ordinal training, as far as the booster's configuration shows it."""
    learner = settings_of(booster)
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
            f"only obj=objective"
        )
    excluded = why_not_renewed(booster) if threshold_update in TREE_UPDATES else None
    if excluded is not None:
        parameter, reason = excluded
        raise ValueError(
            f"{parameter} is not allowed with threshold_update={threshold_update!r}: {reason}; "
            f"threshold_update='newton' supports it"
        )


def why_not_renewed(booster: xgboost.Booster) -> tuple[str, str] | None:
    """Return a parameter that makes a leaf other than -G / (H + lambda), or a round other than one tree, and why."""
    settings = settings_of(booster)["gradient_booster"]
    if settings["name"] != "gbtree":
        return f"params['booster'] = {settings['name']!r}", "a round must add one plain tree and leave the others alone"
    tree, forest = settings["tree_train_param"], settings["gbtree_train_param"]
    n_parallel = int(settings["gbtree_model_param"]["num_parallel_tree"])
    has_signs = any(sign in tree["monotone_constraints"] for sign in "123456789")
    # The configuration names process_type='default' beside these updaters too.
    updates = forest["updater_seq"].split(",")[0] in ("refresh", "prune", "sync") or forest["process_type"] != "default"
    # Newer versions of XGBoost call dart a gbtree that drops trees.
    dart, dropped = settings.get("dart_train_param", {}), "dropped trees change the score behind the newest one"
    found = {
        "reg_alpha": (float(tree["reg_alpha"]), "an L1 penalty shrinks leaves on its own terms"),
        "max_delta_step": (float(tree["max_delta_step"]), "it cuts leaf values"),
        "monotone_constraints": (has_signs and tree["monotone_constraints"], "renewed leaves can break them"),
        "rate_drop": (float(dart.get("rate_drop", 0)), dropped),
        "one_drop": (float(dart.get("one_drop", 0)), dropped),
        "num_parallel_tree": (n_parallel > 1 and n_parallel, "the leaves of parallel trees overlap"),
        "process_type": (updates and "update", "the trees exist already"),
    }
    return next(((f"params[{name!r}] = {value!r}", why) for name, (value, why) in found.items() if value), None)


def check_base_score(booster: xgboost.Booster) -> None:
    """Refuse a score that starts elsewhere than at 0, where rows without a base_margin and earlier rounds start."""
    base_score = settings_of(booster)["learner_model_param"]["base_score"]
    start = next((one for one in map(float, base_score.strip("[]").split(",")) if one), 0.0)
    if start:
        raise base_score_error(start)


def base_score_error(start: float) -> ValueError:
    """Return the error for a score that starts elsewhere than at 0."""
    return ValueError(
        f"base_score must be 0.0 beside an ordinal objective, since the thresholds hold the location; the score "
        f"starts at {start:g}. Pass params={{'base_score': 0.0, ...}}"
    )


def rounds_of(booster: xgboost.Booster, first: int, stop: int, categories: JSON | None = None) -> xgboost.Booster:
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


def renew_leaves(booster: xgboost.Booster, first_tree: int, leaf_values: list[FloatArray]) -> None:
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


def categories_of(booster: xgboost.Booster) -> JSON | None:
    """Return the categories that the trees were grown on, as a booster's JSON file has them; None without any."""
    if "c" not in (booster.feature_types or ()):
        return None
    content = json.loads(bytes(xgboost.Booster.save_raw(booster, "json")))
    grown = content["learner"]["gradient_booster"]
    return grown.get("gbtree", grown)["model"].get("cats")  # dart holds trees one deeper


# Up to so many rounds, writing the bytes of all takes less time than slicing off the newest one. On a GPU the arrays of
# each tree come to the host one by one: there a slice is always faster.
_FEW_ROUNDS = 16
# Slicing takes as long as sorting the changes of so many rows, or as passing a row through so many trees.
_FEW_ROWS = 1 << 12
_FEW_WALKS = 1 << 14
# How a configuration names what cuts leaves off after a tree has grown, as with tree_method="exact".
_PRUNER = ',prune"'


class TreeReader:
    """Reads the tree of the last round, round by round.

    Parameters
    ----------
    booster : xgboost.Booster
    settings_stay : bool
        Whether nobody changes the booster's parameters between rounds.
    """

    def __init__(self, booster: xgboost.Booster, *, settings_stay: bool) -> None:
        self._booster = booster
        self._settings = _grown_with(booster) if settings_stay else None
        self._few_rounds = _FEW_ROUNDS if '"device":"cpu"' in booster.save_config() else 0
        # A slice of a matrix does not say which categories its codes stand for.
        self._has_categories = "c" in (booster.feature_types or ())

    def from_bytes(self) -> GrownTree:
        """Return the tree."""
        booster = self._booster
        rounds = booster.num_boosted_rounds()
        if rounds > self._few_rounds:
            booster = xgboost.Booster.__getitem__(booster, slice(rounds - 1, rounds))
        raw = xgboost.Booster.save_raw(booster, "ubj")
        nodes = leaf_nodes(arrays(raw, "left_children")[-1])
        return self._grown(nodes, arrays(raw, "split_conditions")[-1][nodes].astype(np.float64))

    def from_steps(
        self, matrix: xgboost.DMatrix, before: NDArray[np.float32], after: NDArray[np.float32]
    ) -> GrownTree | None:
        """Return the tree as the scores of the training rows without it and with it show it, or None.

        The steps of the rows in one leaf are the same but for their rounding. One row of each step is passed through
        the trees, for the number of its leaf: a slice of the booster takes longer, unless there are many rows.
        """
        *_, prunes = self._settings or _grown_with(self._booster)
        if prunes:
            return None
        if self._has_categories or type(matrix) is not xgboost.DMatrix or not 0 < len(after) <= _FEW_ROWS:
            return None
        steps = after.astype(np.float64) - before
        order = np.argsort(steps, kind="stable")
        steps = steps[order]
        # XGBoost rounds each sum once, so the steps of one leaf differ by this at most.
        noise = float(np.finfo(np.float32).eps) * max(float(np.abs(after).max()), abs(steps[0]), abs(steps[-1]))
        starts = np.flatnonzero(np.append(True, np.diff(steps) > noise))
        stops = np.append(starts[1:], len(after))
        if starts.size * self._booster.num_boosted_rounds() > _FEW_WALKS:
            return None
        try:
            one_of_each = matrix.slice(order[starts], allow_groups=True)
        except xgboost.core.XGBoostError:  # of a matrix in external memory
            return None
        reached = self._booster.predict(one_of_each, pred_leaf=True, validate_features=False)
        nodes = reached.reshape(starts.size, -1)[:, -1].astype(np.intp)
        # A split numbers its two children next, so the highest number says how many leaves there are. Where two leaves
        # have one value, a number is missing.
        if nodes.max() != 2 * (nodes.size - 1) or len(set(nodes.tolist())) < nodes.size:
            return None
        in_order = np.argsort(nodes)
        numbers = np.argsort(in_order).astype(np.int32)
        leaves = np.empty(len(after), np.int32)
        leaves[order] = np.repeat(numbers, stops - starts)
        values = 0.5 * (steps[starts] + steps[stops - 1])
        return self._grown(nodes[in_order], values[in_order], leaves=leaves, off=noise)

    def _grown(self, nodes: IndexArray, leaf_values: FloatArray, **known: Any) -> GrownTree:
        """Return a tree, given the numbers of its leaves among its nodes, ascending, and what else is known."""
        booster, rounds = self._booster, self._booster.num_boosted_rounds()
        learning_rate, reg_lambda, _ = self._settings or _grown_with(booster)

        def route(dmatrix: xgboost.DMatrix) -> IntArray:
            reached = rounds_of(booster, rounds - 1, rounds).predict(dmatrix, pred_leaf=True).ravel()
            return np.searchsorted(nodes, reached).astype(np.int32)

        return GrownTree(
            leaf_values=leaf_values,
            learning_rate=learning_rate,
            reg_lambda=reg_lambda,
            value_type=np.float32,
            route=route,
            renew=None,  # renew_leaves writes them all at the end
            **known,
        )


def _grown_with(booster: xgboost.Booster) -> tuple[float, float, bool]:
    """Return learning rate and penalty of the newest tree; and whether leaves were cut off, whose numbers stay."""
    configuration = booster.save_config()
    rate, reg_lambda = (_tree_parameter(configuration, name) for name in ("learning_rate", "reg_lambda"))
    return rate, reg_lambda, _PRUNER in configuration


def _tree_parameter(configuration: str, name: str) -> float:
    """Return a parameter of the trees; parsing all of the configuration takes longer than reading the tree."""
    start = configuration.index(f'"{name}":"', configuration.index('"tree_train_param":')) + len(name) + 4
    return float(configuration[start : configuration.index('"', start)])


ATTRIBUTE = "ordinal_objectives"

# Records that were written or read here, by their text, which XGBoost copies with a booster and cannot change.
_by_text: weakref.WeakValueDictionary[str, ThresholdRecord] = weakref.WeakValueDictionary()
# What each booster carries, which keeps its record among those. Two losses of a user's can have the same text.
_carried: weakref.WeakKeyDictionary[xgboost.Booster, tuple[str, ThresholdRecord]] = weakref.WeakKeyDictionary()
# What completes each booster that is in training.
_completions: weakref.WeakKeyDictionary[
    xgboost.Booster, weakref.WeakMethod[Callable[[xgboost.Booster], xgboost.Booster]]
] = weakref.WeakKeyDictionary()


class GrowingBooster(xgboost.Booster):  # type: ignore[misc]
    """A booster during its training: what is saved, copied, pickled or sliced of it is a finished model.

    A training makes its booster one of these, and at its end a plain booster again. The thresholds of a round are
    known after XGBoost has called the callbacks before ours, and renewed leaves must not get into the trees before
    the end: so what leaves the training is completed in a copy, when somebody asks for it.
    """

    def save_model(self, *given: object, **options: object) -> None:
        """Save the model of the newest round."""
        completed(self).save_model(*given, **options)

    def save_raw(self, *given: object, **options: object) -> bytearray:
        """Return the bytes of the model of the newest round."""
        return completed(self).save_raw(*given, **options)

    def __getitem__(self, rounds: Any) -> xgboost.Booster:
        return completed(self)[rounds]

    def __getstate__(self) -> dict[str, Any]:  # copies are made of it as well
        return completed(self).__getstate__()

    def __reduce_ex__(self, protocol: object) -> Any:
        return completed(self).__reduce_ex__(1)  # later protocols ask for the class of the object itself


def begin_growing(booster: xgboost.Booster, complete: Callable[[xgboost.Booster], xgboost.Booster]) -> None:
    """Let what is saved of a booster be completed by a training's method, until the training has ended."""
    booster.__class__ = GrowingBooster
    _completions[booster] = weakref.WeakMethod(complete)


def end_growing(booster: xgboost.Booster) -> None:
    """Make a booster a plain one again."""
    booster.__class__ = xgboost.Booster
    _completions.pop(booster, None)


def completed(booster: xgboost.Booster) -> xgboost.Booster:
    """Return a booster; of one during its training, a copy as it would be if the training ended now.

    Raises
    ------
    ValueError
        If its training was interrupted, or goes on in another thread.
    """
    if not isinstance(booster, GrowingBooster):
        return booster
    complete = _completions[booster]()
    if complete is None:
        raise interrupted()
    return complete(booster)


def interrupted() -> ValueError:
    """Return the error for a booster that nobody can complete."""
    return ValueError(
        "this booster's training was interrupted, or goes on in another thread, and its thresholds are not known "
        "here: save the booster inside a callback"
    )


def store_record(booster: xgboost.Booster, record: ThresholdRecord) -> None:
    """Write a record into a booster, with the checksums of its trees."""
    record = replace(record, trees=checksums(booster) or None).copied()
    text = record.to_json()
    # XGBClassifier and XGBRegressor refuse a file of another kind: they would predict without the thresholds.
    booster.set_attr(**{ATTRIBUTE: text, "scikit_learn": '{"_estimator_type": "ordinal classifier"}'})
    _remember(booster, text, record)


def _remember(booster: xgboost.Booster, text: str, record: ThresholdRecord) -> ThresholdRecord:
    _by_text[text] = record
    _carried[booster] = text, record
    return record


def stored_record(booster: xgboost.Booster) -> ThresholdRecord | None:
    """Return what a booster carries about its thresholds, not to be changed, or None.

    Raises
    ------
    ValueError
        If the booster's rounds are not the first ones of the training that the record describes.
    """
    booster = completed(booster)
    text = _attribute(booster, ATTRIBUTE)
    if text is None:
        return None
    known_text, record = _carried.get(booster, (None, None))
    if record is None or known_text != text:  # parsed only if this process does not know it
        record = _remember(booster, text, _by_text.get(text) or prediction.record_from_json(text))
    rounds = booster.num_boosted_rounds()
    # A slice copies attributes. Where its last round is the one recorded there, so are those before it, unless
    # that round had no split and is like others.
    known = min(rounds, len(record.trees or []))
    if record.trees and known:
        is_last_alone = record.trees.count(record.trees[known - 1]) == 1
        first = known - 1 if is_last_alone else 0
        checked = booster[first:known] if first or known < rounds else booster
        if checksums(checked) != record.trees[first:known]:
            raise ValueError(
                f"booster's {known} rounds are not the first {known} of the training that recorded its thresholds: "
                f"it is a slice that does not start at 0 or leaves rounds out, or its trees were changed. Thresholds "
                f"belong to a score summed from the first tree: use booster[:{known}] or iteration_range=(0, {known})"
            )
    return record


def _attribute(booster: xgboost.Booster, name: str) -> str | None:
    try:
        text: str | None = booster.attr(name)
    except AssertionError:  # XGBoost's answer for an empty text
        return ""
    return text


def carried_record(booster: xgboost.Booster) -> ThresholdRecord:
    """Return what :func:`threshold_record` does, not to be changed."""
    record = stored_record(booster)
    if record is None:
        raise ValueError(
            "booster carries no ordinal thresholds; train with callbacks=[objective.callback], or call "
            "objective.attach(booster, dtrain) after training"
        )
    return record


@documented
@one_thread_after_fork()
def threshold_record(booster: xgboost.Booster) -> ThresholdRecord:
    """Return what a booster carries about its thresholds: those of every iteration, losses, settings.

    Parameters
    ----------
    <<booster>>

    Returns
    -------
    ThresholdRecord
        A copy.

    Raises
    ------
    ValueError
        If the booster carries no thresholds, or those of other trees: a slice must start at the first round.

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
    >>> record = oxgb.threshold_record(booster)
    >>> len(record.thresholds), record.thresholds[-1].shape  # the start, and after each round
    (21, (2,))
    """
    return carried_record(booster).copied()


@one_thread_after_fork()
def kept_rounds(booster: xgboost.Booster) -> int:
    """Return the number of rounds that predictions use: up to the best one after early stopping.

    Parameters
    ----------
    booster : xgboost.Booster
        Trained by XGBoost, in any way.

    Returns
    -------
    int

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
    >>> oxgb.kept_rounds(booster)
    20
    """
    rounds: int = booster.num_boosted_rounds()
    best = _attribute(booster, "best_iteration")
    if best is None:
        return rounds
    return min(int(best) + 1, rounds)


def last_round(booster: xgboost.Booster, iteration_range: Any) -> int:
    """Return the number of rounds that an ``iteration_range`` of (0, t) asks for."""
    if iteration_range is None:
        return kept_rounds(booster)
    rounds: int = booster.num_boosted_rounds()
    start, stop = map(index, iteration_range)
    if start != 0 or not 0 <= stop <= rounds:
        raise ValueError(
            f"iteration_range must start at 0, since thresholds belong to a score summed from the first tree, and end "
            f"at one of 0..{rounds}, with 0 for all; got {iteration_range!r}"
        )
    return stop or rounds


def why_last_only(booster: xgboost.Booster, record: ThresholdRecord | None = None) -> str | None:
    """Return why a booster holds the score of its last round only, or None if it holds those of all."""
    settings = settings_of(booster)["gradient_booster"]
    if settings["name"] == "gblinear":
        return "booster='gblinear' keeps only the coefficients of the last round"
    rates = settings.get("dart_train_param", {})  # which a file does not hold
    drops = any(float(rates.get(name, 0)) for name in ("rate_drop", "one_drop"))
    if drops if record is None else record.last_only:
        return "booster='dart', or a rate_drop or one_drop above 0, scales earlier trees down whenever it drops them"
    return None


def check_all_rounds(booster: xgboost.Booster, record: ThresholdRecord, end: int) -> None:
    """Refuse the score of the first ``end`` rounds where the booster does not hold it, or no thresholds for it."""
    known = record.n_iterations
    prediction.check_rounds(record, end, f"booster[:{known}] or iteration_range=(0, {known})")
    if end == record.n_iterations == booster.num_boosted_rounds():
        return
    reason = why_last_only(booster, record)
    if reason is not None:
        raise ValueError(
            f"the score of the first {end} rounds is not in the model, since {reason}; thresholds were recorded for "
            f"{record.n_iterations} rounds, and only iteration_range=(0, {record.n_iterations}) of the whole booster "
            f"is allowed, without early stopping, slices and staged predictions"
        )
