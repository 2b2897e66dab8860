"""Rows as LightGBM's data sets, and a training on some of them."""

from __future__ import annotations

from typing import Any

import lightgbm
import numpy as np
from numpy.typing import NDArray

from ordinal_objectives import predictions
from ordinal_objectives.adapters.lgbm.input_checks import categorical_columns
from ordinal_objectives.adapters.lgbm.prediction import predict_scores
from ordinal_objectives.adapters.lgbm.record import carried_record
from ordinal_objectives.adapters.lgbm.train import train_spec
from ordinal_objectives.estimators.held_out import Rows, Trial
from ordinal_objectives.estimators.linear import LinearPart, with_start
from ordinal_objectives.spec import OrdinalSpec


def datasets(rows: list[Rows], categorical_feature: Any, linear: LinearPart | None = None) -> list[lightgbm.Dataset]:
    """Return the training set and those to evaluate."""
    found = list[lightgbm.Dataset]()
    for one in (with_start(linear, some) for some in rows):
        training = {"categorical_feature": categorical_columns(categorical_feature, one.X)}
        options = {"reference": found[0]} if found else training
        found.append(lightgbm.Dataset(one.X, one.codes, weight=one.weight, init_score=one.start, **options))
    return found


def trial(
    spec: OrdinalSpec,
    params: dict[str, Any],
    rows: tuple[Rows, Rows],
    most: int,
    patience: int | None,
    *,
    categorical_feature: Any,
    progress: bool,
) -> Trial:
    """Train on some rows, the first ones, and tell of the others; see :class:`.held_out.Trial`."""
    fit, held = rows
    train_set, held_set = datasets([fit, held], categorical_feature)
    result: dict[str, dict[str, list[float]]] = {}
    stops = [] if patience is None else [lightgbm.early_stopping(patience, verbose=False)]
    booster = train_spec(
        (spec, None),
        params,
        train_set,
        most,
        valid_sets=[held_set],
        valid_names=["held_out"],
        callbacks=[lightgbm.record_evaluation(result), *stops],
        progress=progress,
        what="search",
        set_names=["X", "X"],
    )

    def proba(n_rounds: int) -> NDArray[np.float64]:
        start, record = held.start, carried_record(booster)
        n = min(n_rounds, booster.current_iteration())
        scores = predict_scores(booster, record, held.X, 0, n)
        scores = scores if start is None else predictions.plus(start, scores)
        return predictions.proba(record.ordinal_loss(), scores, record.at(n))

    return Trial(next(iter(result["held_out"].values())), proba)
