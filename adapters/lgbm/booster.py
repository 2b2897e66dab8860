"""What a LightGBM booster holds: trees and their parameters, the threshold record, and the text of its files.

The record is an attribute of a booster in memory, and a line of the model text in a file.
"""

from __future__ import annotations

import re
import struct
import weakref
import zlib
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np

from ordinal_objectives.adapters import prediction
from ordinal_objectives.adapters.followed_scores import GrownTree
from ordinal_objectives.adapters.lgbm.input_checks import refuse_boosting
from ordinal_objectives.aliases import FloatArray, IntArray
from ordinal_objectives.spec import TREE_UPDATES
from ordinal_objectives.threads import one_thread_after_fork
from ordinal_objectives.threshold_solver.record import ThresholdRecord
from ordinal_objectives.utils import files, shared_docs

SHIFTS = "proportional=False"
# Parameters that make a leaf other than -G / (H + lambda) where they hold a digit above 0.
_OTHER_LEAVES = {
    "lambda_l1": "an L1 penalty shrinks leaves on its own terms",
    "max_delta_step": "it cuts leaf values",
    "path_smooth": "it mixes a leaf with its parents",
    "monotone_constraints": "renewed leaves can break them",
    "linear_tree": "its leaves are linear models",
}
# LightGBM keeps unknown lines of the parameter section through loading, saving and truncating.
_LINE_START = "[ordinal_thresholds: "
_SECTION_END = "end of parameters"
# The first line of a file, and the second one, by LightGBM and with a digest of all other lines.
_FIRST = "tree\n"
_SECOND = re.compile(rf"{_FIRST}(?:version=|{files.DIGEST}=([0-9a-f]{{64}})\n)")
# The record in the text of a booster that LightGBM has loaded, and the model inside LightGBM that it was read from.
_read: weakref.WeakKeyDictionary[lightgbm.Booster, tuple[object, ThresholdRecord | None]] = weakref.WeakKeyDictionary()


# Parameters and trees


def check_parameters(booster: lightgbm.Booster, threshold_update: str) -> None:
    """Raise ValueError for a booster's parameter that is not allowed with the threshold update."""
    parameters = _parameters_in(booster.model_to_string(num_iteration=1))
    refuse_boosting("boosting", parameters["boosting"])
    if parameters.get("bagging_by_query") == "1":  # LightGBM 4.5 does not have it
        raise ValueError(
            "params['bagging_by_query'] = 1 is not allowed beside an ordinal objective: LightGBM leaves the scores of "
            "rows outside a sample behind, so the thresholds would be learned for other scores than the model's"
        )
    if threshold_update in TREE_UPDATES:
        _check_leaves(parameters, f"threshold_update={threshold_update!r}")


def why_not_renewed(booster: lightgbm.Booster) -> str | None:
    """Return a booster's parameter that makes a leaf other than -G / (H + lambda), and why, or None."""
    other = _other_leaves(_parameters_in(booster.model_to_string(num_iteration=1)))
    return other and ": ".join(other)


def _check_leaves(parameters: dict[str, str], what: str) -> None:
    other = _other_leaves(parameters)
    if other is not None:
        instead = "proportional=True" if what == SHIFTS else "threshold_update='newton'"
        raise ValueError(f"{other[0]} is not allowed with {what}: {other[1]}; {instead} supports it")


def _other_leaves(parameters: dict[str, str]) -> tuple[str, str] | None:
    found = (name for name in _OTHER_LEAVES if re.search("[1-9]", parameters[name]))
    return next(((f"params[{name!r}] = {parameters[name]}", _OTHER_LEAVES[name]) for name in found), None)


def newest_tree(booster: lightgbm.Booster, what: str) -> GrownTree:
    """Return the tree of the last iteration; raise ValueError if its parameters do not go with what renews it."""
    iteration = booster.current_iteration() - 1
    text = booster.model_to_string(num_iteration=1, start_iteration=iteration)
    parameters = _parameters_in(text)
    _check_leaves(parameters, what)  # callbacks can change parameters in every round
    tree = booster.num_trees() - 1

    def route(data: lightgbm.Dataset) -> IntArray | None:
        try:
            rows = data.get_data()
        except lightgbm.basic.LightGBMError:
            return None  # LightGBM frees the raw rows by default
        leaves = booster.predict(rows, pred_leaf=True, start_iteration=iteration, num_iteration=1)
        return np.asarray(leaves).ravel().astype(np.int32)

    def renew(leaf_values: FloatArray) -> None:
        for leaf, value in enumerate(leaf_values.tolist()):
            booster.set_leaf_output(tree, leaf, value)

    return GrownTree(
        leaf_values=leaf_values_in(text),
        learning_rate=float(_line(text, "shrinkage")),
        reg_lambda=float(parameters["lambda_l2"]),
        value_type=np.float64,
        route=route,
        renew=renew,
    )


