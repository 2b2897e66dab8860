"""
The distribution of a number
============================

How many days will a patient stay? A mean is not enough: the ward wants to know how many beds suffice with probability
.95, and how likely a stay beyond a week is. ``OrdinalDistributionRegressor`` cuts the days into ordered classes, trains an
ordinal classifier of them, and has the whole distribution of each patient.

The data are simulated. Age moves the stay, and a second illness makes it less certain.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from ordinal_objectives import OrdinalDistributionRegressor
from ordinal_objectives.distributions import interval_coverage, quantile_loss
from ordinal_objectives.plotting import DistributionFanDisplay, PITDisplay

rng = np.random.default_rng(0)
n = 4000
X = pd.DataFrame(
    {
        "age": rng.uniform(20, 90, n),
        "second illness": rng.random(n) < 0.3,
        "blood pressure": rng.normal(130, 15, n),
    }
)
spread = np.where(X["second illness"], 0.9, 0.4)
days = np.round(np.exp(0.5 + 0.02 * X["age"] + spread * rng.normal(size=n)))
train, test = slice(0, 3000), slice(3000, n)

model = OrdinalDistributionRegressor(random_state=0)
model.fit(X[train], days[train])

# %%
# Questions to the model
# ----------------------
#
# Two patients of the same age: one without and one with a second illness.

two = pd.DataFrame(
    {
        "age": [70.0, 70.0],
        "second illness": [False, True],
        "blood pressure": [130.0, 130.0],
    }
)
pd.DataFrame(
    {
        "mean": model.predict(two),
        "median": model.predict_quantile(two, 0.5),
        "95% are shorter than": model.predict_quantile(two, 0.95),
        "P(more than a week)": model.predict_exceedance(two, 7),
    },
    index=["without", "with"],
).round(2)

# %%
# Along a feature
# ---------------
#
# The bands hold 30, 50, 70 and 90% of the probability. Days are whole numbers, so the bands move in steps.

figure, axes = plt.subplots(
    1, 2, figsize=(12, 4), layout="constrained", sharey=True
)
for ax, ill in zip(axes, (False, True), strict=True):
    some = X[test].query("`second illness` == @ill")
    DistributionFanDisplay.from_estimator(model, some, "age", ax=ax)
    title = f"{'with' if ill else 'without'} a second illness"
    ax.set(title=title, ylabel="days")

# %%
# Do the distributions hold?
# --------------------------
#
# The bars are level where they do. Twice the quantile loss, over many levels, is the continuous ranked probability
# score: here beside that of the days of all patients, which know nothing of the features.

display = PITDisplay.from_estimator(model, X[test], days[test])

# %%

levels = np.arange(1, 100) / 100
quantiles = model.predict_quantile(X[test], levels)
without = np.tile(np.quantile(days[train], levels), (n - 3000, 1))
{
    "model": 2 * quantile_loss(days[test], quantiles, levels),
    "all patients": 2 * quantile_loss(days[test], without, levels),
    "in 90% intervals": interval_coverage(
        days[test], model.predict_interval(X[test], 0.9)
    ),
}
