"""Replays saved models: one job a line of JSON, [model, data, library], one answer a line."""

from __future__ import annotations

import json
import sys

import numpy as np


def load(model: str, X: np.ndarray, library: str):
    """Return the record, the number of rounds and a function from a round to the scores of the rows."""
    if library == "xgboost":
        import xgboost

        from ordinal_objectives.adapters import xgb as oxgb

        booster = xgboost.Booster(model_file=model)
        rows = xgboost.DMatrix(X)
        return (
            oxgb.threshold_record(booster),
            booster.num_boosted_rounds(),
            lambda t: booster.predict(rows, output_margin=True, iteration_range=(0, t)),
        )
    from ordinal_objectives.adapters import lgbm as olgbm

    booster = olgbm.load_model(model)
    return (
        olgbm.threshold_record(booster),
        booster.current_iteration(),
        lambda t: booster.predict(X, raw_score=True, num_iteration=t),
    )


def replay(model: str, data: str, library: str) -> dict:
    """Compare the recorded loss of every round with that of (score, thresholds)."""
    with np.load(data) as arrays:
        X, y, w = arrays["X"], arrays["y"], arrays["w"]
    record, n_rounds, score = load(model, X, library)
    if not 0 < n_rounds <= record.n_iterations:
        return {"error": f"{n_rounds} rounds, {record.n_iterations} recorded"}
    loss = record.ordinal_loss()
    compared = 0
    for t in range(n_rounds + 1):
        f = np.zeros(len(y)) if t == 0 else score(t).astype(float)
        replayed = np.average(loss.value(f, y, record.at(t)), weights=w)
        recorded = record.training_loss[t]
        if np.isnan(recorded) and t == n_rounds:
            continue  # a training without the callback never sees the score after its last tree
        if not abs(replayed / recorded - 1) < 1e-6:
            return {"error": f"round {t}: replayed {replayed}, recorded {recorded}"}
        compared += 1
    return {"compared": compared}


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(replay(*json.loads(line))), flush=True)
