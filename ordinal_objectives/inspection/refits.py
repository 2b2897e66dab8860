"""Copies of an estimator that are trained again: on other rows, with other weights, with other parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from ordinal_objectives.estimators.wrappers import row_keywords
from ordinal_objectives.utils.validation import check_sample_weight


def untrained(estimator: Any) -> Any:
    """Return what is copied and trained: the best one of a fitted search, else the estimator; not a copy itself.

    Raises
    ------
    TypeError
        If it is no classifier of this package, and no pipeline or fitted search that ends in one.
    """
    found = getattr(estimator, "best_estimator_", estimator)
    last = found
    while isinstance(last, Pipeline):
        last = last[-1]
    if not all(hasattr(last, name) for name in ("fit", "get_params", "predict_cumulative_proba", "encode_labels")):
        raise TypeError(
            f"estimator must be a classifier of ordinal_objectives, a pipeline that ends in one, or a fitted search; "
            f"got {type(last).__name__}"
        )
    return found


def trained_again(
    estimator: Any, X: Any, y: Any, weight: NDArray[np.float64] | None, random: np.random.RandomState, **params: Any
) -> Any:
    """Return a copy of an estimator, with a seed of its own and other parameters of its last step, fitted."""
    copy, path, last = clone(estimator), "", estimator
    while isinstance(last, Pipeline):
        path, last = f"{path}{last.steps[-1][0]}__", last[-1]
    seed = int(random.randint(np.iinfo(np.int32).max))
    seeds = {key: seed for key in copy.get_params() if ("__" + key).endswith("__random_state")}
    copy.set_params(**seeds, **{path + key: value for key, value in params.items()})
    return copy.fit(X, y, **row_keywords("estimator", copy, weight))


def row_weights(sample_weight: Any, n_samples: int) -> NDArray[np.float64]:
    """Return the checked weights of rows, ones where there are none, (n_samples,)."""
    weight = check_sample_weight(sample_weight, n_samples)
    return np.ones(n_samples) if weight is None else weight


def drawn_labels(model: Any, proba: NDArray[np.float64], random: np.random.RandomState) -> NDArray[Any]:
    """Return a label for each row, drawn from its class probabilities, lowest class first."""
    codes = (random.random_sample((len(proba), 1)) > np.cumsum(proba, axis=1)[:, :-1]).sum(axis=1)
    labels: NDArray[Any] = np.asarray(model.ordered_classes_)[codes]
    return labels
