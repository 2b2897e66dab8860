"""What the native engine's rounded rows change: gains of splits, and predictions, beside sums in float64.

    ORDINAL_DATA=folder python benchmarks/claims/accuracy/integer_sums.py

Histograms are sums of integers (native/core/trees/histogram_builder.hpp). The same trainings are made with rows as they
are, which the engine does where weights differ by much: ten trees for their gains, as far as the splits are alike, and
150 for the ranked probability score of the test rows. Sets of the evidence that have enough rows to be rounded.
"""

from __future__ import annotations

from unittest import mock

import numpy as np
from numpy.typing import NDArray
from scipy.stats import gmean
from tqdm import tqdm

from claims.accuracy.joint_vs_alternating import features
from claims.speed.cross_terms import balanced
from lib import report
from lib.data import load, n_train, partition
from lib.set_ratios import GROUPS
from ordinal_objectives import HistGradientBoostingOrdinalClassifier
from ordinal_objectives.histogram_engine import state
from ordinal_objectives.histogram_engine.binning import uneven
from ordinal_objectives.histogram_engine.parameters import BoostingParameters
from ordinal_objectives.histogram_engine.run import EngineRun
from ordinal_objectives.histogram_engine.state import TrainingSet
from ordinal_objectives.losses import get_loss
from ordinal_objectives.metrics import ranked_probability_score

FEWEST = 2048  # rows, up to which none is rounded
TREES, ROUNDS, LEAVES = 10, 150, 31
Rows = tuple[NDArray[np.floating], NDArray[np.int32], int, NDArray[np.float64] | None]


def train(rows: Rows, loss: str, rounded: bool) -> EngineRun:
    """Return a run that was not advanced."""
    X, y, K, weight = rows
    parameters = BoostingParameters.of(get_loss(loss), max_leaf_nodes=LEAVES)
    with mock.patch.object(state, "uneven", return_value=not rounded):
        return EngineRun(parameters, TrainingSet(X, y, K, weight))


def errors(rows: Rows, loss: str) -> NDArray[np.float64]:
    """Return relative errors of the gains of splits, up to the first split that differs."""
    runs = [train(rows, loss, rounded) for rounded in (True, False)]
    found = []
    for _ in range(TREES):
        one, other = (run.advance() for run in runs)
        alike = np.flatnonzero(other.left >= 0)
        n = min(len(one.left), len(other.left))
        differ = np.flatnonzero((one.feature[:n] != other.feature[:n]) | (one.left[:n] != other.left[:n]))
        if len(differ) or len(one.left) != len(other.left):
            alike = alike[alike < (differ[0] if len(differ) else n)]
            found.append(np.abs(one.gain[alike] / other.gain[alike] - 1.0))
            break
        found.append(np.abs(one.gain[alike] / other.gain[alike] - 1.0))
    return np.concatenate(found)


def score(rows: Rows, X_test: NDArray[np.floating], y_test: NDArray[np.int32], loss: str, rounded: bool) -> float:
    """Return the ranked probability score of the test rows."""
    X, y, K, weight = rows
    model = HistGradientBoostingOrdinalClassifier(
        loss=loss, max_iter=ROUNDS, early_stopping=False, classes=np.arange(K), n_jobs=1, random_state=0
    )
    with mock.patch.object(state, "uneven", return_value=not rounded):
        model.fit(X, y, sample_weight=weight)
    return float(ranked_probability_score(y_test, model.predict_proba(X_test), labels=np.arange(K)))


def main() -> None:
    table = []
    for name in tqdm([name for name in GROUPS["evaluation"] if n_train(name) > FEWEST]):
        dataset = load(name)
        K, (train_rows, test_rows) = dataset.n_classes, partition(dataset, 0)
        every = features(dataset)
        X, y, X_test, y_test = every[train_rows], dataset.y[train_rows], every[test_rows], dataset.y[test_rows]
        for weights in ("none", "balanced"):
            rows: Rows = X, y, K, balanced(y) if weights == "balanced" else None
            if uneven(rows[3]):
                continue
            for loss in ("all_threshold", "cumulative_link"):
                found = errors(rows, loss)
                rounded, other = (score(rows, X_test, y_test, loss, one) for one in (True, False))
                table.append(
                    {
                        "data": name,
                        "rows": len(y),
                        "K": K,
                        "loss": loss,
                        "weights": weights,
                        "splits": len(found),
                        "median error of a gain": float(np.median(found)),
                        "99%": float(np.quantile(found, 0.99)),
                        "largest": float(found.max()),
                        "RPS / that of float64": rounded / other,
                    }
                )
    mean = gmean([row["RPS / that of float64"] for row in table])
    note = (
        f"Gains of {TREES} trees of {LEAVES} leaves, up to the first split that differs; RPS of {ROUNDS} trees on "
        f"the test rows of one partition: geometric mean {mean:.5f}."
    )
    report.write("integer_sums", "Histograms of rounded rows, beside sums in float64", table, note)


if __name__ == "__main__":
    main()
