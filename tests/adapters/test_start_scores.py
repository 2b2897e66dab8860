"""The classifiers go on with a model, and start from scores that the caller gives."""

from __future__ import annotations

import lightgbm
import numpy as np
import pytest
import xgboost

from makers import make_lgb, make_xgb, margins_of, mean_loss
from ordinal_objectives import XGBOrdinalClassifier
from ordinal_objectives.adapters import lgbm as olgbm, xgb as oxgb
from ordinal_objectives.links import LINKS
from ordinal_objectives.losses import get_loss
from pairs import each_pair

UPDATES = pytest.mark.parametrize("update", ["newton", "schur", "joint"])


class XGBoost:
    """How this host spells things."""

    go_on, start, start_of_evaluation, file = "xgb_model", "base_margin", "base_margin_eval_set", "model.json"

    @staticmethod
    def make(**params):
        return make_xgb(**{"n_estimators": 8, **params})

    @staticmethod
    def load(path):
        return xgboost.Booster(model_file=path)


class LightGBM:
    go_on, start, start_of_evaluation, file = "init_model", "init_score", "eval_init_score", "model.txt"

    @staticmethod
    def make(**params):
        return make_lgb(**{"n_estimators": 8, **params})

    load = staticmethod(olgbm.load_model)


HOSTS = pytest.mark.parametrize("host", [XGBoost, LightGBM])


def record_of(model):
    adapter = oxgb if isinstance(model, XGBOrdinalClassifier) else olgbm
    return adapter.threshold_record(model.booster_)


def losses_of(model):
    return next(iter(model.evals_result_.values()))["all_threshold"]


