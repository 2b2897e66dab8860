"""OrdinalEnsembleClassifier: what members are trained on, how their probabilities are pooled, what is refused."""

from __future__ import annotations

import pickle
from functools import partial

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier

from makers import EVERY, LIGHTGBM_CLASSIFIES, MAKERS, PAIR, make_engine
from ordinal_objectives import HistGradientBoostingOrdinalClassifier, OrdinalEnsembleClassifier
from ordinal_objectives.decision import decide
from ordinal_objectives.metrics import ordinal_log_loss, ranked_probability_score

NAMES = np.array(["poor", "fair", "good", "excellent"])  # not in the order of the alphabet
KINDS = pytest.mark.parametrize("make", EVERY.values(), ids=EVERY)


class Recorder(ClassifierMixin, BaseEstimator):
    """Keeps the rows that it is trained and evaluated on, whose numbers are the first feature."""

    def __init__(self, early_stopping_rounds=None, random_state=None):
        self.early_stopping_rounds = early_stopping_rounds
        self.random_state = random_state

    def fit(self, X, y, sample_weight=None, eval_set=None, eval_sample_weight=None):
        self.classes_ = np.unique(y)
        self.rows_, self.y_, self.weight_ = X[:, 0].astype(int), y, sample_weight
        self.evaluated_ = None if eval_set is None else (eval_set[0][0][:, 0].astype(int), eval_set[0][1])
        self.evaluated_weight_ = eval_sample_weight
        return self

    def predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), 1 / len(self.classes_))


@pytest.fixture
def numbered(data):
    X, y = data
    return np.column_stack([np.arange(len(y)), X]), y


def recorders(model):
    return [copy for copies in model.members_.values() for copy in copies]


# What members are trained on


@KINDS
@pytest.mark.filterwarnings("ignore:no tree has a split")
def test_members_get_codes_in_the_order_of_the_classes(make, data):
    X, codes = data
    plain = OrdinalEnsembleClassifier([("one", make())]).fit(X, codes)
    named = OrdinalEnsembleClassifier([("one", make())], classes=NAMES).fit(X, NAMES[codes])
    np.testing.assert_array_equal(named.predict_proba_ordered(X), plain.predict_proba(X))
    np.testing.assert_array_equal(named.predict_proba(X), plain.predict_proba(X)[:, np.argsort(NAMES)])
    np.testing.assert_array_equal(named.predict(X), NAMES[plain.predict(X)])
    assert named.classes_.tolist() == sorted(NAMES)
    assert named.ordered_classes_.tolist() == NAMES.tolist()
    assert np.abs(np.searchsorted(np.arange(4), plain.predict(X)) - codes).mean() < 0.8


def test_copies_have_seeds_and_rows_of_their_own(numbered):
    X, y = numbered
    model = OrdinalEnsembleClassifier([("a", Recorder()), ("b", Recorder())], n_bags=3, subsample=0.7).fit(X, y)
    assert {name: len(copies) for name, copies in model.members_.items()} == {"a": 3, "b": 3}
    rows = [tuple(copy.rows_) for copy in recorders(model)]
    assert len(set(rows)) == len({copy.random_state for copy in recorders(model)}) == 6
    for copy in recorders(model):
        assert len(np.unique(copy.rows_)) == len(copy.rows_) == 210
        np.testing.assert_array_equal(copy.y_, y[copy.rows_])
        np.testing.assert_allclose(np.bincount(copy.y_), 0.7 * np.bincount(y), atol=1)
    again = OrdinalEnsembleClassifier([("a", Recorder())], n_bags=3, subsample=0.7).fit(X, y)
    assert [tuple(copy.rows_) for copy in recorders(again)] == rows[:3]
    other = OrdinalEnsembleClassifier([("a", Recorder())], n_bags=3, subsample=0.7, random_state=1).fit(X, y)
    assert not {tuple(copy.rows_) for copy in recorders(other)} & set(rows)


def test_groups_stay_together(numbered):
    X, y = numbered
    groups = np.arange(300) // 3
    model = OrdinalEnsembleClassifier([("a", Recorder(early_stopping_rounds=2))], weights="rps", refit=False).fit(
        X, y, groups=groups
    )
    for copy in recorders(model):
        bag, evaluated = set(groups[copy.rows_]), set(groups[copy.evaluated_[0]])
        assert not bag & evaluated
        assert len(bag) * 3 == len(copy.rows_)
        assert len(copy.rows_) + len(copy.evaluated_[0]) == 240  # a fifth is held out from all
    with pytest.raises(ValueError, match=r"groups must have shape \(300,\)"):
        model.fit(X, y, groups=groups[:5])


