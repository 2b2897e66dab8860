"""Random intercepts: effects against quadrature, known and new groups, and what carries or refuses them."""

from __future__ import annotations

import pickle
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
import xgboost
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logsumexp
from sklearn.base import clone

from damage_files import without_digest
from grouped_rows import THRESHOLDS, crossed, of_host, simulated
from ordinal_objectives import (
    CatBoostOrdinalClassifier,
    HistGradientBoostingOrdinalClassifier,
    LGBMOrdinalClassifier,
    OrdinalCalibratedClassifier,
    OrdinalEnsembleClassifier,
    OrdinalLabels,
    RowBlocks,
    XGBOrdinalClassifier,
)
from ordinal_objectives.adapters import lgbm as olgbm, xgb as oxgb
from ordinal_objectives.export import to_onnx
from ordinal_objectives.inspection import average_marginal_effects, shap_values
from ordinal_objectives.metrics import ordinal_log_loss


def make(**options):
    given = {"loss": "cumulative_link", "random_intercept": 3, "max_iter": 20, "early_stopping": False}
    return HistGradientBoostingOrdinalClassifier(**given | {"random_state": 0, "n_jobs": 1} | options)


def score_of_trees(model, X):
    checked = model._check_features(X, reset=False)
    return model._before_trees(checked, {}) + model._scorer(checked)(0, model.n_iter_)


def by_quadrature(f, y, group, start, n_nodes=21):
    """Return thresholds, tau and modes of the highest likelihood, by adaptive Gauss-Hermite quadrature."""
    n_groups, modes = group.max() + 1, np.zeros(group.max() + 1)
    nodes, weights = np.polynomial.hermite_e.hermegauss(n_nodes)

    def unpacked(x):
        theta = x[0] + np.concatenate([[0.0], np.cumsum(np.exp(x[1:-1]))])
        return np.concatenate([[-np.inf], theta, [np.inf]]), np.exp(x[-1])

    def sums(of_rows):
        return np.bincount(group, of_rows, n_groups)

    def find_modes(theta, tau):
        nonlocal modes
        for _ in range(50):
            below, above = (expit(theta[side] - f - modes[group]) for side in (y, y + 1))
            curvature = sums(below * (1 - below) + above * (1 - above)) + tau**-2
            modes = modes - (sums(1 - below - above) + modes / tau**2) / curvature
        return curvature**-0.5

    def value(x):
        theta, tau = unpacked(x)
        width, at = find_modes(theta, tau), []
        for node, weight in zip(nodes, weights, strict=True):
            b = modes + width * node
            low, high = theta[y] - f - b[group], theta[y + 1] - f - b[group]
            likely = sums(log_expit(high) + log_expit(-low) + np.log(-np.expm1(low - high)))
            at.append(likely - (b / tau) ** 2 / 2 + node**2 / 2 + np.log(weight * width / tau))
        return -logsumexp(at, axis=0).sum() / len(y)

    found = minimize(value, [start[0], *np.log(np.diff(start)), 0.0], method="BFGS", options={"gtol": 1e-6})
    theta, tau = unpacked(found.x)
    find_modes(theta, tau)
    return theta[1:-1], tau, modes


@pytest.mark.parametrize("per_group", [10, 50])
def test_effects_are_those_of_quadrature(per_group):
    X, y, effects, group = simulated(per_group, 0, n_groups=100)
    model = make(linear=True, linear_l2=1.0).fit(X, y)
    found = model.random_effects_
    theta, tau, modes = by_quadrature(score_of_trees(model, X), y, group, model.thresholds_)
    assert found.groups == list(range(100))
    assert np.sqrt(np.mean((found.effects - modes) ** 2)) < 0.01 * tau  # the goal is 0.02
    assert found.variance**0.5 == pytest.approx(tau, rel=0.01)
    np.testing.assert_allclose(model.thresholds_, theta, atol=0.01)
    assert found.variance**0.5 == pytest.approx(effects.std(), rel=0.1)