def leaf_values_in(text: str) -> FloatArray:
    """Return the leaf values of the first tree of a model's text, (n_leaves,)."""
    return np.array(_line(text, "leaf_value").split(), dtype=np.float64)


def has_split(booster: lightgbm.Booster, iteration: int) -> bool:
    """Return whether the tree of an iteration has more than one leaf."""
    return leaf_values_in(booster.model_to_string(num_iteration=1, start_iteration=iteration)).size > 1


def _line(text: str, name: str) -> str:
    start = text.index(f"\n{name}=") + len(name) + 2
    return text[start : text.index("\n", start)]


def _parameters_in(text: str) -> dict[str, str]:
    return dict(re.findall(r"^\[(\w+): (.*)\]$", text, re.MULTILINE))


def let_train_without_features(booster: lightgbm.Booster) -> None:
    """Let a booster train with a custom objective where no feature has a split, as it does with LightGBM's own.

    LightGBM's ``update`` sets the objective to "none" before the first tree, which ``train`` has done already. Without
    features that ends in an error of its C++ code, which is not prepared for new parameters there. What ``update``
    reads has no public name.
    """
    data = booster.train_set
    if not any(data.feature_num_bin(feature) for feature in range(data.num_feature())):
        vars(booster)["_Booster__set_objective_to_none"] = True


# The record of a booster in memory, and which iterations it belongs to


def store_record(booster: lightgbm.Booster, record: ThresholdRecord) -> None:
    """Give a booster a record, with the checksums of its iterations."""
    carry(booster, replace(record, trees=checksums(booster, 0, record.n_iterations)))


def carry(booster: lightgbm.Booster, record: ThresholdRecord) -> None:
    """Make a booster carry a record as it is, among its own attributes: these LightGBM pickles with it."""
    vars(booster)["ordinal_thresholds"] = record


def store_round(booster: lightgbm.Booster, record: ThresholdRecord, n_rounds: int) -> None:
    """Give a booster its record after so many rounds, and note how many iterations it has, where these are not as many.

    A round without a split adds no tree, yet LightGBM's early stopping numbers the best round, and its predictions
    take that number for one of trees.
    """
    before = getattr(booster, "ordinal_thresholds", None)
    known = [] if before is None else before.trees or []
    carry(booster, replace(record, trees=known + checksums(booster, len(known), record.n_iterations)))
    rounds = booster.__dict__.setdefault("ordinal_rounds", {})
    if booster.current_iteration() != n_rounds:
        rounds[n_rounds] = booster.current_iteration()


def end_rounds(booster: lightgbm.Booster) -> None:
    """Let ``best_iteration`` count iterations from now on, and forget what was noted of the training's rounds."""
    booster.best_iteration = best_iteration(booster)
    booster.__dict__.pop("ordinal_rounds", None)


def best_iteration(booster: lightgbm.Booster) -> int:
    """Return how many iterations early stopping found best; 0 or less if it found none."""
    best: int = booster.best_iteration
    rounds: dict[int, int] = getattr(booster, "ordinal_rounds", {})
    return rounds.get(best, best)


def iterations_of(booster: lightgbm.Booster, num_iteration: int | None = None) -> int:
    """Return how many iterations ``num_iteration`` asks for: None up to the best one, 0 and below all."""
    if num_iteration is None:
        num_iteration = best_iteration(booster)
    rounds: int = booster.current_iteration()
    return rounds if num_iteration <= 0 else min(int(num_iteration), rounds)


def checksums(booster: lightgbm.Booster, start: int, stop: int) -> list[int]:
    """Return a checksum of iterations ``start`` to ``stop - 1``: of each one's first leaf, a microsecond each."""
    return [zlib.crc32(struct.pack("<d", booster.get_leaf_output(tree, 0))) for tree in range(start, stop)]


