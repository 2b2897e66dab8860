"""The claim of vector leaves: rows as described, rivals alike, tables that say what was measured."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn import metrics

from claims.accuracy import accuracy
from claims.multi_output import (
    multi_output,
    multi_output_data,
    multi_output_methods,
    multi_output_report,
    multi_output_tables,
)
from claims.multi_output.multi_output_data import KINDS, Kind, Part, Problem, problem
from claims.multi_output.multi_output_methods import METHODS, Setting
from lib import baselines
from lib.data import Dataset
from lib.runner import CsvFile

SETTING = Setting(learning_rate=0.3, depth=3, min_rows=5, rounds=60)


def rows(task, seed=0, n=240):
    """Return features of which one moves the first output, and two move the others."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).astype(np.float32)
    Y = np.column_stack([X[:, 0], X[:, 0] + X[:, 1], X[:, 1]]) + 0.3 * rng.normal(size=(n, 3))
    return Part(X, {"regression": Y, "labels": (Y > 0).astype(float), "classes": Y.argmax(axis=1).astype(float)}[task])


def small(task):
    return Problem(task, 3, rows(task, 0), rows(task, 1, 120), rows(task, 2, 120))


def test_simulated_rows_follow_the_formulas():
    kept = problem("friedman1", 3)
    assert (kept.fit.X.shape, kept.test.Y.shape, kept.n_outputs) == ((10_000, 10), (10_000, 5), 5)
    x = kept.fit.X.astype(float)
    f = np.sin(np.pi * x[:, 0] * x[:, 1]) + 2 * (x[:, 2] - 0.5) ** 2 + x[:, 3] + 0.5 * x[:, 4]
    noise = kept.fit.Y - f[:, None]
    np.testing.assert_allclose(noise.std(axis=0), 0.1, rtol=0.03)
    assert np.abs(np.corrcoef(noise.T) - np.eye(5)).max() < 0.05
    kept = problem("random projection", 3)
    w = np.linalg.lstsq(kept.fit.X, kept.fit.Y, rcond=None)[0]
    assert w.shape == (4, 8)
    np.testing.assert_allclose(kept.test.X @ w, kept.test.Y, atol=1e-6)


def test_digits_are_parted_and_their_lower_halves_asked_for():
    kept, halves = problem("digits", 1), problem("digits inpainting", 1)
    sizes = [len(part.X) for part in (kept.fit, kept.valid, kept.test)]
    assert sizes == [1006, 251, 540]
    assert kept.n_outputs == 10
    image = kept.test.X[7].reshape(8, 8) / 16  # the same permutation
    np.testing.assert_array_equal(halves.test.X[7], image[:4].ravel())
    np.testing.assert_allclose(halves.test.Y[7], image[4:, 1:7].ravel())


def test_losses_are_the_known_ones():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), size=50)
    codes = np.append(rng.integers(3, size=47), [0, 1, 2]).astype(float)
    assert multi_output_methods.log_loss(codes, p) == pytest.approx(metrics.log_loss(codes, p))
    assert multi_output_methods.top_1(codes, p) == pytest.approx(metrics.accuracy_score(codes, p.argmax(axis=1)))
    labels = (rng.uniform(size=(50, 3)) < p).astype(float)
    one = np.mean([metrics.log_loss(labels[:, j], p[:, j]) for j in range(3)])
    assert multi_output_methods.log_loss(labels, p) == pytest.approx(one)
    labels = np.array([[0, 0, 0], [1, 0, 1], [0, 1, 0.0]])
    assert multi_output_methods.top_1(labels, np.array([[0.9, 0, 0], [0.1, 0.2, 0.8], [0.8, 0.1, 0]])) == 0.5
    assert multi_output_methods.rmse(np.zeros((2, 2)), np.array([[1, 2], [3, 4.0]])) == pytest.approx(np.sqrt(7.5))


