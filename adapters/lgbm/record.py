"""The threshold record of a LightGBM booster: an attribute in memory, a line of the model text in a file."""

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

from ordinal_objectives.adapters.arguments import check_same_columns
from ordinal_objectives.adapters.lgbm.input_checks import check_booster
from ordinal_objectives.adapters.lgbm.model_text_checks import check_text
from ordinal_objectives.adapters.lgbm.trees import DART
from ordinal_objectives.estimators.tables import column_names
from ordinal_objectives.threads import one_thread_after_fork
from ordinal_objectives.threshold_solver.record import ThresholdRecord
from ordinal_objectives.utils.files import as_damaged_file, check_kind, check_path
from ordinal_objectives.utils.shared_docs import documented

# LightGBM keeps unknown lines of the parameter section through loading, saving and truncating.
_LINE_START = "[ordinal_thresholds: "
_SECTION_END = "end of parameters"
# What the text of a booster that LightGBM has loaded holds, and the model inside LightGBM that this was read from.
_read: weakref.WeakKeyDictionary[lightgbm.Booster, tuple[Any, ThresholdRecord | None]] = weakref.WeakKeyDictionary()


def store_record(booster: lightgbm.Booster, record: ThresholdRecord, known: list[int] | None = None) -> None:
    """Give a booster a record, with the checksums of its iterations; those of the first may be known."""
    known = known or []
    carry(booster, replace(record, trees=known + checksums(booster, len(known), record.n_iterations)))


def carry(booster: lightgbm.Booster, record: ThresholdRecord) -> None:
    """Make a booster carry a record as it is, among its own attributes: these LightGBM pickles with it."""
    vars(booster)["ordinal_thresholds"] = record


def note_round(booster: lightgbm.Booster, n_rounds: int) -> None:
    """Note how many iterations a booster has after so many rounds, where these are not as many.

    A round without a split adds no tree, yet LightGBM's early stopping numbers the best round, and its predictions
    take that number for one of trees.
    """
    rounds = booster.__dict__.setdefault("ordinal_rounds", {})
    if booster.current_iteration() != n_rounds:
        rounds[n_rounds] = booster.current_iteration()


def end_rounds(booster: lightgbm.Booster) -> None:
    """Forget what belongs to a training: what was noted of rounds, and what callbacks' files say of a classifier.

    ``best_iteration`` counts iterations from now on, and the classifier's parameters may change.
    """
    booster.__dict__.pop("ordinal_rounds", None)
    record = getattr(booster, "ordinal_thresholds", None)
    if record is not None:
        carry(booster, replace(record, classifier=None))


def best_iteration(booster: lightgbm.Booster) -> int:
    """Return how many iterations early stopping found best; 0 or less if it found none."""
    best: int = booster.best_iteration
    rounds: dict[int, int] = getattr(booster, "ordinal_rounds", {})
    return rounds.get(best, best)


def iterations_of(booster: lightgbm.Booster, num_iteration: Any = None) -> int:
    """Return how many iterations ``num_iteration`` asks for: None up to the best one, 0 and below all."""
    if num_iteration is None:
        num_iteration = best_iteration(booster)
    elif not isinstance(num_iteration, int | np.integer) or isinstance(num_iteration, bool):
        raise ValueError(f"num_iteration must be None or an integer, 0 and below for all; got {num_iteration!r}")
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
    record = getattr(booster, "ordinal_thresholds", None)
    if record is None:
        record = _record_in_text(booster)
    if record is not None:
        check_trees(booster, record)
    return record


def _record_in_text(booster: lightgbm.Booster) -> ThresholdRecord | None:
    """Return the record in the text of a booster, or None; the text is written once, unless another one is loaded."""
    model = vars(booster)["_handle"]  # replaced when LightGBM loads another model; it has no public name
    source, record = _read.get(booster, (None, None))
    if source is not model:
        record = None
        if _LINE_START in booster.model_to_string(num_iteration=1):
            plain, text = _split(booster.model_to_string())
            record = ThresholdRecord.from_json(text)
            record.check_leaves(_leaves_of_trees(plain))
        _read[booster] = model, record
    return record


def check_trees(booster: lightgbm.Booster, record: ThresholdRecord) -> None:
    """Raise ValueError unless a booster's iterations are the first ones that a record describes."""
    rounds = booster.current_iteration()
    if record.trees is None:  # of version 0.1
        return
    n_known = min(rounds, len(record.trees))
    if checksums(booster, 0, n_known) != record.trees[:n_known]:
        raise ValueError(
            f"booster's {rounds} iterations are not the first {rounds} of the training that recorded its thresholds: "
            f"they were shuffled, cut with start_iteration, or changed. Thresholds belong to a score summed from the "
            f"first tree: save the booster before shuffle_models, and cut it with num_iteration alone"
        )


def check_all_rounds(booster: lightgbm.Booster, record: ThresholdRecord, end: int) -> None:
    """Refuse the first ``end`` iterations, 0 and below for all, where there are no thresholds for them."""
    rounds, known = booster.current_iteration(), record.n_iterations
    if (min(end, rounds) if end > 0 else rounds) > known:
        raise ValueError(
            f"booster has {rounds} iterations, but thresholds of {known} alone: the others were added without the "
            f"objective's callback; use num_iteration={known}, and cut the booster with "
            f"olgbm.save_model(booster, filename, num_iteration={known})"
        )


