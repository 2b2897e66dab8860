"""The comparison of threshold updates: its models are the public classifiers', and what cannot be trained is said."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest
import xgboost

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


def test_all_figures_of_a_mode_are_those_of_its_best_round(rows):
    found = compare_updates(
        *rows, classes=NAMES, rounds=9, trainers="native", updates="joint", hessian="exact", learning_rate=1.0, n_jobs=1
    )
    for mode in found.summary().itertuples():
        path = found.to_frame().query("update == @mode.update").set_index("round")
        assert mode.at_round == path.held_out_loss.idxmin() < 9
        for name in ("held_out_loss", "mae", "rps", "seconds"):
            assert getattr(mode, name) == path[name][mode.at_round]


def test_each_trainer_trains_a_round_first_that_is_not_measured(rows, monkeypatch):
    train, calls = module._train, []

    def instead(trainer, model, *args):
        options = model.get_params()
        calls.append((trainer, options.get("max_iter", options.get("n_estimators"))))
        return train(trainer, model, *args)

    monkeypatch.setattr(module, "_train", instead)
    compare_updates(*rows, classes=NAMES, cv=2, rounds=3, updates="newton", hessian="exact", n_jobs=1)
    host = [("xgboost", 1), ("xgboost", 3), ("lightgbm", 1), ("lightgbm", 3), ("native", 1), ("native", 3)]
    assert calls == [*host, ("native", 3), ("xgboost", 3), ("lightgbm", 3), ("native", 3), ("native", 3)]


def test_thresholds_that_move_with_x(rows):
    found = compare_updates(*rows, classes=NAMES, rounds=2, hessian="exact", proportional=False, n_jobs=1)
    status = {(line.trainer, line.update): line.status for line in found.summary().itertuples()}
    trained = {mode for mode, is_what in status.items() if is_what == "trained"}
    native = {("native", update) for update in ("newton", "joint", "vector")}
    assert trained == {("xgboost", "newton"), ("lightgbm", "newton")} | native
    notes = found.summary().set_index(["trainer", "update"]).note
    assert "has no effect where thresholds move with x" in notes["xgboost", "joint"]
    gains = [found.estimator("native", update).split_gain for update in ("newton", "joint", "vector")]
    assert gains == ["scalar", "joint", "vector"]


@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_a_library_that_is_missing_has_a_row_that_says_so(rows, library, monkeypatch):
    for name in [one for one in sys.modules if one.partition(".")[0] == library or f".adapters.{library[:3]}" in one]:
        monkeypatch.delitem(sys.modules, name)
    for name in [one for one in sys.modules if ".adapters.lgbm" in one or ".adapters.xgb" in one]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("XGBOrdinalClassifier", "LGBMOrdinalClassifier"):
        monkeypatch.delitem(vars(sys.modules["ordinal_objectives"]), name, raising=False)
    monkeypatch.setitem(sys.modules, library, None)
    found = compare_updates(*rows, classes=NAMES, rounds=2, trainers=[library, "native"], updates="joint", n_jobs=1)
    table = found.summary()
    assert table.status.tolist() == ["not installed"] * 2 + ["trained"] * 4
    assert table.note[0].endswith(f"pip install 'ordinal-objectives[{library}]', in a checkout '.[{library}]'")


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


def test_one_model_is_in_memory_at_a_time(rows, monkeypatch):
    import gc
    import weakref

    train, known, alive = module._train, [], []
    gc.collect()
    gc.freeze()  # what was there before need not be looked through each time

    def instead(trainer, model, *args):
        gc.collect()
        alive.append(sum(one() is not None for one in known))
        known.append(weakref.ref(model))
        return train(trainer, model, *args)

    monkeypatch.setattr(module, "_train", instead)
    compare_updates(*rows, classes=NAMES, rounds=2, updates="newton", n_jobs=1)
    gc.unfreeze()
    assert alive == [0] * 11


def test_a_warning_of_a_training_is_in_the_note():
    X, y = np.zeros((40, 1)), np.arange(40) % 3
    table = compare_updates(X, y, rounds=2, trainers="native", updates="joint", hessian="exact", n_jobs=1).summary()
    assert table.note.str.contains("no tree has a split").all()
    assert table.held_out_loss.notna().all()


@pytest.mark.parametrize(("loss", "link"), [("immediate_threshold", "logit"), ("cumulative_link", "probit")])
def test_other_losses(rows, loss, link):
    found = compare_updates(
        *rows, classes=NAMES, rounds=2, loss=loss, link=link, hessian="exact", updates="joint", n_jobs=1
    )
    table = found.summary()
    assert table[table.status == "trained"].held_out_loss.notna().all()
    assert (table["update"][table.status == "refused"] == "vector").all()


def test_the_picture_has_a_row_for_each_trainer_and_a_colour_for_each_update(compared):
    import matplotlib.pyplot as plt

    figure = compared.plot()
    assert len(figure.axes) == 9
    assert [len(ax.lines) for ax in figure.axes] == [8, 8, 24] * 3
    colours = {line.get_label().partition(",")[0]: line.get_color() for ax in figure.axes[::3] for line in ax.lines}
    assert len(set(colours.values())) == len(colours) == 5
    plt.close(figure)


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


def test_rows_of_another_number_are_refused(rows):
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        compare_updates(rows[0][1:], rows[1], classes=NAMES)
    with pytest.raises(ValueError, match="update must be one of 'fixed', 'newton', 'schur', 'joint'; got 'vector'"):
        compare_updates(*rows, classes=NAMES, rounds=1, trainers="native").estimator("xgboost", "vector")


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
    ("text", "options", "message"),
    [
        ("", [], "No columns to parse"),
        ("a,y\n" + "1,2\n" * 6, [], "at least two classes; got only the class 2"),
        ("a,y\n1,0\n2,1\n" * 4, ["--target", "z"], "--target 'z' is not a column"),
        ("a,y\n" + "".join(f"{i},{i}.5\n" for i in range(30)), [], "looks continuous: it holds 30 different numbers"),
        ("a,y\n" + "".join(f"{i},{i}\n" for i in range(30)), [], "looks continuous: it holds 30 different numbers"),
        ("a;y\n" + "1,5;0\n2,5;1\n" * 4, [], "--target 'y' is not a column"),
        ("a,y\n1,0\n2,1\n" * 4, ["--classes", "0", "2"], "outside the classes"),
        ("a,y\n" + "1,0\n2,1\n" * 4, ["--classes", "0", "one"], "could not convert string to float: 'one'"),
    ],
)
def test_a_file_that_cannot_be_compared_ends_with_one_line(text, options, message, tmp_path, capsys):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    assert main(["compare", str(path), "--target", "y", *options]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    assert message in error


def test_a_callback_that_only_reads_costs_nothing_and_changes_nothing(rows, monkeypatch):
    """Other callbacks may change the booster's parameters, so these are read anew after each round."""
    X, y = rows
    read, calls = xgboost.Booster.save_config, []

    def counted(booster):
        calls.append(booster)
        return read(booster)

    monkeypatch.setattr(xgboost.Booster, "save_config", counted)

    class Any(xgboost.callback.TrainingCallback):
        pass

    class Reads(xgboost.callback.TrainingCallback):
        only_reads = True

    found = {}
    for name, callbacks in {"none": None, "reads": [Reads()], "any": [Any()]}.items():
        calls.clear()
        model = by_hand("xgboost", "joint", "exact").set_params(callbacks=callbacks).fit(X, y)
        found[name] = (len(calls), model.predict_proba(X))
    assert found["none"][0] == found["reads"][0] < found["any"][0]
    np.testing.assert_array_equal(found["none"][1], found["reads"][1])
    np.testing.assert_array_equal(found["none"][1], found["any"][1])


