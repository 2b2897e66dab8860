"""Copies that inspections train: as many rounds as the model, and all that its fit was given, or a refusal."""

from __future__ import annotations

import pickle

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from makers import make_cat, make_engine, make_lgb, make_xgb
from ordinal_objectives import (
    AllThreshold,
    HistGradientBoostingOrdinalClassifier,
    LGBMOrdinalClassifier,
    XGBOrdinalClassifier,
)
from ordinal_objectives.adapters import lgbm as olgbm
from ordinal_objectives.estimators.arguments import as_trained
from ordinal_objectives.inspection import average_marginal_effects, proportional_odds_test, rows, summary
from own_losses import Scaled, Steep

N = 240
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
Y = np.digitize(X[:, 0] + 1.5 * RNG.normal(size=N), [-1, 0, 1])
TRAIN, HELD = slice(0, 180), slice(180, N)
MAKE = {"xgb": XGBOrdinalClassifier, "lgbm": LGBMOrdinalClassifier, "engine": HistGradientBoostingOrdinalClassifier}
FIXED = {"xgb": make_xgb, "lgbm": make_lgb, "engine": make_engine}
BOTH = pytest.mark.parametrize("inspect", ["effects", "summary"])
KINDS = pytest.mark.parametrize("kind", MAKE)


def make(kind, **options):
    return MAKE[kind](n_jobs=1, random_state=0, **options)


@pytest.fixture
def trained(monkeypatch):
    """Return the list of copies, with their rows and weights, that inspections train from now on."""
    found, again = [], rows.trained_again

    def remembered(estimator, X, y, weight, *given, **options):
        found.append((again(estimator, X, y, weight, *given, **options), X, weight))
        return found[-1][0]

    monkeypatch.setattr(rows, "trained_again", remembered)
    return found


def inspected(inspect, model, X=X, y=Y, **options):
    if inspect == "summary":
        return summary(model, X, y, n_refits=2, random_state=0, **options).threshold_spread
    return average_marginal_effects(model, X, 0, step=1.0, n_refits=2, random_state=0, **options).lower


# Rows that are drawn twice


@KINDS
@pytest.mark.parametrize("linear", [False, True, "auto"])
def test_copies_of_a_summary_train_the_rounds_of_the_model(kind, linear, trained):
    model = make(kind, linear=linear).fit(X, Y)
    spread = inspected("summary", model)
    rounds = {"max_iter" if kind == "engine" else "n_estimators": model.n_iter_, "linear": model.linear_ is not None}
    rounds |= model.round_search_.settings
    assert [copy.n_iter_ for copy, _, _ in trained] == [model.n_iter_] * 2
    np.testing.assert_allclose(spread, inspected("summary", make(kind, **rounds).fit(X, Y)))


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("xgb", {"n_estimators": 100, "early_stopping_rounds": 3, "validation_fraction": 0.2}),
        (
            "xgb",
            {"n_estimators": 100, "callbacks": [xgboost.callback.EarlyStopping(rounds=3)], "validation_fraction": 0.2},
        ),
        ("lgbm", {"n_estimators": 100, "early_stopping_round": 3, "validation_fraction": 0.2}),
        ("lgbm", {"num_iterations": 100, "n_iter_no_change": 3, "validation_fraction": 0.2}),
        ("engine", {"early_stopping": True}),
        ("lgbm", {"n_estimators": 60, "min_split_gain": 6}),
    ],
)
def test_nothing_ends_copies_of_a_summary_early(kind, options, trained):
    model = make(kind, **options).fit(X, Y)
    inspected("summary", model)
    assert [copy.trained_rounds() for copy, _, _ in trained] == [model.trained_rounds()] * 2


@pytest.mark.parametrize(
    "options",
    [
        {"boosting_type": "rf", "max_iter": 20},
        {"pruning": True},
        {"adaptive_step": True, "max_iter": 8},
        {"pruning": True, "judged_by": "validation", "max_iter": 8},
    ],
    ids=str,
)
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_that_judge_are_not_those_that_are_trained_on(options, weighted, trained):
    weight = np.random.default_rng(1).uniform(1.0, 2.0, size=N) if weighted else None
    model = make("engine", **options).fit(X, Y, sample_weight=weight)
    inspected("summary", model, sample_weight=weight)
    for copy, drawn, given in trained:
        assert len(np.unique(drawn, axis=0)) == len(drawn) < N
        assert given.sum() == pytest.approx(N * (1.5 if weighted else 1.0), rel=0.05 if weighted else 1e-12)
        assert copy.n_iter_ <= model.n_iter_


