"""
A survey
========

"How satisfied are you with your work?", five answers from "very dissatisfied" to "very satisfied". The file has labels
as text, an ordered and an unordered category, answers that are missing, and a weight for each person, since some groups
were asked more often than others.

The data are simulated.
"""

import io

import numpy as np
import pandas as pd

rng = np.random.default_rng(0)
n = 2500
hours = rng.normal(38, 8, n).clip(5, 70)
pay = pd.Categorical.from_codes(
    rng.integers(0, 3, n), ["low", "middle", "high"], ordered=True
)
sector = rng.choice(
    ["care", "industry", "office", "trade"], n, p=[0.2, 0.3, 0.3, 0.2]
)
answers = [
    "very dissatisfied",
    "dissatisfied",
    "neither",
    "satisfied",
    "very satisfied",
]
latent = (
    0.6 * pay.codes
    - 0.05 * np.abs(hours - 32)
    - 0.8 * (sector == "care")
    + rng.logistic(size=n)
)
table = pd.DataFrame({"hours": hours.round(), "pay": pay, "sector": sector})
table["answer"] = np.array(answers)[np.digitize(latent, [-2.5, -1, 0, 1.5])]
table["weight"] = np.where(sector == "care", 0.5, 1.2)
table.loc[rng.random(n) < 0.1, "hours"] = np.nan
table.loc[rng.random(n) < 0.15, "pay"] = np.nan
file = io.StringIO(table.to_csv(index=False))

# %%
# Read the file
# -------------
#
# A file knows no categories: say which columns are, and in which order the answers stand. Missing values stay missing:
# the trees send them to the side that suits them.

from sklearn.model_selection import train_test_split

survey = pd.read_csv(file)
survey["pay"] = pd.Categorical(survey["pay"], ["low", "middle", "high"])
survey["sector"] = survey["sector"].astype("category")
survey["answer"] = pd.Categorical(survey["answer"], answers, ordered=True)
print(survey.head().to_string())
print("missing:", survey.isna().sum().to_dict())
train, test = train_test_split(
    survey, test_size=0.3, stratify=survey["answer"], random_state=0
)
features = ["hours", "pay", "sector"]

# %%
# Train with early stopping
# -------------------------
#
# A tenth of the rows is held out and decides when the training stops. The categorical labels contain their order.

from ordinal_objectives import XGBOrdinalClassifier
from ordinal_objectives.plotting import TrainingDisplay

model = XGBOrdinalClassifier(
    n_estimators=500,
    learning_rate=0.1,
    early_stopping_rounds=20,
    validation_fraction=0.1,
)
model.set_params(random_state=0).fit(
    train[features],
    train["answer"],
    sample_weight=train["weight"],
    verbose=False,
)
training = TrainingDisplay.from_estimator(model)

# %%
# How good is it?
# ---------------
#
# The baseline gives everybody the frequencies of the answers.

from ordinal_objectives.metrics import ranked_probability_score

codes = model.encode_labels(test["answer"])
shares = (
    np.bincount(model.encode_labels(train["answer"]), weights=train["weight"])
    / train["weight"].sum()
)
for name, proba in {
    "shares alone": np.tile(shares, (len(test), 1)),
    "model": model.predict_proba_ordered(test[features]),
}.items():
    rps = ranked_probability_score(codes, proba, sample_weight=test["weight"])
    print(f"{name:<12} ranked probability score {rps:.3f}")

# %%
# Who is satisfied?
# -----------------
#
# Averages over the people of the test rows, along the hours and by sector.

from ordinal_objectives.plotting import ClassProbabilitiesDisplay

by_hours = ClassProbabilitiesDisplay.from_estimator(
    model, test[features], "hours"
)

# %%

by_sector = ClassProbabilitiesDisplay.from_estimator(
    model, test[features], "sector"
)

# %%
# Effects with intervals
# ----------------------
#
# For a report, one number for each answer: the change of its probability where the pay is not low. Files of surveys
# often have replicate weights, which hold how people were drawn. Here they are made, by a bootstrap within each sector.
# A copy of the model is trained with each column, and the spread of their effects gives the intervals.

from ordinal_objectives.inspection import average_marginal_effects

weight, n_replicates = train["weight"].to_numpy(), 30
replicates = np.empty((len(train), n_replicates))
for sector in train["sector"].cat.categories:
    rows = np.flatnonzero(train["sector"] == sector)
    n = len(rows)
    times = rng.multinomial(n - 1, np.full(n, 1 / n), size=n_replicates).T
    replicates[rows] = weight[rows, None] * times * n / (n - 1)

effects = average_marginal_effects(
    model,
    train[features],
    "pay",
    reference="low",
    y=train["answer"],
    sample_weight=weight,
    replicate_weights=replicates,
    replicate_scale=1 / n_replicates,
)
print(effects.to_frame().round(3).to_string())

# %%
# Where a file names the towns or households that people were drawn from, ``groups=`` does the same by them.