def _split(text: str) -> tuple[str, str]:
    """Return a model text without its line of thresholds, and what that line holds."""
    start = text.index(_LINE_START)
    end = text.index("\n", start)
    return text[:start] + text[end + 1 :], text[start + len(_LINE_START) : end].rstrip().removesuffix("]")


def _leaves_of_trees(text: str) -> list[int]:
    """Return the number of leaves of each tree of a model text."""
    return [int(n) for n in re.findall(r"^num_leaves=(\d+)$", text, re.MULTILINE)]


def carried_record(booster: lightgbm.Booster) -> ThresholdRecord:
    """Return what :func:`threshold_record` does, not to be changed."""
    check_booster(booster)
    record = stored_record(booster)
    if record is None:
        raise ValueError(
            "booster carries no ordinal thresholds; train with callbacks=[objective.callback], or call "
            "objective.attach(booster, X) after training, and save with olgbm.save_model. LightGBM's own copy.deepcopy "
            "and save_model leave them out: copy with pickle.loads(pickle.dumps(booster))"
        )
    return record


@documented
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
        if record.trees is None or checksums(booster, 0, known) == record.trees[:known]:
            return
        found = "its trees are others"
    raise ValueError(
        f"thresholds must be the record of the model that is continued, but {found}: pass init_model=booster and "
        f"thresholds=olgbm.threshold_record(booster)"
    )


def check_continues(booster: lightgbm.Booster, train_set: lightgbm.Dataset) -> None:
    """Refuse to go on with rows of other columns than the model's, or columns that list their categories otherwise.

    LightGBM compares no names. It has one list of categories for all trees: the codes in the earlier ones would mean
    others.
    """
    check_same_columns("init_model", booster.num_feature(), *_columns_of(train_set, booster.feature_name()))
    here = train_set.pandas_categorical  # None until LightGBM has read the rows
    columns = getattr(train_set.data, "items", None)
    if here is None and hasattr(train_set.data, "iloc") and columns is not None:
        here = [column.cat.categories.tolist() for _, column in columns() if hasattr(column, "cat")]
    if here and here != booster.pandas_categorical:
        raise ValueError(
            f"init_model was trained on columns with the categories {booster.pandas_categorical}; here they are "
            f"{here}. Give the columns the categories of the model, in the same order"
        )


def _columns_of(
    train_set: lightgbm.Dataset, trained: list[str]
) -> tuple[int | None, list[str] | None, list[str] | None]:
    """Return how many columns rows have, the names that a model's columns were given, and those of the rows."""
    while train_set.data is None and train_set.used_indices is not None:  # a subset, which may not be made yet
        train_set = train_set.reference
    shape: tuple[int, ...] = getattr(train_set.data, "shape", ())
    names = train_set.feature_name if isinstance(train_set.feature_name, list) else column_names(train_set.data)
    return shape[1] if len(shape) == 2 else None, _given_names(trained), _given_names(names)


def _given_names(names: list[str] | None) -> list[str] | None:
    """Return names as LightGBM writes them; None where it made them up."""
    if names is None or names == [f"Column_{i}" for i in range(len(names))]:
        return None
    return [name.replace(" ", "_") for name in names]


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
    check_path(filename)
    end = iterations_of(booster, num_iteration)
    check_all_rounds(booster, record, end)
    text = booster.model_to_string(num_iteration=end)
    if _LINE_START in text:
        text = _split(text)[0]
    line = f"{_LINE_START}{record.to_json()}]\n"
    Path(filename).write_text(text.replace(_SECTION_END, line + _SECTION_END, 1), encoding="utf-8")


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
        If the file carries no thresholds, or it is damaged, or the model was trained with dart.

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
    check_kind(filename, "LightGBM")
    with as_damaged_file(filename):
        text = Path(filename).read_text(encoding="utf-8")
    if _LINE_START not in text:
        raise ValueError(f"{filename} holds no ordinal thresholds; it was not written by olgbm.save_model")
    with as_damaged_file(filename):
        plain, record = _split(text)
    if "\n[boosting: dart]\n" in plain:
        raise ValueError(f"{filename} holds a model trained with boosting='dart': {DART}")
    thresholds = ThresholdRecord.from_json(record)
    with as_damaged_file(filename):
        check_text(plain)
        booster = lightgbm.Booster(model_str=plain)
        check_trees(booster, thresholds)
        thresholds.check_leaves(_leaves_of_trees(plain))
    carry(booster, thresholds)
    return booster


def as_booster(init_model: Any) -> lightgbm.Booster:
    """Return a booster that is given as such or by the path of its file; raise TypeError if it is neither."""
    if isinstance(init_model, str | PathLike):
        return load_model(init_model)
    if not isinstance(init_model, lightgbm.Booster):
        raise TypeError(
            "init_model must be a lightgbm.Booster, the path of its file, or for LGBMOrdinalClassifier a fitted one; "
            f"got {type(init_model).__name__}"
        )
    return init_model
