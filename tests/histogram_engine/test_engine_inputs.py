"""What the engine refuses at its entry, and weights and small samples that it takes."""

from __future__ import annotations

import numpy as np
import pytest

from makers import SKLEARN_DEFAULTS
from ordinal_objectives import HistGradientBoostingOrdinalClassifier
from ordinal_objectives.histogram_engine import binning

pytestmark = pytest.mark.slow


def make(**options):
    return HistGradientBoostingOrdinalClassifier(
        **{"max_iter": 5, "max_leaf_nodes": 4, "random_state": 0, "n_jobs": 1, **SKLEARN_DEFAULTS, **options}
    )


@pytest.fixture
def data(ordinal_data):
    return ordinal_data(200, 4)


# Columns


def test_any_layout_in_memory_is_taken(data):
    """Fields of records lie off the boundaries of their type, and their rows are no whole number of entries apart."""
    X, y = data
    weight = np.linspace(0.5, 1.5, 200)
    records = np.zeros(200, dtype=[("X", "<f8", (4,)), ("weight", "<f8"), ("y", "<i8"), ("flag", "?")])
    records["X"], records["weight"], records["y"] = X, weight, y
    shifted = np.frombuffer(b"\0" + X.tobytes(), offset=1).reshape(X.shape)
    expected = make().fit(X, y, sample_weight=weight).predict_raw(X)
    for same in (records["X"], shifted, X[::-1].copy()[::-1], np.asfortranarray(X), X.astype(">f8")):
        model = make().fit(same, records["y"], sample_weight=records["weight"], X_val=same, y_val=y)
        for raw in (model.predict_raw(same), model.predict_raw(X)):
            np.testing.assert_array_equal(raw, expected)


def test_masked_arrays_are_refused(data):
    """NumPy's functions would read what lies behind the mask."""
    X, y = data
    model = make().fit(X, y)
    hidden = np.ma.masked_greater(X, 1.0)
    for use in (lambda: make().fit(hidden, y), lambda: model.predict(hidden), lambda: model.predict(list(hidden))):
        with pytest.raises(ValueError, match=r"X is a masked array; fill the masked entries, with NaN where they are"):
            use()
    with pytest.raises(ValueError, match=r"y contains missing labels \(masked\)"):
        make().fit(X, np.ma.masked_equal(y, 0))
    with pytest.raises(ValueError, match="sample_weight is a masked array"):
        make().fit(X, y, sample_weight=np.ma.masked_equal(y, 0))


def test_more_features_than_a_product_of_integers_holds(monkeypatch):
    cuts_of = binning._cuts_of
    of_zeros = cuts_of(np.zeros(12), 255, None)
    monkeypatch.setattr(binning, "_cuts_of", lambda x, *options: cuts_of(x, *options) if x.any() else of_zeros)
    X = np.zeros((12, 270_000), np.float32)
    y = np.arange(12) % 3
    X[:, -1] = y
    model = make(max_iter=1, min_samples_leaf=2).fit(X, y)
    assert model._ensemble.trees[0].feature.max() == 269_999


# Weights of zero and small samples


@pytest.mark.filterwarnings("ignore:no tree has a split")
@pytest.mark.parametrize(
    "options", [{}, {"pruning": True}, {"adaptive_step": True}, {"threshold_update": "newton", "proportional": True}]
)
def test_samples_are_drawn_from_rows_with_weight(data, options):
    """A row of weight 0 changes no sample: the model is that without it."""
    X, y = data
    weight = np.where(np.arange(200) % 10 < 2, 1.0, 0.0)
    kept = weight > 0
    wanted = {"subsample": 0.9, "max_iter": 30, "min_samples_leaf": 1, **options}
    model = make(**wanted).fit(X, y, sample_weight=weight)
    # With a weight of 0 for all rows of a class, as class_weight gives it.
    make(**wanted, class_weight={0: 0.0, 1: 0.0}).fit(X, y)
    alone = make(**wanted).fit(X[kept], y[kept], sample_weight=weight[kept])
    # Steps next to 0 are halved or not by what float32 rounds.
    np.testing.assert_allclose(model.predict_raw(X), alone.predict_raw(X), atol=1e-3)


@pytest.mark.parametrize("judge", ["pruning", "adaptive_step"])
def test_one_row_is_left_to_judge_by(data, judge):
    X, _ = data
    model = make(subsample=0.95, min_samples_leaf=1, **{judge: True}).fit(X[:9], [0, 1, 2] * 3)
    assert [tree.count[0] for tree in model._ensemble.trees] == [8] * 5