@KINDS
def test_copies_of_effects_find_their_own_rounds(kind, trained):
    """Their labels are drawn anew each time, so a row held out tells nothing of its twin."""
    model = make(kind).fit(X, Y)
    inspected("effects", model)
    assert all(copy.round_search_ is not None for copy, _, _ in trained)


# What fit was given

CODES = RNG.integers(0, 8, size=N)
WITH_CODES = np.column_stack([X[:, 0], CODES])
OF_CODES = np.digitize(X[:, 0] + 3 * (CODES % 2) + RNG.logistic(size=N), [0, 1.5, 3])


@BOTH
@pytest.mark.parametrize("how", ["plain", "pipeline", "search", "file", "pickle"])
def test_copies_read_codes_as_the_model_does(how, inspect, trained, tmp_path):
    options = {"n_estimators": 6, "num_leaves": 4, "min_child_samples": 10}
    model, given = make("lgbm", **options), {"categorical_feature": [1]}
    if how == "pipeline":
        model = make_pipeline(FunctionTransformer(), model)
        given = {"lgbmordinalclassifier__categorical_feature": [1]}
    if how == "search":
        model = GridSearchCV(model, {"learning_rate": [0.2]}, cv=2)
    model.fit(WITH_CODES, OF_CODES, **given)
    if how == "file":
        model.save_model(tmp_path / "model.txt")
        model = LGBMOrdinalClassifier(n_jobs=1).load_model(tmp_path / "model.txt")
    model = pickle.loads(pickle.dumps(model)) if how == "pickle" else model
    found = inspected(inspect, model, WITH_CODES, OF_CODES)
    for copy, _, _ in trained:
        last = copy[-1] if how == "pipeline" else copy
        assert last.is_categorical_.tolist() == [False, True]
    frame = pd.DataFrame({"x": X[:, 0], "code": pd.Categorical(CODES)})
    np.testing.assert_allclose(
        found, inspected(inspect, make("lgbm", **options).fit(frame, OF_CODES), frame, OF_CODES), rtol=1e-6
    )


def never_better(y, proba):
    return 1.0


