"""
A star rating
=============

One to five stars for things bought online. Most ratings are five stars, some are one, and few lie between. The task is
judged by quadratic weighted kappa, as such tasks often are.

The data are simulated: delivery, price, length and tone of the text, photos, and the kind of the thing.
"""

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

rng = np.random.default_rng(0)
n = 3000
X = pd.DataFrame(
    {
        "days late": rng.poisson(1.5, n).astype(float),
        "price": rng.lognormal(3, 1, n),
        "words": rng.negative_binomial(2, 0.03, n).astype(float),
        "tone": rng.normal(size=n),
        "photos": rng.poisson(0.4, n).astype(float),
        "kind": rng.choice(["book", "cable", "lamp", "shoes"], n),
    }
)
latent = (
    2.5
    - 0.6 * X["days late"]
    + 1.2 * X["tone"]
    - 0.01 * X["words"]
    - 0.8 * (X["kind"] == "shoes")
)
stars = 1 + np.digitize(
    latent + 1.3 * rng.logistic(size=n), [-1.5, -0.8, 0.1, 1.3]
)
X.loc[rng.random(n) < 0.2, "days late"] = np.nan  # not every shop says it
X_train, X_test, y_train, y_test = train_test_split(
    X, stars, test_size=0.4, stratify=stars, random_state=0
)
print(
    pd.Series(y_train)
    .value_counts(normalize=True)
    .sort_index()
    .round(2)
    .to_dict()
)

# %%
# A pipeline and a search
# -----------------------
#
# The classifier is a step like any other. The scorer judges probabilities by the ranked probability score, which does
# not depend on how they become stars. Labels that are numbers need no order to be said.

from sklearn.compose import make_column_transformer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from ordinal_objectives import LGBMOrdinalClassifier
from ordinal_objectives.scorers import get_scorer

encoder = make_column_transformer(
    (OneHotEncoder(sparse_output=False), ["kind"]),
    remainder="passthrough",
    verbose_feature_names_out=False,
)
encoder.set_output(transform="pandas")
booster = LGBMOrdinalClassifier(
    n_estimators=80, learning_rate=0.1, random_state=0, verbose=-1
)
grid = {
    "lgbmordinalclassifier__num_leaves": [4, 15],
    "lgbmordinalclassifier__reg_lambda": [0.0, 10.0],
}
search = GridSearchCV(
    make_pipeline(encoder, booster), grid, scoring=get_scorer("neg_rps"), cv=3
)
search.fit(X_train, y_train)
print(search.best_params_)

# %%
# Decide for kappa
# ----------------
#
# The median class is the decision for the absolute error. For kappa the expected class is spread away from its mean and
# rounded. ``OrdinalTunedClassifier`` finds how far on rows that copies of the pipeline were not trained on.

import matplotlib.pyplot as plt

from ordinal_objectives import OrdinalTunedClassifier
from ordinal_objectives.metrics import quadratic_weighted_kappa
from ordinal_objectives.plotting import OrdinalConfusionDisplay

by_kappa = OrdinalTunedClassifier(search.best_estimator_, rule="kappa")
decided = {
    "median": search.predict(X_test),
    "kappa": by_kappa.fit(X_train, y_train).predict(X_test),
}

figure, axes = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
for ax, (rule, predicted) in zip(axes, decided.items(), strict=True):
    OrdinalConfusionDisplay.from_predictions(
        y_test, predicted, labels=[1, 2, 3, 4, 5], ax=ax
    )
    ax.set_title(
        f"{rule}: QWK {quadratic_weighted_kappa(y_test, predicted):.3f}; {ax.get_title()}",
        fontsize="small",
    )

# %%
# What moves the stars?
# ---------------------
#
# The displays take the pipeline, and name the features that it is given.

from ordinal_objectives.plotting import ClassProbabilitiesDisplay

by_delay = ClassProbabilitiesDisplay.from_estimator(
    search, X_test, "days late"
)
