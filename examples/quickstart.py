"""
Quickstart
==========

Which party does a voter belong to? The answer is one of seven classes that have an order, from strong Democrat to
strong Republican. An ordinal model gives each voter one score and cuts the scale of the scores by six thresholds. The
trees grow the score, and the thresholds are learned beside it.

The data are 944 answers to the American National Election Study of 1996, which statsmodels has: age, education,
income, days with TV news, and where from left to right a voter places the candidates and himself. Two columns are left out:
the expected vote, which all but answers the question, and the logarithm of another column.
"""

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split
from statsmodels.datasets import anes96

table = anes96.load_pandas().data
X = table.drop(columns=["PID", "vote", "logpopul"])
democrats = ["strong Democrat", "weak Democrat", "leaning Democrat"]
republicans = ["leaning Republican", "weak Republican", "strong Republican"]
names = np.array([*democrats, "independent", *republicans])
y = names[table["PID"].astype(int)]
X_train, X_test, y_train, y_test = train_test_split(
    X, y, test_size=0.3, stratify=y, random_state=0
)

# %%
# Train and predict
# -----------------
#
# ``classes`` says the order of the labels, lowest first. Without a number of trees the classifier finds one by itself.

from ordinal_objectives import HistGradientBoostingOrdinalClassifier

model = HistGradientBoostingOrdinalClassifier(classes=names, random_state=0)
model.fit(X_train, y_train)
first = pd.DataFrame(
    model.predict_proba_ordered(X_test[:3]), columns=model.ordered_classes_
).round(2)
print(first.T.to_string())
print("predicted:", *model.predict(X_test[:3]), sep="\n  ")

# %%
# A picture of the model
# ----------------------
#
# Each row of points is a true class, the colour of a point is the class that is predicted, and the dashed lines are the
# thresholds. A feature may move single thresholds, so the predicted class need not be the one between the lines around
# its score: the axis says for how many rows it is not.

from ordinal_objectives.plotting import ScoreDistributionDisplay

scores = ScoreDistributionDisplay.from_estimator(model, X_test, y_test)

# %%
# The probabilities of some voters, whose party need not be known. The class at the dashed line is the median class,
# which is predicted.

from ordinal_objectives.plotting import RowProbabilitiesDisplay

rows = RowProbabilitiesDisplay.from_estimator(model, X_test[:10])

# %%
# Is it better than a plain model?
# --------------------------------
#
# A multiclass classifier knows no order. A regression of the class numbers, rounded, takes all steps between classes as
# equally long. All have the same number of trees, of the same depth. The mean absolute error (MAE) counts by how many
# classes a prediction is off, and lower is better. The ranked probability score (RPS) judges the probabilities, lower
# is better too, and a rounded regression has none. With seven classes and few rows a class, theory says that the order
# helps: a multiclass model learns each class for itself. One small table decides nothing all the same;
# `the evidence <https://github.com/ordinal-objectives/ordinal-objectives/blob/main/docs/evidence.md>`_ compares the
# methods on many.

import xgboost

from ordinal_objectives import XGBOrdinalClassifier
from ordinal_objectives.metrics import (
    mean_absolute_error,
    ranked_probability_score,
)

trees = {"n_estimators": 100, "max_depth": 2, "learning_rate": 0.05}
codes_train = model.encode_labels(y_train)
codes_test = model.encode_labels(y_test)
for one in (XGBOrdinalClassifier(**trees), xgboost.XGBClassifier(**trees)):
    one.fit(X_train, codes_train)
    mae = mean_absolute_error(codes_test, one.predict(X_test))
    rps = ranked_probability_score(codes_test, one.predict_proba(X_test))
    print(f"{type(one).__name__:<22} MAE {mae:.2f}   RPS {rps:.2f}")

regression = xgboost.XGBRegressor(**trees).fit(X_train, codes_train)
rounded = np.clip(np.rint(regression.predict(X_test)), 0, 6).astype(int)
mae = mean_absolute_error(codes_test, rounded)
print(f"regression, rounded    MAE {mae:.2f}")

# %%
# How the thresholds learn
# ------------------------
#
# The thresholds move after each tree: while the trees spread the scores apart, the thresholds follow. Fixed thresholds
# would cut the scores where they were right before the first tree.

from ordinal_objectives.plotting import TrainingDisplay

training = TrainingDisplay.from_estimator(model)

# %%
# Inside ``xgboost.train``
# ------------------------
#
# The same objective works in the framework's own ``train``. The callback keeps the thresholds in the booster, so they
# travel in XGBoost's own model file.

import tempfile
from pathlib import Path

from ordinal_objectives.adapters import xgb as oxgb

dtrain, dtest = xgboost.DMatrix(X_train, codes_train), xgboost.DMatrix(X_test)
objective = oxgb.OrdinalObjective(n_classes=7)
params = {
    "max_depth": 2,
    "eta": 0.05,
    "base_score": 0.0,
    "disable_default_eval_metric": 1,
}
booster = xgboost.train(
    params, dtrain, 100, obj=objective, callbacks=[objective.callback]
)

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "ordinal.json"
    booster.save_model(path)
    loaded = xgboost.Booster(model_file=path)
proba = oxgb.predict_proba(loaded, dtest)
print(proba[:2].round(2))
print("as before:", np.array_equal(proba, oxgb.predict_proba(booster, dtest)))