def test_a_class_that_weighs_next_to_nothing_is_none(data):
    X, _ = data
    y = np.arange(200) % 2
    with pytest.raises(ValueError, match=r"training labels must hold at least two classes .* only class 1 \(a class"):
        make().fit(X, y, sample_weight=np.where(y == 0, 1e-9, 1e4))


@pytest.mark.filterwarnings("ignore:no tree has a split")
def test_rows_of_weight_zero_are_not_held_out(data):
    X, y = data
    weight = np.zeros(200)
    weight[::20] = 1.0
    model = make(early_stopping=True, subsample=0.5).fit(X, y, sample_weight=weight)
    assert np.isfinite(model.evals_result_["validation"]).all()
    with pytest.raises(ValueError, match=r"validation_fraction=0\.95 of 10 rows with weight leaves none to train on"):
        make(early_stopping=True, validation_fraction=0.95).fit(X, y, sample_weight=weight)


@pytest.mark.parametrize("n_classes", [19, 20, 21, 40, 100])
def test_more_classes_than_rows_held_out(data, n_classes):
    X, _ = data
    model = make(early_stopping=True).fit(X, np.arange(200) % n_classes)
    assert len(model.evals_result_["validation"]) >= 2


# Parameters


@pytest.mark.filterwarnings("ignore:no tree has a split")
@pytest.mark.parametrize("name", ["max_iter", "max_leaf_nodes", "max_depth", "min_samples_leaf", "rebin_every"])
def test_counts_beyond_the_cores_integers(data, name):
    """They say that there is no limit."""
    X, y = data
    stop = {"callback": lambda t, evals: t == 3}
    most = make(**{name: 2**31 - 1}).fit(X, y, **stop).predict_raw(X)
    np.testing.assert_array_equal(make(**{name: 10**12}).fit(X, y, **stop).predict_raw(X), most)
    np.testing.assert_array_equal(make(**{name: np.int64(10**18)}).fit(X, y, **stop).predict_raw(X), most)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"max_bins": 10**12}, ValueError, "max_bins"),
        ({"n_jobs": 10**12}, ValueError, r"n_threads \(n_jobs\) must be .*; got 1000000000000"),
        ({"learning_rate": 10**400}, ValueError, "learning_rate"),
        ({"gamma": "a"}, TypeError, "gamma"),
        ({"validation_fraction": "a"}, TypeError, "validation_fraction"),
        ({"validation_fraction": np.nan}, ValueError, "validation_fraction"),
        ({"validation_fraction": True}, TypeError, "validation_fraction"),
        ({"n_iter_no_change": "a"}, TypeError, "n_iter_no_change"),
        ({"n_iter_no_change": 1.5}, TypeError, "n_iter_no_change"),
        ({"n_iter_no_change": 0}, ValueError, "n_iter_no_change"),
        ({"tol": "a"}, TypeError, "tol"),
        ({"tol": np.nan}, ValueError, "tol"),
        ({"tol": None}, TypeError, "tol"),
        ({"early_stopping": 1}, ValueError, "early_stopping"),
        ({"early_stopping": 0}, ValueError, "early_stopping"),
        ({"early_stopping": None}, ValueError, "early_stopping"),
        ({"early_stopping": [True]}, ValueError, "early_stopping"),
        ({"threshold_update": "schur"}, ValueError, "'schur'.*use 'joint'"),
        ({"hessian": "majorized", "link": "cloglog"}, ValueError, "cloglog"),
        ({"learning_rate": 0.0}, ValueError, "learning_rate"),
        ({"max_iter": 0}, ValueError, "max_iter"),
        ({"max_iter": "AUTO"}, TypeError, "max_iter"),
        ({"max_iter": 1.5}, TypeError, "max_iter"),
        ({"max_leaf_nodes": 1}, ValueError, "max_leaf_nodes"),
        ({"max_bins": 256}, ValueError, "max_bins"),
        ({"rebin_every": 0}, ValueError, "rebin_every"),
        ({"rebin_every": 2.0}, TypeError, "rebin_every"),
        ({"subsample": 0.0}, ValueError, "subsample"),
        ({"pruning": True, "subsample": 1.0}, ValueError, "pruning=True .* needs subsample < 1"),
        ({"importance_type": "cover"}, ValueError, "importance_type"),
    ],
)
def test_bad_parameters_are_refused(data, options, error, message):
    with pytest.raises(error, match=message):
        make(**options).fit(*data)