def test_intervals_cover_the_effects():
    covered = []
    for per_group, seed in ((10, 1), (10, 2), (30, 1), (30, 2), (100, 1)):
        X, y, effects, _ = simulated(per_group, seed)
        found = make(linear=True, linear_l2=1.0).fit(X, y).random_effects_
        off = np.abs(found.effects - effects + effects.mean())
        covered.append(np.mean(off < 1.645 * found.standard_errors))
    assert 0.85 <= np.mean(covered) <= 0.95


def test_it_is_better_than_ignoring_groups_and_than_a_category():
    X, y, _, _ = simulated(20, 3)
    train = np.random.default_rng(0).random(len(y)) < 0.5
    # More groups than a category of the engine may have levels: few of them.
    some = X[:, 3] < 100
    mine = make(max_iter="auto", early_stopping="auto").fit(X[train & some], y[train & some])
    options = {"loss": "cumulative_link", "random_state": 0, "n_jobs": 1}
    ignoring = HistGradientBoostingOrdinalClassifier(**options).fit(X[train & some][:, :3], y[train & some])
    category = HistGradientBoostingOrdinalClassifier(categorical_features=[3], **options)
    category.fit(X[train & some], y[train & some])
    new, true = X[~train & some], y[~train & some]
    loss = ordinal_log_loss(true, mine.predict_proba(new))
    assert loss < ordinal_log_loss(true, category.predict_proba(new)) - 0.01
    assert loss < ordinal_log_loss(true, ignoring.predict_proba(new[:, :3])) - 0.1


def test_new_groups_are_integrated_and_missing_ones_are_average():
    X, y, _, _ = simulated(20, 4)
    model = make().fit(X, y)
    rows, average, new = X[:50], X[:50].copy(), X[:50].copy()
    average[:, 3], new[:, 3] = np.nan, 999
    f, found = score_of_trees(model, rows), model.random_effects_
    loss = model._fitted_loss
    known = f + found.effects[rows[:, 3].astype(int)]
    np.testing.assert_allclose(model.predict_proba(rows), loss.predict_proba(known, model.thresholds_))
    np.testing.assert_allclose(model.predict_raw(rows), known)
    np.testing.assert_allclose(model.predict_proba(average), loss.predict_proba(f, model.thresholds_))
    drawn = np.random.default_rng(0).normal(scale=found.variance**0.5, size=20_000)
    mean = np.mean([loss.predict_proba(f + b, model.thresholds_) for b in drawn], axis=0)
    np.testing.assert_allclose(model.predict_proba(new), mean, atol=0.01)
    np.testing.assert_allclose(
        model.predict_cumulative_proba(new), model.predict_proba(new).cumsum(axis=1)[:, :-1], atol=1e-12
    )
    mixed = model.predict_proba(np.concatenate([rows, new, average]))
    alone = [model.predict_proba(part) for part in (rows, new, average)]
    np.testing.assert_allclose(mixed, np.concatenate(alone), rtol=1e-12)


def test_trees_do_not_see_the_column():
    X, y, _, _ = simulated(20, 5)
    for options in ({}, {"linear": True}, {"random_intercept": 0, "X": X[:, [3, 0, 1, 2]]}):
        table = options.pop("X", X)
        model = make(**options).fit(table, y)
        assert model.feature_importances_[model.random_intercept] == 0.0
    renamed = X.copy()
    renamed[:, 3] = 200 - X[:, 3]
    np.testing.assert_allclose(make().fit(renamed, y).predict_proba(renamed), make().fit(X, y).predict_proba(X))


def test_without_differences_between_groups_the_effects_vanish():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(4000, 2)), rng.integers(100, size=4000)])
    y = np.searchsorted(THRESHOLDS, X[:, 0] + rng.logistic(size=4000))
    found = make(random_intercept=2, max_iter=100).fit(X, y).random_effects_
    assert found.variance**0.5 < 0.15
    assert np.abs(found.effects).max() < 0.15


def test_weights_count_rows():
    X, y, _, _ = simulated(10, 6, n_groups=60)
    weight = np.random.default_rng(0).integers(0, 4, size=len(y))
    weighted = make(subsample=1.0, min_samples_leaf=1).fit(X, y, sample_weight=weight).random_effects_
    repeated = np.repeat(np.arange(len(y)), weight)
    again = make(subsample=1.0, min_samples_leaf=1).fit(X[repeated], y[repeated]).random_effects_
    places = [weighted.groups.index(group) for group in again.groups]
    np.testing.assert_allclose(weighted.effects[places], again.effects, atol=0.02)
    left = np.setdiff1d(np.arange(60), places)
    assert (weighted.effects[left] == 0.0).all()


