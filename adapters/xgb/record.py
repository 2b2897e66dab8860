"""The threshold record as an attribute of an XGBoost booster, and whether the two still belong together."""

from __future__ import annotations

import json
import weakref
from dataclasses import replace
from operator import index
from typing import Any

import xgboost

from ordinal_objectives.adapters.xgb.input_checks import check_booster
from ordinal_objectives.adapters.xgb.trees import checksums
from ordinal_objectives.threads import one_thread_after_fork
from ordinal_objectives.threshold_solver.record import ThresholdRecord
from ordinal_objectives.utils.shared_docs import documented

ATTRIBUTE = "ordinal_objectives"


# Records that were written or read here, by their text: XGBoost copies it with a booster, and cannot change it alone.
_by_text: weakref.WeakValueDictionary[str, ThresholdRecord] = weakref.WeakValueDictionary()
# What each booster carries, which keeps its record among those. Two losses of a user's can have the same text.
_carried: weakref.WeakKeyDictionary[xgboost.Booster, tuple[str, ThresholdRecord]] = weakref.WeakKeyDictionary()


# The training that each booster is in.
_trainings: weakref.WeakKeyDictionary[xgboost.Booster, weakref.ref[Any]] = weakref.WeakKeyDictionary()


class GrowingBooster(xgboost.Booster):  # type: ignore[misc]
    """A booster during its training: what is saved, copied, pickled or sliced of it is a finished model.

    A training makes its booster one of these, and at its end a plain booster again. The thresholds of a round are
    known after XGBoost has called the callbacks before ours, and renewed leaves must not get into the trees before
    the end: so what leaves the training is completed in a copy, when somebody asks for it.
    """

    def save_model(self, *given: Any, **options: Any) -> None:
        """Save the model of the newest round."""
        completed(self).save_model(*given, **options)

    def save_raw(self, *given: Any, **options: Any) -> bytearray:
        """Return the bytes of the model of the newest round."""
        raw: bytearray = completed(self).save_raw(*given, **options)
        return raw

    def __getitem__(self, rounds: Any) -> xgboost.Booster:
        return completed(self)[rounds]

    def __getstate__(self) -> dict[str, Any]:  # copies are made of it as well
        state: dict[str, Any] = completed(self).__getstate__()
        return state

    def __reduce_ex__(self, protocol: Any) -> Any:
        return completed(self).__reduce_ex__(1)  # later protocols ask for the class of the object itself


def begin_growing(booster: xgboost.Booster, training: Any) -> None:
    """Let what is saved of a booster be completed by a training's ``completed(booster)``, until it has ended."""
    booster.__class__ = GrowingBooster
    _trainings[booster] = weakref.ref(training)


def end_growing(booster: xgboost.Booster) -> None:
    """Make a booster a plain one again."""
    booster.__class__ = xgboost.Booster
    _trainings.pop(booster, None)


def completed(booster: xgboost.Booster) -> xgboost.Booster:
    """Return a booster; of one during its training, a copy as it would be if the training ended now.

    Raises
    ------
    ValueError
        If its training was interrupted, or goes on in another thread.
    """
    if not isinstance(booster, GrowingBooster):
        return booster
    training = _trainings[booster]()
    if training is None:
        raise interrupted()
    complete: xgboost.Booster = training.completed(booster)
    return complete


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
    booster.set_attr(**{ATTRIBUTE: text})
    _remember(booster, text, record)


def _remember(booster: xgboost.Booster, text: str, record: ThresholdRecord) -> None:
    _by_text[text] = record
    _carried[booster] = text, record


def _record_of(booster: xgboost.Booster, text: str) -> ThresholdRecord:
    """Return the record that a booster carries as text; it is parsed only if this process does not know it."""
    known, record = _carried.get(booster, (None, None))
    if record is None or known != text:
        record = _by_text.get(text) or ThresholdRecord.from_json(text)
        _remember(booster, text, record)
    return record


def stored_record(booster: xgboost.Booster) -> ThresholdRecord | None:
    """Return what a booster carries about its thresholds, not to be changed, or None.

    Raises
    ------
    ValueError
        If the booster's rounds are not the first ones of the training that the record describes.
    """
    check_booster(booster)
    booster = completed(booster)
    try:
        text = booster.attr(ATTRIBUTE)
    except AssertionError:  # what XGBoost says of an empty text
        text = ""
    if text is None:
        return None
    record = _record_of(booster, text)
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
    try:
        best = booster.attr("best_iteration")
    except AssertionError:  # what XGBoost says of an empty text
        best = ""
    if best is None:
        return rounds
    if not str(best).isdecimal():
        raise ValueError(f"best_iteration of the booster must be an integer of at least 0; got {best!r}")
    return min(int(best) + 1, rounds)


def last_round(booster: xgboost.Booster, iteration_range: Any) -> int:
    """Return the number of rounds that an ``iteration_range`` of (0, t) asks for."""
    if iteration_range is None:
        return kept_rounds(booster)
    rounds: int = booster.num_boosted_rounds()
    try:
        start, stop = map(index, iteration_range)
    except (TypeError, ValueError):
        start, stop = -1, -1
    if start != 0 or not 0 <= stop <= rounds:
        raise ValueError(
            f"iteration_range must start at 0, since thresholds belong to a score summed from the first tree, and end "
            f"at one of 0..{rounds}, with 0 for all; got {iteration_range!r}"
        )
    return stop or rounds


def why_last_only(booster: xgboost.Booster, record: ThresholdRecord | None = None) -> str | None:
    """Return why a booster holds the score of its last round alone, or None if it holds those of all."""
    settings = json.loads(booster.save_config())["learner"]["gradient_booster"]
    if settings["name"] == "gblinear":
        return "booster='gblinear' keeps the coefficients of the last round alone"
    known = None if record is None else record.last_only
    # A file holds no rates; those of the first version of this package do not say either what the training did.
    if known or (known is None and (_drops(settings) or (record is not None and settings["name"] == "dart"))):
        return "booster='dart', or a rate_drop or one_drop above 0, scales earlier trees down whenever it drops them"
    return None


def _drops(settings: dict[str, Any]) -> bool:
    rates = settings.get("dart_train_param", {})
    return any(float(rates.get(name, 0)) for name in ("rate_drop", "one_drop"))


def check_all_rounds(booster: xgboost.Booster, record: ThresholdRecord, end: int) -> None:
    """Refuse the score of the first ``end`` rounds where the booster does not hold it, or no thresholds for it."""
    if end > record.n_iterations:
        raise ValueError(
            f"booster has {end} rounds, but thresholds of {record.n_iterations} alone: the others were added without "
            f"the objective's callback; use booster[:{record.n_iterations}] or "
            f"iteration_range=(0, {record.n_iterations})"
        )
    if end == record.n_iterations == booster.num_boosted_rounds():
        return
    reason = why_last_only(booster, record)
    if reason is not None:
        raise ValueError(
            f"the score of the first {end} rounds is not in the model, since {reason}; thresholds were recorded for "
            f"{record.n_iterations} rounds, and only iteration_range=(0, {record.n_iterations}) of the whole booster "
            f"is allowed, without early stopping, slices and staged predictions"
        )
