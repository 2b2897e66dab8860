"""The benchmark of recalibration compares a classifier with itself."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

from claims.decisions import recalibration as claim
from ordinal_objectives.metrics import ranked_probability_score


def test_a_partition_is_measured(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = np.digitize(X[:, 0] + rng.logistic(size=300), [-1, 1]).astype(np.int32) * 2  # codes 1 and 3 lack rows
    monkeypatch.setattr(claim, "rows_of", lambda data, seed: (X, y, np.arange(200), np.arange(200, 300), 6))
    monkeypatch.setattr(claim, "CLASSIFIERS", {"linear": lambda n_classes, seed: LogisticRegression()})
    runs = pd.DataFrame(claim.measure("made", 0))
    assert len(runs) == 4
    P = np.zeros((100, 6))
    P[:, [0, 2, 4]] = LogisticRegression().fit(X[:200], y[:200]).predict_proba(X[200:])
    expected = ranked_probability_score(y[200:], P, labels=range(6))
    np.testing.assert_allclose(runs["plain rps"], expected)
    assert (runs["rps"] != runs["plain rps"]).all()


def test_ratios_are_means_of_sets():
    shared = {"classifier": "one", "few": False, "method": "sigmoid", "seed": 0}
    runs = [
        shared | {"data": data} | dict.fromkeys(claim.LOSSES, value) | {f"plain {loss}": 1.0 for loss in claim.LOSSES}
        for data, value in (("a", 0.5), ("a", 0.5), ("b", 2.0))
    ]
    (row,) = claim.summary(pd.DataFrame(runs))
    assert row["rps"] == "1.000 (1 of 2)"
    assert row["rows to train on"] == "all"