@pytest.mark.parametrize("kind", ["text", "category", "integer"])
def test_tables_files_and_copies(kind, tmp_path):
    X, y, _, group = simulated(10, 7, n_groups=300)  # more than a category of the engine may have
    columns = {"text": [f"clinic {g}" for g in group], "category": pd.Categorical(group.astype(str)), "integer": group}
    frame = pd.DataFrame(X[:, :3], columns=["a", "b", "c"]).assign(clinic=columns[kind])
    model = make(random_intercept="clinic", linear="auto", decision_rule="mode").fit(frame, y)
    np.testing.assert_allclose(model.predict_proba(frame), make(linear="auto").fit(X, y).predict_proba(X), rtol=1e-6)
    model.save_model(tmp_path / "model")
    rows = pd.concat([frame[:20], frame[:5].assign(clinic=None if kind != "integer" else np.nan)])
    loaded = HistGradientBoostingOrdinalClassifier().load_model(tmp_path / "model")
    for other in (loaded, pickle.loads(pickle.dumps(model)), clone(model).fit(frame, y)):
        np.testing.assert_array_equal(other.predict_proba(rows), model.predict_proba(rows))
        np.testing.assert_array_equal(other.predict(rows), model.predict(rows))
        assert other.random_effects_.groups == model.random_effects_.groups
    model.set_params(random_intercept=None)
    np.testing.assert_array_equal(loaded.predict_proba(rows), model.predict_proba(rows))
    table = model.random_effects_.to_frame()
    assert list(table.columns) == ["effect", "standard_error"]
    assert len(table) == 300


def test_rounds_are_found_with_known_and_with_whole_groups_held_out():
    X, y, _, group = simulated(20, 8)
    known = make(max_iter="auto", early_stopping="auto").fit(X, y)
    whole = make(max_iter="auto", early_stopping="auto").fit(X, y, groups=group)
    assert known.round_search_.lowest < whole.round_search_.lowest - 0.05
    stopped = make(max_iter=200, early_stopping=True, n_iter_no_change=5, eval_metric="mae").fit(X, y)
    assert stopped.n_iter_ < 200
    assert len(stopped.evals_result_["validation_mae"]) > stopped.n_iter_
    # A callback may predict by the model so far.
    seen = []
    model = make(max_iter=3)
    model.fit(X, y, callback=lambda *_: seen.append(model.predict_proba(X[:2])))
    assert len(seen) == 3


def test_inside_others():
    X, y, _, _ = simulated(10, 9, n_groups=60)
    for outer in (OrdinalCalibratedClassifier(make(max_iter=5)), OrdinalEnsembleClassifier([("a", make(max_iter=5))])):
        assert outer.fit(X, y).predict_proba(X[:5]).shape == (5, 5)
    adapted = make().fit(X, y).refit_thresholds(X[:50], y[:50])
    assert adapted.random_effects_ is not None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "all_threshold"}, "random_intercept needs loss='cumulative_link'.*got loss='all_threshold'"),
        ({"loss": "cumulative_link", "training_cost": "quadratic"}, "random_intercept|training_cost"),
        ({"link": "cauchit"}, "random_intercept needs a link whose losses are convex; got link='cauchit'"),
        ({"boosting_type": "rf"}, "random_intercept needs boosting_type='gbdt'; got 'rf'"),
        ({"pruning": True, "judged_by": "validation"}, "random_intercept needs judged_by='out_of_bag'"),
        ({"random_intercept": "clinic"}, "random_intercept must be names or numbers of columns of X; got 'clinic'"),
        ({"random_intercept": [3, "rater"]}, "random_intercept must be names or numbers of columns of X; got 'rater'"),
        ({"random_intercept": [3, 3]}, r"random_intercept must name different columns, at least one; got \[3, 3\]"),
        ({"random_intercept": []}, r"random_intercept must name different columns, at least one; got \[\]"),
        ({"random_intercept": True}, "random_intercept must be names or numbers of columns of X; got True"),
        ({"random_intercept": 4}, "random_intercept must be a column from 0 to 3; got 4"),
        ({"categorical_features": [3]}, "random_intercept must name a column that categorical_features does not name"),
        ({"random_intercept": 0}, "random_intercept must name a column of groups; column 0 holds fractions"),
    ],
)
def test_what_does_not_go_is_refused(options, message):
    X, y, _, _ = simulated(10, 0, n_groups=20)
    with pytest.raises(ValueError, match=message):
        make(**options).fit(X, y)