@pytest.mark.parametrize(
    ("labels", "classes", "shown", "empty"),
    [
        (["None", "mild", "severe"], ["None", "mild", "severe"], "None, mild, severe", 0),
        (["NA", "1", "2"], ["NA", "1", "2"], "NA, 1, 2", 3),
        (["True", "False"], ["False,True"], "False, True", 0),
    ],
)
def test_rows_of_a_class_that_is_named_are_kept(labels, classes, shown, empty, tmp_path, capsys):
    path = tmp_path / "table.csv"
    lines = [f"{i % 7},{labels[i % len(labels)]}" for i in range(30)] + ["1,"] * empty
    path.write_text("\n".join(["a,y", *lines]))
    arguments = ["--target", "y", "--rounds", "1", "--classes", *classes, "--out", str(tmp_path)]
    assert main(["compare", str(path), *arguments]) == 0
    printed = capsys.readouterr().out
    assert f"table.csv: 30 rows, 1 columns\nclasses, lowest first: {shown}" in printed
    assert (f"{empty} of {30 + empty} rows have no target and are left out." in printed) == (empty > 0)


@pytest.fixture
def with_ids(rows, tmp_path):
    """Write 300 rows with an id and a comment of their own, a town and the number of the row."""
    X, y = rows
    frame = pd.DataFrame({"review_id": [f"r{i}" for i in range(300)], "size": X[:, 0], "number": np.arange(300)})
    frame["comment"] = [f"comment {i}" if i % 3 else None for i in range(300)]
    path = tmp_path / "ids.csv"
    frame.assign(town=np.where(X[:, 1] > 0, "Aachen", "Bonn"), grade=y).to_csv(path, index=False)
    return path


@pytest.mark.parametrize(
    ("options", "columns"),
    [
        ([], ["size", "number", "town"]),
        (["--drop", "number,review_id"], ["size", "town"]),
        (["--keep", "review_id", "comment"], ["review_id", "size", "number", "comment", "town"]),
    ],
)
def test_ids_and_free_text_are_left_out_of_all_models_by_name(
    with_ids, options, columns, tmp_path, capsys, monkeypatch
):
    train, seen = module._train, {}

    def instead(trainer, model, X, *args):
        seen.setdefault(trainer, []).append(list(X.columns))
        return train(trainer, model, X, *args)

    monkeypatch.setattr(module, "_train", instead)
    arguments = [str(with_ids), "--target", "grade", "--classes", *NAMES, "--rounds", "1", "--out", str(tmp_path)]
    assert main(["compare", *arguments, *options]) == 0
    assert set(seen) == {"xgboost", "lightgbm", "native"}
    assert all(columns == of for each in seen.values() for of in each)
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "Left out" in line] or [""]
    dropped = [name for name in ("review_id", "comment") if name not in columns and name not in " ".join(options)]
    assert (f"Left out of all models: {', '.join(dropped)} (" in line) == bool(dropped)
    assert line.endswith(f"--keep {','.join(dropped)}" if dropped else "")


@pytest.mark.parametrize(
    "options", [["--drop", "id"], ["--keep", "id"], ["--drop", "grade"], ["--drop", "a", "--keep", "a"]]
)
def test_columns_that_are_not_there_are_refused_by_option(options, tmp_path, capsys):
    path = tmp_path / "table.csv"
    path.write_text("a,b,grade\n" + "1,2,0\n2,1,1\n" * 4)
    assert main(["compare", str(path), "--target", "grade", *options]) == 2
    assert capsys.readouterr().err.startswith(f"error: {options[-2]} must name columns")


def test_without_a_command_the_commands_are_listed(capsys):
    assert main([]) == 0
    printed = capsys.readouterr().out
    assert "compare" in printed
    assert "versions" in printed
