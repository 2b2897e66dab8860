"""The comparison of threshold updates: its models are the public classifiers', and what cannot be trained is said."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ordinal_objectives import (
    HistGradientBoostingOrdinalClassifier,
    LGBMOrdinalClassifier,
    XGBOrdinalClassifier,
    compare as module,
)
from ordinal_objectives.__main__ import main
from ordinal_objectives.compare import compare_updates
from ordinal_objectives.losses import get_loss
from ordinal_objectives.metrics import mean_absolute_error, ranked_probability_score

ROUNDS = 6
NAMES = np.array(["low", "middle", "high", "top"])
SHARED = {"learning_rate": 0.1, "max_depth": 4, "min_child_weight": 1.0, "subsample": 1.0, "n_jobs": 1}
MODES = [(trainer, update) for trainer in ("xgboost", "lightgbm") for update in ("fixed", "newton", "schur", "joint")]
MODES += [("native", update) for update in ("fixed", "newton", "joint", "vector")]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    X[::9, 1] = np.nan
    score = 2 * X[:, 0] + np.nan_to_num(X[:, 1]) + rng.logistic(size=300)
    return X, NAMES[np.digitize(score, [-1.5, 0.0, 1.5])]


@pytest.fixture(scope="module")
def folds():
    return [(np.arange(200), np.arange(200, 300)), (np.arange(100, 300), np.arange(100))]


@pytest.fixture(scope="module")
def compared(rows, folds):
    return compare_updates(*rows, classes=NAMES, cv=folds, rounds=ROUNDS, n_jobs=1)


def codes_of(labels):
    return np.array([NAMES.tolist().index(label) for label in labels])


def by_hand(trainer, update, hessian):
    """Return the public classifier with the parameters that the docs name, written out."""
    common = {**SHARED, "hessian": hessian, "classes": NAMES}
    if trainer == "xgboost":
        return XGBOrdinalClassifier(
            n_estimators=ROUNDS, threshold_update=update, proportional=True, max_bin=255, reg_lambda=1.0,
            tree_method="hist", **common,
        )  # fmt: skip
    if trainer == "lightgbm":
        return LGBMOrdinalClassifier(
            n_estimators=ROUNDS, threshold_update=update, proportional=True, max_bin=255, reg_lambda=1.0, num_leaves=16,
            min_child_samples=1, min_data_in_bin=1, subsample_freq=0, **common,
        )  # fmt: skip
    how = {"proportional": True, "threshold_update": update}
    if update == "vector":
        how = {"proportional": False, "split_gain": "vector"}
    return HistGradientBoostingOrdinalClassifier(
        max_iter=ROUNDS, max_bins=255, l2_regularization=1.0, max_leaf_nodes=16, min_samples_leaf=1,
        early_stopping=False, **how, **common,
    )  # fmt: skip


@pytest.mark.parametrize("hessian", ["exact", "majorized"])
@pytest.mark.parametrize(("trainer", "update"), MODES)
def test_each_final_model_is_the_public_classifiers(rows, folds, compared, trainer, update, hessian):
    (X, y), (fit, held) = rows, folds[1]
    frame = compared.to_frame()
    path = frame[(frame.trainer == trainer) & (frame["update"] == update) & (frame.hessian == hessian)]
    path = path[path.fold == 1]
    model = by_hand(trainer, update, hessian).fit(X[fit], y[fit])
    assert path["round"].tolist() == list(range(ROUNDS + 1))
    thresholds = path[["<= low", "<= middle", "<= high"]].to_numpy()
    np.testing.assert_array_equal(thresholds, model.threshold_history_)
    np.testing.assert_array_equal(path.training_loss, model.training_loss_)
    codes, decided = codes_of(y[held]), codes_of(model.predict(X[held]))
    proba = model.predict_proba_ordered(X[held])
    last = path.iloc[-1]
    assert last.mae == pytest.approx(mean_absolute_error(codes, decided))
    assert last.rps == pytest.approx(ranked_probability_score(codes, proba, labels=range(4)))
    margins = np.sort(model.predict_linear_predictors(X[held]), axis=1)
    value = get_loss("all_threshold").margin_derivatives(margins, codes, "exact").value
    assert last.held_out_loss == pytest.approx(value.mean(), rel=1e-6)
    assert (path.n_without_split == model.diagnostics_["n_without_split"]).all()
    assert path.seconds.iloc[0] == 0
    assert (np.diff(path.seconds) >= 0).all()
    again = compared.estimator(trainer, update, hessian).fit(X[fit], y[fit])
    np.testing.assert_array_equal(again.predict_proba(X[held]), model.predict_proba(X[held]))


def test_the_summary_has_a_row_for_each_mode_and_the_reason_of_a_refusal(compared):
    table = compared.summary()
    assert len(table) == 26
    refused = table[table.status == "refused"]
    assert refused[["trainer", "update"]].drop_duplicates().to_numpy().tolist() == [["native", "schur"]]
    assert refused.note.str.contains("leaves are renewed with the step here: use 'joint'").all()
    trained = table[table.status == "trained"]
    assert (trained.folds == 2).all()
    assert trained.note.str.contains("own bins").all()
    judges = dict(zip(table["update"][18:], table.note[18:], strict=True))
    assert "splits judged by leaves and thresholds together" in judges["joint"]
    assert judges["vector"].endswith("leaves that shift thresholds; thresholds move with x")


def fails(monkeypatch, error, *, on):
    """Let the fit number ``on`` raise an error in place of a training."""
    train, calls = module._train, []

    def instead(*args):
        calls.append(args)
        if len(calls) == on:
            raise error
        return train(*args)

    monkeypatch.setattr(module, "_train", instead)
    return calls


def test_a_mode_that_fails_does_not_end_the_others(rows, monkeypatch):
    fails(monkeypatch, RuntimeError("no\nmemory"), on=2)
    found = compare_updates(*rows, classes=NAMES, rounds=2, trainers="native", updates="newton", n_jobs=1)
    table = found.summary()
    assert table.status.tolist() == ["failed", "trained", "trained", "trained"]
    assert table.note[0] == "RuntimeError: no"
    assert not found.interrupted


def test_an_interrupt_keeps_what_is_done(rows, folds, monkeypatch):
    calls = fails(monkeypatch, KeyboardInterrupt(), on=7)
    found = compare_updates(*rows, classes=NAMES, cv=folds, rounds=2, trainers="native", updates="newton", n_jobs=1)
    assert found.interrupted
    assert len(calls) == 7
    table = found.summary()
    assert table.folds.tolist() == [2, 1, 1, 1]
    assert table.status.tolist() == ["trained", "interrupted", "trained", "trained"]
    assert found.to_frame()["round"].max() == 2
    assert found.plot().axes


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"trainers": "catboost"}, ValueError, "trainers"),
        ({"updates": ["newton", "vector"]}, ValueError, "updates"),
        ({"hessian": 3}, ValueError, "hessian"),
        ({"rounds": 0}, ValueError, "rounds"),
        ({"max_depth": 0}, ValueError, "max_depth"),
        ({"max_bins": 256}, ValueError, "max_bins"),
        ({"learning_rate": 0.0}, ValueError, "learning_rate"),
        ({"l2": -1.0}, ValueError, "l2 must"),
        ({"proportional": "auto"}, TypeError, "proportional"),
        ({"loss": "hinge"}, ValueError, "loss"),
        ({"classes": NAMES[:2]}, ValueError, "outside the classes"),
        ({"cv": 1}, ValueError, "cv must"),
        ({"progress": 1}, TypeError, "progress"),
    ],
)
def test_wrong_arguments_are_refused_by_name(rows, options, error, message):
    with pytest.raises(error, match=message):
        compare_updates(*rows, **{"classes": NAMES, **options})


@pytest.fixture
def table(rows, tmp_path):
    X, y = rows
    frame = pd.DataFrame(X, columns=["size", "a b", "c[1]"])
    rng = np.random.default_rng(1)
    frame["town"] = np.where(rng.random(300) < 0.2, None, rng.choice(["Aachen", "Bonn"], 300))
    frame["flag"] = np.where(rng.random(300) < 0.2, None, rng.choice([True, False], 300))
    frame["empty"] = np.nan
    frame["grade"] = y
    frame.loc[5, "grade"] = None
    path = tmp_path / "table.csv.gz"
    frame.to_csv(path, index=False)
    return path


def test_the_command_compares_on_a_file_with_text_and_empty_cells(table, tmp_path, capsys):
    arguments = [str(table), "--target", "grade", "--classes", *NAMES, "--rounds", "3", "--out", str(tmp_path / "out")]
    assert main(["compare", *arguments]) == 0
    printed = capsys.readouterr().out
    assert "table.csv.gz: 299 rows, 6 columns" in printed
    assert "classes, lowest first: low, middle, high, top" in printed
    assert "native schur: threshold_update must be one of" in printed
    frame = pd.read_csv(tmp_path / "out" / "compare.csv")
    assert set(frame.status) == {"trained", "refused"}
    assert set(frame["update"][frame.status == "refused"]) == {"schur"}
    assert (frame.groupby(["trainer", "update", "hessian"]).size() == 4).sum() == 24
    assert (tmp_path / "out" / "compare.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--target", "rank"], "--target"),
        (["--target", "grade", "--drop", "rank"], "--drop"),
        (["--target", "grade", "--keep", "rank"], "--keep"),
        (["--target", "size"], "--classes"),
    ],
)
def test_the_command_names_the_option_that_it_cannot_use(table, capsys, arguments, named):
    assert main(["compare", str(table), *arguments]) == 2
    assert named in capsys.readouterr().err


def test_a_table_is_read_without_rows_that_have_no_target_and_without_ids(tmp_path, capsys):
    path = tmp_path / "table.csv"
    columns = {"a b": [1, 2, 3, 4], "a[b": [4, 3, 2, 1], "id": list("pqrs"), "level": ["None", "low", "high", ""]}
    pd.DataFrame(columns).to_csv(path, index=False)
    X, target = module.read_table(path, "level", ["None,low,high"])
    assert target.tolist() == ["None", "low", "high"]  # a class of the name None is no missing value
    assert list(X.columns) == ["a_b_0", "a_b_1"]
    printed = capsys.readouterr().out
    assert "1 of 4 rows have no target" in printed
    assert "id" in printed
    assert list(module.read_table(path, "level", None, keep=["id"])[0].columns) == ["a_b_0", "a_b_1", "id_2"]


@pytest.mark.parametrize(
    ("target", "names", "expected"),
    [
        ([0.5, 1.0, 1.5], None, [0.5, 1.0, 1.5]),
        ([1, 2, 3], None, None),
        ([1, 2, 3], ["3,2,1"], [3.0, 2.0, 1.0]),
        ([True, False], ["False", "True"], [False, True]),
        (["low", "high"], ["low", "high"], ["low", "high"]),
    ],
)
def test_classes_that_a_command_names_have_the_type_of_the_target(target, names, expected):
    found = module.classes_of(pd.Series(target), names)
    assert (None if found is None else list(found)) == expected


def test_the_command_says_what_it_can_do_and_which_versions_it_has(capsys):
    assert main([]) == 0
    assert "compare" in capsys.readouterr().out
    assert main(["versions"]) == 0
    assert "scikit-learn" in capsys.readouterr().out
