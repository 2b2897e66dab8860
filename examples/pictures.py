"""
Every picture
=============

``ordinal_objectives.plotting`` has a display for each question that one asks of a fitted model. A display works as
those of scikit-learn do: ``from_estimator`` draws, and ``ax=`` says where. A class has one colour in all of them. The
colours are viridis without its ends, which keeps its order in print and for colour-blind eyes.

The data are simulated: how severe a disease is, by age, dose and the site of the clinic.
"""

import numpy as np
import pandas as pd

from ordinal_objectives import (
    OrdinalDistributionRegressor,
    OrdinalLabels,
    OrdinalPredictionSets,
    XGBOrdinalClassifier,
)
from ordinal_objectives.plotting import (
    ClassProbabilitiesDisplay,
    CumulativeReliabilityDisplay,
    DistributionFanDisplay,
    FeatureEffectDisplay,
    NetBenefitDisplay,
    OrdinalConfusionDisplay,
    PITDisplay,
    PredictionIntervalsDisplay,
    PredictionSetsDisplay,
    RatersSpreadDisplay,
    RowProbabilitiesDisplay,
    ScoreDistributionDisplay,
    TrainingDisplay,
)

rng = np.random.default_rng(0)
age, dose = rng.uniform(20, 80, 3000), rng.normal(size=3000)
site = pd.Categorical(rng.choice(["north", "south", "east", "west"], 3000))
X = pd.DataFrame({"age": age, "dose": dose, "site": site})
score = 0.1 * (age - 50) + 2 * (site == "north") + 1.5 * dose**2
score += rng.logistic(size=3000)
names = ["none", "mild", "moderate", "severe", "fatal"]
codes = np.digitize(score, [-1, 1, 3, 5])
y = pd.Categorical.from_codes(codes, names, ordered=True)
X_train, y_train, X_test, y_test = X[:2000], y[:2000], X[2000:], y[2000:]
model = XGBOrdinalClassifier(n_estimators=200, early_stopping_rounds=10)
model = model.fit(X_train, y_train, eval_set=[(X_test, y_test)], verbose=False)

# %%
# Scores and thresholds
# ---------------------

scores = ScoreDistributionDisplay.from_estimator(model, X_test, y_test)

# %%
# Training
# --------
#
# The losses, and the path of the thresholds. The line says which round is kept after an early stop.

training = TrainingDisplay.from_estimator(model)

# %%
# Errors
# ------

errors = OrdinalConfusionDisplay.from_estimator(model, X_test, y_test)

# %%
# Are the probabilities right?
# ----------------------------
#
# For each threshold: among the rows that have a stated probability of lying below it, how many did?

reliable = CumulativeReliabilityDisplay.from_estimator(model, X_test, y_test)

# %%
# New rows
# --------
#
# What is predicted for rows whose class nobody knows. The class at the dashed line is the median.

new = RowProbabilitiesDisplay.from_estimator(model, X_test[:8])

# %%
# Class probabilities along a feature
# -----------------------------------
#
# A number gives areas, and a category bars.

by_age = ClassProbabilitiesDisplay.from_estimator(model, X_test, "age")
by_site = ClassProbabilitiesDisplay.from_estimator(model, X_test, "site")

# %%
# Class probabilities along the score
# -----------------------------------

by_score = ClassProbabilitiesDisplay.from_estimator(model, X_test)

# %%
# What moves single thresholds
# ----------------------------
#
# The score moves all thresholds alike, and shifts move single ones. Both sides have one scale.

effect = FeatureEffectDisplay.from_estimator(model, X_test, "dose")

# %%
# What acting is worth
# --------------------
#
# Who treats patients from some probability of "severe" or worse on: net benefit beside treating all and none.

curve = NetBenefitDisplay.from_estimator(
    model, X_test, y_test, at_least="severe", n_draws=200
)

# %%
# Prediction sets
# ---------------
#
# How often the sets of each true class hold each class. The diagonal is the coverage.

sets = OrdinalPredictionSets(XGBOrdinalClassifier(n_estimators=30), alpha=0.1)
sets = sets.fit(X_train, y_train)
in_sets = PredictionSetsDisplay.from_estimator(sets, X_test, y_test)

# %%
# Raters who do not agree
# -----------------------
#
# What three doctors say of each row, beside the model's probabilities.

said = np.clip(codes[2000:] + rng.integers(-1, 2, (3, 1000)), 0, 4)
counts = (said[..., np.newaxis] == np.arange(5)).sum(axis=0)
answers = OrdinalLabels.from_counts(counts, classes=names)
raters = RatersSpreadDisplay.from_estimator(model, X_test, answers)

# %%
# Distributions of a number
# -------------------------
#
# A laboratory value: along a feature, of new rows, intervals beside what happened, and whether all distributions hold.

value = 50 + 5 * score
model = OrdinalDistributionRegressor(random_state=0).fit(X_train, value[:2000])
fan = DistributionFanDisplay.from_estimator(model, X_test[:300], "age")
new = DistributionFanDisplay.from_estimator(model, X_test[:8])
PredictionIntervalsDisplay.from_estimator(model, X_test[::5], value[2000::5])
pit = PITDisplay.from_estimator(model, X_test, value[2000:])