STOPPED = {
    "xgb": lambda: make("xgb", n_estimators=200, early_stopping_rounds=4).fit(
        X[TRAIN], Y[TRAIN], eval_set=[(X[HELD], Y[HELD])]
    ),
    "xgb and a share": lambda: make("xgb", n_estimators=200, early_stopping_rounds=4, validation_fraction=0.5).fit(
        X[TRAIN], Y[TRAIN], X_val=X[HELD], y_val=Y[HELD]
    ),
    "xgb by groups": lambda: make("xgb", n_estimators=200, early_stopping_rounds=4, validation_fraction=0.5).fit(
        X, Y, groups=np.arange(N) // 4
    ),
    "lgbm by a callback": lambda: make("lgbm", n_estimators=200).fit(
        X[TRAIN], Y[TRAIN], eval_set=[(X[HELD], Y[HELD])], callbacks=[lightgbm.early_stopping(4, verbose=False)]
    ),
    "lgbm by a metric": lambda: make("lgbm", n_estimators=200, early_stopping_rounds=4, validation_fraction=0.3).fit(
        X, Y, eval_metric=never_better
    ),
    "lgbm": lambda: make("lgbm", n_estimators=200, early_stopping_rounds=4).fit(
        X[TRAIN], Y[TRAIN], eval_X=X[HELD], eval_y=Y[HELD]
    ),
    "engine": lambda: make("engine", max_iter=200).fit(X[TRAIN], Y[TRAIN], X_val=X[HELD], y_val=Y[HELD]),
    "engine, groups": lambda: make("engine").fit(X, Y, groups=np.arange(N) // 4),
}


@BOTH
@pytest.mark.parametrize("how", STOPPED)
def test_rounds_that_rows_given_to_fit_have_found_are_kept(how, inspect, trained):
    model = STOPPED[how]()
    inspected(inspect, model)
    assert [copy.n_iter_ for copy, _, _ in trained] == [model.n_iter_] * 2 != [200] * 2


@BOTH
def test_early_stopping_of_copies_begins_anew(inspect, trained):
    stop = xgboost.callback.EarlyStopping(rounds=5)
    options = {"n_estimators": 200, "validation_fraction": 0.2, "learning_rate": 0.1}
    by_callback = inspected(inspect, make("xgb", callbacks=[stop], **options).fit(X, Y))
    by_argument = inspected(inspect, make("xgb", early_stopping_rounds=5, **options).fit(X, Y))
    np.testing.assert_allclose(by_callback, by_argument)
    assert all(copy.n_iter_ > 5 for copy, _, _ in trained)


@BOTH
@pytest.mark.parametrize("kind", ["xgb", "lgbm"])
def test_copies_follow_a_schedule(kind, inspect):
    options = {"n_estimators": 8, "learning_rate": 0.05}
    if kind == "xgb":
        scheduled = make("xgb", **options, callbacks=[xgboost.callback.LearningRateScheduler(lambda i: 0.05)]).fit(X, Y)
    else:
        by_round = lightgbm.reset_parameter(learning_rate=[0.05] * 8)
        scheduled = make("lgbm", **options | {"learning_rate": 0.5}).fit(X, Y, callbacks=[by_round])
        with pytest.raises(ValueError, match="its fit was given callbacks, which no file keeps"):
            inspected(inspect, pickle.loads(pickle.dumps(scheduled)))
    np.testing.assert_allclose(inspected(inspect, scheduled), inspected(inspect, make(kind, **options).fit(X, Y)))


@BOTH
@pytest.mark.parametrize("kind", ["xgb", "xgb by a list", "lgbm"])
def test_callbacks_changed_in_place_change_no_copies(kind, inspect):
    by_list, kind = kind.endswith("list"), kind.split()[0]
    options = {"n_estimators": 8, "learning_rate": 0.05}
    expected = inspected(inspect, make(kind, **options).fit(X, Y))
    if kind == "xgb":
        rates = [0.05] * 8
        callback = xgboost.callback.LearningRateScheduler(rates if by_list else lambda i: 0.05)
        model = make("xgb", callbacks=[callback], **options).fit(X, Y)
        rates[:] = [0.9] * 8
        if not by_list:
            callback.learning_rates = lambda i: 0.9
    else:
        callback = lightgbm.reset_parameter(learning_rate=[0.05] * 8)
        model = make("lgbm", **options).fit(X, Y, callbacks=[callback])
        callback.kwargs["learning_rate"][:] = [0.9] * 8
    np.testing.assert_allclose(inspected(inspect, model), expected)


@pytest.mark.parametrize("kind", ["xgb", "lgbm", "cat"])
@pytest.mark.parametrize("brings", ["loss", "link"])
def test_a_loss_changed_in_place_changes_no_model(brings, kind, tmp_path):
    if kind == "cat":
        pytest.importorskip("catboost")
    own = Steep(2.0) if brings == "link" else SteepLoss()
    model = made(kind, loss=AllThreshold(own) if brings == "link" else own).fit(X, Y)
    expected = model.predict_proba(X)
    own.steepness = 9.0
    for one in (model, loaded(model, tmp_path / "model.ubj")):
        np.testing.assert_array_equal(one.predict_proba(X), expected)


@pytest.mark.parametrize("how", ["columns", "loss"])
def test_what_fit_was_given_changed_in_place_changes_no_copies(how):
    columns, own_loss = [2], Scaled()
    Z = np.column_stack([X[:, 0], np.arange(N) % 4, np.arange(N) % 5])
    model = make_lgb().fit(Z, Y, categorical_feature=columns) if how == "columns" else make_xgb(loss=own_loss).fit(Z, Y)

    def copied():
        return rows.trained_again(as_trained(model), Z, Y, None, np.random.RandomState(0), own_rounds=True)

    expected = copied().predict_proba(Z)
    columns.append(1)
    own_loss.times = 20.0
    np.testing.assert_array_equal(copied().predict_proba(Z), expected)


@BOTH
def test_copies_have_seeds_by_every_name_of_lightgbm(inspect, trained):
    model = LGBMOrdinalClassifier(n_estimators=3, seed=7, n_jobs=1).fit(X, Y)
    inspected(inspect, model)  # no warning of a seed that is not used
    assert len({copy.get_params()["seed"] for copy, _, _ in trained} | {7}) == 3


@BOTH
def test_copies_write_no_checkpoints(inspect, tmp_path):
    save = xgboost.callback.TrainingCheckPoint(tmp_path, interval=2)
    model = make("xgb", n_estimators=6, callbacks=[save]).fit(X, Y)
    files = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    inspected(inspect, model)
    assert files == {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} != {}


def rate_of(iteration):
    return 0.3


class SteepLoss(AllThreshold):
    """A loss of which an attribute says the probabilities."""

    def __init__(self, link="logit", steepness=2.0):
        super().__init__(link)
        self.steepness = steepness

    def _proba(self, x):
        return super()._proba(self.steepness * x)


class Own(xgboost.callback.TrainingCallback):
    """Might do anything."""


def continued(kind):
    first = FIXED[kind](n_estimators=3).fit(X, Y)
    return FIXED[kind](n_estimators=3).fit(X, Y, **{"xgb_model" if kind == "xgb" else "init_model": first})


REFUSED = {
    "xgb_model": lambda: continued("xgb"),
    "init_model": lambda: continued("lgbm"),
    "a model to continue, by warm_start": lambda: (
        make("engine", max_iter=3, warm_start=True).fit(X, Y).set_params(max_iter=5).fit(X, Y)
    ),
    "base_margin": lambda: make_xgb().fit(X, Y, base_margin=X[:, 0]),
    "init_score": lambda: make_lgb().fit(X, Y, init_score=X[:, 0]),
    "the callback Own, without only_reads = True": lambda: make_xgb(callbacks=[Own()]).fit(X, Y),
    "the callback own, without only_reads = True": lambda: make_lgb().fit(X, Y, callbacks=[own]),
    "evaluation sets that judge its trees": lambda: make_engine(pruning=True, judged_by="validation").fit(
        X[TRAIN], Y[TRAIN], X_val=X[HELD], y_val=Y[HELD]
    ),
    "groups": lambda: make_engine(adaptive_step=True, judged_by="validation").fit(X, Y, groups=np.arange(N) // 4),
}


def own(env):
    """Might do anything."""


@BOTH
@pytest.mark.parametrize("name", REFUSED)
def test_what_copies_cannot_be_given_is_named(name, inspect, trained):
    words = f"estimator must be a model whose copies can be trained on other rows; its fit was given {name}, which"
    with pytest.raises(ValueError, match=words):
        inspected(inspect, REFUSED[name]())
    assert not trained


def loaded(model, path):
    model.save_model(path)
    return type(model)(n_jobs=1).load_model(path)


@pytest.mark.parametrize("how", STOPPED)
def test_loaded_models_keep_rounds_that_rows_given_to_fit_have_found(how, tmp_path):
    model = STOPPED[how]()
    again = loaded(loaded(model, tmp_path / "model.json"), tmp_path / "model.json")
    np.testing.assert_allclose(inspected("effects", again), inspected("effects", model))


@pytest.mark.parametrize("name", [name for name in REFUSED if "Own" not in name])  # loading warns of that
def test_loaded_models_name_what_copies_cannot_be_given(name, tmp_path):
    with pytest.raises(ValueError, match=f"its fit was given {name}, which"):
        inspected("effects", loaded(REFUSED[name](), tmp_path / "model.json"))


def of_booster(model, path):
    """Return what is loaded from a file that the booster wrote, and not the model."""
    if isinstance(model, LGBMOrdinalClassifier):
        olgbm.save_model(model.booster_, path)
    else:
        model.booster_.save_model(path)
    return type(model)(n_jobs=1).load_model(path)


def made(kind, **options):
    return make_cat(**options) if kind == "cat" else FIXED[kind](**options)


OF_BOOSTERS = {
    "xgb_model": lambda: continued("xgb"),
    "init_model": lambda: continued("lgbm"),
    "baseline": lambda: made("cat").fit(X, Y, baseline=X[:, 0]),
    "base_margin": REFUSED["base_margin"],
    "init_score": REFUSED["init_score"],
    **{
        f"thresholds by refit_thresholds of {kind}": lambda kind=kind: made(kind).fit(X, Y).refit_thresholds(X, Y)
        for kind in ("xgb", "lgbm", "cat")
    },
}


@pytest.mark.parametrize("name", OF_BOOSTERS)
def test_files_of_boosters_name_what_copies_cannot_be_given(name, tmp_path):
    kind = name.rpartition(" ")[2]
    if kind in ("baseline", "cat"):
        pytest.importorskip("catboost")
    model = OF_BOOSTERS[name]()
    with pytest.raises(ValueError, match=f"its fit was given {name.removesuffix(f' of {kind}')}, which"):
        of_booster(model, tmp_path / "model.ubj").for_copies(own_rounds=True)


@pytest.mark.parametrize("kind", ["xgb", "lgbm", "cat"])
def test_files_of_boosters_are_those_of_models(kind, tmp_path):
    if kind == "cat":
        pytest.importorskip("catboost")
    names = np.array(["a", "b", "c", "d"])
    for model in (
        made(kind, decision_rule="mode", classes=list(names)).fit(X, names[Y]),
        made(kind, early_stopping_rounds=2, classes=list(names)).fit(X, names[Y], eval_set=[(X, names[Y])]),
    ):
        again, other = of_booster(model, tmp_path / "booster.ubj"), loaded(model, tmp_path / "model.ubj")
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        assert again._record.classifier == other._record.classifier


def test_checkpoints_name_what_copies_cannot_be_given(tmp_path):
    save = xgboost.callback.TrainingCheckPoint(tmp_path, interval=2)
    make_xgb(n_estimators=4, callbacks=[save]).fit(X, Y, base_margin=X[:, 0])
    with pytest.warns(UserWarning, match="callbacks"):
        stopped = XGBOrdinalClassifier().load_model(sorted(tmp_path.iterdir())[0])
    with pytest.raises(ValueError, match="its fit was given base_margin, which"):
        stopped.for_copies(own_rounds=True)


CALLBACKS = {
    "the callback Own, without only_reads = True": Own,
    "callbacks, which no file keeps": lambda: xgboost.callback.LearningRateScheduler(rate_of),
}


@pytest.mark.parametrize("name", CALLBACKS)
@pytest.mark.parametrize("read", [loaded, of_booster])
def test_files_name_callbacks_that_copies_lack(read, name, tmp_path):
    model = make_xgb(n_estimators=5, callbacks=[CALLBACKS[name]()]).fit(X, Y)
    with pytest.warns(UserWarning, match="callbacks"):
        read_model = read(model, tmp_path / "model.ubj")
    with pytest.raises(ValueError, match=f"its fit was given {name}"):
        read_model.for_copies(own_rounds=True)
    if name != "the callback Own, without only_reads = True":
        pickle.loads(pickle.dumps(model)).for_copies(own_rounds=True)


def test_effects_without_refits_need_no_copies():
    assert average_marginal_effects(REFUSED["xgb_model"](), X, 0).lower is None
    assert summary(REFUSED["xgb_model"](), X, Y).threshold_spread is None


def test_another_fit_forgets_what_an_earlier_one_was_given(tmp_path):
    model = make_xgb().fit(X, Y, base_margin=X[:, 0]).fit(X, Y)
    inspected("summary", model)
    other = make_lgb().fit(X, Y)
    other.save_model(tmp_path / "model.txt")
    model = make_lgb().fit(X, Y, init_score=X[:, 0]).load_model(tmp_path / "model.txt")
    np.testing.assert_allclose(inspected("summary", model), inspected("summary", other))


@KINDS
@BOTH
def test_copies_have_the_loss_of_the_fit(kind, inspect):
    def later(**options):
        return FIXED[kind](link="probit").fit(X, Y).set_params(**options)

    expected = inspected(inspect, later())
    np.testing.assert_array_equal(inspected(inspect, later(link="logit")), expected)
    np.testing.assert_array_equal(inspected(inspect, later(loss="cumulative_link", link="cloglog")), expected)


def test_the_test_of_proportional_odds_judges_the_loss_of_the_fit():
    model = make_xgb(loss="cumulative_link").fit(X, Y).set_params(loss="all_threshold")
    with pytest.raises(ValueError, match="got loss='cumulative_link'"):
        proportional_odds_test(model, X, Y)
    model = make_xgb().fit(X, Y)
    found = proportional_odds_test(model, X, Y, random_state=0).p_values
    model.set_params(loss="cumulative_link")
    np.testing.assert_array_equal(proportional_odds_test(model, X, Y, random_state=0).p_values, found)


def test_copies_of_the_test_of_proportional_odds_are_trained_as_the_model():
    data = pd.DataFrame(WITH_CODES, columns=["x", "code"])
    whole = data.assign(code=pd.Categorical(CODES))
    options = {"n_estimators": 12, "num_leaves": 4, "min_child_samples": 10}
    by_fit = make("lgbm", **options).fit(data, OF_CODES, categorical_feature=["code"])
    by_type = make("lgbm", **options).fit(whole, OF_CODES)
    found, expected = (
        proportional_odds_test(model, table, OF_CODES, random_state=0)
        for model, table in ((by_fit, data), (by_type, whole))
    )
    np.testing.assert_allclose(found.p_values, expected.p_values, rtol=1e-6)
    with pytest.raises(ValueError, match="its fit was given xgb_model"):
        proportional_odds_test(REFUSED["xgb_model"](), X, Y)
    proportional_odds_test(make_pipeline(StandardScaler(), make_xgb()), X, Y, random_state=0)  # not fitted
