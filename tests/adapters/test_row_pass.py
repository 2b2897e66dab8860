"""A training knows its rows by a pass over them alone, wherever it finds them: here in two blocks."""

from __future__ import annotations

from dataclasses import replace

import lightgbm
import numpy as np
import pytest
import xgboost

from ordinal_objectives.adapters import lgbm as olgbm, xgb as oxgb
from ordinal_objectives.rows import CPU, RowStatistics


class TwoBlocks:
    """Answers what `RowPass` lists, and nothing else."""

    made = 0

    def __init__(self, loss, y, n_classes, sample_weight=None):
        TwoBlocks.made += 1
        cut = len(y) // 3
        self._blocks = slice(0, cut), slice(cut, None)
        self.y, self.n_classes, self.loss_precision = np.asarray(y, dtype=np.int32), n_classes, 1e-7
        weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight)
        self._passes = [RowStatistics(loss, self.y[rows], n_classes, weight[rows]) for rows in self._blocks]
        self.class_weights = sum(one.class_weights for one in self._passes)
        self.total_weight = sum(one.total_weight for one in self._passes)

    def __call__(self, raw_prediction, thresholds, hessian="majorized", *, want_loss=True):
        parts = self._parts(np.asarray(raw_prediction))
        first, second = (one(score, thresholds, hessian, want_loss=want_loss) for one, score in parts)
        return replace(
            first,
            gradient=np.concatenate([first.gradient, second.gradient]),
            hessian=np.concatenate([first.hessian, second.hessian]),
            sums=first.sums + second.sums,
        )

    def leaf_sums(self, leaves, n_leaves):
        first, second = (one.leaf_sums(some, n_leaves) for one, some in self._parts(leaves))
        return first + second

    def _parts(self, of_rows):
        return [(one, of_rows[rows]) for one, rows in zip(self._passes, self._blocks, strict=True)]

    def highest_loss(self, loss, rounding=1.0):
        return loss + rounding * 1e-7 * loss


def train_xgb(X, y, **options):
    data, valid = xgboost.DMatrix(X[:400], y[:400]), xgboost.DMatrix(X[400:], y[400:])
    options |= {"evals": [(valid, "v")], "evals_result": {}, "verbose_eval": False}
    booster = oxgb.train({"max_depth": 3, "nthread": 1}, data, 8, n_classes=4, **options)
    return oxgb.threshold_record(booster), options["evals_result"]["v"]["all_threshold"]


def train_lgb(X, y, **options):
    data, curves = lightgbm.Dataset(X[:400], y[:400]), {}
    params = {"num_leaves": 6, "num_threads": 1, "verbosity": -1}
    options |= {"valid_sets": [lightgbm.Dataset(X[400:], y[400:], reference=data)], "valid_names": ["v"]}
    booster = olgbm.train(params, data, 8, n_classes=4, callbacks=[lightgbm.record_evaluation(curves)], **options)
    return olgbm.threshold_record(booster), curves["v"]["all_threshold"]


@pytest.mark.parametrize("train", [train_xgb, train_lgb])
@pytest.mark.parametrize("update", ["fixed", "newton", "schur", "joint"])
def test_a_training_asks_its_rows_by_the_protocol_alone(ordinal_data, monkeypatch, train, update):
    X, y = ordinal_data(600, 4)
    record, curve = train(X, y, threshold_update=update)
    monkeypatch.setattr(CPU, "row_pass", lambda device, *args, **options: TwoBlocks(*args, **options))
    before = TwoBlocks.made
    in_blocks, curve_in_blocks = train(X, y, threshold_update=update)
    assert TwoBlocks.made == before + 2
    np.testing.assert_allclose(in_blocks.thresholds, record.thresholds, rtol=1e-5)
    np.testing.assert_allclose(in_blocks.training_loss, record.training_loss, rtol=1e-6)
    np.testing.assert_allclose(curve_in_blocks, curve, rtol=1e-5)
