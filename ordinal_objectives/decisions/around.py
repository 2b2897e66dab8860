"""Classifiers around another one, fitted on rows that it was not trained on."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GroupKFold, KFold
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted

from ordinal_objectives.aliases import ArrayLike, Estimator, FloatArray, IndexArray, Seed
from ordinal_objectives.estimators import held_out, labels, ordered_classifier, wrappers
from ordinal_objectives.estimators.class_order import class_order
from ordinal_objectives.estimators.wrappers import ClassifierOfClassifiers, FittedMember
from ordinal_objectives.utils.validation import check_integer


class AroundClassifier(ClassifierOfClassifiers):
    """Base of the classifiers that are given another one.

    A subclass names the parameters ``estimator``, ``classes`` and ``random_state`` in its constructor, ``cv`` if it
    takes folds, and starts ``fit`` with :meth:`_check_rows`. What it does not name keeps the values below.
    """

    estimator: Estimator
    cv: object
    random_state: Seed
    class_weight: object = None
    decision_rule: str = "median"
    cost_matrix: ArrayLike | None = None
    # Whether the probabilities are those that rows had, whatever the estimator's are.
    _recalibrates: bool = False

    def _check_rows(
        self, X: object, y: ArrayLike, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> held_out.Rows:
        """Return the rows with class codes, and set the classes."""
        if self._prefit:
            check_is_fitted(self.estimator)
        rows = self._check_training(X, y, sample_weight, groups)
        if not self._prefit:
            instead = "pass sample_weight to fit, or train it and pass FrozenEstimator(estimator)"
            wrappers.refuse_settings_by_label("estimator", self.estimator, self.ordered_classes_, instead)
        return rows

    @property
    def _prefit(self) -> bool:
        return isinstance(self.estimator, FrozenEstimator)

    def _declared_classes(self, y: ArrayLike) -> ArrayLike | None:
        """Return the classes as they were declared here, or else as the estimator knows them."""
        if self.classes is not None:
            return self.classes
        if not self._prefit:
            last = wrappers.FinalClassifier.of(self.estimator).estimator
            return last.classes if isinstance(last, ordered_classifier.OrderedClassifier) else None
        known = np.asarray(self.estimator.classes_)
        order = class_order(self.estimator, known)
        if order is None and labels.ordered_categories(y) is None and known.dtype.kind in "biuf":
            order = np.sort(known)
        return order

    def _prefit_member(self) -> FittedMember:
        codes = self._labels.encode(self.estimator.classes_, name="classes_ of estimator")
        return FittedMember(FrozenEstimator(self.estimator.estimator), codes)  # that one can be set to hold another

    def _train(self, rows: held_out.Rows) -> FittedMember:
        """Train a copy of the estimator on the codes of rows."""
        return wrappers.train(clone(self.estimator), rows.counted(), self.ordered_classes_)

    def _folds(self, rows: held_out.Rows) -> list[tuple[IndexArray, IndexArray]]:
        """Return rows to train on and rows held out: of a number of folds drawn at random, or of a splitter's own.

        Those drawn are folds of the rows with weight; a splitter counts all rows, as a list of row numbers does.
        """
        cv, weighted = self.cv, rows.weighted
        if cv is not None and not isinstance(cv, (int, np.integer, bool)):
            return held_out.folds_of(cv, rows)
        n_folds = check_integer("cv", cv, 2)
        if n_folds > len(weighted):
            raise ValueError(f"cv={n_folds} folds need as many rows; got n_samples={len(weighted)} with weight")
        kind = KFold if rows.groups is None else GroupKFold
        drawn = kind(n_folds, shuffle=True, random_state=held_out.split_seed(self.random_state))
        return [(weighted[fit], weighted[held]) for fit, held in held_out.folds_of(drawn, rows.take(weighted))]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = getattr(get_tags(self.estimator), "input_tags", None) if hasattr(self.estimator, "fit") else None
        for kind in ("sparse", "allow_nan", "string", "categorical"):
            setattr(tags.input_tags, kind, bool(getattr(inner, kind, False)))
        return tags


class AroundOneClassifier(AroundClassifier):
    """Base of those that keep one classifier, and learn from rows that it, or copies of it, were not trained on."""

    _member: FittedMember

    def _fit_member(self, rows: held_out.Rows) -> tuple[FloatArray, held_out.Rows]:
        """Train the classifier; return rows with weight that were not trained on, with their probabilities."""
        if self._prefit:
            self._member = self._prefit_member()
            proba = self._member.proba(rows.X, self.n_classes_)
        else:
            proba = np.full((len(rows), self.n_classes_), np.nan)
            for fit, held in self._folds(rows):
                proba[held] = self._train(rows.take(fit)).proba(held_out.take_rows(rows.X, held), self.n_classes_)
            self._member = self._train(rows)
        held = rows.weighted[np.isfinite(proba[rows.weighted, 0])]  # a splitter may leave rows out
        return proba[held], rows.take(held)

    def fitted_member(self) -> FittedMember:
        """Return the fitted classifier with the class codes of its columns, for export."""
        check_is_fitted(self)
        return self._member

    @property
    def estimator_(self) -> Estimator:
        """The fitted classifier."""
        check_is_fitted(self)
        return self._member.estimator