def test_groups_that_are_none_are_refused():
    X, y, _, _ = simulated(10, 0, n_groups=20)
    for column, n in ((np.zeros(200), 1), (np.arange(200), 200)):
        with pytest.raises(ValueError, match=f"at least two groups, and fewer than rows; column 3 has {n} in 200 rows"):
            make().fit(np.column_stack([X[:, :3], column]), y)
    with pytest.raises(ValueError, match="random_intercept must be None for RowBlocks"):
        make().fit(RowBlocks([X]), y)


@pytest.mark.parametrize(("floats", "first"), [(np.float32, 2**24), (np.float64, 2**53)])
def test_groups_whose_numbers_floats_round_are_refused(floats, first):
    X, y, _, group = simulated(10, 0, n_groups=20)
    frame = pd.DataFrame(X[:, :3], columns=["a", "b", "c"]).assign(clinic=group + first - 5)
    model = make(random_intercept="clinic", max_iter=2).fit(frame, y)
    rounded, exact = (frame[rows].astype({"clinic": floats}) for rows in (group >= 5, group < 5))
    np.testing.assert_array_equal(model.predict_proba(exact), model.predict_proba(frame[group < 5]))
    message = f"column 'clinic' holds .*{floats.__name__}"
    for call in (lambda: model.predict(rounded), lambda: clone(model).fit(rounded, y[group >= 5])):
        with pytest.raises(ValueError, match=message):
            call()


@pytest.mark.parametrize("trainer", ["native", "XGBoost", "LightGBM"])
def test_inspection_reads_groups_as_categories(trainer):
    X, y, _, _ = simulated(10, 0, n_groups=20)
    frame = pd.DataFrame(X, columns=["a", "b", "c", "clinic"])
    by_name = frame.assign(clinic=[f"{group:02.0f}" for group in frame["clinic"]])
    made = {
        "native": make(max_iter=2),
        "XGBoost": of_host(XGBOrdinalClassifier, n_estimators=2),
        "LightGBM": of_host(LGBMOrdinalClassifier, n_estimators=2),
    }[trainer].set_params(random_intercept="clinic")
    found = [average_marginal_effects(clone(made).fit(X, y), X, "clinic").effects for X in (frame, by_name)]
    assert found[0].shape == (19, 5)
    np.testing.assert_allclose(*found)


def test_what_has_no_effects_says_so():
    X, y, _, _ = simulated(10, 0, n_groups=20)
    model = make(max_iter=3).fit(X, y)
    with pytest.raises(ValueError, match="model must be without random_intercept"):
        to_onnx(model, X)
    assert make(random_intercept=None).fit(X, y).random_effects_ is None
    with pytest.raises(
        ValueError, match="warm_start continues a model of random_intercept=3; got random_intercept=None"
    ):
        model.set_params(random_intercept=None, warm_start=True).fit(X, y)
    with pytest.raises(TypeError, match="takes no 'random_intercept': the other three classifiers have it"):
        CatBoostOrdinalClassifier(random_intercept=3)


def test_damaged_files_are_refused(tmp_path):
    X, y, _, _ = simulated(10, 0, n_groups=20)
    make(max_iter=2).fit(X, y).save_model(tmp_path / "model")
    content = without_digest((tmp_path / "model").read_bytes())
    for name in (b'"variance"', b'"standard_errors"'):
        (tmp_path / "model").write_bytes(content.replace(name, name.upper()))
        with pytest.raises(ValueError, match="damaged"):
            make().load_model(tmp_path / "model")


