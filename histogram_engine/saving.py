"""Saving and loading the classifier."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ordinal_objectives.decision import KappaRule
from ordinal_objectives.estimators.labels import OrderedLabels
from ordinal_objectives.estimators.linear import LinearPart
from ordinal_objectives.estimators.ordinal_classifier import OrdinalClassifier
from ordinal_objectives.histogram_engine import model_file
from ordinal_objectives.histogram_engine.columns import WithCategories
from ordinal_objectives.histogram_engine.fit_loop import GrownModel
from ordinal_objectives.histogram_engine.forest import OutOfBag
from ordinal_objectives.leaves.shifts import DEFAULT_SHIFT_L2, Shifts
from ordinal_objectives.losses import OrdinalLoss
from ordinal_objectives.threads import effective_n_threads
from ordinal_objectives.trees import TreeEnsemble
from ordinal_objectives.utils.files import as_damaged_file, warn_of
from ordinal_objectives.utils.shared_docs import documented
from ordinal_objectives.utils.validation import check_choice, check_integer, check_thresholds

Model = TypeVar("Model", bound="EngineModel")
_IMPORTANCES = ("gain", "split")


class EngineModel(WithCategories, OrdinalClassifier):
    """What a training or a file gives: trees and the thresholds that belong to them."""

    _ensemble: TreeEnsemble
    _cuts: list[NDArray[np.float64]]
    _curvature: NDArray[np.float64] | None = None  # pickles of earlier versions have none
    _seed: int
    _max_bins: int
    max_bins: int
    importance_type: str
    n_jobs: int | None
    threshold_history_: NDArray[np.float64]
    evals_result_: dict[str, list[float]]
    best_iteration_: int
    boosting_type: str
    _oob: OutOfBag | None = None  # pickles of earlier versions have neither
    _fitted_as_forest: bool = False

    def grown_trees(self) -> TreeEnsemble:
        """Return the trees, with what their leaves add to the score."""
        check_is_fitted(self)
        return self._ensemble

    def _splits(self) -> list[bool]:
        return [len(tree.left) > 1 for tree in self._ensemble.trees]

    def _check_decision(self) -> None:
        super()._check_decision()
        check_choice(self.importance_type, _IMPORTANCES, name="importance_type")

    def _prediction_data(self, X: Any) -> Any:
        return X

    def _score(self, data: Any, start: int, stop: int) -> NDArray[np.float64]:
        scores = self._ensemble.zeros(data.shape[0])
        self._ensemble.add_to(scores, data, start, stop, effective_n_threads(self.n_jobs))
        return scores

    @documented
    def apply(self, X: Any) -> NDArray[np.int32]:
        """Return the node that each row ends in, int32 ``(n_samples, n_iter_)``."""
        check_is_fitted(self)
        return self._ensemble.apply(self._check_features(X, reset=False), effective_n_threads(self.n_jobs))

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Importance of each feature by ``importance_type``, (n_features,)."""
        check_is_fitted(self)
        return self._ensemble.importances(self.importance_type)

    @documented
    def staged_scores(self, X: Any, **start: Any) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """Yield scores with their thresholds after 1, 2, ... iterations; a random forest has none."""
        check_is_fitted(self)
        self.check_stages()
        yield from super().staged_scores(X, **start)

    def check_stages(self) -> None:
        """Raise ValueError if there is no model after fewer trees."""
        if self._fitted_as_forest:
            raise ValueError(
                "a random forest has no stages: its trees are averaged, and its thresholds fitted at the end"
            )

    @property
    def oob_decision_function_(self) -> NDArray[np.float64]:
        """Probabilities of the training rows by the trees that were not grown on them, (n_samples, n_classes)."""
        return self._labels.sort_columns(self._out_of_bag().proba)

    @property
    def oob_loss_(self) -> float:
        """Weighted mean loss of these."""
        return self._out_of_bag().loss

    def _out_of_bag(self) -> OutOfBag:
        check_is_fitted(self)
        if self._oob is None:
            raise AttributeError("rows are out of bag after a fit with boosting_type='rf', and not in a model file")
        return self._oob

    def _grown(self) -> GrownModel:
        return GrownModel(self._ensemble, self.threshold_history_, self.evals_result_, self._cuts, self._curvature)

    def _remember(self, loss: OrdinalLoss, grown: GrownModel, diagnostics: dict[str, int]) -> None:
        """Store what a training, also one that goes on, or a file gives."""
        self.__dict__.pop("_is_under_way", None)
        n_iter = self.best_iteration_ = len(grown.ensemble)
        self._ensemble, self._cuts, self._curvature = grown.ensemble, grown.cuts, grown.curvature
        self._oob, self._fitted_as_forest = grown.out_of_bag, self.boosting_type == "rf"
        self.threshold_history_, self.evals_result_ = grown.thresholds, grown.evals
        record = grown.record(loss, self.hessian, self.threshold_update, diagnostics)
        if not self.proportional_:
            l2 = DEFAULT_SHIFT_L2 if self.shift_l2 is None else self.shift_l2
            record = replace(record, shifts=Shifts(l2, self.shift_penalty, self.max_shifts or 1))
        self._keep(record, loss, n_iter)

    @documented
    def save_model(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file; see ``ordinal_objectives.histogram_engine.model_file``.

        In a callback of ``fit`` that is the model of the trees so far. Raises ValueError where there is none yet: of a
        random forest, whose thresholds are fitted at the end, and of ``decision_rule="kappa"``.
        """
        self._check_not_under_way("a random forest has no stages")
        self.check_fitted_decision()
        check_choice(self.importance_type, _IMPORTANCES, name="importance_type")
        loss = self._fitted_loss  # that of the fit, not parameters set afterwards: the thresholds belong to it
        stored = model_file.StoredModel(
            params=self.get_params(deep=False) | loss.as_parameters(),
            classes=self.ordered_classes_,
            n_features=self.n_features_in_,
            feature_names=getattr(self, "feature_names_in_", None),
            seed=self._seed,
            max_bins=self._max_bins,
            grown=self._grown(),
            diagnostics=self.diagnostics_,
            proportional=self.proportional_,
            linear=None if self._linear is None else self._linear.to_json(),
            kappa_rule=None if self.kappa_rule_ is None else self.kappa_rule_.to_json(),
            categories=self._categories,
        )
        model_file.save(stored, path)

    @documented
    def load_model(self: Model, path: str | os.PathLike[str]) -> Model:
        """Load the model that :meth:`save_model` wrote, its parameters included, into this object.

        Raises ValueError if the file is damaged, or of a newer format; warns of parameters that it could not hold.
        """
        stored = model_file.load(path)
        with as_damaged_file(path):
            model = type(self)(**{"proportional": stored.proportional, **stored.params})
            model._refuse_unknown()
            effective_n_threads(model.n_jobs)
            model._keep_labels(OrderedLabels(stored.classes))
            model._check_decision()
            model._max_bins = check_integer("max_bins", stored.max_bins or model.max_bins, 2, 255)
            model._seed, model.n_features_in_ = stored.seed, stored.n_features
            model.proportional_, model._categories = stored.proportional, stored.categories
            if stored.feature_names is not None:
                model.feature_names_in_ = stored.feature_names
            if stored.linear is not None:
                model._linear = LinearPart.from_json(stored.linear, stored.n_features)
            if stored.kappa_rule is not None:
                model.kappa_rule_ = KappaRule.from_json(stored.kappa_rule, model.n_classes_)
            elif model._takes_kappa():
                raise ValueError("decision_rule is 'kappa', and its rule is missing")
            loss, grown = model._ordinal_loss(), stored.grown
            if not stored.proportional:
                loss.check_shifts()
            for row in grown.thresholds:
                check_thresholds(row, model.n_classes_, ordered=loss.ordered and stored.proportional)
            model._remember(loss, grown, stored.diagnostics)
        self.__dict__ = model.__dict__
        warn_of(stored.left_out, stacklevel=2)
        return self
