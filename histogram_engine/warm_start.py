"""Continuing a fitted model with warm_start."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from ordinal_objectives.histogram_engine.fit_loop import GrownModel
from ordinal_objectives.histogram_engine.parameters import BoostingParameters


def continued(model: Any, X: Any, parameters: BoostingParameters) -> GrownModel | None:
    """Return the training that a fit goes on with, or None where it starts anew.

    ``model`` is the classifier, fitted or not. Parameters and features must be those of the fitted model. Rows,
    weights and parameters of growth may be others: trees and thresholds mean the same with them. The classes are
    known, and compared, later.

    Raises
    ------
    TypeError
        If ``warm_start`` is not a boolean.
    ValueError
        Naming what differs.
    """
    if not isinstance(model.warm_start, (bool, np.bool_)):
        raise TypeError(f"warm_start must be True or False; got {model.warm_start!r}")
    if not model.warm_start or not hasattr(model, "_ensemble"):
        return None
    fitted = model._fitted_loss
    shared = {
        "loss": (fitted.name, parameters.loss.name),
        "link": (fitted.link.name, parameters.loss.link.name),
        "max_bins": (model._max_bins, parameters.max_bins),
    }
    for name, (before, now) in shared.items():
        if before != now:
            raise ValueError(f"warm_start continues a model of {name}={before!r}; got {name}={now!r}")
    if parameters.max_iter < len(model._ensemble):
        raise ValueError(
            f"max_iter must be at least {len(model._ensemble)}, the trees of the model that warm_start continues; "
            f"got {parameters.max_iter}"
        )
    try:
        validate_data(model, X, reset=False, skip_check_array=True)
    except ValueError as error:
        raise ValueError(f"warm_start continues a model of other features: {error}") from None
    return GrownModel(model._ensemble, model.threshold_history_, model.evals_result_, model._cuts)
