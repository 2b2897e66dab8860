"""
Why thresholds must move
========================

A custom loss inside a booster learns only the score: the thresholds are not part of the trees. Other wrappers
therefore compute thresholds once, from the shares of the classes, and leave them where they are
(``threshold_update="fixed"``). That is right for the first tree only. While the trees learn, the scores spread apart,
and ``"newton"`` moves the thresholds after each tree.

What do thresholds that stay behind spoil? Not the predicted classes: the score can be any function of the features, and
it learns to lie on the right side of thresholds that it is given. It is the probabilities. With one score a class
between the thresholds a and b has at most the probability 2 F((b - a) / 2) - 1, where F is the logistic function,
however clear a row is. Fixed thresholds are as far apart as the classes are common, and not as far as they are clear.

The data are simulated, with a wide class in the middle and narrow ones beside it.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit

from ordinal_objectives import XGBOrdinalClassifier
from ordinal_objectives.metrics import (
    mean_absolute_error,
    ordinal_log_loss,
)
from ordinal_objectives.plotting import (
    ClassProbabilitiesDisplay,
    TrainingDisplay,
)

rng = np.random.default_rng(0)
X = rng.normal(size=(2000, 4))
score = 3 * X[:, 0] + 2 * np.sin(2 * X[:, 1]) + rng.logistic(size=2000)
y = np.digitize(score, [-1, 0, 5, 7])
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
# What a class can have at most
# -----------------------------
#
# The middle class lies between 0 and 5 on the scale of the simulation, where it has up to 0.85. Its share among all rows
# is much smaller, and that keeps the fixed thresholds close to each other.

for update, model in models.items():
    low, high = model.thresholds_[1:3]
    most = 2 * expit((high - low) / 2) - 1
    stated = model.predict_proba(X_test)[:, 2].max()
    print(f"{update}: at most {most:.2f}, highest stated {stated:.2f}")

# %%
# The same test rows by both models, by their score. The absolute error of the predicted classes is about the same, and
# the log loss of the probabilities is not.

figure, axes = plt.subplots(2, 1, figsize=(7, 7.5), layout="constrained")
for ax, (update, model) in zip(axes, models.items(), strict=True):
    ClassProbabilitiesDisplay.from_estimator(model, X_test, ax=ax)
    error = mean_absolute_error(y_test, model.predict(X_test))
    loss = ordinal_log_loss(y_test, model.predict_proba(X_test))
    ax.set_title(
        f'threshold_update="{update}": log loss {loss:.3f}, absolute error {error:.3f}',
        fontsize="medium",
    )
