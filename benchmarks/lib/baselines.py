"""A baseline for ordered classes that accuracy.py measures apart: multiclass through one vector tree a round."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lib.methods import PATIENCE, TREES, Family, Fitted, Rows, encoder, spread
from ordinal_objectives import HistGradientBoostingMultiOutputClassifier


def vector_multiclass(train: Rows, valid: Rows | None, rounds: int, n_classes: int, depth: int) -> Fitted:
    """Train the softmax's cross-entropy on one tree a round; all else is the engine's default."""
    encode = encoder(scale=False).fit(train[0])  # it takes numbers only
    model = HistGradientBoostingMultiOutputClassifier(
        max_iter=rounds,
        max_leaf_nodes=2**depth,
        max_depth=depth,
        early_stopping=valid is not None,
        n_iter_no_change=PATIENCE,
        n_jobs=1,
    )
    watch: dict[str, Any] = {}
    if valid is not None:
        seen = np.isin(valid[1], train[1])  # a class that is new there has no score
        watch = {"X_val": encode.transform(valid[0])[seen], "y_val": valid[1][seen]}
    model.fit(encode.transform(train[0]), train[1], **watch)

    def predict(X: pd.DataFrame) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        rows = encode.transform(X)
        return model.predict(rows), spread(model.predict_proba(rows), model.classes_, n_classes)

    return Fitted(predict, np.nan if valid is None else min(model.evals_result_["validation"]), model.n_iter_)


BASELINES: Family = {"vector multiclass": (vector_multiclass, TREES)}