def stored_record(booster: lightgbm.Booster) -> ThresholdRecord | None:
    """Return what a booster carries about its thresholds, not to be changed, or None.

    Raises
    ------
    ValueError
        If the booster's iterations are not the first ones of the training that the record describes.
    """
    record: ThresholdRecord | None = getattr(booster, "ordinal_thresholds", None)
    if record is None:
        model = vars(booster)["_handle"]  # replaced when LightGBM loads another model; it has no public name
        source, record = _read.get(booster, (None, None))
        if source is not model:
            record = None
            if _LINE_START in booster.model_to_string(num_iteration=1):
                plain, line = _split(booster.model_to_string())
                record = prediction.record_from_json(line)
                record.check_leaves(_leaves_of_trees(plain))
            _read[booster] = model, record
    if record is not None:
        _check_trees(booster, record)
    return record


def _check_trees(booster: lightgbm.Booster, record: ThresholdRecord) -> None:
    """Raise ValueError unless a booster's iterations are the first ones that a record describes."""
    rounds = booster.current_iteration()
    known = None if record.trees is None else record.trees[:rounds]
    if known is None or checksums(booster, 0, len(known)) != known:
        raise ValueError(
            f"booster's {rounds} iterations are not the first {rounds} of the training that recorded its thresholds: "
            f"they were shuffled, cut with start_iteration, or changed. Thresholds belong to a score summed from the "
            f"first tree: save the booster before shuffle_models, and cut it only with num_iteration"
        )


def check_all_rounds(booster: lightgbm.Booster, record: ThresholdRecord, end: int) -> None:
    """Refuse the first ``end`` iterations, 0 and below for all, where there are no thresholds for them."""
    rounds, known = booster.current_iteration(), record.n_iterations
    instead = f"num_iteration={known}; olgbm.save_model(booster, filename, num_iteration={known}) cuts the booster"
    prediction.check_rounds(record, min(end, rounds) if end > 0 else rounds, instead)


def carried_record(booster: lightgbm.Booster) -> ThresholdRecord:
    """Return what :func:`threshold_record` does, not to be changed."""
    prediction.check_booster(booster, lightgbm.Booster, "booster")
    record = stored_record(booster)
    if record is None:
        raise ValueError(
            "booster carries no ordinal thresholds; train with callbacks=[objective.callback], and save with "
            "olgbm.save_model. LightGBM's own copy.deepcopy "
            "and save_model leave them out: copy with pickle.loads(pickle.dumps(booster))"
        )
    return record


@shared_docs.documented
@one_thread_after_fork()
def threshold_record(booster: lightgbm.Booster) -> ThresholdRecord:
    """Return what a booster carries about its thresholds: those of every iteration, losses, settings.

    Parameters
    ----------
    <<booster>>

    Returns
    -------
    ThresholdRecord
        A copy. Early stopping removes the trees after the best round; their thresholds are left out.

    Raises
    ------
    ValueError
        If the booster carries no thresholds.

    Examples
    --------
    >>> import lightgbm
    >>> import numpy as np
    >>> from ordinal_objectives.adapters import lgbm as olgbm
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> y = np.digitize(X[:, 0] + 0.3 * rng.logistic(size=300), [-1.0, 1.0])
    >>> booster = olgbm.train({"verbosity": -1}, lightgbm.Dataset(X, y), 20)
    >>> record = olgbm.threshold_record(booster)
    >>> len(record.thresholds), record.thresholds[-1].shape  # the start, and after each round
    (21, (2,))
    """
    record = carried_record(booster)
    return record.kept(min(record.n_iterations, booster.current_iteration())).copied()


def check_record(booster: lightgbm.Booster, record: ThresholdRecord, n_new: int = 0) -> None:
    """Refuse a record of another model than the one that a booster continues, which has grown ``n_new`` rounds since.

    A round without a split adds no tree.
    """
    rounds, known = booster.current_iteration(), record.n_iterations
    found = f"it has {known} iterations, and the model {rounds - n_new}"
    if rounds - n_new <= known <= rounds:
        if checksums(booster, 0, known) == record.trees:
            return
        found = "its trees are others"
    raise ValueError(
        f"thresholds must be the record of the model that is continued, but {found}: pass init_model=booster and "
        f"thresholds=olgbm.threshold_record(booster)"
    )


# Files


