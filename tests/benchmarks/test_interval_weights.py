"""Weights proportional to exp(-l): what they are, and that trainings by them never raise the observed loss."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
from scipy.special import logsumexp, softmax

from claims.accuracy.interval_weights import by_loss
from claims.accuracy.label_patterns import KINDS, coarsened
from ordinal_objectives import AllThreshold, HistGradientBoostingOrdinalClassifier, OrdinalLabels
from ordinal_objectives.rows import soft_rows

K, N = 5, 600
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 3))
Y = np.digitize(X[:, 0] + rng.logistic(size=N), [-1, 0, 1, 2]).astype(np.int32)


def losses(f, thresholds):
    return np.stack([AllThreshold().value(f, np.full(N, k), thresholds) for k in range(K)], axis=1)


def test_weights_are_those_of_the_loss():
    thresholds = np.array([-1.0, 0.0, 0.5, 2.0])
    expected = softmax(-losses(X[:, 0], thresholds), axis=1)
    for scores in (X[:, 0], np.tile(X[:, :1], 4)):
        found = by_loss(AllThreshold(), scores, thresholds)
        np.testing.assert_allclose(found / found.sum(axis=1, keepdims=True), expected, rtol=1e-9)


def test_trainings_never_raise_the_observed_loss():
    for kind in KINDS:
        lower, upper = coarsened(Y, K, kind, 0.6, np.random.default_rng(1))
        labels = OrdinalLabels.from_intervals(lower, upper, classes=range(K))
        model = HistGradientBoostingOrdinalClassifier(max_iter=40, n_jobs=1, proportional=True)
        with patch.object(soft_rows, "chances", by_loss):
            model.fit(X, labels)
        found = model.training_loss_
        assert (np.diff(found) <= 1e-6).all()
        inside = (np.arange(K) >= lower[:, np.newaxis]) & (np.arange(K) <= upper[:, np.newaxis])
        of_classes = np.where(inside, losses(model.predict_raw(X), model.thresholds_), np.inf)
        assert abs(found[-1] + logsumexp(-of_classes, axis=1).mean()) < 1e-5
