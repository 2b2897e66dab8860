"""XGBoost's own classifier, as a member of an ensemble: one output for each class."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xgboost

from ordinal_objectives.export.scoring_model import Scorer
from ordinal_objectives.export.xgboost_trees import BoosterContent, as_scoring_tree, values_of_leaves
from ordinal_objectives.threads import one_thread_after_fork

_OBJECTIVES = ("multi:softprob", "binary:logistic")


@one_thread_after_fork()
def read(model: xgboost.XGBClassifier, by_value: Sequence[int]) -> Scorer:
    """Return the scorer of a fitted classifier: log-odds of the second of two classes, or the inputs of a softmax."""
    if model.objective not in _OBJECTIVES:
        raise ValueError(f"objective of a member must be {' or '.join(_OBJECTIVES)}; got {model.objective!r}")
    booster = model.get_booster()
    stops = model.early_stopping_rounds is not None
    content = BoosterContent(booster, booster.best_iteration + 1 if stops else booster.num_boosted_rounds())
    n_outputs = 1 if model.n_classes_ == 2 else int(model.n_classes_)
    trees = []
    for tree, weight, output in zip(content.trees, content.weights, content.outputs, strict=True):
        numbers = values_of_leaves(tree)
        if numbers.shape[1] == 1:
            numbers = np.where(np.arange(n_outputs) == output, numbers, 0.0)
        trees.append(as_scoring_tree(tree, weight * numbers))
    base = np.log(content.base / (1.0 - content.base)) if n_outputs == 1 else content.base
    offset = np.broadcast_to(base, n_outputs).astype(np.float64)
    return Scorer(trees, n_outputs, offset, reads_float32=True, missing=model.missing, levels=content.levels())
