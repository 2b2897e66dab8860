"""What a newcomer does with a classifier, from the first fit to the loaded file, on labels as they come."""

from __future__ import annotations

import pickle

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import shap
from sklearn.calibration import CalibratedClassifierCV
from sklearn.inspection import PartialDependenceDisplay, partial_dependence
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ordinal_objectives import HistGradientBoostingOrdinalClassifier, LGBMOrdinalClassifier, XGBOrdinalClassifier
from ordinal_objectives.metrics import ranked_probability_score
from ordinal_objectives.scorers import get_scorer

pytestmark = pytest.mark.slow

GRADES = np.array(["poor", "fair", "good", "very good", "excellent"])
SMALL = {"learning_rate": 0.3, "n_jobs": 1, "random_state": 0, "validation_fraction": 0.2}
MAKERS = {
    "xgboost": lambda **o: XGBOrdinalClassifier(
        n_estimators=200, max_depth=2, early_stopping_rounds=5, eval_metric="rps", **SMALL, **o
    ),
    "lightgbm": lambda **o: LGBMOrdinalClassifier(n_estimators=200, num_leaves=4, early_stopping_round=5, **SMALL, **o),
    "histogram": lambda **o: HistGradientBoostingOrdinalClassifier(
        max_iter=200, max_leaf_nodes=4, early_stopping=True, n_iter_no_change=5, **SMALL, **o
    ),
}


@pytest.mark.parametrize(("labels", "in_pipeline"), [("strings", False), ("stars", True)])
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_from_the_first_fit_to_the_loaded_file(make, labels, in_pipeline, ordinal_data, tmp_path):
    rows, codes = ordinal_data(900, 5)
    X = pd.DataFrame(rows, columns=["age", "dose", "size", "noise"])
    y = GRADES[codes] if labels == "strings" else codes + 1
    order = GRADES if labels == "strings" else np.arange(1, 6)
    X, X_test, y, y_test = train_test_split(X, y, test_size=300, stratify=y, random_state=0)
    classifier = make(classes=order)
    if in_pipeline:
        model = make_pipeline(StandardScaler().set_output(transform="pandas"), classifier)
        prefix = model.steps[-1][0] + "__"
    else:
        model, prefix = classifier, ""

    # Fit, with an early stop.
    model.fit(X, y)
    fitted = model[-1] if in_pipeline else model
    assert fitted.n_iter_ < 200
    assert fitted.ordered_classes_.tolist() == order.tolist()
    assert np.isin(model.predict(X_test), order).all()

    # A grid search with three scorers.
    scoring = {name: get_scorer(name) for name in ("neg_rps", "neg_mae", "qwk")}
    grid = {f"{prefix}learning_rate": [0.1, 0.3], f"{prefix}decision_rule": ["median", "mode"]}
    search = GridSearchCV(model, grid, scoring=scoring, refit="neg_rps", cv=2, error_score="raise").fit(X, y)
    assert search.cv_results_["mean_test_qwk"].max() > 0.5
    best = search.best_estimator_
    baseline = ranked_probability_score(y_test, np.full((300, 5), 0.2), labels=order)
    assert -scoring["neg_rps"](best, X_test, y_test) < 0.75 * baseline

    # Calibration.
    calibrated = CalibratedClassifierCV(best, method="sigmoid", cv=2).fit(X, y)
    assert calibrated.classes_.tolist() == sorted(order.tolist())
    assert -scoring["neg_rps"](calibrated, X_test, y_test) < 0.75 * baseline

    # Partial dependence, of the probability of the highest class.
    highest = order[-1]
    place = list(best.classes_).index(highest)
    average = partial_dependence(best, X, ["age"], grid_resolution=8)["average"][place]
    assert average[-1] > 3 * average[0]
    mpl.use("Agg")
    shown = PartialDependenceDisplay.from_estimator(best, X, ["age"], target=highest, grid_resolution=8)
    np.testing.assert_allclose(shown.lines_[0, 0].get_ydata(), average)
    mpl.pyplot.close("all")

    # Explanation of the score.
    last = best[-1] if in_pipeline else best
    inputs = best[:-1].transform(X_test) if in_pipeline else X_test
    if hasattr(last, "booster_"):
        explained = shap.TreeExplainer(last.booster_)(inputs)
    else:
        inputs = inputs.iloc[:20]
        explained = shap.Explainer(lambda rows: last.predict_raw(pd.DataFrame(rows, columns=X.columns)), inputs)(inputs)
    np.testing.assert_allclose(
        explained.values.sum(axis=1) + explained.base_values, last.predict_raw(inputs), atol=1e-4
    )
    assert np.abs(explained.values).mean(axis=0).argmin() >= 2  # size and noise say nothing

    # Save and load.
    last.save_model(tmp_path / "model.json")
    loaded = type(last)().load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.predict(inputs), last.predict(inputs))
    np.testing.assert_array_equal(loaded.predict_proba(inputs), last.predict_proba(inputs))
    assert loaded.classes_.tolist() == last.classes_.tolist()
    again = pickle.loads(pickle.dumps(best))
    np.testing.assert_array_equal(again.predict(X_test), best.predict(X_test))