@pytest.mark.parametrize("task", ["regression", "classes", "labels"])
@pytest.mark.parametrize("label", METHODS)
def test_every_method_learns_stops_and_counts_its_trees(label, task):
    kept = small(task)
    if label == "an engine an output" and task == "classes":
        with pytest.raises(ValueError, match="share a softmax"):
            METHODS[label](kept, SETTING)
        return
    fitted = METHODS[label](kept, SETTING)
    assert 0 < fitted.rounds < SETTING.rounds
    one_tree = label in ("vector leaves", "XGBoost multi_output_tree")
    assert fitted.rounds <= fitted.trees <= 3 * fitted.rounds
    assert (fitted.trees == fitted.rounds) == one_tree
    best = fitted.predict(kept.test.X, None)
    assert best.shape == (120, 3)
    guess = {"regression": kept.fit.Y.mean(axis=0), "labels": 0.5, "classes": 1 / 3}[task]
    at_start = multi_output_methods.loss(task, kept.test.Y, np.broadcast_to(guess, (120, 3)))
    assert multi_output_methods.loss(task, kept.test.Y, best) < 0.9 * at_start
    if one_tree or task == "classes":
        np.testing.assert_allclose(fitted.predict(kept.test.X, fitted.rounds), best, rtol=1e-6)
    all_rounds = METHODS[label](kept, SETTING, stop=False)
    assert all_rounds.rounds == SETTING.rounds
    first, last = (all_rounds.predict(kept.fit.X, rounds) for rounds in (1, SETTING.rounds))
    losses = [multi_output_methods.loss(task, kept.fit.Y, said) for said in (first, last)]
    assert losses[1] < 0.7 * losses[0]


def test_settings_are_chosen_for_every_method_and_variants_take_those_of_vector_leaves():
    tried = [
        {"data": "digits", "method": method, "eta": eta, "depth": depth, "loss": loss}
        for method, eta, depth, loss in [
            ("vector leaves", "0.1", "4", "0.3"),
            ("vector leaves", "0.25", "8", "0.2"),
            ("LightGBM", "0.5", "6", "0.1"),
        ]
    ]
    for label, expected in (("LightGBM", (0.5, 6)), ("vector leaves", (0.25, 8)), ("restricted, k = 2", (0.25, 8))):
        setting = multi_output.choose(tried, "digits", label)
        assert (setting.learning_rate, setting.depth) == expected
    asked = [multi_output.partitions("random projection", label) for label in METHODS]
    assert asked == [5, 5, 2, 2, 2]
    assert multi_output.partitions("digits", "restricted, k = 2") == 10
    assert multi_output.choose([], "101 classes", "XGBoost").leaves == 12


def test_gbdt_sparse_counts_rows_for_a_hessian():
    kept = small("classes")
    setting = Setting(1.0, 2, 1, 1)
    fitted = multi_output_methods.gbdt_sparse(kept, setting, stop=False, k=1)
    start, after = (np.bincount(kept.fit.Y.astype(int)) / len(kept.fit.Y), fitted.predict(kept.fit.X, None))
    step = np.log(after) - np.log(start)
    step -= np.median(step, axis=1, keepdims=True)  # the softmax knows differences only; one of three outputs moved
    moved = np.abs(step) > 1e-6
    assert (moved.sum(axis=1) <= 1).all()
    gradient = start - np.eye(3)[kept.fit.Y.astype(int)]
    leaves = np.unique(step.round(6), axis=0)
    assert len(leaves) == 3
    for leaf in leaves:
        inside = np.abs(step - leaf).max(axis=1) < 1e-5
        total = gradient[inside].sum(axis=0)
        expected = np.where(np.abs(total) == np.abs(total).max(), -total / (inside.sum() + 1.0), 0.0)
        np.testing.assert_allclose(leaf, expected, atol=1e-5)


def test_rare_classes_are_left_out(monkeypatch):
    y = np.repeat([0, 1, 2, 3], [40, 5, 30, 50]).astype(np.int32)
    X = pd.DataFrame({"row": np.arange(len(y)), "kind": pd.Categorical(["a", "b"] * 62 + ["a"])})
    monkeypatch.setattr(multi_output_data, "load", lambda name: Dataset(X, y, 4, None, None))
    kept = multi_output_data.stored("made")(0)
    assert np.bincount(kept.Y.astype(int)).tolist() == [40, 30, 50]
    assert kept.X.shape == (120, 3)
    np.testing.assert_array_equal(kept.X[40], [45, 0, 1])


def test_baseline_of_ordered_classes_spreads_its_probabilities_over_all_of_them():
    kept = rows("classes", n=300)
    codes = np.array([1, 3, 4])[kept.Y.astype(int)].astype(np.int32)
    train, valid = (pd.DataFrame(kept.X[:200]), codes[:200]), (pd.DataFrame(kept.X[200:]), codes[200:].copy())
    valid[1][:3] = 0  # not among the training rows
    fitted = baselines.vector_multiclass(train, valid, 40, 6, depth=3)
    predicted, probability = fitted.predict(valid[0])
    assert probability.shape == (100, 6)
    assert (probability[:, [0, 2, 5]] == 0).all()
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    np.testing.assert_array_equal(predicted, probability.argmax(axis=1))
    assert np.mean(predicted[3:] == valid[1][3:]) > 0.6
    assert fitted.loss == pytest.approx(metrics.log_loss(valid[1][3:], probability[3:][:, [1, 3, 4]]))
    assert 0 < fitted.rounds <= 40


