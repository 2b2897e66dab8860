"""
From one score to many outputs
==============================

Proportional odds say that a feature moves all thresholds alike: one score is enough. That is simple, and often too
simple. This example goes from one score to thresholds that move with x, and on to trees with a free value for every
class.

The data are simulated: the dose of a drug is between 0 and 1, and patients answer in four classes. A larger dose makes
the worst class rare. It changes nothing else: among the patients who are not of the worst class, the shares of the
others stay the same.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.special import expit

from ordinal_objectives import (
    HistGradientBoostingMultiOutputClassifier,
    HistGradientBoostingOrdinalClassifier,
)
from ordinal_objectives.inspection import feature_effect
from ordinal_objectives.metrics import ranked_probability_score
from ordinal_objectives.plotting import (
    ClassProbabilitiesDisplay,
    FeatureEffectDisplay,
)

names = ["worst", "bad", "fair", "good"]


def truth(dose):
    """Return the probabilities of the classes, lowest first, (n, 4)."""
    worst = expit(2 - 5 * dose)
    return np.column_stack([worst, np.outer(1 - worst, [0.3, 0.4, 0.3])])


def drawn(rng, n):
    """Return n rows, the dose and a feature that means nothing, and their class codes."""
    X = pd.DataFrame(rng.uniform(size=(n, 2)), columns=["dose", "nothing"])
    return X, (rng.uniform(size=(n, 1)) > truth(X["dose"]).cumsum(axis=1)).sum(
        axis=1
    )


X, y = drawn(np.random.default_rng(0), 1500)
X_test, y_test = drawn(np.random.default_rng(1), 5000)

# %%
# Three models with the same kind of trees
# ----------------------------------------
#
# ``proportional=True`` has one score. ``proportional=False`` lets each leaf shift single thresholds too, and still
# keeps the order of the classes. The multi-output classifier has a value in each leaf for every class and knows no
# order.

trees = {
    "max_leaf_nodes": 6,
    "max_iter": 40,
    "min_samples_leaf": 60,
    "random_state": 0,
}
models: dict = {
    "one score": HistGradientBoostingOrdinalClassifier(
        proportional=True, **trees
    ),
    "thresholds move": HistGradientBoostingOrdinalClassifier(
        proportional=False, **trees
    ),
    "no order": HistGradientBoostingMultiOutputClassifier(**trees),
}
for model in models.values():
    model.fit(X, y)

# %%
# The probabilities along the dose, and the truth. One score must move all thresholds by the same amount, and misses the
# worst class at both ends.

dose = np.linspace(0, 1, 60)
grid = pd.DataFrame({"dose": dose, "nothing": 0.5})
found = {"truth": truth(dose)} | {
    name: model.predict_proba(grid) for name, model in models.items()
}
figure, axes = plt.subplots(2, 2, figsize=(10, 7), layout="constrained")
for ax, (name, proba) in zip(axes.flat, found.items(), strict=True):
    ClassProbabilitiesDisplay(dose, proba, "dose", names).plot(ax)
    ax.set_title(name, fontsize="medium")

# %%
# On new rows, by the ranked probability score; lower is better. The truth has the lowest that there can be on average.

scored = {"truth": truth(X_test["dose"])} | {
    name: model.predict_proba(X_test) for name, model in models.items()
}
for name, proba in scored.items():
    print(f"{name:<16} {ranked_probability_score(y_test, proba):.4f}")

# %%
# What the shifts say
# -------------------
#
# The score rises with the dose and moves all thresholds alike. The shifts add to it for the lowest threshold and take
# from it for the highest: the dose moves the lowest threshold furthest.

effect = feature_effect(models["thresholds move"], X, "dose")
display = FeatureEffectDisplay(effect, "dose", names).plot()
