"""decision_rule="kappa": the rule is fitted to probabilities of rows that the model was not trained on."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold
from sklearn.utils.validation import check_is_fitted

from ordinal_objectives.decision import RULES, KappaRule, decide, kappa_weights
from ordinal_objectives.estimators.held_out import Rows
from ordinal_objectives.estimators.ordered_classifier import OrderedClassifier
from ordinal_objectives.estimators.round_search import Found, TrialOf
from ordinal_objectives.utils.validation import check_choice

KAPPA = "kappa"
_FOLDS = 5
# So many rows held out of a search tell what to expect of others, although the number of rounds was chosen by them.
_MANY = 200


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

    def out_of_fold(self, n_iter: int) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.float64] | None]:
        """Return each row's probabilities by a model of five that was not trained on it, its class and its weight."""
        if self.trial_of is None:
            raise ValueError(
                "decision_rule='kappa' needs rows that the model was not trained on, and the one that is continued may "
                "have seen any: pass an evaluation set, or kappa_rows='training'"
            )
        proba, held_rows = [], []
        for fit, held in self._folds():
            some, others = (self.rows.take(rows) for rows in (fit, held))
            if not _has_two_classes(some):
                raise ValueError(
                    "decision_rule='kappa' trains on four fifths of the rows, and of some only one class has weight: "
                    "pass an evaluation set, or kappa_rows='training'"
                )
            proba.append(self.trial_of(some, others, n_iter, None).proba(n_iter))
            held_rows.append(held)
        in_order = self.rows.take(np.concatenate(held_rows))
        return np.concatenate(proba), in_order.codes, in_order.weight

    @property
    def judges_its_choice(self) -> bool:
        """Whether the rows of the search are so few that the number of rounds chosen by them suits them too well."""
        if self.found is None or len(self.found.held) >= _MANY or self.trial_of is None:
            return False
        return all(_has_two_classes(self.rows.take(fit)) for fit, _ in self._folds())

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


def _has_two_classes(rows: Rows) -> bool:
    return bool(np.count_nonzero(np.bincount(rows.codes, rows.weight)) >= 2)


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
        """Kappa that was measured on rows that neither the trees nor the rule were fitted to."""
        check_is_fitted(self)
        if self.kappa_rule_ is None or self.kappa_rule_.measured is None:
            raise AttributeError(
                "expected_kappa_ is there after a fit with decision_rule='kappa', and not with kappa_rows='training'"
            )
        return self.kappa_rule_.measured

    @abstractmethod
    def _proba_of_checked(self, X: Any, start: dict[str, Any]) -> NDArray[np.float64]:
        """Return the probabilities of features as ``fit`` has checked them, (n_samples, n_classes)."""

    def _takes_kappa(self) -> bool:
        return isinstance(self.decision_rule, str) and self.decision_rule == KAPPA

    def _check_decision(self) -> None:
        super()._check_decision()
        if self._takes_kappa():
            self._check_kappa()

    def _check_kappa(self) -> None:
        """Raise ValueError if a parameter of kappa is not what the docs allow."""
        kappa_weights(self.kappa_weights, self.n_classes_)
        check_choice(self.kappa_rows, ("unseen", "training"), name="kappa_rows")

    def check_fitted_decision(self) -> None:
        """Raise ValueError unless the trained model can decide by ``decision_rule`` or ``cost_matrix``."""
        super().check_fitted_decision()
        if not self._takes_kappa():
            return
        if self.kappa_rule_ is None:
            raise ValueError(
                "decision_rule='kappa' is found at the end of fit, and this model has no rule: its fit is under "
                "way, or was with another decision_rule; set it before fit"
            )
        self._check_kappa()
        if not np.array_equal(kappa_weights(self.kappa_weights, self.n_classes_), self.kappa_rule_.weights):
            raise ValueError(
                f"kappa_weights must be those of the fit, by which the rule was found; got {self.kappa_weights!r}: set "
                f"them before fit"
            )

    def _decide(self, proba: NDArray[np.float64]) -> NDArray[Any]:
        if not self._takes_kappa():
            return super()._decide(proba)
        self.check_fitted_decision()
        rule: Any = self.kappa_rule_  # there, by the check
        codes: NDArray[Any] = rule.decide(proba)
        return codes

    def _decide_in_round(self, proba: NDArray[np.float64], weight: NDArray[Any] | None) -> NDArray[Any]:
        """Return the decisions of a round of the training; kappa's rule is fitted to the rows that are decided."""
        if self._takes_kappa():
            return KappaRule.fit(proba, self.kappa_weights, weight).decide(proba)
        return decide(proba, rule=self.decision_rule, cost_matrix=self.cost_matrix)

    def _learn_kappa(self, unseen: Unseen) -> None:
        """Fit the rule, after the model."""
        self.kappa_rule_ = None
        if not self._takes_kappa():
            return
        trained_on = self.kappa_rows == "training"
        if trained_on or unseen.watched:
            rows = unseen.rows if trained_on else unseen.watched[-1]
            given = {self._start_name: rows.start} if self._start_name and rows.start is not None else {}
            proba, codes, weight = self._proba_of_checked(rows.X, given), rows.codes, rows.weight
        elif unseen.found is not None:
            search, trial, held = unseen.found
            proba, codes, weight = trial.proba(search.n_iter), held.codes, held.weight
        else:
            proba, codes, weight = unseen.out_of_fold(self.n_iter_)
        rule = KappaRule.fit(proba, self.kappa_weights, weight)
        if not trained_on and not unseen.watched and unseen.judges_its_choice:
            proba, codes, weight = unseen.out_of_fold(self.n_iter_)
        self.kappa_rule_ = rule if trained_on else rule.measure(proba, codes, weight)
