"""Early stopping by rows held out, and by evaluation sets."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_matrix

from makers import SKLEARN_DEFAULTS, watching
from ordinal_objectives import HistGradientBoostingOrdinalClassifier, LGBMOrdinalClassifier, XGBOrdinalClassifier
from ordinal_objectives.estimators.held_out import Rows, check_groups, hold_out

pytestmark = pytest.mark.slow

MAKERS = {
    "xgboost": lambda **params: XGBOrdinalClassifier(
        **{"n_estimators": 200, "max_depth": 3, "learning_rate": 0.3, "n_jobs": 1, "early_stopping_rounds": 3, **params}
    ),
    "lightgbm": lambda **params: LGBMOrdinalClassifier(
        **{"n_estimators": 200, "num_leaves": 6, "learning_rate": 0.3, "n_jobs": 1, "early_stopping_round": 3, **params}
    ),
    "histogram": lambda **params: HistGradientBoostingOrdinalClassifier(
        **{
            "max_iter": 200,
            "max_leaf_nodes": 6,
            "learning_rate": 0.3,
            "n_jobs": 1,
            "early_stopping": True,
            **SKLEARN_DEFAULTS,
            **params,
        }
    ),
}
ALL = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
HOSTS = pytest.mark.parametrize("make", [MAKERS["xgboost"], MAKERS["lightgbm"]], ids=["xgboost", "lightgbm"])


@pytest.fixture
def data(ordinal_data):
    return ordinal_data(600, 4)


def seen(model):
    """Return the losses of the last evaluation set."""
    last = list(model.evals_result_.values())[-1]
    return last if isinstance(last, list) else last["all_threshold"]


@ALL
def test_rows_held_out_stop_the_training(make, data):
    X, y = data
    model = make(validation_fraction=0.25, random_state=0).fit(X, y)
    assert model.n_iter_ < 100
    fit, held = hold_out(Rows(X, y), 0.25, getattr(model, "_seed", 0))
    assert len(held.codes) == 150
    by_hand = make(random_state=0).fit(fit.X, fit.codes, **watching(make(), held.X, held.codes))
    assert seen(by_hand) == seen(model)
    np.testing.assert_array_equal(by_hand.predict_proba(X), model.predict_proba(X))


def test_parts_of_an_evaluation_set_go_together(data):
    X, y = data
    weight = np.linspace(0.5, 2.0, 200)
    held = {"X_val": X[400:], "y_val": y[400:]}
    for wrong, message in [
        ({"X_val": X}, "y_val is None"),
        ({"y_val": y}, "X_val is None"),
        ({"sample_weight_val": weight}, "X_val is None"),
        ({**held, "sample_weight_val": weight[:3]}, "sample_weight_val must have shape"),
    ]:
        with pytest.raises(ValueError, match=message):
            MAKERS["histogram"]().fit(X, y, **wrong)


@ALL
def test_rows_given_leave_none_to_hold_out(make, data):
    X, y = data
    model, plain = make(validation_fraction=0.25), make()
    given = watching(plain, X[400:], y[400:])
    np.testing.assert_array_equal(
        model.fit(X[:400], y[:400], **given).predict_proba(X), plain.fit(X[:400], y[:400], **given).predict_proba(X)
    )


@HOSTS
def test_rows_held_out_keep_weights_and_start_scores(make, data):
    X, y = data
    weight, start = np.linspace(0.5, 2.0, 600), X[:, 0]
    start_name = "base_margin" if make is MAKERS["xgboost"] else "init_score"
    options = {"class_weight": {0: 3.0}}
    model = make(validation_fraction=0.25, **options).fit(X, y, sample_weight=weight, **{start_name: start})
    combined = weight * np.where(y == 0, 3.0, 1.0)
    fit, held = hold_out(Rows(X, y, combined, start), 0.25, 0)
    names = ("sample_weight_eval_set", "base_margin_eval_set")
    names = names if make is MAKERS["xgboost"] else ("eval_sample_weight", "eval_init_score")
    by_hand = make().fit(
        fit.X, fit.codes, sample_weight=fit.weight, **{start_name: fit.start}, eval_set=[(held.X, held.codes)],
        **dict(zip(names, ([held.weight], [held.start]), strict=True)),
    )  # fmt: skip
    assert seen(model) == seen(by_hand)


@ALL
def test_groups_do_not_leak(make):
    """The label follows the group alone: rows of a group on both sides would make every tree look good."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(60), 10)
    y = rng.integers(0, 4, 60)[groups]
    X = np.column_stack([rng.normal(size=60)[groups], rng.normal(size=600)])
    leaking = make(validation_fraction=0.2, random_state=0).fit(X, y)
    apart = make(validation_fraction=0.2, random_state=0).fit(X, y, groups=groups)
    assert apart.n_iter_ < leaking.n_iter_ / 2


