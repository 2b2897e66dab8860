"""
Joint against alternating updates
=================================

There are two ways to move leaves and thresholds in one round. The alternating one (``"newton"``) lets the tree take its
step while the thresholds stand still, and then lets the thresholds take theirs. The joint one (``"joint"``) solves for
both at once: a leaf that pushes scores up knows that the thresholds will follow.

Both are Newton steps. They differ by the cross terms between leaves and thresholds, which are large where a leaf has
many rows. The data are simulated.
"""

import matplotlib.pyplot as plt
import numpy as np

from ordinal_objectives import HistGradientBoostingOrdinalClassifier
from ordinal_objectives.plotting import TrainingDisplay

rng = np.random.default_rng(0)
X = rng.normal(size=(3000, 5))
score = 4 * (X[:, 0] > 0) + 2 * X[:, 1] + rng.logistic(size=3000)
y = np.digitize(score, [2, 4, 6, 8])  # few rows are of the high classes
X_train, y_train, X_test, y_test = X[:2000], y[:2000], X[2000:], y[2000:]

# %%
# One training for each update, with few leaves, long steps and the same trees otherwise. The native engine has both.

plain = {
    "proportional": True,
    "max_iter": 40,
    "max_leaf_nodes": 4,
    "learning_rate": 0.5,
    "subsample": 1.0,
}
models = {}
for update in ("newton", "joint"):
    model = HistGradientBoostingOrdinalClassifier(
        threshold_update=update, early_stopping=False, **plain
    )
    models[update] = model.fit(X_train, y_train, X_val=X_test, y_val=y_test)

# %%
# The first rounds
# ----------------
#
# The joint step gets further in the first rounds. Later both meet: they minimise the same loss. How much it is worth
# depends on the data;
# `joint_vs_alternating.md <https://github.com/ordinal-objectives/ordinal-objectives/blob/main/benchmarks/results/joint_vs_alternating.md>`_
# has measurements.

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for (update, model), color in zip(
    models.items(), ("tab:orange", "tab:blue"), strict=True
):
    ax.plot(
        model.training_loss_, color=color, label=f'"{update}", training rows'
    )
    (watched,) = (
        losses
        for name, losses in model.evals_result_.items()
        if name != "training"
    )
    ax.plot(
        watched, color=color, linestyle="--", label=f'"{update}", test rows'
    )
ax.set(
    xlabel="rounds", ylabel="mean loss", xlim=(0, 20), xticks=range(0, 21, 5)
)
ax.legend(frameon=False)

# %%
# The thresholds of both
# ----------------------
#
# With joint steps all thresholds can wander up or down together. The scores do the same, and the distance between
# score and threshold is all that counts.

figure, axes = plt.subplots(
    2, 2, figsize=(9, 7), sharex=True, sharey="col", layout="constrained"
)
for pair, (update, model) in zip(axes, models.items(), strict=True):
    TrainingDisplay.from_estimator(model, axes=pair)
    pair[0].set_title(f'threshold_update="{update}"', fontsize="medium")
