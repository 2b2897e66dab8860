"""
A severity grade
================

How severe is a disease: none, mild, moderate, severe or critical? A patient comes several times, values of the
laboratory are missing, and to miss a severe case is worse than a false alarm. Medicine says that a higher marker never
means a milder disease, and the model must keep to that.

The data are simulated: 700 patients with up to four visits.
"""

import numpy as np
import pandas as pd
from sklearn.model_selection import GroupShuffleSplit

rng = np.random.default_rng(0)
patient = np.repeat(np.arange(700), rng.integers(1, 5, 700))
n = len(patient)
frailty = rng.normal(size=700)[patient]
visits = pd.DataFrame(
    {
        "age": rng.uniform(18, 90, 700)[patient].round(),
        "marker": rng.lognormal(1 + 0.5 * frailty, 0.6, n).round(1),
        "pulse": rng.normal(75 + 6 * frailty, 9, n).round(),
        "ward": pd.Categorical(rng.choice(["A", "B", "C"], n)),
    }
)
latent = (
    0.8 * np.log(visits["marker"])
    + 0.03 * (visits["age"] - 50)
    + frailty
    + rng.logistic(size=n)
)
names = np.array(["none", "mild", "moderate", "severe", "critical"])
grade = pd.Series(names[np.digitize(latent, [-0.5, 1.0, 2.5, 4.0])])
visits.loc[rng.random(n) < 0.25, "marker"] = np.nan
visits.loc[rng.random(n) < 0.10, "pulse"] = np.nan

# %%
# All visits of a patient are on one side: otherwise the model would be tested on people that it knows.

train, test = next(
    GroupShuffleSplit(1, test_size=0.4, random_state=0).split(
        visits, grade, patient
    )
)
X_train, y_train, X_test, y_test = (
    visits.iloc[train],
    grade.iloc[train],
    visits.iloc[test],
    grade.iloc[test],
)

# %%
# A model that keeps what is known
# --------------------------------
#
# ``monotonic_cst`` makes high grades no less probable where the marker is higher. The native engine splits by the
# categories of the ward and knows what to do with missing values. ``groups`` keeps patients together where rows are
# held out to find the number of trees.

from ordinal_objectives import HistGradientBoostingOrdinalClassifier
from ordinal_objectives.plotting import ClassProbabilitiesDisplay

model = HistGradientBoostingOrdinalClassifier(
    classes=names,
    monotonic_cst={"marker": 1},
    learning_rate=0.05,
    random_state=0,
)
model.fit(X_train, y_train, groups=patient[train])
by_marker = ClassProbabilitiesDisplay.from_estimator(model, X_test, "marker")

# %%
# Whom to watch
# -------------
#
# ``predict_at_least`` is the probability of a grade or a higher one. A ward has ten beds with a monitor: take the
# visits with the highest probability of "severe" or worse.

risk = model.predict_at_least(X_test, "severe")
watched = np.argsort(-risk)[:10]
is_severe = y_test.isin(["severe", "critical"]).to_numpy()
print(
    f"severe or critical: {is_severe.mean():.0%} of all visits, {is_severe[watched].mean():.0%} of the ten watched"
)

# %%
# Errors have prices
# ------------------
#
# Here each grade too low costs three times as much as a grade too high. Such costs change the decision and leave the
# model as it is.

import matplotlib.pyplot as plt

from ordinal_objectives import decide
from ordinal_objectives.plotting import OrdinalConfusionDisplay

steps = np.subtract.outer(np.arange(5), np.arange(5))  # true minus predicted
costs = np.where(steps > 0, 3.0 * steps, -steps)
codes = model.encode_labels(y_test)
proba = model.predict_proba_ordered(X_test)
decided = {
    "median": decide(proba),
    "by costs": decide(proba, cost_matrix=costs),
}
figure, axes = plt.subplots(1, 2, figsize=(11, 4.8), layout="constrained")
for ax, (rule, predicted) in zip(axes, decided.items(), strict=True):
    OrdinalConfusionDisplay.from_predictions(
        codes, predicted, class_names=names, ax=ax
    )
    ax.set_title(
        f"{rule}: mean cost {costs[codes, predicted].mean():.2f}",
        fontsize="medium",
    )

# %%
# Keep it
# -------
#
# The file is a documented format that nothing executes. A loaded model predicts the same.

import tempfile
from pathlib import Path

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "severity.model"
    model.save_model(path)
    loaded = HistGradientBoostingOrdinalClassifier()
    loaded.load_model(path)
print(
    "the same probabilities:",
    np.array_equal(loaded.predict_proba(X_test), model.predict_proba(X_test)),
)
