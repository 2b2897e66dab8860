"""LightGBM's own classifier, as a member of an ensemble: one output for each class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import lightgbm
import numpy as np
from numpy.typing import NDArray

from ordinal_objectives.export.lightgbm_trees import as_scorer
from ordinal_objectives.export.scoring_model import Scorer
from ordinal_objectives.threads import one_thread_after_fork

_OBJECTIVES = ("multiclass", "binary")


@one_thread_after_fork()
def read(model: lightgbm.LGBMClassifier, by_value: Sequence[int]) -> Scorer:
    """Return the scorer of a fitted classifier: log-odds of the second of two classes, or the inputs of a softmax."""
    booster = model.booster_
    content = booster.dump_model(num_iteration=model.best_iteration_ or None)
    objective, *details = str(content.get("objective", "")).split()
    if content["average_output"]:
        raise ValueError("boosting_type of a member must be one whose trees add up; got 'rf', whose mean is taken")
    if objective not in _OBJECTIVES or details not in (["sigmoid:1"], [f"num_class:{model.n_classes_}"]):
        raise ValueError(f"objective of a member must be {' or '.join(_OBJECTIVES)}; got {content.get('objective')!r}")
    n_outputs = int(content["num_tree_per_iteration"])

    def values_of(number: int, leaf: dict[str, Any]) -> NDArray[np.float64]:
        values = np.zeros(n_outputs)
        values[number % n_outputs] = leaf["leaf_value"]
        return values

    return as_scorer(content["tree_info"], n_outputs, values_of, booster.pandas_categorical or [], by_value)
