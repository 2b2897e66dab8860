"""State that XGBoost's callback passes to a training: the model, its rounds, and the model that is continued."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import xgboost
from numpy.typing import NDArray

from ordinal_objectives.adapters.run import score_of_rows
from ordinal_objectives.adapters.xgb.leaf_vectors import shifts_before
from ordinal_objectives.adapters.xgb.newest_tree import TreeReader
from ordinal_objectives.adapters.xgb.record import ATTRIBUTE, check_all_rounds, stored_record
from ordinal_objectives.threshold_solver.record import ThresholdRecord


class CallbackState(threading.local):
    """State that the callback passes to a training, in each thread.

    Attributes
    ----------
    model : xgboost.Booster, the folds of xgboost.cv, or None
        None outside a training with the callback.
    round : int
        Rounds done before the one under way.
    previous : ThresholdRecord or None
        Record of the model that is continued.
    last_only : bool
        Whether the booster holds the score of its last round alone.
    before : callable or None
        Returns the shifts of a matrix by the model that is continued, if it has any.
    afterwards : dict
        Parameters of XGBoost's that the training changes, as they are set again at its end.
    """

    def __init__(self) -> None:
        self.model: Any = None
        self.round = 0
        self.previous: ThresholdRecord | None = None
        self.last_only = False
        self.before: Callable[[xgboost.DMatrix], NDArray[np.float64]] | None = None
        # Scores of evaluated matrices before the first round, where leaves are renewed.
        self._starts: weakref.WeakKeyDictionary[xgboost.DMatrix, NDArray[Any]] = weakref.WeakKeyDictionary()
        # What reads the trees of each training matrix.
        self._readers: weakref.WeakKeyDictionary[xgboost.DMatrix, TreeReader] = weakref.WeakKeyDictionary()
        # Matrices that asked for gradients in this round, by their ids.
        self._asked: set[int] = set()
        self.afterwards: dict[str, Any] = {}

    def start(self, model: Any, previous: ThresholdRecord | None) -> None:
        """Take over the model of a training that begins."""
        self._starts, self._readers = weakref.WeakKeyDictionary(), weakref.WeakKeyDictionary()
        self.previous, self.before = previous, None
        self.afterwards = {}
        self.start_round(model, 0)

    def start_round(self, model: Any, epoch: int) -> None:
        """Take over the number of a round that begins.

        Raises
        ------
        ValueError
            If another training has begun since the last round.
        """
        if epoch and self.model is None:
            raise ValueError(
                "the objective was used in another training before this one had ended; take one objective for each "
                "of the trainings that run inside one another"
            )
        self.model, self.round = model, epoch
        self._asked = set()

    def end(self) -> None:
        """Drop the model."""
        self.model = None
        self._readers = weakref.WeakKeyDictionary()

    def finish(self, model: Any) -> None:
        """Restore the parameters that the training changed in its model, and drop the model."""
        for booster in [model] if isinstance(model, xgboost.Booster) else self.boosters():
            booster.set_param(self.afterwards)
        self.end()

    def note_kind(self, *, last_only: bool) -> None:
        """Note whether the booster holds the score of its last round alone."""
        self.last_only = last_only

    def change(self, booster: xgboost.Booster, told: dict[str, Any], afterwards: dict[str, Any]) -> None:
        """Set parameters of a booster for the time of the training."""
        booster.set_param(told)
        self.afterwards = afterwards

    def find_previous(self, check: Callable[[ThresholdRecord], None]) -> None:
        """Find the record of the booster that is continued, if it has rounds; ``check(record)`` may refuse it.

        Raises
        ------
        ValueError
            If it has rounds without thresholds.
        """
        model, rounds = self.model, self.model.num_boosted_rounds()
        # The best round of an earlier training is not that of the model that this one returns.
        model.set_attr(best_iteration=None, best_score=None)
        stored = stored_record(model)
        if stored is not None:
            check_all_rounds(model, stored, rounds)
            self.previous = stored.kept(rounds)
            check(self.previous)
            # Rounds that were rescaled once stay rescaled.
            self.last_only = self.last_only or bool(stored.last_only)
        elif rounds and (self.previous is None or self.previous.n_iterations != rounds):
            raise ValueError(
                f"xgb_model has {rounds} rounds but carries no thresholds for them; train it with this "
                f"callback, or store them with objective.attach(booster, dtrain)"
            )

    def look_at_starts(self, watched: Iterable[xgboost.DMatrix], *, reads_trees: bool) -> None:
        """Keep what scores and shifts begin at, where the training follows them."""
        for fold in getattr(self.model, "cvfolds", []):
            self._starts[fold.dtest] = fold.bst.predict(fold.dtest, output_margin=True)
        if not isinstance(self.model, xgboost.Booster):
            return
        if reads_trees:
            # Each tree is read from a slice of the booster, which copies its attributes.
            self.model.set_attr(**{ATTRIBUTE: None})
            for dmatrix in watched:
                self._starts[dmatrix] = score_of_rows(self.model.predict(dmatrix, output_margin=True))
        self.before = shifts_before(self.model, self.previous)

    def boosters(self) -> list[xgboost.Booster]:
        """Return the boosters of the training; none outside a training with the callback."""
        return [fold.bst for fold in getattr(self.model, "cvfolds", [])] or [self.model] * (self.model is not None)

    def booster_of(self, dmatrix: xgboost.DMatrix) -> xgboost.Booster | None:
        """Return the booster that a matrix belongs to, or None outside a training with the callback."""
        folds = getattr(self.model, "cvfolds", None)
        if folds is None:
            return self.model
        return next((fold.bst for fold in folds if dmatrix is fold.dtrain or dmatrix is fold.dtest), None)

    def reader_of(self, dtrain: xgboost.DMatrix, *, settings_stay: bool) -> TreeReader:
        """Return what reads the newest tree of a training matrix; see :class:`.newest.TreeReader`."""
        reader = self._readers.get(dtrain)
        if reader is None:
            booster = self.booster_of(dtrain)
            if booster is None:
                raise RuntimeError("the newest tree belongs to a booster that the callback has not seen")
            reader = self._readers[dtrain] = TreeReader(booster, settings_stay=settings_stay)
        return reader

    def was_asked(self, dtrain: xgboost.DMatrix) -> bool:
        """Tell whether a matrix, or any of a training without folds, has asked for gradients in this round."""
        return id(dtrain) in self._asked if hasattr(self.model, "cvfolds") else bool(self._asked)

    def note_asked(self, dtrain: xgboost.DMatrix) -> None:
        """Note that a matrix has asked for gradients."""
        self._asked.add(id(dtrain))

    def score_before(self, matrix: xgboost.DMatrix) -> NDArray[Any]:
        """Return the score of an evaluated matrix before the first round, (n_samples,).

        That of the model that is continued, or of none, where the callback was not shown the matrix.
        """
        start = self._starts.get(matrix)
        if start is not None:
            return start
        rounds = 0 if self.previous is None else self.previous.n_iterations
        if rounds:
            return score_of_rows(self.model.predict(matrix, output_margin=True, iteration_range=(0, rounds)))
        margin: NDArray[np.float32] = matrix.get_base_margin()
        return margin if margin.size else np.zeros(matrix.num_row(), np.float32)
