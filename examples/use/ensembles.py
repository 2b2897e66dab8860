"""
Ensembles
=========

Models that err in different ways are better together. ``OrdinalEnsembleClassifier`` averages the class probabilities
of several classifiers, ordinal or not, and takes one decision from the average. It can find the weights itself.

The data are simulated: five grades of wine by its chemistry, with a straight effect, a bent one, and one of a
combination.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier

from ordinal_objectives import OrdinalEnsembleClassifier, XGBOrdinalClassifier
from ordinal_objectives.metrics import ranked_probability_score
from ordinal_objectives.plotting import (
    CumulativeReliabilityDisplay,
    OrdinalConfusionDisplay,
)

rng = np.random.default_rng(0)
X = rng.normal(size=(4000, 8))
score = (
    1.5 * X[:, 0] + X[:, 1] ** 2 + X[:, 2] * X[:, 3] + rng.logistic(size=4000)
)
names = ["bad", "poor", "fair", "good", "superb"]
y = np.array(names)[np.digitize(score, [-2, 0, 2, 4])]
X_train, y_train, X_test, y_test = X[:1000], y[:1000], X[1000:], y[1000:]

# %%
# Members and weights
# -------------------
#
# Members are trained on class codes, so any classifier keeps the order of the labels. ``weights="rps"`` looks for the
# weights with the lowest ranked probability score on rows held out. The problem is convex, so there is one best answer.

members = [
    ("ordinal", XGBOrdinalClassifier(n_estimators=150, learning_rate=0.1)),
    (
        "multiclass",
        XGBClassifier(n_estimators=60, max_depth=3, learning_rate=0.1),
    ),
    ("linear", make_pipeline(StandardScaler(), LogisticRegression())),
]
model = OrdinalEnsembleClassifier(
    members, weights="rps", classes=names, random_state=0
).fit(X_train, y_train)
for (name, _), weight in zip(members, model.weights_, strict=True):
    print(f"{name:<12} {weight:.2f}")

# %%
# Alone and together
# ------------------
#
# The ranked probability score on new rows; lower is better. Members were trained without the rows that the weights come
# from, and so is what is compared here.

codes = model.encode_labels(y_test)
scores = {
    name: ranked_probability_score(
        codes, model.members_[name][0].predict_proba(X_test)
    )
    for name, _ in members
}
scores["ensemble"] = ranked_probability_score(
    codes, model.predict_proba_ordered(X_test)
)

figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
bars = ax.barh(
    list(scores),
    list(scores.values()),
    color=["0.6"] * len(members) + ["tab:blue"],
)
ax.bar_label(bars, fmt="%.3f", padding=3)
ax.set(
    xlabel="ranked probability score of new rows, lower is better",
    xlim=(0, 1.15 * max(scores.values())),
)
ax.invert_yaxis()

# %%
# The ensemble is a classifier as any other: displays that need no thresholds take it.

figure, axes = plt.subplots(1, 2, figsize=(12, 5.5), layout="constrained")
errors = OrdinalConfusionDisplay.from_estimator(
    model, X_test, y_test, ax=axes[0]
)
reliability = CumulativeReliabilityDisplay.from_estimator(
    model, X_test, y_test, ax=axes[1]
)