def test_rows_that_find_the_weights_are_seen_by_no_member(numbered):
    X, y = numbered
    model = OrdinalEnsembleClassifier([("a", Recorder()), ("b", Recorder())], weights="rps", subsample=1.0).fit(X, y)
    trained = {tuple(copy.rows_) for copy in recorders(model)}
    assert len(trained) == 1
    assert len(trained.pop()) == 240
    given = OrdinalEnsembleClassifier([("a", Recorder())], weights="rps", subsample=1.0).fit(X, y, eval_set=(X, y))
    assert len(recorders(given)[0].rows_) == 300


def test_early_stopping_is_by_the_rows_that_a_copy_leaves_out(numbered):
    X, y = numbered
    weight = np.linspace(1, 2, 300)
    members = [("a", Recorder(early_stopping_rounds=2))]
    model = OrdinalEnsembleClassifier(members, refit=False).fit(X, y, sample_weight=weight)
    for copy in recorders(model):
        rows, labels = copy.evaluated_
        assert sorted([*rows, *copy.rows_]) == list(range(300))
        np.testing.assert_array_equal(labels, y[rows])
        np.testing.assert_array_equal(copy.weight_, weight[copy.rows_])
        np.testing.assert_array_equal(copy.evaluated_weight_, [weight[rows]])


def test_a_copy_stops_early_by_rows_of_classes_that_it_knows(numbered):
    X, y = numbered
    y = np.where(np.arange(300) == 7, 9, np.minimum(y, 2))
    members = [("a", Recorder(early_stopping_rounds=2))]
    groups = np.arange(300) // 10  # without groups each class keeps a row
    model = OrdinalEnsembleClassifier(members, refit=False, n_bags=20, random_state=0).fit(X, y, groups=groups)
    alone = [copy for copy in recorders(model) if 7 not in copy.rows_]
    assert alone
    for copy in alone:
        rows, labels = copy.evaluated_
        assert sorted([*rows, *copy.rows_, 7]) == list(range(300))
        np.testing.assert_array_equal(labels, y[rows])


@pytest.mark.parametrize(("kind", "name"), [("xgboost", "early_stopping_rounds"), ("lightgbm", "early_stopping_round")])
def test_no_round_to_stop_after_is_no_early_stopping(kind, name, numbered):
    X, y = numbered
    off, none = (
        OrdinalEnsembleClassifier([("a", MAKERS[kind](**{name: rounds}))], n_bags=1).fit(X, y) for rounds in (0, None)
    )
    np.testing.assert_array_equal(off.predict_proba(X), none.predict_proba(X))


STOPPING = {
    "xgboost": partial(MAKERS["xgboost"], early_stopping_rounds=2),
    "lightgbm": partial(MAKERS["lightgbm"], early_stopping_round=2),
    "histogram": partial(MAKERS["histogram"], early_stopping=True, n_iter_no_change=2),
    "histogram, as searches set it": partial(MAKERS["histogram"], early_stopping=np.True_, n_iter_no_change=2),
    "xgboost multiclass": partial(XGBClassifier, max_depth=4, early_stopping_rounds=2, n_jobs=1),
    "lightgbm multiclass": partial(LGBMClassifier, early_stopping_round=2, n_jobs=1, verbose=-1),
}
if not LIGHTGBM_CLASSIFIES:
    del STOPPING["lightgbm multiclass"]


@pytest.mark.parametrize("make", STOPPING.values(), ids=STOPPING)
def test_members_of_the_hosts_stop_early(make, data, capfd):
    X, y = data
    member = make().set_params(learning_rate=0.5)
    number = next(name for name in ("n_estimators", "max_iter") if hasattr(member, name))
    member.set_params(**{number: 200})
    model = OrdinalEnsembleClassifier([("a", member)], subsample=0.7, refit=False).fit(X, y)
    rounds = [getattr(copy, "n_iter_", None) or copy.best_iteration for copy in recorders(model)]
    assert all(0 <= one < 100 for one in rounds)
    again = OrdinalEnsembleClassifier([("a", member)], subsample=0.7).fit(X, y)
    counted = [one if hasattr(copy, "n_iter_") else one + 1 for one, copy in zip(rounds, recorders(model), strict=True)]
    all_rows = [round(max(1, one) * 300 / 210) for one in counted]  # as many more rounds as there are more rows
    assert [copy.get_params()[number] for copy in recorders(again)] == all_rows
    alone = clone(recorders(again)[0])
    alone.fit(X, y)
    np.testing.assert_array_equal(alone.predict_proba(X), recorders(again)[0].predict_proba(X))
    assert capfd.readouterr().out == ""
    if "validation_fraction" in member.get_params():
        own = member.set_params(validation_fraction=0.3)
        OrdinalEnsembleClassifier([("a", own)], subsample=1.0, n_bags=1).fit(X, y)


