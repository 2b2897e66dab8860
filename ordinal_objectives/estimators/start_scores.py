"""Keyword arguments of the classifiers' predictions: start scores under the host's name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinal_objectives.utils.validation import check_start_score

_EXPLAIN = "booster_.predict explains the score"
_FEWER = "staged_predict and staged_predict_proba yield the predictions of every iteration"
_RAW = "predict_raw returns the score"
# What the hosts' own classifiers take, and where it is found here.
_ELSEWHERE = {
    "iteration_range": _FEWER,
    "ntree_limit": _FEWER,
    "num_iteration": _FEWER,
    "start_iteration": _FEWER,
    "output_margin": _RAW,
    "raw_score": _RAW,
    "pred_contrib": _EXPLAIN,
    "pred_contribs": _EXPLAIN,
    "pred_interactions": _EXPLAIN,
    "pred_leaf": "apply returns the leaves, where the classifier has it, and booster_.predict(..., pred_leaf=True)",
    "sample_weight": "weights belong to fit and score",
}


def start_scores(given: Mapping[str, Any], name: str | None, n_samples: int, owner: str) -> NDArray[np.float64]:
    """Return the scores that the trees' are added to, (n_samples,).

    Parameters
    ----------
    given : mapping
        Keyword arguments of a prediction.
    name : str or None
        Name of the start scores in the host; None if it has none.
    n_samples : int
    owner : str
        Name of the classifier.

    Raises
    ------
    TypeError
        If there is an argument of another name.
    ValueError
        If the scores are not one finite number a row.
    """
    for other in given:
        if other != name:
            allowed = "X alone" if name is None else f"X and {name}"
            hint = _ELSEWHERE.get(other, "")
            hint = f"; {hint}" if hint and (name is not None or "booster_" not in hint) else ""
            raise TypeError(f"predictions of {owner} take {allowed}; got {other}={_short(given[other])}{hint}")
    score = None if name is None else check_start_score(given.get(name), n_samples, name=name)
    return np.zeros(n_samples) if score is None else score


def _short(value: Any) -> str:
    return f"an array of shape {value.shape}" if isinstance(value, np.ndarray) else repr(value)
