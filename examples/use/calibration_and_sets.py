"""
Calibration and prediction sets
===============================

Two questions about a predicted probability. Is it right: of the patients to whom a model gives 30%, are 30% ill? And how
certain is the model about a single patient?

The data are simulated: the severity of a disease by four measurements, two of which say almost the same.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.naive_bayes import GaussianNB

from ordinal_objectives import (
    OrdinalCalibratedClassifier,
    OrdinalPredictionSets,
    XGBOrdinalClassifier,
)
from ordinal_objectives.metrics import (
    cumulative_calibration_error,
    ranked_probability_score,
)
from ordinal_objectives.plotting import (
    CumulativeReliabilityDisplay,
    PredictionSetsDisplay,
)

rng = np.random.default_rng(0)
X = rng.normal(size=(4000, 4))
X[:, 1] = X[:, 0] + 0.3 * rng.normal(size=4000)
score = 1.5 * X[:, 0] + X[:, 2] + rng.logistic(size=4000)
names = np.array(["none", "mild", "moderate", "severe"])
y = names[np.digitize(score, [0, 2, 4])]
X_train, y_train, X_test, y_test = X[:2000], y[:2000], X[2000:], y[2000:]

# %%
# Are the probabilities right?
# ----------------------------
#
# Naive Bayes counts the information of two similar measurements twice, so its probabilities are too extreme. A
# reliability diagram shows it: for each threshold, how often y lies at or below it, beside the stated probability.
# Probabilities that hold lie on the dashed line. ``OrdinalCalibratedClassifier`` mends them for any classifier of
# scikit-learn, and keeps them in order.

codes = {label: k for k, label in enumerate(names)}
train, test = (
    np.array([codes[label] for label in labels])
    for labels in (y_train, y_test)
)
models = {
    "naive Bayes": GaussianNB(),
    "calibrated": OrdinalCalibratedClassifier(GaussianNB()),
}

figure, axes = plt.subplots(1, 2, figsize=(12, 6), layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    proba = model.fit(X_train, train).predict_proba(X_test)
    CumulativeReliabilityDisplay.from_predictions(
        test, proba, class_names=names, ax=ax
    )
    error, rps = (
        cumulative_calibration_error(test, proba),
        ranked_probability_score(test, proba),
    )
    ax.set_title(
        f"{name}: calibration error {error:.3f}, RPS {rps:.3f}",
        fontsize="medium",
    )

# %%
# How sure is the model of a row?
# -------------------------------
#
# ``OrdinalPredictionSets`` gives each row an interval of classes. Over rows drawn as those of the training were, the
# true class is inside with probability 1 - ``alpha`` at least, whatever the classifier is.

forecast = OrdinalPredictionSets(
    XGBOrdinalClassifier(), alpha=0.1, classes=names, random_state=0
)
forecast.fit(X_train, y_train)
for row, (low, high) in enumerate(forecast.predict_interval(X_test[:4])):
    print(f"patient {row}: from {low} to {high}; the truth is {y_test[row]}")

# %%
# The diagonal of the picture is the coverage of each class. The guarantee is for all rows together, so the coverage of
# a rare class can be lower. ``coverage="class"`` guarantees it for each class, by wider sets.

display = PredictionSetsDisplay.from_estimator(forecast, X_test, y_test)
