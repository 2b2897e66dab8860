"""Thresholds that move with x on simulated rows: shifts found again where there are some, and what they cost elsewhere.

    python benchmarks/claims/accuracy/shifts_simulated.py

Rows have five standard Gaussian features and five classes, drawn with P(y <= k) = sigma(theta_k - R_k), a logit model:

1. `effects that differ`: R_k = f + v_k, f = 1.5 x0 + sin(2 x1); x2 moves the lowest threshold alone, by
   1.2 tanh(x2), and x3 moves all of them by equal steps from -0.8 tanh(x3) to 0.8 tanh(x3), so that it draws the
   scale together or apart.
2. `proportional`: R_k = f, nothing else.

The margins are ordered on every row. The shifts that are to be found are R_k less its mean over k, less the mean of
that over the rows.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import use
from matplotlib.figure import Figure
from numpy.typing import NDArray

from lib import report
from lib.methods import HOST_DEFAULTS
from ordinal_objectives import (
    AllThreshold,
    HistGradientBoostingOrdinalClassifier,
    LGBMOrdinalClassifier,
    XGBOrdinalClassifier,
)
from ordinal_objectives.inspection import feature_effect
from ordinal_objectives.metrics import ordinal_log_loss
from ordinal_objectives.plotting import FeatureEffectDisplay

FloatArray = NDArray[np.float64]

N_TRAIN, N_VALIDATION, N_TEST, SEEDS = 4_000, 1_000, 10_000, range(5)
THETA = np.array([-3.0, -1.0, 1.0, 3.0])
DIFFER, PROPORTIONAL = "effects that differ", "proportional"
DOCS = Path(__file__).resolve().parents[3] / "docs"
ROUNDS, PATIENCE, RATE = 500, 20, 0.1

MODELS: dict[str, Any] = {
    "XGBoost": lambda **options: XGBOrdinalClassifier(
        n_estimators=ROUNDS,
        early_stopping_rounds=PATIENCE,
        learning_rate=RATE,
        max_depth=3,
        n_jobs=1,
        **(HOST_DEFAULTS["XGBoost"] | options),
    ),
    "LightGBM": lambda **options: LGBMOrdinalClassifier(
        n_estimators=ROUNDS,
        early_stopping_round=PATIENCE,
        num_leaves=8,
        n_jobs=1,
        **(HOST_DEFAULTS["LightGBM"] | {"learning_rate": RATE} | options),
    ),
    "native engine": lambda **options: HistGradientBoostingOrdinalClassifier(
        max_iter=ROUNDS,
        early_stopping=True,
        n_iter_no_change=PATIENCE,
        learning_rate=RATE,
        max_leaf_nodes=8,
        n_jobs=1,
        **(HOST_DEFAULTS["native"] | options),
    ),
}


def own_effect(data: str, feature: int, x: FloatArray) -> FloatArray:
    """Return what one feature adds to R_k, (n, n_classes - 1)."""
    if feature < 2:
        effect = 1.5 * x if feature == 0 else np.sin(2 * x)
        return np.tile(effect[:, None], len(THETA))
    if data == PROPORTIONAL or feature > 3:
        return np.zeros((len(x), len(THETA)))
    of_threshold = np.array([1.2, 0.0, 0.0, 0.0]) if feature == 2 else np.linspace(-0.8, 0.8, len(THETA))
    effects: FloatArray = np.tanh(x)[:, None] * of_threshold
    return effects


def sample(data: str, n: int, seed: int) -> tuple[FloatArray, NDArray[np.intp], FloatArray]:
    """Return features, class codes and true margins."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    margins = THETA - sum(own_effect(data, j, X[:, j]) for j in range(X.shape[1]))
    y: NDArray[np.intp] = (rng.logistic(size=(n, 1)) > margins).sum(axis=1)
    return X, y, margins


def shifts_of(margins: FloatArray) -> FloatArray:
    """Return the shifts, whose means over thresholds and over rows are zero."""
    shifts = margins.mean(axis=1, keepdims=True) - margins
    centred: FloatArray = shifts - shifts.mean(axis=0)
    return centred


def fitted(name: str, data: str, seed: int, **options: Any) -> tuple[Any, tuple[Any, Any, Any]]:
    """Return a model that stopped early, and the rows to test on."""
    rows = sample(data, N_TRAIN + N_VALIDATION + N_TEST, seed)
    ends = [N_TRAIN, N_TRAIN + N_VALIDATION]
    (X, X_val, X_test), (y, y_val, y_test), (_, _, margins) = (np.split(part, ends) for part in rows)
    model = MODELS[name](**options)
    is_native = isinstance(model, HistGradientBoostingOrdinalClassifier)
    watched = {"X_val": X_val, "y_val": y_val} if is_native else {"eval_set": [(X_val, y_val)]}
    return model.fit(X, y, **watched), (X_test, y_test, margins)