@KINDS
@pytest.mark.filterwarnings("ignore:no tree has a split")
def test_a_class_that_a_copy_or_all_rows_lack_keeps_its_column(make, data):
    X, codes = data
    y = np.where(codes == 3, 4, codes)  # of five declared classes, class 3 has no row
    y[np.flatnonzero(y == 2)[1:]] = 1  # and class 2 a single one
    model = OrdinalEnsembleClassifier([("a", make())], classes=range(5)).fit(X, y)
    proba = model.predict_proba(X)
    assert proba.shape == (300, 5)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    if "classes" in make().get_params():
        assert [copy.classes_.tolist() for copy in recorders(model)] == [[0, 1, 2, 3, 4]] * 2
    assert proba[:, 3].max() < 1e-4
    lacking = y != 2
    proba = OrdinalEnsembleClassifier([("a", make())], classes=range(5)).fit(X[lacking], y[lacking]).predict_proba(X)
    assert proba[:, [2, 3]].max() < 1e-4


def test_every_copy_keeps_a_row_of_each_class(numbered):
    X, y = numbered
    y = np.where(y == 2, 1, y)
    y[7] = 2
    model = OrdinalEnsembleClassifier(
        [("a", Recorder(early_stopping_rounds=2))], subsample=0.3, refit=False, n_bags=6
    ).fit(X, y)
    for copy in recorders(model):
        assert np.unique(copy.y_).tolist() == [0, 1, 2, 3]
        assert sorted([*copy.rows_, *copy.evaluated_[0]]) == list(range(300))


@pytest.mark.parametrize("asks", [True, False])
def test_groups_are_routed_to_the_last_step_that_asks_for_them(asks, data):
    X, y = data
    groups = np.arange(300) // 10
    with config_context(enable_metadata_routing=True):
        last = make_engine(early_stopping=True).set_fit_request(groups=asks)
        model = OrdinalEnsembleClassifier([("a", make_pipeline(StandardScaler(), last))], subsample=1.0, n_bags=1)
        model.fit(X, y, groups=groups)
        (copy,) = recorders(model)
        alone = clone(copy).fit(X, y, **({"groups": groups} if asks else {}))
        np.testing.assert_array_equal(alone.predict_proba(X), copy.predict_proba(X))
        unsaid = make_pipeline(StandardScaler(), make_engine())
        with pytest.raises(ValueError, match=r"\[groups\] are"):
            OrdinalEnsembleClassifier([("a", unsaid)]).fit(X, y, groups=groups)


def test_weights_reach_the_members_and_rows_without_are_left_out(numbered):
    X, y = numbered
    weight = np.where(np.arange(300) % 3 == 0, 0.0, 2.0)
    members = [("a", Recorder()), ("b", make_pipeline(Recorder()))]
    model = OrdinalEnsembleClassifier(members, subsample=1.0, class_weight={1: 5.0}).fit(X, y, sample_weight=weight)
    kept = np.flatnonzero(weight)
    for copy in recorders(model):
        last = copy if isinstance(copy, Recorder) else copy[-1]
        np.testing.assert_array_equal(last.rows_, kept)
        np.testing.assert_array_equal(last.weight_, np.where(y == 1, 10.0, 2.0)[kept])
    with pytest.raises(TypeError, match="sample_weight"):
        OrdinalEnsembleClassifier([("a", KNeighborsClassifier())]).fit(X, y, sample_weight=weight)


# The pool