def test_labels_of_several_answers_and_thresholds_of_new_groups_are_refused():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=200), rng.integers(9, size=200)])
    y = np.digitize(X[:, 0] + rng.logistic(size=200), [-1, 1])
    model = HistGradientBoostingOrdinalClassifier(loss="cumulative_link", random_intercept=1, max_iter=5)
    labels = OrdinalLabels.from_intervals(y, np.minimum(y + 1, 2), classes=range(3))
    with pytest.raises(TypeError, match="y with random_intercept=1 must hold one label a row"):
        model.fit(X, labels)
    model.fit(X, y)
    new = np.column_stack([X[:, 0], np.full(200, 99)])
    with pytest.raises(ValueError, match="X must be rows of the training's groups"):
        model.refit_thresholds(new, y)


def test_stages_have_the_effects_of_their_trees(tmp_path):
    X, y, _, _ = simulated(20, 10)
    X[:20, 3], X[20:30, 3] = np.nan, 999
    model = make(max_iter=30, linear=True).fit(X[30:], y[30:])
    model.save_model(tmp_path / "model")
    loaded = make().load_model(tmp_path / "model")
    stages = list(model.staged_predict_proba(X))
    np.testing.assert_allclose(stages[-1], model.predict_proba(X))
    losses = [ordinal_log_loss(y, proba) for proba in stages]
    assert len(losses) == 30
    assert losses[9] < losses[2] < losses[0]
    for stage, other in zip(stages, loaded.staged_predict_proba(X), strict=True):
        np.testing.assert_array_equal(stage, other)
    np.testing.assert_array_equal(list(model.staged_predict(X))[-1], model.predict(X))


def test_a_model_goes_on_with_its_effects():
    X, y, _, _ = simulated(20, 11)
    whole = make(max_iter=40).fit(X, y)
    model = make(max_iter=20, warm_start=True).fit(X, y)
    first, stages = ordinal_log_loss(y, model.predict_proba(X)), list(model.staged_predict_proba(X))
    model.set_params(max_iter=40).fit(X, y, X_val=X, y_val=y)
    assert first > ordinal_log_loss(y, model.predict_proba(X)) + 0.001
    np.testing.assert_allclose(model.random_effects_.effects, whole.random_effects_.effects, atol=0.15)
    # The rows that are watched have had the effects of each stage.
    losses = [ordinal_log_loss(y, proba) for proba in model.staged_predict_proba(X)]
    np.testing.assert_allclose(model.evals_result_["validation"][1:20], losses[:19], rtol=1e-6)
    np.testing.assert_allclose(list(model.staged_predict_proba(X))[:19], stages[:19], rtol=1e-12)
    # Other rows may bring other groups.
    moved = X.copy()
    moved[:, 3] += 100.0
    model.set_params(max_iter=45).fit(moved, y)
    assert model.random_effects_.groups == list(range(300))
    assert (model.random_effects_.effects[:100] == 0.0).all()
    model.set_params(max_iter=50, random_intercept=2)
    with pytest.raises(ValueError, match=r"continues a model of random_intercept=3; got random_intercept=2|fractions"):
        model.fit(X, y)


@pytest.mark.parametrize("output", ["score", "cumulative"])
def test_the_column_has_a_shap_value_of_its_own(output):
    X, y, _, group = simulated(20, 12)
    frame = pd.DataFrame(X[:, :3], columns=["a", "b", "c"]).assign(clinic=[f"clinic {g:03}" for g in group])
    model = make(random_intercept="clinic", linear=True).fit(frame, y)
    rows = frame[:40].copy()
    rows.loc[:4, "clinic"] = None
    found = shap_values(model, rows, output=output)
    total = found.base_values + found.values.sum(axis=-1)
    expected = model.predict_raw(rows) if output == "score" else model.predict_linear_predictors(rows)
    np.testing.assert_allclose(total, expected)
    effects = np.where(np.arange(40) < 5, 0.0, model.random_effects_.effects[group[:40]])
    own = found.values[..., 3] if output == "score" else -found.values[:, 0, 3]
    np.testing.assert_allclose(own, effects)


