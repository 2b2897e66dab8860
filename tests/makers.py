"""Small classifiers that the tests train, and the tests' parameters that go through them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import lightgbm
import numpy as np
import pytest
import sklearn
from lightgbm import LGBMClassifier
from packaging.version import Version
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import has_fit_parameter
from xgboost import XGBClassifier

from ordinal_objectives import HistGradientBoostingOrdinalClassifier, LGBMOrdinalClassifier, XGBOrdinalClassifier
from ordinal_objectives.losses import get_loss

# What the hosts, and scikit-learn in place of the engine, do without arguments where our classifiers do otherwise.
XGB_DEFAULTS = {"subsample": 1.0}
LGB_DEFAULTS = {"learning_rate": 0.1, "subsample": 1.0, "subsample_freq": 0, "min_child_samples": 20}
SKLEARN_DEFAULTS = {"subsample": 1.0, "min_samples_leaf": 20, "l2_regularization": 0.0}
SMALL = {"learning_rate": 0.3, "n_jobs": 1}


def watching(model: Any, X: Any, y: Any, weight: Any = None) -> dict[str, Any]:
    """Return an evaluation set, and its weights, as the ``fit`` of a classifier takes them."""
    if has_fit_parameter(model, "X_val"):
        return {"X_val": X, "y_val": y} | ({} if weight is None else {"sample_weight_val": weight})
    if weight is None:
        return {"eval_set": [(X, y)]}
    name = next(one for one in ("sample_weight_eval_set", "eval_sample_weight") if has_fit_parameter(model, one))
    return {"eval_set": [(X, y)], name: [weight]}


def make_xgb(**params: Any) -> XGBOrdinalClassifier:
    return XGBOrdinalClassifier(**{"n_estimators": 15, "max_depth": 3, **XGB_DEFAULTS, **SMALL, **params})


def make_lgb(**params: Any) -> LGBMOrdinalClassifier:
    options = {"n_estimators": 15, "num_leaves": 6, **LGB_DEFAULTS, "min_child_samples": 5, **SMALL, **params}
    return LGBMOrdinalClassifier(**options)


def make_engine(**params: Any) -> HistGradientBoostingOrdinalClassifier:
    return HistGradientBoostingOrdinalClassifier(
        **{"max_iter": 15, "max_leaf_nodes": 6, **SKLEARN_DEFAULTS, **SMALL, **params}
    )


def make_cat(**params: Any) -> Any:
    # CatBoost does not start beside the runtime of the thread sanitizer.
    from ordinal_objectives import CatBoostOrdinalClassifier

    return CatBoostOrdinalClassifier(**{"iterations": 15, "depth": 3, "random_state": 0, **SMALL, **params})


def margins_of(model: Any, X: Any, **start: Any) -> np.ndarray:
    """Return the margins that a model's probabilities are made of, (n_samples, n_classes - 1)."""
    scores = model._scores(X, **start)
    return model.thresholds_ - (scores if scores.ndim == 2 else scores[:, np.newaxis])


def mean_loss(model: Any, X: Any, y: Any, weight: Any = None, *, trained: bool = False, **start: Any) -> float:
    """Return the mean loss of a model's predictions, or with ``trained`` as its training records it."""
    loss, margins = get_loss(model.loss, model.link), margins_of(model, X, **start)
    if model.proportional_:
        values = loss.value(model.predict_raw(X, **start), y, model.thresholds_)
    else:
        in_order = loss.ordered and not trained
        values = loss.margin_derivatives(np.sort(margins, axis=1) if in_order else margins, y, "exact").value
    return float(np.average(values, weights=weight))


BOTH = pytest.mark.parametrize("make", [make_xgb, make_lgb], ids=["xgboost", "lightgbm"])

MAKERS: dict[str, Any] = {
    "xgboost": partial(make_xgb, n_estimators=6),
    "lightgbm": partial(make_lgb, n_estimators=6),
    "histogram": partial(make_engine, max_iter=6),
}
ALL = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)

# Classifiers that are not ours, in ensembles with ours.
FOREIGN = {
    "xgboost multiclass": partial(XGBClassifier, n_estimators=4, max_depth=2, n_jobs=1),
    "lightgbm multiclass": partial(LGBMClassifier, n_estimators=4, num_leaves=4, n_jobs=1, verbose=-1),
    "scikit-learn": partial(HistGradientBoostingClassifier, max_iter=4, max_leaf_nodes=4),
    "linear": LogisticRegression,
    "pipeline": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
}
# LightGBM's own classifier asks scikit-learn for an argument that 1.8 no longer has.
LIGHTGBM_CLASSIFIES = Version(lightgbm.__version__) >= Version("4.6") or Version(sklearn.__version__) < Version("1.8")
if not LIGHTGBM_CLASSIFIES:
    del FOREIGN["lightgbm multiclass"]
EVERY = MAKERS | FOREIGN
PAIR = [("trees", MAKERS["histogram"]()), ("linear", LogisticRegression())]


def scikit_learn_checks(estimators: Sequence[Any], **options: Any) -> pytest.MarkDecorator:
    """Return scikit-learn's parametrisation; no case writes its estimator out, which takes seconds for all of them."""
    mark = parametrize_with_checks(estimators, **options).mark
    name_of = mark.kwargs["ids"]

    def short(part: Any) -> Any:
        return type(part).__name__ if isinstance(part, BaseEstimator) else name_of(part)

    return pytest.mark.parametrize(*mark.args, ids=short)


class Given(ClassifierMixin, BaseEstimator):
    """Returns its features as the probabilities of ``labels``, columns as these are sorted."""

    def __init__(self, labels: Any = None) -> None:
        self.labels = labels

    def fit(self, X: Any, y: Any) -> Given:
        self.classes_ = np.unique(y if self.labels is None else self.labels)
        return self

    def predict_proba(self, X: Any) -> Any:
        return np.asarray(X)[:, : len(self.classes_)]

    def predict(self, X: Any) -> Any:
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]


def given(n_classes: int) -> FrozenEstimator:
    """Return a trained classifier of the codes 0, 1, ..."""
    return FrozenEstimator(Given(range(n_classes)).fit(None, None))


def draw(rng: np.random.Generator, n_rows: int, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return probabilities, some of them with zeros and ties, and classes that they do not describe well."""
    P = rng.dirichlet(np.full(n_classes, 0.7), n_rows)
    coarse = rng.integers(0, 4, (n_rows // 3, n_classes)) + 0.0
    coarse[:, 0] += coarse.sum(axis=1) == 0
    P[: n_rows // 3] = coarse / coarse.sum(axis=1, keepdims=True)
    codes = np.array([rng.choice(n_classes, p=0.5 * p + 0.5 / n_classes) for p in P])
    return P, codes