@one_thread_after_fork()
def save_model(booster: lightgbm.Booster, filename: str | PathLike[str], num_iteration: int | None = None) -> None:
    """Save a booster with its thresholds in LightGBM's text format.

    Parameters
    ----------
    booster : lightgbm.Booster
        One that carries thresholds.
    filename : path-like
        Where to write. LightGBM's own loader reads the file as well.
    num_iteration : int or None, default=None
        How many iterations to keep; None keeps those up to the best one, or all.

    Raises
    ------
    ValueError
        If the booster carries no thresholds.

    Examples
    --------
    >>> import tempfile
    >>> import lightgbm
    >>> import numpy as np
    >>> from ordinal_objectives.adapters import lgbm as olgbm
    >>> stars = np.arange(300) % 3
    >>> X = stars[:, np.newaxis] + 0.5
    >>> booster = olgbm.train({"verbosity": -1}, lightgbm.Dataset(X, stars), 5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     olgbm.save_model(booster, f"{folder}/ordinal.txt")
    ...     plain = lightgbm.Booster(model_file=f"{folder}/ordinal.txt")  # the score alone
    >>> plain.num_trees()
    5
    """
    record = carried_record(booster)
    end = iterations_of(booster, num_iteration)
    check_all_rounds(booster, record, end)
    text = booster.model_to_string(num_iteration=end)
    if _LINE_START in text:
        text = _split(text)[0]
    line = f"{_LINE_START}{record.to_json()}]\n"
    text = text.replace(_SECTION_END, line + _SECTION_END, 1)
    sealed = text.replace(_FIRST, f"{_FIRST}{files.DIGEST}={files.digest(text.encode())}\n", 1)
    with files.written(filename) as newer:
        newer.write_text(sealed, encoding="utf-8")


@one_thread_after_fork()
def load_model(filename: str | PathLike[str]) -> lightgbm.Booster:
    """Load a booster with its thresholds, as :func:`save_model` wrote it.

    Parameters
    ----------
    filename : path-like
        Where to read.

    Returns
    -------
    lightgbm.Booster

    Raises
    ------
    ValueError
        If the file carries no thresholds, or it is damaged.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from ordinal_objectives import LGBMOrdinalClassifier
    >>> from ordinal_objectives.adapters import lgbm as olgbm
    >>> grades = np.arange(300) % 4
    >>> model = LGBMOrdinalClassifier(n_estimators=5, verbosity=-1).fit(grades[:, np.newaxis] / 2, grades)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save_model(f"{folder}/ordinal.txt")
    ...     booster = olgbm.load_model(f"{folder}/ordinal.txt")
    >>> bool((olgbm.threshold_record(booster).thresholds[-1] == model.thresholds_).all())
    True
    """
    files.check_kind(filename, "LightGBM")
    with files.as_damaged_file(filename):
        text = _unsealed(Path(filename).read_text(encoding="utf-8"))
    if _LINE_START not in text:
        raise ValueError(f"{filename} holds no ordinal thresholds; it was not written by olgbm.save_model")
    with files.as_damaged_file(filename):
        plain, line = _split(text)
    record = prediction.record_from_json(line)
    with files.as_damaged_file(filename):
        booster = lightgbm.Booster(model_str=plain)
        _check_trees(booster, record)
        record.check_leaves(_leaves_of_trees(plain))
    carry(booster, record)
    return booster


def as_booster(init_model: Any) -> lightgbm.Booster:
    """Return a booster that is given as such or by the path of its file."""
    if isinstance(init_model, str | PathLike):
        return load_model(init_model)
    return init_model


def _unsealed(text: str) -> str:
    """Return the text of a file without its digest, which is checked; files of older versions have none."""
    beginning = _SECOND.match(text)
    if beginning is None:
        raise ValueError("it does not begin as a model")
    if beginning[1] is None:
        return text
    text = _FIRST + text[beginning.end() :]
    files.check_digest(beginning[1], text.encode())
    return text


def _split(text: str) -> tuple[str, str]:
    """Return a model text without its line of thresholds, and what that line holds."""
    start = text.index(_LINE_START)
    end = text.index("\n", start)
    return text[:start] + text[end + 1 :], text[start + len(_LINE_START) : end].rstrip().removesuffix("]")


def _leaves_of_trees(text: str) -> list[int]:
    """Return the number of leaves of each tree of a model text."""
    return [int(n) for n in re.findall(r"^num_leaves=(\d+)$", text, re.MULTILINE)]
