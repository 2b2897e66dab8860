"""Ensemble methods around the three classifiers, and inside their hosts: each works, or is refused by name."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression

from makers import MAKERS
from ordinal_objectives import OrdinalEnsembleClassifier
from ordinal_objectives.metrics import ranked_probability_score

CODES = {"classes": range(4)}
ONE_SCORE = {"proportional": True}


def bagging(make):
    return BaggingClassifier(make(**CODES), n_estimators=12, max_samples=200, oob_score=True, random_state=0)


def voting(make):
    return VotingClassifier([("ours", make(**CODES)), ("linear", LogisticRegression())], voting="soft")


def stacking(make):
    return StackingClassifier([("ours", make(**CODES))], LogisticRegression(), cv=2)


def boosting(make):
    # Its weights sum to 1.
    return AdaBoostClassifier(make(**CODES, min_child_weight=1e-6), n_estimators=2, random_state=0)


def bag_a_boosted(make):
    return BaggingClassifier(boosting(make), n_estimators=2, random_state=0)


def boost_a_bagged(make):
    # The weights of AdaBoost sum to 1; half of a stack's rows are fewer than 200.
    bags = BaggingClassifier(make(**CODES, min_child_weight=1e-6), n_estimators=2, max_samples=100, random_state=0)
    return AdaBoostClassifier(bags, n_estimators=2, random_state=0)


def stack_then_boost_the_bag(make):
    return StackingClassifier([("ours", make(**CODES)), ("bags", boost_a_bagged(make))], LogisticRegression(), cv=2)


def ours(make):
    return OrdinalEnsembleClassifier([("ours", make())])


METHODS = {
    "bagging": bagging,
    "voting": voting,
    "stacking": stacking,
    "AdaBoost": boosting,
    "our ensemble": ours,
}
NESTED = {
    "bag a boosted": bag_a_boosted,
    "boost a bagged": boost_a_bagged,
    "stack, then boost the bag": stack_then_boost_the_bag,
}
# Modes of the hosts: what is asked for, and what the refusal says; None where it works.
MODES: dict[str, dict[str, Any]] = {
    "xgboost": {
        "random forest": ({"num_parallel_tree": 3, "subsample": 0.8, "n_estimators": 1, **ONE_SCORE}, None),
        "random forest with shifts": ({"num_parallel_tree": 3, "proportional": False}, "num_parallel_tree"),
        "GOSS": ({"sampling_method": "gradient_based", "subsample": 0.5}, None),
        "dart": ({"booster": "dart", "rate_drop": 0.1, **ONE_SCORE}, None),
        "dart with shifts": ({"booster": "dart", "rate_drop": 0.1, "proportional": False}, "dart|rate_drop"),
    },
    "lightgbm": {
        "random forest": ({"boosting_type": "rf", "subsample_freq": 1, "subsample": 0.8}, "rf"),
        "GOSS": ({"data_sample_strategy": "goss"}, None),
        "dart": ({"boosting_type": "dart"}, "dart"),
    },
    "histogram": {
        "random forest": ({"boosting_type": "rf", "subsample": 0.8}, None),
        "GOSS": ({"data_sample_strategy": "goss"}, None),
        "dart": ({"booster": "dart"}, "booster"),
    },
}


def better_than_the_shares(model, X, y):
    shares = np.tile(np.bincount(y) / len(y), (len(y), 1))
    rps = partial(ranked_probability_score, y, labels=range(4))
    return rps(model.predict_proba(X)) < rps(shares)


# Bagging gives rows outside a bag the weight 0, of which AdaBoost takes the logarithm.
@pytest.mark.filterwarnings("ignore:divide by zero encountered in log:RuntimeWarning")
@pytest.mark.parametrize(("host", "method"), [*product(MAKERS, METHODS), *zip(MAKERS, NESTED, strict=True)])
def test_a_method_works_on_codes(host, method, data):
    X, y = data
    model = (METHODS | NESTED)[method](MAKERS[host]).fit(X, y)
    assert model.predict_proba(X).shape == (300, 4)
    assert better_than_the_shares(model, X, y)
    if method == "bagging":
        assert 0.3 < model.oob_score_ < 1.0
        assert model.oob_decision_function_.shape == (300, 4)


MODE_CELLS = [(host, mode) for host, modes in MODES.items() for mode in modes]


@pytest.mark.parametrize(("host", "mode"), MODE_CELLS)
def test_a_mode_of_the_host_works_or_is_refused_by_name(host, mode, data):
    X, y = data
    params, refusal = MODES[host][mode]
    model = MAKERS[host](**params)
    if refusal is None:
        assert better_than_the_shares(model.fit(X, y), X, y)
        alone = {name: value for name, value in params.items() if name in ("proportional", "n_estimators", "subsample")}
        plain = MAKERS[host](**alone).fit(X, y)
        assert (model.predict_proba(X) != plain.predict_proba(X)).any()
        return
    with pytest.raises((TypeError, ValueError), match=refusal):
        model.fit(X, y)


@pytest.mark.parametrize("host", MAKERS)
def test_a_bag_that_lacks_a_class_keeps_its_column(host, data):
    X, y = data
    y = np.where(y == 3, 2, y)
    y[0] = 3
    bags = BaggingClassifier(MAKERS[host](**CODES), n_estimators=3, max_samples=90, random_state=0).fit(X, y)
    assert any(0 not in rows for rows in bags.estimators_samples_)
    assert all(member.predict_proba(X).shape == (300, 4) for member in bags.estimators_)
