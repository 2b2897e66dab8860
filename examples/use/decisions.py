"""
Decision rules compared
=======================

A model says how probable each class is. Which class to predict depends on what an error costs. One model, several
decisions: only the rule for kappa trains copies of it.

The data are simulated: grades of a loan, from A (lowest risk) to E, by income, debt and years in the job.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from ordinal_objectives import (
    OrdinalTunedClassifier,
    XGBOrdinalClassifier,
    decide,
)
from ordinal_objectives.metrics import (
    mean_absolute_error,
    quadratic_weighted_kappa,
    zero_one_error,
)
from ordinal_objectives.plotting import OrdinalConfusionDisplay

rng = np.random.default_rng(0)
X = pd.DataFrame(
    {
        "income": rng.lognormal(10, 0.5, 3000),
        "debt": rng.lognormal(8, 1, 3000),
        "years": rng.integers(0, 30, 3000),
    }
)
risk = (
    np.log(X["debt"])
    - np.log(X["income"])
    - 0.05 * X["years"]
    + 0.7 * rng.logistic(size=3000)
)
names = np.array(["A", "B", "C", "D", "E"])
y = names[np.digitize(risk, np.quantile(risk, [0.35, 0.7, 0.88, 0.96]))]
X_train, y_train, X_test, y_test = X[:2000], y[:2000], X[2000:], y[2000:]

model = XGBOrdinalClassifier(classes=names, random_state=0).fit(
    X_train, y_train
)
proba, codes = model.predict_proba_ordered(X_test), model.encode_labels(y_test)

# %%
# Rules
# -----
#
# ``"median"`` is the default and suits the absolute error, ``"mode"`` the share of right classes and ``"mean"`` the
# squared error. For quadratic weighted kappa (QWK) the best rule needs rows that the model was not trained on:
# ``OrdinalTunedClassifier`` trains copies on some of the rows. With costs that are known,
# ``cost_matrix`` has a row for each true class: here a grade that is too good costs four times as much as one that is
# too bad.

steps = np.subtract.outer(np.arange(5), np.arange(5))  # true minus predicted
costs = np.where(steps > 0, 4.0 * steps, -steps)

by_kappa = OrdinalTunedClassifier(model, rule="kappa").fit(X_train, y_train)
decisions = {rule: decide(proba, rule) for rule in ("median", "mode", "mean")}
decisions["kappa"] = by_kappa.encode_labels(by_kappa.predict(X_test))
decisions["costs"] = decide(proba, cost_matrix=costs)

# %%
# Each rule is the best one for its own column on average; on 1,000 rows another may be better by chance. Zero-one error
# and absolute error (MAE) are better when low, QWK when high. The last column is the mean cost.

judged = {
    name: {
        "zero-one": zero_one_error(codes, predicted),
        "MAE": mean_absolute_error(codes, predicted),
        "QWK": quadratic_weighted_kappa(codes, predicted),
        "cost": costs[codes, predicted].mean(),
    }
    for name, predicted in decisions.items()
}
print(pd.DataFrame(judged).T.round(3).to_string())

# %%
# Where the errors go
# -------------------
#
# The median on the left, and the decision by costs on the right, which prefers errors above the diagonal.

figure, axes = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
for ax, rule in zip(axes, ("median", "costs"), strict=True):
    OrdinalConfusionDisplay.from_predictions(
        codes, decisions[rule], class_names=names, ax=ax
    )
    ax.set_title(f"{rule}: {ax.get_title()}", fontsize="small")

# %%
# Any other metric has ``OrdinalTunedClassifier``, which tunes cut points on rows that copies were not trained on.