@pytest.mark.parametrize("kind", [XGBOrdinalClassifier, LGBMOrdinalClassifier])
def test_groups_of_a_category_type_are_no_categories_of_the_trees(kind):
    X, y, _, group = simulated(10, 12)
    frame = pd.DataFrame(X[:, :2], columns=["a", "b"]).assign(clinic=group, c=np.digitize(X[:, 2], [-1.0, 1.0]))
    frame = frame.astype({"clinic": "category", "c": "category"})
    model = of_host(kind, random_intercept="clinic", n_estimators=2).fit(frame, y)
    found = shap_values(model, frame[:40])
    np.testing.assert_allclose(found.base_values + found.values.sum(axis=1), model.predict_raw(frame[:40]), atol=1e-6)


def test_effects_of_two_columns_add_up(tmp_path):
    X, y, effects = crossed(0)
    model = make(random_intercept=[3, 4], linear=True, linear_l2=1.0, max_iter=40).fit(X, y)
    found = model.random_effects_
    assert list(found) == [3, 4]
    for one, true in zip(found.values(), effects, strict=True):
        assert one.variance**0.5 == pytest.approx(true.std(), rel=0.1)
        assert np.sqrt(np.mean((one.effects - true + true.mean()) ** 2)) < 0.25
    alone = make(random_intercept=3, linear=True, linear_l2=1.0, max_iter=40).fit(X[:, :4], y)
    both = ordinal_log_loss(y, model.predict_proba(X))
    assert both < ordinal_log_loss(y, alone.predict_proba(X[:, :4])) - 0.05
    # A group that is new in one column only is integrated over that one.
    new, rows = X[:50].copy(), X[:50]
    new[:, 4] = 999
    f, loss = score_of_trees(model, rows), model._fitted_loss
    drawn = found[4].variance ** 0.5 * np.random.default_rng(0).normal(size=20_000)
    known = f + found[3].effects[rows[:, 3].astype(int)]
    mean = np.mean([loss.predict_proba(known + b, model.thresholds_) for b in drawn], axis=0)
    np.testing.assert_allclose(model.predict_proba(new), mean, atol=0.01)
    model.save_model(tmp_path / "model")
    loaded = make().load_model(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(new), model.predict_proba(new))
    frame = pd.DataFrame(X, columns=["a", "b", "c", "clinic", "rater"]).astype({"clinic": int, "rater": int})
    named = make(random_intercept=["clinic", "rater"], max_iter=5).fit(frame, y)
    assert named.random_effects_[4].groups == list(range(40))


# The hosts


HOSTS = pytest.mark.parametrize("kind", [XGBOrdinalClassifier, LGBMOrdinalClassifier])


@HOSTS
@pytest.mark.parametrize("per_group", [10, 50])
def test_effects_in_hosts_are_those_of_quadrature(kind, per_group):
    X, y, _, group = simulated(per_group, 0, n_groups=100)
    model = of_host(kind, linear=True, linear_l2=1.0).fit(X, y)
    found = model.random_effects_
    theta, tau, modes = by_quadrature(score_of_trees(model, X), y, group, model.thresholds_)
    assert np.sqrt(np.mean((found.effects - modes) ** 2)) < 0.01 * tau
    assert found.variance**0.5 == pytest.approx(tau, rel=0.01)
    np.testing.assert_allclose(model.thresholds_, theta, atol=0.01)


@HOSTS
def test_hosts_predict_with_effects_and_keep_them(kind, tmp_path):
    X, y, _, group = simulated(20, 13)
    frame = pd.DataFrame(X[:, :3], columns=["a", "b", "c"]).assign(clinic=[f"clinic {g:03}" for g in group])
    train = np.random.default_rng(0).random(len(y)) < 0.5
    model = of_host(kind, random_intercept="clinic", n_estimators="auto").fit(frame[train], y[train])
    ignoring = of_host(kind, random_intercept=None, n_estimators="auto").fit(X[train][:, :3], y[train])
    loss = ordinal_log_loss(y[~train], model.predict_proba(frame[~train]))
    assert loss < ordinal_log_loss(y[~train], ignoring.predict_proba(X[~train][:, :3])) - 0.1
    mine = make(max_iter="auto", early_stopping="auto").fit(X[train], y[train])
    assert loss < ordinal_log_loss(y[~train], mine.predict_proba(X[~train])) + 0.02
    assert model.feature_importances_[3] == 0.0
    rows = pd.concat([frame[:30], frame[:5].assign(clinic=None), frame[:5].assign(clinic="new")])
    model.save_model(tmp_path / "model.ubj")
    others = kind().load_model(tmp_path / "model.ubj"), pickle.loads(pickle.dumps(model))
    for other in (*others, clone(model).fit(frame[train], y[train])):
        np.testing.assert_array_equal(other.predict_proba(rows), model.predict_proba(rows))
    stage = list(model.staged_predict_proba(rows))[-1]
    np.testing.assert_allclose(stage, model.predict_proba(rows), atol=1e-6)
    found = shap_values(model, rows[:30])
    np.testing.assert_allclose(found.base_values + found.values.sum(axis=1), model.predict_raw(rows[:30]), atol=1e-5)
    np.testing.assert_allclose(found.values[:, 3], model.random_effects_.effects[group[:30]], atol=1e-5)


