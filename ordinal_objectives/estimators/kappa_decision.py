"""decision_rule="kappa": the rule is fitted to probabilities of rows that the model was not trained on."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold
from sklearn.utils.validation import check_is_fitted

from ordinal_objectives.decision import RULES, KappaRule, decide, kappa_weights
from ordinal_objectives.estimators.held_out import Rows, take_rows
from ordinal_objectives.estimators.ordered_classifier import OrderedClassifier
from ordinal_objectives.estimators.round_search import Found, TrialOf
from ordinal_objectives.utils.validation import check_choice

KAPPA = "kappa"
_FOLDS = 5


@dataclass(frozen=True)
class Unseen:
    """Where probabilities of rows that were not trained on come from.

    Attributes
    ----------
    rows : Rows
        All rows of the training.
    watched : list of Rows
        Rows that were evaluated.
    found : Found or None
        The search for the number of rounds.
    trial_of : TrialOf or None
        Trains on some rows; None where the model went on from another one, which may have seen any row.
    seed : int
    """

    rows: Rows
    watched: list[Rows]
    found: Found | None
    trial_of: TrialOf | None
    seed: int

    def out_of_fold(self, n_iter: int) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """Return the probabilities of each row by a model of five that was not trained on it, and the weights."""
        if self.trial_of is None:
            raise ValueError(
                "decision_rule='kappa' needs rows that the model was not trained on, and the one that is continued may "
                "have seen any: pass an evaluation set, or kappa_rows='training'"
            )
        proba, held_rows = [], []
        for fit, held in self._folds():
            some, others = (self.rows.take(rows) for rows in (fit, held))
            if np.count_nonzero(np.bincount(some.codes, some.weight)) < 2:
                raise ValueError(
                    "decision_rule='kappa' trains on four fifths of the rows, and of some only one class has weight: "
                    "pass an evaluation set, or kappa_rows='training'"
                )
            proba.append(self.trial_of(some, others, n_iter, None).proba(n_iter))
            held_rows.append(held)
        order = np.concatenate(held_rows)
        return np.concatenate(proba), take_rows(self.rows.weight, order)

    def _folds(self) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        codes, names = self.rows.codes, self.rows.groups
        if names is not None:
            if names.max() == names.min():
                raise ValueError("groups must name at least two groups with decision_rule='kappa'; got 1")
            yield from GroupKFold(min(_FOLDS, len(np.unique(names)))).split(codes, codes, names)
            return
        kind = StratifiedKFold if np.bincount(codes).max() >= _FOLDS else KFold
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of classes with fewer rows than folds
            yield from kind(min(_FOLDS, len(codes)), shuffle=True, random_state=self.seed).split(codes, codes)


class KappaDecision(OrderedClassifier):
    """Base of the classifiers that find the decision with the largest kappa while they are fitted."""

    kappa_weights: ArrayLike | str
    kappa_rows: str
    n_iter_: int
    kappa_rule_: KappaRule | None = None
    _start_name: ClassVar[str | None] = None
    _rules: ClassVar[tuple[str, ...]] = (*RULES, KAPPA)

    @property
    def expected_kappa_(self) -> float:
        """Kappa that ``decision_rule="kappa"`` expects of new rows, by rows that the model was not trained on."""
        check_is_fitted(self)
        if self.kappa_rule_ is None or not self.kappa_rule_.unseen:
            raise AttributeError(
                "expected_kappa_ is there after a fit with decision_rule='kappa', and not with kappa_rows='training'"
            )
        return self.kappa_rule_.kappa

    def _takes_kappa(self) -> bool:
        return isinstance(self.decision_rule, str) and self.decision_rule == KAPPA

    def _check_decision(self) -> None:
        super()._check_decision()
        if self._takes_kappa():
            kappa_weights(self.kappa_weights, self.n_classes_)
            check_choice(self.kappa_rows, ("unseen", "training"), name="kappa_rows")

    def _decide(self, proba: NDArray[np.float64]) -> NDArray[Any]:
        if not self._takes_kappa():
            return super()._decide(proba)
        if self.kappa_rule_ is None:
            raise ValueError(
                "decision_rule='kappa' is found by fit, and this model was fitted with another rule; set it before fit"
            )
        return self.kappa_rule_.decide(proba)

    def _decide_in_round(self, proba: NDArray[np.float64]) -> NDArray[Any]:
        """Return the decisions of a round of the training: kappa's rule is not known yet, so by the median there."""
        return decide(proba) if self._takes_kappa() else self._decide(proba)

    def _learn_kappa(self, unseen: Unseen) -> None:
        """Fit the rule, after the model."""
        self.kappa_rule_ = None
        if not self._takes_kappa():
            return
        trained_on = self.kappa_rows == "training"
        if trained_on or unseen.watched:
            rows = unseen.rows if trained_on else unseen.watched[-1]
            given = {self._start_name: rows.start} if self._start_name and rows.start is not None else {}
            proba, weight = self.predict_proba_ordered(rows.X, **given), rows.weight
        elif unseen.found is not None:
            search, trial, held = unseen.found
            proba, weight = trial.proba(search.n_iter), held.weight
        else:
            proba, weight = unseen.out_of_fold(self.n_iter_)
        self.kappa_rule_ = KappaRule.fit(proba, self.kappa_weights, weight, unseen=not trained_on)