def test_one_tree_is_measured_apart():
    cells = accuracy.cells(["ordinal, one tree"])
    assert {(cell.method, cell.rule) for cell in cells} == {("vector multiclass", "classes")}
    others = [cell._replace(method="") for cell in accuracy.cells(["ordinal"])]
    assert {cell._replace(method="", experiment="ordinal") for cell in cells} <= set(others)


def test_probability_of_being_better_is_that_of_a_paired_test():
    rng = np.random.default_rng(0)
    runs = multi_output_tables.frame(
        [
            {"data": "digits", "method": method, "seed": str(seed), "loss": str(rng.normal()), "top_1": str(value)}
            for method in ("a", "b")
            for seed, value in enumerate(rng.normal(size=10))
        ]
    )
    one, other = (multi_output_tables.of_method(runs, "digits", method) for method in "ab")
    for column, side in (("loss", "less"), ("top_1", "greater")):
        p = stats.ttest_rel(one[column], other[column], alternative=side).pvalue
        assert multi_output_tables.better(one, other, column) == pytest.approx(1 - p)
    assert np.isnan(multi_output_tables.better(one[:1], other, "loss"))


@pytest.mark.slow
def test_steps_store_what_the_tables_show(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(multi_output, "GRID", ((0.3, 2), (0.3, 3)))
    monkeypatch.setattr(multi_output, "ROUNDS", 10)
    monkeypatch.setattr(multi_output, "SIMULATED_ROUNDS", 10)
    monkeypatch.setattr(multi_output, "CURVE_ROUNDS", 30)
    monkeypatch.setattr(multi_output_tables, "AFTER", (2, 5, 10, 20, 30))
    monkeypatch.setattr(multi_output, "COUNTED", 2)
    monkeypatch.setattr(multi_output_data, "SIMULATED_ROWS", 200)
    monkeypatch.setattr(multi_output_data, "VALIDATION_ROWS", 100)
    monkeypatch.setattr(multi_output_data, "MOST_ROWS", 300)
    monkeypatch.setitem(KINDS, "digits", Kind(lambda seed: rows("classes", seed), "classes", 2, 5, "made"))
    monkeypatch.setattr(multi_output, "SPARSE", {"digits": (2,)})
    monkeypatch.setattr(multi_output, "RIVAL", {"digits": 2})
    monkeypatch.setattr(multi_output, "RIVAL_GRID", {"digits": ((1.0, 2), (2.0, 2))})
    monkeypatch.setattr(multi_output, "WIDE", {})
    monkeypatch.setattr(multi_output, "CURVES", ("friedman1", "digits"))
    arguments = ["x", "--data", "friedman1", "digits", "--seeds", "2", "--into", str(tmp_path)]
    monkeypatch.setattr("sys.argv", arguments)
    multi_output.timed.cache_clear()
    multi_output.main()
    first = capsys.readouterr().out
    assert "restricted: top-1" in first
    assert "rounds to LightGBM's 30th" in first
    kept = {
        step: CsvFile(tmp_path / f"multi_output_{step}.csv", columns) for step, columns in multi_output.STEPS.items()
    }
    said = {row["method"] for row in kept["runs"].rows if row["data"] == "digits"}
    variants = {"restricted, k = 2", "unrestricted, k = 2", "exact Hessian", "bound Hessian"}
    untimed = {"GBDT-sparse, k = 2"}
    assert said == {*METHODS} - {"an engine an output"} | variants | untimed
    assert len(kept["runs"].rows) == 2 * (len(METHODS) + len(said))
    assert {row["method"] for row in kept["rounds"].rows if row["data"] == "digits"} == said - untimed
    assert "GBDT-sparse is less accurate on digits" in first
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    multi_output.main()  # resumes: nothing is left to measure
    assert capsys.readouterr().out == first
    assert before == {path: path.read_bytes() for path in tmp_path.iterdir()}
    multi_output.timed.cache_clear()


@pytest.mark.slow
def test_pictures_are_drawn(tmp_path):
    at = [1, *multi_output_tables.AFTER]
    curves = [
        {"data": "friedman1", "method": method, "rounds": str(i), "training_loss": str(1 / i), "loss": str(2 / i)}
        for method in METHODS
        for i in at
    ]
    multi_output_report.draw_curves(multi_output_tables.frame(curves), tmp_path / "curves.png")
    rounds = [{"data": "digits", "method": m, "outputs": "10", "ms": "2.5"} for m in METHODS]
    multi_output_report.draw_rounds(multi_output_tables.frame(rounds), tmp_path / "rounds.png")
    assert all((tmp_path / f"{name}.png").stat().st_size > 5_000 for name in ("curves", "rounds"))