@HOSTS
@pytest.mark.parametrize(
    "update", [*(pytest.param(one, marks=pytest.mark.slow) for one in ("fixed", "newton", "schur")), "joint"]
)
def test_continuation_is_an_uninterrupted_run(host, update, halves, tmp_path):
    X, y, Xv, yv = halves
    whole = host.make(n_estimators=20, threshold_update=update, proportional=True).fit(X, y, eval_set=[(Xv, yv)])
    first = host.make(n_estimators=12, threshold_update=update, proportional=True).fit(X, y, eval_set=[(Xv, yv)])
    before = first.predict_proba(Xv)
    path = tmp_path / host.file
    first.save_model(path)
    for model in (first, first.booster_, path, str(path), host.load(path)):
        second = host.make(threshold_update=update, proportional=True).fit(
            X, y, eval_set=[(Xv, yv)], **{host.go_on: model}
        )
        assert second.n_iter_ == whole.n_iter_ == 20
        # XGBoost adds up its float32 scores afresh when it goes on.
        np.testing.assert_allclose(record_of(second).thresholds, record_of(whole).thresholds, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(second.predict_proba(Xv), whole.predict_proba(Xv), atol=1e-4)
        np.testing.assert_allclose(losses_of(first) + losses_of(second), losses_of(whole), rtol=1e-4)
    np.testing.assert_array_equal(first.predict_proba(Xv), before)


@HOSTS
def test_continuation_of_an_early_stopped_model(host, halves):
    """Both hosts go on with the rounds they kept: all of them in XGBoost, up to the best one in LightGBM."""
    X, y, Xv, yv = halves
    if host is XGBoost:
        stopped = host.make(n_estimators=200, early_stopping_rounds=5).fit(X, y, eval_set=[(Xv, yv)])
        rounds = stopped.booster_.num_boosted_rounds()
        assert rounds == stopped.n_iter_ + 5
    else:
        stop = lightgbm.early_stopping(5, verbose=False)
        stopped = host.make(n_estimators=200).fit(X, y, eval_set=[(Xv, yv)], callbacks=[stop])
        rounds = stopped.n_iter_
    second = host.make(n_estimators=3).fit(X, y, **{host.go_on: stopped})
    whole = host.make(n_estimators=rounds + 3).fit(X, y)
    assert second.n_iter_ == rounds + 3
    np.testing.assert_allclose(second.predict_proba(Xv), whole.predict_proba(Xv), atol=1e-4)


@HOSTS
def test_only_the_same_kind_of_model_is_continued(host, halves, tmp_path):
    X, y, _, _ = halves
    grades = np.array(["a", "b", "c", "d"])
    named = host.make(classes=grades).fit(X, grades[y])
    named.save_model(tmp_path / host.file)
    for model in (named, tmp_path / host.file):
        with pytest.raises(ValueError, match=rf"{host.go_on} was trained on the classes \['a', 'b', 'c', 'd'\]; here"):
            host.make().fit(X, y, **{host.go_on: model})
        # The same labels in another order are other classes.
        with pytest.raises(ValueError, match=r"here they are \['d', 'c', 'b', 'a'\]"):
            host.make(classes=grades[::-1]).fit(X, grades[y], **{host.go_on: model})
    with pytest.raises(ValueError, match=r"here they are \['d', 'c', 'b', 'a'\]"):
        named.set_params(classes=grades[::-1]).fit(X, grades[y], **{host.go_on: named})
    model = host.make().fit(X, y)
    with pytest.raises(ValueError, match=r"classes \[0, 1, 2, 3\]; here they are \[0, 1, 2\].*Pass classes="):
        host.make().fit(X[y < 3], y[y < 3], **{host.go_on: model})
    fewer = host.make(classes=range(4)).fit(X[y < 3], y[y < 3], **{host.go_on: model})
    assert fewer.n_iter_ == 16
    with pytest.raises(ValueError, match="continued with its own loss and link"):
        host.make(loss="cumulative_link").fit(X, y, **{host.go_on: model})
    plain = xgboost.train({}, xgboost.DMatrix(X, y), 2)
    if host is LightGBM:
        plain = lightgbm.train({"verbosity": -1}, lightgbm.Dataset(X, y), 2)
    with pytest.raises(ValueError, match="booster carries no ordinal thresholds"):
        host.make().fit(X, y, **{host.go_on: plain})


@HOSTS
@UPDATES
def test_start_scores_shift_everything(host, update, halves):
    """Every round's loss is that of (start + trees, thresholds), on the training rows and on the others."""
    X, y, Xv, yv = halves
    starts = 1.5 * X[:, 0], 1.5 * Xv[:, 0]
    model = host.make(threshold_update=update, proportional=True)
    model.fit(X, y, eval_set=[(Xv, yv)], **{host.start: starts[0], host.start_of_evaluation: [starts[1]]})
    losses = record_of(model).training_loss
    loss = get_loss("all_threshold")
    for rows, labels, start, recorded in ((X, y, starts[0], losses[-1]), (Xv, yv, starts[1], losses_of(model)[-1])):
        score = model.predict_raw(rows, **{host.start: start})
        np.testing.assert_allclose(score, start + model.predict_raw(rows), rtol=1e-12)
        found = mean_loss(model, rows, labels, trained=rows is X, **{host.start: start})
        assert found == pytest.approx(recorded, rel=1e-5)
    assert losses[0] < record_of(host.make().fit(X, y)).training_loss[0] - 0.1

    given = {host.start: starts[1]}
    proba = model.predict_proba(Xv, **given)
    np.testing.assert_allclose(proba, loss.margin_proba(margins_of(model, Xv, **given)), rtol=1e-12)
    *_, last = model.staged_predict_proba(Xv, **given)
    np.testing.assert_allclose(last, proba, rtol=1e-5)
    np.testing.assert_allclose(model.predict_cumulative_proba(Xv, **given), proba.cumsum(axis=1)[:, :-1], atol=1e-12)
    assert np.mean(model.predict(Xv, **given) == yv) > np.mean(model.predict(Xv) == yv)


@pytest.mark.filterwarnings("ignore:no tree has a split")
@each_pair({"host": [XGBoost, LightGBM], "link": ["logit", "probit", "cloglog"], "size": [100.0, 1e4, 1e6]})
def test_recorded_losses_are_right_far_from_the_thresholds(host, link, size, halves):
    X, y, Xv, yv = halves
    start = (min(size, 300.0) if link == "cloglog" else size) * np.random.default_rng(0).choice([-1, 1], 300)
    # XGBoost's scores are float32, and the cloglog's loss is exp of them.
    rtol = 1e-3 if link == "cloglog" else 1e-5
    model = host.make(link=link, hessian="exact" if link == "cloglog" else "majorized")
    model.fit(X, y, eval_set=[(Xv, yv)], **{host.start: start, host.start_of_evaluation: [-start]})
    record, loss = record_of(model), get_loss("all_threshold", link)
    assert loss.value(start, y, record.at(0)).mean() == pytest.approx(record.training_loss[0], rel=rtol)
    for rows, labels, begin, recorded in (
        (X, y, start, record.training_loss[-1]),
        (Xv, yv, -start, losses_of(model)[-1]),
    ):
        found = mean_loss(model, rows, labels, trained=rows is X, **{host.start: begin})
        assert found == pytest.approx(recorded, rel=rtol)


@HOSTS
def test_a_common_start_moves_into_the_thresholds(host, halves):
    X, y, Xv, _ = halves
    plain, moved = host.make().fit(X, y), host.make().fit(X, y, **{host.start: np.full(300, 2.5)})
    np.testing.assert_allclose(moved.thresholds_ - 2.5, plain.thresholds_, atol=1e-4)
    shifted = moved.predict_proba(Xv, **{host.start: np.full(300, 2.5)})
    np.testing.assert_allclose(shifted, plain.predict_proba(Xv), atol=1e-4)


@HOSTS
@pytest.mark.parametrize("link", LINKS)
def test_thresholds_find_a_start_far_away(host, link, halves):
    """Newton steps alone come nowhere near it with a link whose loss is flat or steep out there."""
    X, y, Xv, _ = halves
    hessian = "majorized" if get_loss("all_threshold", link).supports("majorized") else "exact"
    plain = host.make(link=link, hessian=hessian).fit(X, y)
    for offset in (-4096.0, 128.0, 4096.0):
        moved = host.make(link=link, hessian=hessian).fit(X, y, **{host.start: np.full(300, offset)})
        proba = moved.predict_proba(Xv, **{host.start: np.full(len(Xv), offset)})
        # XGBoost's scores are float32: steps of 1/2048 at 4096.
        np.testing.assert_allclose(proba, plain.predict_proba(Xv), atol=0.02 if host is XGBoost else 1e-4)


@pytest.mark.parametrize(
    ("host", "params"),
    [
        (XGBoost, {"proportional": False}),
        (XGBoost, {"threshold_update": "joint", "proportional": True}),
        (LightGBM, {"proportional": True}),
    ],
    ids=["shifts", "joint", "LightGBM"],
)
@pytest.mark.parametrize("constant", [-1e4, 1e6])
def test_a_common_start_has_no_effect_where_scores_are_doubles(host, params, constant, halves):
    X, y, Xv, _ = halves
    plain = host.make(**params).fit(X, y)
    moved = host.make(**params).fit(X, y, **{host.start: np.full(300, constant)})
    np.testing.assert_allclose(moved.thresholds_ - constant, plain.thresholds_, atol=1e-5)
    proba = moved.predict_proba(Xv, **{host.start: np.full(len(Xv), constant)})
    np.testing.assert_allclose(proba, plain.predict_proba(Xv), atol=1e-5)
