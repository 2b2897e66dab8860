"""Groups of rows in classifiers around others: none stands on both sides of a division, at any depth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn import config_context
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import VotingClassifier
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, PredefinedSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from makers import make_engine
from ordinal_objectives import (
    OrdinalCalibratedClassifier,
    OrdinalDistributionRegressor,
    OrdinalEnsembleClassifier,
    OrdinalPredictionSets,
    OrdinalTunedClassifier,
)
from ordinal_objectives.estimators import held_out
from pairs import each_pair

pytestmark = pytest.mark.usefixtures("few_cut_points")

SIZE = 4  # rows of a group
KINDS: dict[str, Callable[..., Any]] = {
    "calibrated": OrdinalCalibratedClassifier,
    "tuned": OrdinalTunedClassifier,
    "sets": OrdinalPredictionSets,
    "cross sets": lambda model: OrdinalPredictionSets(model, method="cross", cv=3),
    "ensemble": lambda model: OrdinalEnsembleClassifier([("a", model)], n_bags=2),
    "regressor": lambda model: OrdinalDistributionRegressor(model, cuts=[0.5, 1.5, 2.5]),
}
AROUND = pytest.mark.parametrize("kind", list(KINDS)[:4])


def groups_of(X):
    return set((np.asarray(X)[:, 0] // SIZE).tolist())


class Apart(GaussianNB):
    """Fails where it predicts rows of a group that it was trained on, during the fit of what is around it."""

    divisions: list[int] = []  # noqa: RUF012

    def fit(self, X, y, sample_weight=None):
        self.trained_ = groups_of(X)
        return super().fit(X, y, sample_weight)

    def predict_proba(self, X):
        assert not self.trained_ & groups_of(X)
        self.divisions.append(len(groups_of(X)))
        return super().predict_proba(X)


def search(model, cv=3):
    return GridSearchCV(model, {}, cv=cv, scoring="neg_log_loss")


def piped(model):
    return make_pipeline(FunctionTransformer(), model)


INSIDE: dict[str, Callable[[], Any]] = {
    "bare": Apart,
    "search": lambda: search(Apart()),
    "search by groups": lambda: search(Apart(), GroupKFold(3)),
    "search, default": lambda: search(Apart(), None),
    "pipelines": lambda: piped(search(piped(Apart()))),
    "calibration": lambda: CalibratedClassifierCV(Apart(), cv=3),
    "tuned": lambda: OrdinalTunedClassifier(Apart(), cv=3),
}


@pytest.fixture
def rows(ordinal_data):
    X, y = ordinal_data(240, 4)
    order = np.random.default_rng(0).permutation(240)
    return np.column_stack([order, X]), y, order // SIZE


@each_pair({"kind": KINDS, "inside": INSIDE, "routes": [False, True]})
def test_no_group_is_divided(kind, inside, routes, rows):
    X, y, groups = rows
    Apart.divisions.clear()
    with config_context(enable_metadata_routing=routes):
        KINDS[kind](INSIDE[inside]()).fit(X, y, groups=[f"house {g}" for g in groups])
    if inside != "bare" or kind not in ("ensemble", "regressor"):
        assert Apart.divisions


@each_pair({"kind": KINDS, "inside": ["bare", "pipeline", "search of a pipeline", "search"], "routes": [False, True]})
def test_no_group_is_divided_by_a_classifier_inside(kind, inside, routes, rows, monkeypatch):
    X, y, groups = rows
    take, divided = held_out.Rows.take, []

    def spy(self, numbers):
        assert not np.intersect1d(self.groups[numbers], np.delete(self.groups, numbers)).size
        divided.append(len(numbers) < len(self))
        return take(self, numbers)

    monkeypatch.setattr(held_out.Rows, "take", spy)
    with config_context(enable_metadata_routing=routes):
        model = make_engine(max_iter="auto", learning_rate=0.5)
        model = model.set_fit_request(groups=True) if routes else model
        nested = {
            "bare": lambda: model,
            "pipeline": lambda: piped(model),
            "search of a pipeline": lambda: search(piped(model), 2),
            "search": lambda: search(model, 2),
        }[inside]()
        if inside == "search" and not routes:
            with pytest.raises(ValueError, match="has HistGradientBoostingOrdinalClassifier in a search, which passes"):
                KINDS[kind](nested).fit(X, y, groups=groups)
            return
        KINDS[kind](nested).fit(X, y, groups=groups)
    assert any(divided)


@AROUND
def test_what_divides_groups_is_refused_by_name(kind, rows):
    X, y, groups = rows
    around = KINDS[kind]
    if kind != "sets":
        with pytest.raises(ValueError, match=r"cv must keep groups whole.*; got KFold.* divides some"):
            around(Apart()).set_params(cv=KFold(3)).fit(X, y, groups=groups)
        whole = around(Apart()).set_params(cv=PredefinedSplit(groups % 3)).fit(X, y, groups=groups)
        assert whole.n_classes_ == 4
        with pytest.raises(ValueError, match="greater than the number of groups"):
            around(Apart()).set_params(cv=5).fit(X, y, groups=groups % 3)
    for inner, message in {
        search(Apart(), KFold(3)): "cv of estimator must keep groups whole, as GroupKFold does; got KFold",
        search(CalibratedClassifierCV(Apart()), 2): "estimator has estimator__cv=None inside what divides rows",
        VotingClassifier([("a", make_engine())], voting="soft"): "estimator has Hist.* in estimators__a, where groups",
    }.items():
        with pytest.raises(ValueError, match=message):
            around(inner).fit(X, y, groups=groups)
    with pytest.raises(ValueError, match=r"groups must have shape \(240,\)"):
        around(Apart()).fit(X, y, groups=groups[:5])


def test_whole_groups_calibrate_sets(rows):
    X, y, groups = rows
    sets = OrdinalPredictionSets(Apart(), calibration_fraction=0.3).fit(X, y, groups=groups)
    assert sets.n_calibration_.sum() == 72
    with pytest.raises(ValueError, match="groups must name at least two groups where rows are held out; got 1"):
        sets.fit(X, y, groups=np.zeros(240))
