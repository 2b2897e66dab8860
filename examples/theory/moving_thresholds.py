"""
Why thresholds must move
========================

A custom loss inside a booster learns only the score: the thresholds are not part of the trees. Other wrappers
therefore compute thresholds once, from the shares of the classes, and leave them where they are
(``threshold_update="fixed"``). That is right for the first tree only. While the trees learn, the scores spread apart,
and thresholds that stay behind cut them in the wrong places. ``"newton"`` moves the thresholds after each tree.

The data are simulated.
"""

import matplotlib.pyplot as plt
import numpy as np

from ordinal_objectives import XGBOrdinalClassifier
from ordinal_objectives.metrics import (
    mean_absolute_error,
    ranked_probability_score,
)
from ordinal_objectives.plotting import (
    ScoreDistributionDisplay,
    TrainingDisplay,
)

rng = np.random.default_rng(0)
X = rng.normal(size=(2000, 4))
score = 3 * X[:, 0] + 2 * np.sin(2 * X[:, 1]) + rng.logistic(size=2000)
y = np.digitize(
    score, [-1, 0, 5, 7]
)  # the middle class is wide, those beside it are narrow
X_train, y_train, X_test, y_test = X[:1000], y[:1000], X[1000:], y[1000:]

# One score for all thresholds, so that nothing else moves them.
plain = {
    "proportional": True,
    "n_estimators": 100,
    "learning_rate": 0.1,
    "max_depth": 3,
    "random_state": 0,
}
models = {}
for update in ("fixed", "newton"):
    model = XGBOrdinalClassifier(threshold_update=update, **plain)
    models[update] = model.fit(
        X_train, y_train, eval_set=[(X_test, y_test)], verbose=False
    )

# %%
# The path of the thresholds
# --------------------------
#
# The upper row is trained with fixed thresholds, and the lower one with thresholds that move.

figure, axes = plt.subplots(
    2, 2, figsize=(9, 7), sharex=True, sharey="col", layout="constrained"
)
for pair, (update, model) in zip(axes, models.items(), strict=True):
    TrainingDisplay.from_estimator(model, axes=pair)
    pair[0].set_title(f'threshold_update="{update}"', fontsize="medium")

# %%
# Where the scores are cut
# ------------------------
#
# The same test rows by both models. The probabilities gain more than the predicted classes: the score has learned to
# live with the thresholds that it was given.

figure, axes = plt.subplots(2, 1, figsize=(7, 7.5), layout="constrained")
for ax, (update, model) in zip(axes, models.items(), strict=True):
    ScoreDistributionDisplay.from_estimator(model, X_test, y_test, ax=ax)
    error = mean_absolute_error(y_test, model.predict(X_test))
    rps = ranked_probability_score(y_test, model.predict_proba(X_test))
    ax.set_title(
        f'threshold_update="{update}": absolute error {error:.3f}, RPS {rps:.3f}',
        fontsize="medium",
    )
