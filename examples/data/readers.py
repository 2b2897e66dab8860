"""
Several readers
===============

Scans are graded by two to five readers, who do not agree. A vote reduces their grades to one label and loses their
disagreement; the shares of the grades keep it.

The data are simulated: how often a grade is read right depends on the grade.
"""

import numpy as np

rng = np.random.default_rng(0)
n, n_classes = 3000, 5
X = rng.normal(size=(n, 6))
latent = X[:, 0] + 0.7 * X[:, 1] * (X[:, 2] > 0) + 0.6 * rng.logistic(size=n)
truth = np.digitize(latent, np.quantile(latent, [0.3, 0.55, 0.75, 0.9]))
right = np.array([0.8, 0.5, 0.4, 0.45, 0.7])
row = np.repeat(np.arange(n), rng.integers(2, 6, n))
reader = np.arange(len(row)) - np.searchsorted(row, row)
away = rng.choice([-2, -1, 1, 2], len(row), p=[0.1, 0.4, 0.4, 0.1])
is_right = rng.random(len(row)) < right[truth[row]]
grade = np.clip(truth[row] + np.where(is_right, 0, away), 0, n_classes - 1)

# %%
# How far do they agree?
# ----------------------
#
# 1 is agreement, 0 what chance would give.

from ordinal_objectives.agreement import krippendorff_alpha

print(f"Krippendorff's alpha {krippendorff_alpha(row, reader, grade):.2f}")

# %%
# Votes or shares
# ---------------
#
# Both models are judged by the true grade of other scans, which the simulation knows. Shares are ahead here. A model of
# shares predicts what a reader says, and where readers err often, votes can be nearer to the truth.

from ordinal_objectives import (
    HistGradientBoostingOrdinalClassifier,
    OrdinalLabels,
)
from ordinal_objectives.metrics import ranked_probability_score

labels = OrdinalLabels.from_raters(
    row, reader, grade, n_rows=n, classes=range(5)
)
shares = labels.patterns[labels.codes]
train, test = np.arange(2000), np.arange(2000, n)
models = {}
for name, y in {
    "votes": shares.argmax(axis=1)[train],
    "shares": labels[train],
}.items():
    model = HistGradientBoostingOrdinalClassifier(
        classes=range(5), random_state=0
    )
    models[name] = model.fit(X[train], y)
    proba = models[name].predict_proba_ordered(X[test])
    rps = ranked_probability_score(truth[test], proba)
    print(f"{name:<7} ranked probability score {rps:.3f}")

# %%
# The readers' spread beside the model's
# --------------------------------------
#
# Other scans, from those with a low expected grade to those with a high one; a column has forty of them. On the left what
# readers said, on the right what the model expects them to say: it knows where they do not agree.

import matplotlib.pyplot as plt

from ordinal_objectives.plotting import RatersSpreadDisplay

RatersSpreadDisplay.from_estimator(models["shares"], X[test], labels[test])

# %%
# The model of votes is surer than the readers are, as the standard deviations say.

RatersSpreadDisplay.from_estimator(models["votes"], X[test], labels[test])
plt.show()
