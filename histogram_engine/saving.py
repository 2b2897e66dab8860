"""Saving and loading the classifier."""

from __future__ import annotations

import os
from typing import Any

from sklearn.utils.validation import check_is_fitted

from ordinal_objectives.files import damage
from ordinal_objectives.histogram_engine import model_file
from ordinal_objectives.histogram_engine.parameters import check_integer
from ordinal_objectives.labels import OrderedLabels
from ordinal_objectives.losses import get_loss
from ordinal_objectives.threads import effective_n_threads
from ordinal_objectives.validation import check_thresholds


class ModelFiles:
    """What HistGradientBoostingOrdinalClassifier does with files."""

    def save_model(self: Any, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file; see :mod:`ordinal_objectives.histogram_engine.model_file`."""
        check_is_fitted(self)
        self._check_decision()
        loss = self._fitted_loss  # that of the fit, whatever has been set since: the thresholds belong to it
        stored = model_file.StoredModel(
            params=self.get_params(deep=False) | {"loss": loss.name, "link": loss.link.name},
            classes=self.ordered_classes_,
            n_features=self.n_features_in_,
            feature_names=getattr(self, "feature_names_in_", None),
            seed=self._seed,
            max_bins=self._max_bins,
            grown=self._grown(),
            diagnostics=self.diagnostics_,
            proportional=self.proportional_,
        )
        model_file.save(stored, path)

    def load_model(self: Any, path: str | os.PathLike[str]) -> Any:
        """Become the model that :meth:`save_model` wrote, its parameters included.

        Raises ValueError if the file is damaged, or of a newer format.
        """
        stored = model_file.load(path)
        with self._all_or_nothing(), damage(path):
            self.__dict__ = {}
            self.__init__(**{"proportional": stored.proportional, **stored.params})
            self._refuse_unknown()
            effective_n_threads(self.n_jobs)
            self._keep_labels(OrderedLabels(stored.classes))
            self._check_decision()
            self._max_bins = check_integer("max_bins", stored.max_bins or self.max_bins, 2, 255)
            self._seed, self.n_features_in_ = stored.seed, stored.n_features
            self.proportional_ = stored.proportional
            if stored.feature_names is not None:
                self.feature_names_in_ = stored.feature_names
            loss, grown = get_loss(self.loss, self.link), stored.grown
            if not stored.proportional:
                loss.check_shifts()
            for row in grown.thresholds:
                check_thresholds(row, self.n_classes_, ordered=loss.ordered and stored.proportional)
            self._remember(grown, loss, stored.diagnostics)
        return self
