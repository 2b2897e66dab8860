"""Files of models with a loss or a link of one's own name it, and are read where it is registered."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import xgboost

from makers import BOTH, make_xgb
from ordinal_objectives import AllThreshold, links, losses
from ordinal_objectives.adapters import lgbm as olgbm
from ordinal_objectives.adapters import xgb as oxgb
from ordinal_objectives.adapters.xgb import booster as boosters
from ordinal_objectives.losses import register_loss
from own_losses import Rising, Scaled, Steep


@pytest.fixture
def new_process(monkeypatch):
    """Return what forgets the losses and links in use, as a new process does."""

    def forget():
        for registry in (losses._OWN, links._OWN):
            monkeypatch.setattr(registry, "_own", {})
        monkeypatch.setattr(boosters, "_by_text", {})

    return forget


@BOTH
@pytest.mark.parametrize("loss", [Rising(), Scaled(Steep(3.0), times=3.0), AllThreshold(Steep())], ids=repr)
def test_files_are_read_once_the_loss_is_registered(make, loss, halves, tmp_path, new_process):
    X, y = halves[:2]
    model = make(loss=loss, proportional=True).fit(X, y)
    path = tmp_path / ("model.json" if make is make_xgb else "model.txt")
    model.save_model(path)
    proba, text = model.predict_proba(X), path.read_text()
    assert loss.identity in text
    assert loss.link.identity in text
    new_process()
    with pytest.raises(ValueError, match=r"'own_losses.* is not part of this package: import it") as found:
        make().load_model(path)
    assert "damaged" not in str(found.value)
    register_loss(loss)
    loaded = make().load_model(path)
    np.testing.assert_array_equal(loaded.predict_proba(X), proba)
    assert (loaded.loss, loaded.link) == (loss.identity, loss.link.identity)
    np.testing.assert_array_equal(loaded.fit(X, y).predict_proba(X), proba)


@BOTH
def test_a_loss_with_other_attributes_is_another(make, halves, tmp_path, new_process):
    path = tmp_path / ("model.json" if make is make_xgb else "model.txt")
    make(loss=Scaled(times=3.0), proportional=True).fit(*halves[:2]).save_model(path)
    new_process()
    register_loss(Scaled(times=2.0))
    with pytest.raises(ValueError, match=r"loss 'own_losses.Scaled\(times=3.0\)' with link 'logit' is not part of"):
        make().load_model(path)


@BOTH
def test_pickles_bring_their_loss(make, halves, new_process):
    X, y = halves[:2]
    model = make(loss=Scaled(Steep(3.0)), proportional=True).fit(X, y)
    proba, stored = model.predict_proba(X), pickle.dumps(model)
    new_process()
    np.testing.assert_array_equal(pickle.loads(stored).predict_proba(X), proba)


def test_boosters_name_it_too(halves, new_process):
    X, y = halves[:2]
    data = xgboost.DMatrix(X, y)
    booster = oxgb.train({"nthread": 1}, data, 3, n_classes=4, loss=Rising())
    proba, booster = oxgb.predict_proba(booster, data), pickle.loads(pickle.dumps(booster))
    new_process()
    with pytest.raises(ValueError, match=r"loss 'own_losses.Rising' with link 'logit' is not part of this package"):
        oxgb.predict_proba(booster, data)
    register_loss(Rising())
    np.testing.assert_array_equal(oxgb.predict_proba(booster, data), proba)
    assert oxgb.threshold_record(booster).ordinal_loss() == Rising()


@BOTH
def test_a_model_goes_on_with_its_own_loss_alone(make, halves):
    model = make(loss=Scaled(), proportional=True).fit(*halves[:2])
    of_model, kind = model._record, oxgb.OrdinalObjective if make is make_xgb else olgbm.OrdinalObjective
    with pytest.raises(ValueError, match=r"with loss Scaled\(link='logit', times=2.0\); this objective has All"):
        kind(4, thresholds=of_model)
    kind(4, loss=Scaled(), thresholds=of_model)
