"""The description of an ordinal model: checked once, the same through every entry point, frozen."""

from __future__ import annotations

import dataclasses
import importlib
import inspect

import numpy as np
import pytest

import ordinal_objectives
from makers import make_lgb, make_xgb
from ordinal_objectives import AllThreshold
from ordinal_objectives.leaves.vector import Shifts
from ordinal_objectives.rows import MarginStatistics
from ordinal_objectives.spec import ENTRY_POINTS, OrdinalSpec

# Their parameters are among the options, with the defaults of the entry point.
BY_OPTIONS = ("xgb.cv", "xgb.dask.train", "lgbm.cv")


def signature_of(entry):
    """Return the parameters of an entry point by name."""
    host, _, name = entry.partition(".")
    home = importlib.import_module(f"ordinal_objectives.adapters.{host}") if name else ordinal_objectives
    return inspect.signature(getattr(home, name or host)).parameters


@pytest.mark.parametrize("entry", [entry for entry in ENTRY_POINTS if entry not in BY_OPTIONS])
def test_the_table_tells_the_defaults_of_the_signatures(entry):
    found, entered = signature_of(entry), ENTRY_POINTS[entry]
    assert found["threshold_update"].default == entered.threshold_update
    for name, default in (("loss", "all_threshold"), ("link", "logit"), ("hessian", "exact")):
        assert found[name].default == default
    if "joint" not in entered.updates:  # CatBoost's have one score
        assert entered.proportional is True
        assert "proportional" not in found
        return
    assert found["proportional"].default == entered.proportional
    method = found["shift_method"].default if "shift_method" in found else None
    assert method in (entered.shift_method, None)
    assert (found["shift_l2"].default, found["shift_penalty"].default) == (None, "ridge")
    assert found["max_shifts"].default is None
    assert found["split_outputs"].default == "score" if "split_outputs" in found else method is None


LINKED = AllThreshold("probit")


@pytest.mark.parametrize("entry", ENTRY_POINTS)
def test_a_link_beside_a_loss_that_has_another_is_refused(entry):
    message = (
        r"link='cloglog' contradicts loss=AllThreshold\(link='probit'\), which brings its own link: leave link out, or "
        r"make the loss with it"
    )
    with pytest.raises(ValueError, match=message):
        OrdinalSpec.of(entry, loss=LINKED, link="cloglog")
    for same in ("logit", "probit", LINKED.link):  # the first is the default: nobody asked for it
        assert OrdinalSpec.of(entry, loss=LINKED, link=same).loss is LINKED
    with pytest.raises(ValueError, match="link must be one of"):
        OrdinalSpec.of(entry, loss=LINKED, link="logistic")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"n_classes": 1}, "n_classes"),
        ({"n_classes": 2**40}, f"n_classes must be an integer between 2 and 32768; got {2**40}"),
        ({"loss": "squared"}, "loss"),
        ({"link": "identity"}, "link"),
        ({"hessian": "none"}, "hessian"),
        ({"link": "cloglog", "hessian": "majorized"}, "'majorized' does not exist for loss .* with link 'cloglog'"),
        ({"threshold_update": "often"}, "must be one of 'newton', 'fixed', 'schur', 'joint'; got 'often'"),
        ({"thresholds": [1.0, 0.0]}, "thresholds"),
        ({"thresholds": [0.0, np.nan]}, "thresholds"),
        ({"n_classes": 4, "thresholds": [0.0, 1.0]}, "thresholds"),
        ({"proportional": "sometimes"}, "proportional"),
        ({"shift_method": "both"}, "shift_method"),
        ({"shift_l2": 1.0}, "shift_l2=1.0 belongs to thresholds that move with x"),
        ({"shift_penalty": "smooth"}, "shift_penalty='smooth' belongs to thresholds that move with x"),
        ({"split_outputs": "both"}, "split_outputs"),
        ({"split_outputs": 2}, "split_outputs=2 belongs to shifts that XGBoost fits itself"),
        ({"max_shifts": 2}, "max_shifts=2 belongs to thresholds that move with x"),
        (
            {"proportional": False, "max_shifts": 2, "shift_method": "host"},
            "max_shifts=2 is not possible with shifts that XGBoost fits itself",
        ),
        ({"proportional": False, "shift_penalty": "sparse", "max_shifts": 0}, "max_shifts"),
        ({"proportional": False, "threshold_update": "fixed"}, "threshold_update='fixed'"),
        ({"proportional": False, "threshold_update": "schur"}, "threshold_update='schur'"),
    ],
)
def test_what_is_refused_is_named(given, words):
    with pytest.raises(ValueError, match=words):
        OrdinalSpec.of("xgb.train", **given)


