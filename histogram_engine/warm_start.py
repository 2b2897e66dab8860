"""Continuing a fitted model with warm_start."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import validate_data

from ordinal_objectives.estimators.tables import CategoryColumns, places_of
from ordinal_objectives.histogram_engine.fit_loop import GrownModel
from ordinal_objectives.histogram_engine.parameters import BoostingParameters
from ordinal_objectives.losses import OrdinalLoss
from ordinal_objectives.row_blocks import header_of


def check_continued(
    model: Any,
    X: Any,
    parameters: BoostingParameters,
    grown: GrownModel,
    loss: OrdinalLoss,
    max_bins: int,
    *,
    was_forest: bool,
) -> None:
    """Raise ValueError, naming what differs, unless a fit can continue an earlier one.

    Parameters and features must be those of the fitted classifier ``model``, and loss and bins those of its fit, which
    ``was_forest`` says to have been a random forest. Rows, weights and parameters of growth may be others: trees and
    thresholds mean the same with them. The classes are known, and compared, later.
    """
    if parameters.is_forest or was_forest:
        raise ValueError("warm_start continues trees that follow each other; boosting_type='rf' has none")
    shared = {
        "loss": (loss.identity, parameters.spec.loss.identity),
        "link": (loss.link.name, parameters.spec.loss.link.name),
        "max_bins": (max_bins, parameters.max_bins),
        "proportional": (model.proportional_, parameters.shifts is None),
    }
    for name, (before, now) in shared.items():
        if before != now:
            raise ValueError(f"warm_start continues a model of {name}={before!r}; got {name}={now!r}")
    if parameters.max_iter < len(grown.ensemble):
        raise ValueError(
            f"max_iter must be at least {len(grown.ensemble)}, the trees of the model that warm_start continues; "
            f"got {parameters.max_iter}"
        )
    try:
        validate_data(model, header_of(X), reset=False, skip_check_array=True)
    except ValueError as error:
        raise ValueError(f"warm_start continues a model of other features: {error}") from None


def check_same_categories(X: Any, asked: Any, categories: CategoryColumns) -> None:
    """Raise ValueError unless the columns that ``categorical_features`` asks for are those of the model."""
    now, before = places_of(header_of(X), asked), sorted(categories.levels)
    if now != before:
        raise ValueError(f"warm_start continues a model of categories in the columns {before}; got {now}")