@pytest.mark.parametrize("weights", ["equal", [3, 1]])
def test_probabilities_are_the_weighted_mean(weights, data):
    X, y = data
    model = OrdinalEnsembleClassifier(PAIR, weights=weights).fit(X, y)
    expected = [0.5, 0.5] if weights == "equal" else [0.75, 0.25]
    assert model.weights_.tolist() == expected
    mean = sum(w * copy.predict_proba(X) / 2 for w, name in zip(expected, model.members_, strict=True)
               for copy in model.members_[name])  # fmt: skip
    np.testing.assert_allclose(model.predict_proba(X), mean, rtol=1e-12)
    np.testing.assert_allclose(model.predict_cumulative_proba(X), np.cumsum(mean, axis=1)[:, :-1], rtol=1e-12)
    for rule in ("median", "mode", "mean"):
        np.testing.assert_array_equal(model.set_params(decision_rule=rule).predict(X), decide(mean, rule))
    cost = np.abs(np.subtract.outer(range(4), range(4))) + 5.0 * np.triu(np.ones((4, 4)), 1)
    model.set_params(decision_rule="median", cost_matrix=cost)
    np.testing.assert_array_equal(model.predict(X), decide(mean, cost_matrix=cost))


@pytest.mark.parametrize("criterion", ["log_loss", "rps"])
def test_found_weights_are_the_best_ones(criterion, data):
    X, codes = data
    members = [*PAIR, ("shares", Recorder())]
    train, held, weight = slice(0, 180), slice(180, 300), np.linspace(0.1, 3, 120)
    model = OrdinalEnsembleClassifier(members, weights=criterion, classes=NAMES)
    model.fit(X[train], NAMES[codes[train]], eval_set=(X[held], NAMES[codes[held]]), eval_sample_weight=[weight])
    metric = ordinal_log_loss if criterion == "log_loss" else ranked_probability_score
    each = [np.mean([one.predict_proba(X[held]) for one in copies], axis=0) for copies in model.members_.values()]

    def value(w):
        return metric(codes[held], np.tensordot(w, each, axes=1), labels=range(4), sample_weight=weight)

    best = value(model.weights_)
    assert best == pytest.approx(model.evals_result_["validation_0"]["ensemble"][criterion])
    assert list(model.evals_result_["validation_0"]) == ["trees", "linear", "shares", "ensemble"]
    grid = [np.array([a, b, 10 - a - b]) / 10 for a in range(11) for b in range(11 - a)]
    assert best <= min(map(value, grid)) + 1e-9
    assert best < min(map(value, np.eye(3)))
    assert model.weights_.sum() == pytest.approx(1.0)
    assert model.weights_.min() >= 0


def test_a_member_without_weight_changes_nothing(data):
    X, y = data
    model = OrdinalEnsembleClassifier(PAIR, weights=[1, 0]).fit(X, y)
    alone = OrdinalEnsembleClassifier(PAIR[:1]).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), alone.predict_proba(X))


def test_results_do_not_depend_on_threads(data):
    X, y = data
    members = [(name.split()[0] + str(i), make()) for i, (name, make) in enumerate(EVERY.items())]
    one, two = (OrdinalEnsembleClassifier(members, n_jobs=n, weights="rps").fit(X, y) for n in (None, 2))
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    np.testing.assert_array_equal(one.weights_, two.weights_)
    again = pickle.loads(pickle.dumps(two))
    np.testing.assert_array_equal(again.predict_proba(X), one.predict_proba(X))


# Without argument


def test_the_default_reads_categories_and_missing_values(data):
    X, y = data
    frame = pd.DataFrame(X, columns=list("abcd")).mask(X > 1.5)
    frame["grade"] = pd.Categorical(np.array(["u", "v", "w"])[y % 3])
    model = OrdinalEnsembleClassifier().fit(frame, y)
    assert model.score(frame, y) > 0.6
    assert model.feature_names_in_.tolist() == [*"abcd", "grade"]


def test_the_default_is_the_mean_of_four_plain_calls(data):
    X, y = data
    model = OrdinalEnsembleClassifier(random_state=0).fit(X, y)
    copies = recorders(model)
    alone = [HistGradientBoostingOrdinalClassifier(random_state=copy.random_state).fit(X, y) for copy in copies]
    assert len({one.random_state for one in alone}) == 4
    mean = np.mean([one.predict_proba(X) for one in alone], axis=0)
    np.testing.assert_allclose(model.predict_proba(X), mean, rtol=1e-12)
    members = [("trees", HistGradientBoostingOrdinalClassifier())]
    given = OrdinalEnsembleClassifier(members, random_state=0).fit(X, y)  # with shares of the rows, and two copies
    assert [len(recorders(given)), given.get_params()["subsample"]] == [2, None]
    assert not np.array_equal(given.predict_proba(X), model.predict_proba(X))
