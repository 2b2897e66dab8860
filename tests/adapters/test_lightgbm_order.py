"""Thresholds of a LightGBM model belong to its trees in their order."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import lightgbm
import numpy as np
import pytest

from ordinal_objectives import LGBMOrdinalClassifier
from ordinal_objectives.adapters import lgbm as olgbm

QUIET = {"verbosity": -1, "num_leaves": 7, "min_data_in_leaf": 5, "learning_rate": 0.3, "num_threads": 1}
CHANGED = "are not the first .* of the training that recorded its thresholds"
UPDATES = pytest.mark.parametrize("update", ["fixed", "newton", "schur", "joint", "attach"])


def trained(X, y, update, rounds=12, **options):
    data = lightgbm.Dataset(X, y)
    if update != "attach":
        return olgbm.train(QUIET, data, rounds, n_classes=5, threshold_update=update, **options)
    objective = olgbm.OrdinalObjective(5)
    booster = lightgbm.train({**QUIET, "metric": "None", "objective": objective}, data, rounds)
    objective.attach(booster, X)
    return booster


def cut(booster, tmp_path, **options):
    """Return what LightGBM keeps of a saved model."""
    olgbm.save_model(booster, tmp_path / "whole.txt")
    whole = lightgbm.Booster(model_file=tmp_path / "whole.txt")
    (tmp_path / "cut.txt").write_text(whole.model_to_string(**options))
    return lightgbm.Booster(model_file=tmp_path / "cut.txt")


@UPDATES
def test_shuffled_trees_are_refused(ordinal_data, update, tmp_path):
    X, y = ordinal_data(300)
    booster = trained(X, y, update)
    booster.shuffle_models(2, 9)  # the last trees stay where they are
    for use in (
        lambda: olgbm.predict_proba(booster, X, 5),
        lambda: olgbm.threshold_record(booster),
        lambda: olgbm.save_model(booster, tmp_path / "model.txt"),
        lambda: trained(X, y, "newton", init_model=booster),
        lambda: LGBMOrdinalClassifier().fit(X, y, init_model=booster),
    ):
        with pytest.raises(ValueError, match=CHANGED):
            use()


@UPDATES
def test_a_text_cut_at_the_front_is_refused(ordinal_data, update, tmp_path):
    X, y = ordinal_data(300)
    booster = trained(X, y, update)
    part = cut(booster, tmp_path, start_iteration=3)
    assert part.current_iteration() == 9
    with pytest.raises(ValueError, match=CHANGED):
        olgbm.predict_proba(part, X)
    with pytest.raises(ValueError, match=f"cut.txt is damaged: .*{CHANGED}"):
        olgbm.load_model(tmp_path / "cut.txt")


@UPDATES
@pytest.mark.parametrize("kept", [1, 7, 12])
def test_a_text_cut_at_the_end_is_right(ordinal_data, update, kept, tmp_path):
    X, y = ordinal_data(300)
    booster = trained(X, y, update)
    expected = olgbm.predict_proba(booster, X, kept)
    np.testing.assert_array_equal(olgbm.predict_proba(cut(booster, tmp_path, num_iteration=kept), X), expected)
    np.testing.assert_array_equal(olgbm.predict_proba(olgbm.load_model(tmp_path / "cut.txt"), X), expected)
    again = pickle.loads(pickle.dumps(booster))
    np.testing.assert_array_equal(olgbm.predict_proba(again, X, kept), expected)


@UPDATES
def test_continued_models_carry_the_checksums_of_all_their_trees(ordinal_data, update):
    X, y = ordinal_data(300)
    first = trained(X, y, update)
    second = trained(X, y, "newton", 4, init_model=first)
    trees = olgbm.threshold_record(second).trees
    assert trees[:12] == olgbm.threshold_record(first).trees
    assert len(set(trees)) == 16


def test_early_stopped_models_have_thresholds_of_the_trees_that_are_kept(ordinal_data, tmp_path):
    X, y = ordinal_data(300)
    data = lightgbm.Dataset(X, y)
    valid = data.create_valid(*ordinal_data(100, seed=5))
    stop = lightgbm.early_stopping(2, verbose=False)
    params = {**QUIET, "learning_rate": 0.9}
    booster = olgbm.train(params, data, 100, [valid], n_classes=5, callbacks=[stop])
    record = olgbm.threshold_record(booster)
    assert len(record.trees) == booster.current_iteration() == booster.best_iteration < 100
    olgbm.save_model(booster, tmp_path / "model.txt")
    loaded = olgbm.load_model(tmp_path / "model.txt")
    np.testing.assert_array_equal(olgbm.predict_proba(loaded, X), olgbm.predict_proba(booster, X))


def test_rounds_without_a_split_have_checksums_too(ordinal_data):
    X, y = ordinal_data(300)
    schedule = lightgbm.reset_parameter(min_gain_to_split=[1e9, 0.0, 1e9, 0.0, 0.0])
    booster = trained(X, y, "joint", 5, callbacks=[schedule])
    assert booster.current_iteration() == len(olgbm.threshold_record(booster).trees) == 4
    booster.rollback_one_iter()
    assert olgbm.predict_proba(booster, X).shape == (300, 5)
    booster.shuffle_models()
    with pytest.raises(ValueError, match=CHANGED):
        olgbm.predict_proba(booster, X)


def test_another_model_in_the_same_booster_is_refused(ordinal_data):
    X, y = ordinal_data(300)
    booster, other = trained(X, y, "newton"), trained(X, 4 - y, "newton")
    booster.model_from_string(other.model_to_string())
    with pytest.raises(ValueError, match=CHANGED):
        olgbm.predict_proba(booster, X)


def test_files_without_checksums_still_load(ordinal_data, tmp_path):
    """Version 0.1 stored none."""
    X, y = ordinal_data(300)
    booster = trained(X, y, "newton")
    expected = olgbm.predict_proba(booster, X)
    booster.ordinal_thresholds = replace(booster.ordinal_thresholds, trees=None)
    olgbm.save_model(booster, tmp_path / "old.txt")
    assert '"trees"' not in (tmp_path / "old.txt").read_text()
    np.testing.assert_array_equal(olgbm.predict_proba(olgbm.load_model(tmp_path / "old.txt"), X), expected)


def test_classifiers_keep_the_checksums(ordinal_data, tmp_path):
    X, y = ordinal_data(300)
    model = LGBMOrdinalClassifier(n_estimators=8).fit(X, y)
    model.save_model(tmp_path / "model.txt")
    loaded = LGBMOrdinalClassifier().load_model(tmp_path / "model.txt")
    expected = model.predict_proba(X)
    for one in (model, loaded, copy.deepcopy(model), pickle.loads(pickle.dumps(loaded))):
        assert len(olgbm.threshold_record(one.booster_).trees) == 8
        np.testing.assert_array_equal(one.predict_proba(X), expected)
        one.booster_.shuffle_models()
        with pytest.raises(ValueError, match=CHANGED):
            one.save_model(tmp_path / "shuffled.txt")
