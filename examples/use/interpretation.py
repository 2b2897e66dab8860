"""
Interpretation
==============

How do the features act in a model? This example looks at one model in several ways: which feature moves which
threshold, what a single row's score is made of, and by how much probabilities change.

The data are simulated: how people rate their health, by age, income, sport and a smoking habit. Smoking moves the
only the lowest threshold, age moves all of them, and sport depends on age but has no effect.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from ordinal_objectives import (
    HistGradientBoostingOrdinalClassifier,
    inspection,
)
from ordinal_objectives.plotting import FeatureEffectDisplay

rng = np.random.default_rng(0)
age = rng.uniform(20, 80, 2000)
X = pd.DataFrame(
    {
        "age": age,
        "income": rng.lognormal(10, 0.4, 2000),
        "sport": 8 - age / 12 + rng.normal(size=2000),
        "smokes": pd.Categorical(rng.choice(["no", "yes"], 2000)),
    }
)
margins = (
    np.array([-2.5, -0.5, 1.5])
    + 0.04 * (age[:, None] - 50)
    - np.log(X[["income"]].to_numpy() / 22000)
)
margins[:, 0] += 1.5 * (X["smokes"] == "yes")
names = np.array(["poor", "fair", "good", "excellent"])
y = names[
    (rng.logistic(size=(2000, 1)) > np.sort(margins, axis=1)).sum(axis=1)
]

model = HistGradientBoostingOrdinalClassifier(
    classes=names, max_iter=60, max_leaf_nodes=10, random_state=0
).fit(X, y)
print(inspection.summary(model, X, y, random_state=0))

# %%
# Which feature moves which threshold?
# ------------------------------------
#
# A row of equal numbers says that the feature moves all thresholds alike.

print(
    inspection.threshold_importances(model, X, random_state=0)
    .to_frame()
    .round(2)
    .to_string()
)

# %%
# The test of proportional odds asks whether rows that were held out confirm that single thresholds move. A small
# p-value says that one score is not enough.

print(
    inspection.proportional_odds_test(model, X, y, random_state=0)
    .to_frame()
    .round(4)
    .to_string()
)

# %%
# Along one feature
# -----------------
#
# A shift is added to the score for one threshold. For smokers the sum of both is much lower at the threshold of poor
# health, which becomes more probable. At the other thresholds the shifts take back most of what the score says.

by_smoking = FeatureEffectDisplay.from_estimator(model, X, "smokes")

# %%
# Sport goes along with age. Partial dependence (``kind="partial"``) would give every person every age, also beside an
# amount of sport that nobody has at that age, where the model was never trained. Accumulated local effects move a row
# only as far as its neighbours.

by_age = FeatureEffectDisplay.from_estimator(
    model, X, "age", kind="local", grid_resolution=20
)

# %%
# By how much do probabilities change?
# ------------------------------------
#
# The average marginal effect of ten years: the change of each class's probability, averaged over all rows. The
# intervals are of the true effect: ``n_refits`` copies are trained for them.

effects = inspection.average_marginal_effects(
    model, X, "age", step=10.0, n_refits=5, random_state=0
)
print(effects.to_frame().round(3).to_string())

# %%
# What is a row's score made of?
# ------------------------------
#
# SHAP values add up to the score, beside a base value that all rows share. The bars are those of one person.

shares = inspection.shap_values(model, X[:1])
print(X[:1].round(1).to_string(index=False))
figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
ax.barh(
    X.columns,
    shares.values[0],
    color=[
        "tab:blue" if share > 0 else "tab:orange" for share in shares.values[0]
    ],
)
ax.axvline(0, color="black", linewidth=0.8)
ax.set(
    xlabel="what the feature adds to the score; right: better health",
    ylabel="feature",
)