@pytest.mark.parametrize("weighted", [False, True])
def test_whole_groups_of_like_classes_are_held_out(weighted):
    rng = np.random.default_rng(1)
    groups = rng.integers(0, 40, 800)
    y = np.minimum(rng.integers(0, 4, 40)[groups] + rng.integers(0, 2, 800), 3).astype(np.int32)
    weight = np.where((groups % 5 == 0) | (rng.random(800) < 0.1), 0.0, 1.0) if weighted else None
    fit, held = hold_out(Rows(groups, y, weight, groups=check_groups([f"house {g}" for g in groups], len(y))), 0.25, 0)
    assert not set(fit.X) & set(held.X)
    left_out = 0 if weight is None else np.sum((weight == 0.0) & np.isin(groups, held.X))
    assert len(fit.X) + len(held.X) == 800 - left_out
    if weighted:
        assert (np.asarray(held.weight) > 0).all()
    total = 800 if weight is None else int(weight.sum())
    assert len(held.X) == pytest.approx(0.25 * total, rel=0.25)
    shares = np.bincount(held.codes, minlength=4) / len(held.codes)
    drawn_from = y if weight is None else y[weight > 0]
    np.testing.assert_allclose(shares, np.bincount(drawn_from) / len(drawn_from), atol=0.08)


@pytest.mark.parametrize(
    "container",
    [
        csr_matrix,
        pd.DataFrame,
        lambda X: pl.DataFrame(X, schema=list("abcd")),
        lambda X: pl.DataFrame(X, schema=list("abcd")).lazy(),
        lambda X: pa.table(dict(zip("abcd", X.T, strict=True))),
        lambda X: X.tolist(),
    ],
    ids=["sparse", "pandas", "polars", "lazy", "Arrow", "lists"],
)
@HOSTS
def test_rows_are_taken_out_of_any_container(make, container, data):
    X, y = data
    model = make(validation_fraction=0.25).fit(container(X), y)
    assert seen(model) == pytest.approx(seen(make(validation_fraction=0.25).fit(X, y)), rel=1e-6)


@pytest.mark.filterwarnings("ignore:The rank correlation is undefined")
@HOSTS
def test_a_metric_that_is_nan_at_first_does_not_stay_the_best(make):
    """tau_b is NaN as long as all rows get one label."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    y = np.digitize(X[:, 0] + 0.5 * rng.logistic(size=600), [-3.0, -2.0, 2.0, 3.0])
    model = make(learning_rate=0.05, proportional=True)
    if isinstance(model, XGBOrdinalClassifier):
        model.set_params(eval_metric="tau_b", early_stopping_rounds=30)
        model.fit(X[:400], y[:400], eval_set=[(X[400:], y[400:])])
    else:
        model.set_params(early_stopping_round=30)
        model.fit(X[:400], y[:400], eval_set=[(X[400:], y[400:])], eval_metric="tau_b")
    (found,) = model.evals_result_.values()
    assert found["tau_b"][0] == -np.inf
    assert model.n_iter_ - 1 in (np.argmax(found["tau_b"]), np.argmin(found["all_threshold"]))
    assert model.n_iter_ > 1