@HOSTS
def test_hosts_stop_early_and_refuse_what_does_not_go(kind):
    X, y, _, _ = simulated(20, 14, n_groups=60)
    stop = {"early_stopping_rounds" if kind is XGBOrdinalClassifier else "early_stopping_round": 5}
    model = of_host(kind, n_estimators=300, validation_fraction=0.2, **stop).fit(X, y)
    assert model.n_iter_ < 300
    assert model.random_effects_.variance > 1.0
    assert of_host(kind, random_intercept=None).fit(X, y).random_effects_ is None
    name = "xgb_model" if kind is XGBOrdinalClassifier else "init_model"
    for options, message in (
        ({"loss": "all_threshold"}, "random_intercept needs loss='cumulative_link'"),
        ({"threshold_update": "joint"}, "random_intercept needs threshold_update='newton'; got 'joint'"),
    ):
        with pytest.raises(ValueError, match=message):
            of_host(kind, **options).fit(X, y)
    with pytest.raises(ValueError, match=f"random_intercept must be None beside {name}; got 3"):
        of_host(kind).fit(X, y, **{name: model})
    with pytest.raises(ValueError, match=f"{name} must be without random_intercept: no training keeps its effects"):
        of_host(kind, random_intercept=None).fit(X, y, **{name: model})
    crossing, labels, _ = crossed(0, n=2000)
    both = of_host(kind, random_intercept=[3, 4]).fit(crossing, labels).random_effects_
    assert list(both) == [3, 4]


@HOSTS
def test_what_reads_trees_without_effects_is_refused(kind, tmp_path):
    X, y, _, _ = simulated(20, 15, n_groups=20)
    path = tmp_path / "checkpoint.ubj"

    class Saving(xgboost.callback.TrainingCallback):
        def after_iteration(self, model, epoch, evals_log):
            if epoch == 1:
                model.save_model(path)

    def save(env):
        if env.iteration == 1:
            olgbm.save_model(env.model, path)

    if kind is XGBOrdinalClassifier:
        model, data = of_host(kind, n_estimators=3).set_params(callbacks=[Saving()]).fit(X, y), xgboost.DMatrix(X)
    else:
        model, data = of_host(kind, n_estimators=3).fit(X, y, callbacks=[save]), X
    with pytest.warns(UserWarning, match="callbacks") if kind is XGBOrdinalClassifier else nullcontext():
        checkpoint = kind().load_model(path)
    np.testing.assert_allclose(checkpoint.predict_proba(X), list(model.staged_predict_proba(X))[1], atol=1e-6)
    module = oxgb if kind is XGBOrdinalClassifier else olgbm
    with pytest.raises(ValueError, match="the trees of this booster start from effects of groups, which no tree holds"):
        module.predict_proba(model.booster_, data)
    proba = module.predict_proba(model.booster_, data, random_intercept=X[:, 3])
    np.testing.assert_allclose(proba, model.predict_proba_ordered(X), atol=1e-5)
    if kind is XGBOrdinalClassifier:
        data = xgboost.DMatrix(X, base_margin=model.random_effects_.effects[X[:, 3].astype(int)])
        proba = oxgb.predict_proba(model.booster_, data)
        np.testing.assert_allclose(proba, model.predict_proba_ordered(X), atol=1e-5)