def test_an_entry_point_names_the_updates_it_takes():
    words = "threshold_update must be one of 'joint', 'newton', 'fixed'; got 'schur'.*use 'joint'"
    with pytest.raises(ValueError, match=words):
        OrdinalSpec.of("HistGradientBoostingOrdinalClassifier", threshold_update="schur")


def test_auto_moves_thresholds_where_it_can():
    spec = OrdinalSpec(AllThreshold(), proportional="auto")
    assert spec.shifts() == Shifts()
    assert spec.shifts("no") is None
    assert dataclasses.replace(spec, threshold_update="fixed").shifts() is None


@pytest.mark.parametrize("make", [make_xgb, make_lgb])
def test_a_joint_step_that_is_not_taken_is_warned_of(make, ordinal_data):
    X, y = ordinal_data(200)
    with pytest.warns(UserWarning, match="threshold_update='joint' has no effect where thresholds move with x"):
        shifted = make(n_estimators=3, threshold_update="joint").fit(X, y)
    assert not shifted.proportional_
    assert make(n_estimators=3, threshold_update="joint", proportional=True).fit(X, y).proportional_
    np.testing.assert_array_equal(shifted.predict_proba(X), make(n_estimators=3).fit(X, y).predict_proba(X))


@pytest.mark.parametrize("make", [make_xgb, make_lgb])
def test_max_shifts_reaches_the_hosts(make, ordinal_data, tmp_path):
    X, y = ordinal_data(400, 5)
    options = {"n_estimators": 5, "proportional": False}
    ridge = make(**options).fit(X, y)
    one, two, all_four = (make(max_shifts=most, shift_penalty="sparse", **options).fit(X, y) for most in (None, 2, 4))
    np.testing.assert_array_equal(all_four.predict_proba(X), ridge.predict_proba(X))
    assert one._record.shifts.most is None
    assert np.abs(one.predict_proba(X) - two.predict_proba(X)).max() > 1e-3
    two.save_model(tmp_path / "model.ubj")
    again = make().load_model(tmp_path / "model.ubj")
    assert again.max_shifts == 2
    np.testing.assert_array_equal(again.predict_proba(X), two.predict_proba(X))
    one.save_model(tmp_path / "model.ubj")
    assert again.load_model(tmp_path / "model.ubj").max_shifts is None


@pytest.mark.parametrize("make", [make_xgb, make_lgb])
def test_hosts_share_shifts_among_neighbours(make, ordinal_data, tmp_path, monkeypatch):
    X, y = ordinal_data(600, 9)
    options = {"n_estimators": 5, "proportional": False}
    three = make(max_shifts=3, **options).fit(X, y, eval_set=[(X, y)])
    for vectors in three._record.leaf_vectors:
        np.testing.assert_array_equal(vectors, vectors[:, [0, 0, 0, 3, 3, 3, 6, 6]])
    np.testing.assert_array_equal(
        make(max_shifts=8, **options).fit(X, y).predict_proba(X), make(**options).fit(X, y).predict_proba(X)
    )
    three.save_model(tmp_path / "model.ubj")
    again = make().load_model(tmp_path / "model.ubj")
    assert again.max_shifts == 3
    np.testing.assert_array_equal(again.predict_proba(X), three.predict_proba(X))
    # Rows may have a score for each threshold instead, as on a GPU.
    monkeypatch.setattr(MarginStatistics, "shares_scores", False)
    separate = make(max_shifts=3, **options).fit(X, y, eval_set=[(X, y)])
    np.testing.assert_allclose(separate.predict_proba(X), three.predict_proba(X), atol=1e-6)
    np.testing.assert_allclose(separate._record.training_loss, three._record.training_loss, rtol=1e-6)


@pytest.mark.parametrize(("make", "name"), [(make_xgb, "xgb_model"), (make_lgb, "init_model")])
@pytest.mark.parametrize("most", [None, 3])
def test_hosts_continue_with_shared_shifts(make, name, most, ordinal_data, monkeypatch):
    """After separate shifts each threshold keeps a score of its own, after shared ones it need not."""
    X, y = ordinal_data(600, 9)
    options = {"n_estimators": 3, "proportional": False}
    before = make(max_shifts=most, **options).fit(X, y)

    def continued():
        return make(max_shifts=3, **options).fit(X, y, eval_set=[(X, y)], **{name: before})

    model = continued()
    for vectors in model._record.leaf_vectors[3:]:
        np.testing.assert_array_equal(vectors, vectors[:, [0, 0, 0, 3, 3, 3, 6, 6]])
    monkeypatch.setattr(MarginStatistics, "shares_scores", False)
    separate = continued()
    np.testing.assert_allclose(separate.predict_proba(X), model.predict_proba(X), atol=1e-6)
    np.testing.assert_allclose(separate._record.training_loss, model._record.training_loss, rtol=1e-6)
