"""
Judges, rubrics, graders
========================

A language model scores answers by six criteria, and people have labelled some of them from 1 to 5. The judge is lenient, and
prefers long answers; people differ in severity. A model of ordered classes turns its scores into what a person would say.

The data are simulated. :doc:`How to agree with people </how_to/judges>` has more, and a table of methods.
"""

import numpy as np
import pandas as pd

rng = np.random.default_rng(1)
n, grades = 3000, range(1, 6)
quality, length = rng.normal(size=(2, n))
severity = rng.normal(scale=0.9, size=8)
names = np.array(["Ann", "Bob", "Cy", "Dee", "Eve", "Fay", "Gus", "Hal"])


def label(grader):
    score = 1.6 * quality - severity[grader] + 0.8 * rng.logistic(size=n)
    return 1 + np.digitize(score, [-2, -0.7, 0.7, 2])


first = rng.integers(8, size=n)
second = (first + rng.integers(1, 8, size=n)) % 8
y, again = label(first), label(second)
seen = quality[:, None] + 0.5 * rng.normal(size=(n, 6))
scores = np.clip(np.round(3.8 + 0.5 * seen + 0.35 * length[:, None]), 1, 5)
X = pd.DataFrame(scores, columns=[f"criterion {k}" for k in range(1, 7)])
X = X.assign(length=length, grader=names[first])
train, test = np.arange(300), np.arange(300, n)

# %%
# How far do people agree?
# ------------------------
#
# Two people have graded each answer. Each pair of them has a kappa with its interval; the orange band is the highest kappa
# that a model can reach which does not know the grader.

import matplotlib.pyplot as plt

from ordinal_objectives.agreement import agreement_report
from ordinal_objectives.plotting import AgreementDisplay

found = agreement_report(
    np.tile(np.arange(n), 2),
    names[np.r_[first, second]],
    np.r_[y, again],
)
print(f"alpha {found.alpha.value:.2f}, ceiling {found.ceiling.value:.2f}")
AgreementDisplay(found).plot()

# %%
# 300 labels
# ----------
#
# The judge's own score agrees with people far less than a model of its criteria does. Where the graders of new answers are
# known, a random intercept learns their severity, and passes the ceiling of those who do not know them.

from ordinal_objectives import (
    HistGradientBoostingOrdinalClassifier,
    OrdinalTunedClassifier,
)
from ordinal_objectives.metrics import interval


def tuned(**options):
    model = HistGradientBoostingOrdinalClassifier(
        linear=True, classes=grades, random_state=0, **options
    )
    return OrdinalTunedClassifier(
        model, metric="qwk", rule="kappa", random_state=0
    )


scored = X.drop(columns="grader")
model = tuned().fit(scored.iloc[train], y[train])
mixed = tuned(loss="cumulative_link", random_intercept="grader")
mixed.fit(X.iloc[train], y[train])
decisions = {
    "the judge itself": scores[test].mean(axis=1).round().astype(int),
    "model": model.predict(scored.iloc[test]),
    "model with graders": mixed.predict(X.iloc[test]),
}
for name, predicted in decisions.items():
    kappa = interval("qwk", y[test], predicted)
    print(
        f"{name:<19} kappa {kappa.value:.2f}, {kappa.low:.2f} to {kappa.high:.2f}"
    )

# %%
# Do the probabilities hold?
# --------------------------

from ordinal_objectives.plotting import CumulativeReliabilityDisplay

CumulativeReliabilityDisplay.from_estimator(model, scored.iloc[test], y[test])

# %%
# Who is strict?
# --------------
#
# The effect of each grader, with twice its standard error, beside the severity that the simulation knows. A strict grader has a
# negative effect.

plain = mixed.estimator.fit(X.iloc[train], y[train])
effects = plain.random_effects_.to_frame().loc[names]
_, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
ax.errorbar(
    names,
    effects["effect"],
    2 * effects["standard_error"],
    fmt="o",
    label="effect",
)
ax.plot(names, severity.mean() - severity, "x", label="simulated")
ax.legend()
plt.show()