@HOSTS
def test_new_groups_are_evaluated_as_they_are_predicted(kind):
    X, y, _, _ = simulated(20, 15, n_groups=60)
    new = X.copy()
    new[::2, 3] += 100.0
    model = of_host(kind).fit(X, y, eval_set=[(new, y)])
    losses = next(iter(model.evals_result_.values()))["cumulative_link"]
    stages = [ordinal_log_loss(y, proba) for proba in model.staged_predict_proba(new)]
    np.testing.assert_allclose(losses[:-1], stages[:-1], rtol=1e-5)  # the last stage has been integrated


def test_what_is_missing_to_xgboost_is_no_group(tmp_path):
    X, y, _, _ = simulated(20, 16, n_groups=20)
    X[:100, 3] = np.nan
    model = of_host(XGBOrdinalClassifier, n_estimators=3).fit(X, y)
    coded = np.nan_to_num(X, nan=-999.0)
    other = of_host(XGBOrdinalClassifier, n_estimators=3, missing=-999).fit(coded, y)
    assert other.random_effects_.groups == model.random_effects_.groups
    other.save_model(tmp_path / "model.ubj")
    for one in (other, XGBOrdinalClassifier().load_model(tmp_path / "model.ubj"), pickle.loads(pickle.dumps(other))):
        np.testing.assert_array_equal(one.predict_proba(coded), model.predict_proba(X))


def test_a_file_that_a_callback_saves_has_the_effects(tmp_path):
    X, y, _, _ = simulated(20, 18, n_groups=60)

    class Saves(xgboost.callback.TrainingCallback):
        only_reads = True

        def after_iteration(self, model, epoch, evals_log):
            if epoch == 4:
                model.save_model(tmp_path / "model.ubj")
            return False

    model = of_host(XGBOrdinalClassifier, callbacks=[Saves()]).fit(X, y)
    with pytest.warns(UserWarning, match="the file holds no callbacks"):
        saved = XGBOrdinalClassifier().load_model(tmp_path / "model.ubj")
    stages = list(model.staged_predict_proba(X))
    np.testing.assert_allclose(saved.predict_proba(X), stages[4], atol=1e-6)


@pytest.mark.parametrize("kind", [HistGradientBoostingOrdinalClassifier, XGBOrdinalClassifier, LGBMOrdinalClassifier])
def test_half_precision_holds_the_codes_of_many_groups(kind):
    group = np.repeat(np.arange(-1500, 1500), 2)  # as numbers exact in float16, whose codes above 2048 are not
    X = np.column_stack([np.tile([0.0, 1.0], 3000), group])
    y = (np.arange(6000) // 2 % 3).astype(int)
    options = {"loss": "cumulative_link", "random_intercept": 1, "random_state": 0, "n_jobs": 1}
    rounds = {"max_iter": 1} if kind is HistGradientBoostingOrdinalClassifier else {"n_estimators": 1}
    model = kind(**options, **rounds, **({"verbosity": -1} if kind is LGBMOrdinalClassifier else {})).fit(X, y)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(model.predict_proba(X.astype(np.float16)), proba, atol=1e-6)
    np.testing.assert_allclose(clone(model).fit(X.astype(np.float16), y).predict_proba(X), proba, atol=1e-6)


@pytest.mark.parametrize("kind", [HistGradientBoostingOrdinalClassifier, XGBOrdinalClassifier, LGBMOrdinalClassifier])
@pytest.mark.parametrize("dtype", ["datetime64[D]", "datetime64[ns]", "timedelta64[ns]"])
def test_dates_are_no_features_beside_groups(kind, dtype):
    X = np.column_stack([np.arange(40), np.arange(40) % 4]).astype(f"{dtype.partition('[')[0]}[D]").astype(dtype)
    with pytest.raises((TypeError, ValueError), match="X must hold numbers, booleans and"):
        kind(loss="cumulative_link", random_intercept=1).fit(X, np.arange(40) % 3)


def test_new_groups_shift_no_thresholds():
    X, y, _, _ = simulated(10, 18, n_groups=20)
    new = X[:5].copy()
    new[::2, 3] = 99
    model = make(max_iter=3).fit(X, y)
    assert model.proportional_
    np.testing.assert_array_equal(model.predict_shifts(new), np.zeros((5, 4)))