def measure(name: str, data: str, seed: int) -> dict[str, float]:
    proportional, (X, y, margins) = fitted(name, data, seed, proportional=True)
    moving, _ = fitted(name, data, seed, proportional=False)
    true, found = shifts_of(margins), moving.predict_shifts(X)
    return {
        "true": ordinal_log_loss(y, AllThreshold().margin_proba(margins)),
        "proportional": ordinal_log_loss(y, proportional.predict_proba(X)),
        "moving": ordinal_log_loss(y, moving.predict_proba(X)),
        "correlation": float(np.corrcoef(true.ravel(), found.ravel())[0, 1]) if data == DIFFER else np.nan,
        "rmse": float(np.sqrt(np.mean((found - true) ** 2))),
        "size": float(np.sqrt(np.mean(true**2))),
    }


def evaluate(name: str, data: str) -> dict[str, object]:
    each = [measure(name, data, seed) for seed in SEEDS]
    mean = {key: float(np.mean([one[key] for one in each])) for key in each[0]}
    ratios = [one["moving"] / one["proportional"] for one in each]
    return {
        "data": data,
        "library": name,
        "log loss, true margins": f"{mean['true']:.4f}",
        "proportional=True": f"{mean['proportional']:.4f}",
        "proportional=False": f"{mean['moving']:.4f}",
        "ratio": f"{np.mean(ratios):.4f}",
        "lowest to highest ratio": f"{min(ratios):.4f} to {max(ratios):.4f}",
        "size of the true shifts": f"{mean['size']:.3f}",
        "RMSE of the shifts": f"{mean['rmse']:.3f}",
        "correlation": "-" if np.isnan(mean["correlation"]) else f"{mean['correlation']:.3f}",
    }


def draw_family() -> Figure:
    """Draw margins along two features, from proportional odds to separate leaves for each threshold."""
    family: dict[str, dict[str, Any]] = {
        "one score\nproportional=True": {"proportional": True},
        "shrunken shifts\nproportional=False, shift_l2=10": {"proportional": False, "shift_l2": 10.0},
        "separate leaves, as GBDT-MO\nshift_l2=1, l2_regularization=4": {
            "proportional": False,
            "shift_l2": 1.0,
            "l2_regularization": 4.0,
        },
    }
    drawn = Figure(figsize=(10, 6.2), layout="constrained", facecolor="white")
    panels = drawn.subplots(2, len(family), sharex=True, sharey=True)
    colors = ["#440154", "#31688e", "#35b779", "#b5de2b"]
    for column, (title, options) in zip(panels.T, family.items(), strict=True):
        model, (X, _, _) = fitted("native engine", DIFFER, 0, **options)
        for axis, feature in zip(column, (2, 3), strict=True):
            effect = feature_effect(model, X[:1_000], feature)
            found = model.thresholds_ - effect.score[:, None] - effect.shifts
            true = THETA - own_effect(DIFFER, feature, effect.values.astype(np.float64))
            for k, color in enumerate(colors):
                axis.plot(effect.values, true[:, k], "--", color="black", linewidth=1, label="true" if k == 0 else None)
                axis.plot(effect.values, found[:, k], color=color, linewidth=2, label=f"{k} | {k + 1}")
            axis.set_xlabel(f"feature x{feature}")
            axis.grid(alpha=0.25)
        column[0].set_title(title, fontsize="medium")
    for axis, what in zip(panels[:, 0], ("lowest threshold alone", "scale drawn together"), strict=True):
        axis.set_ylabel(f"thresholds minus score (mean)\ntrue effect: {what}")
    handles, labels = panels[0, -1].get_legend_handles_labels()
    drawn.legend(handles[::-1], labels[::-1], loc="outside right center", title="between classes")
    return drawn


def draw_display() -> Any:
    """Draw the display of one feature that moves the score and the lowest threshold."""
    model, (X, _, _) = fitted("native engine", DIFFER, 0, proportional=False)
    return FeatureEffectDisplay.from_estimator(model, X[:1_000], 2).figure_


def main() -> None:
    report.write(
        "shifts_simulated",
        "Thresholds that move with x, on simulated rows",
        [evaluate(name, data) for data in (DIFFER, PROPORTIONAL) for name in MODELS],
        f"Log loss on {N_TEST:,} rows; mean over {len(SEEDS)} samples of {N_TRAIN:,} rows to train on and "
        f"{N_VALIDATION:,} by which training stops early; at most {ROUNDS} trees of depth 3 or 8 leaves, learning rate "
        f"{RATE}, everything else as shipped. `ratio` is the log loss with proportional=False by that with "
        f"proportional=True, its mean and range over the samples. `size` is the root mean square of the true shifts, "
        f"which an RMSE is to be compared with.",
    )
    use("Agg")
    for name, drawn in (("shifts_simulated", draw_family()), ("feature_effect", draw_display())):
        drawn.savefig(DOCS / "evidence" / f"{name}.png", dpi=90, metadata={"Software": None})


if __name__ == "__main__":
    main()
