"""A fitted model in a few lines."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from makers import ALL, make_engine
from ordinal_objectives.inspection import summary, threshold_importances

NAMES = ["bad", "fair", "good", "great"]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 3)), columns=["age", "income", "a & b"])
    margins = np.array([-2.0, 0.0, 2.0]) - 2 * X[["income"]].to_numpy() - [1.5, 0.0, 0.0] * X[["age"]].to_numpy()
    return X, np.array(NAMES)[(rng.logistic(size=(300, 1)) > margins).sum(axis=1)]


def cells(text, name):
    """Return the numbers of a line."""
    line = next(line for line in text.splitlines() if line.startswith(name))
    return [float(number) for number in line[len(name) :].split()]


@ALL
def test_it_says_what_the_model_holds(make, rows):
    X, y = rows
    model = make(classes=NAMES).fit(X, y)
    text = str(summary(model))
    assert text.startswith(f"{type(model).__name__}: 4 classes, {model.n_iter_} trees, thresholds move with x\n")
    assert "classes, lowest first: bad, fair, good, great\n" in text
    assert "loss all_threshold, link logit; mean training loss" in text
    losses = re.search(r"loss (\S+) before the first tree, (\S+) after the last", text).groups()
    np.testing.assert_allclose([float(loss) for loss in losses], model.training_loss_[[0, -1]], rtol=1e-3)
    for name, threshold in zip(NAMES, model.thresholds_, strict=False):
        assert cells(text, f"<= {name}") == [pytest.approx(threshold, rel=1e-3)]
    order = [line.split()[0] for line in text.split("\n\n")[2].splitlines()[1:]]
    assert order[0] == "income" == X.columns[model.feature_importances_.argmax()]
    assert "shifts" not in text


@ALL
def test_with_rows_it_says_what_features_move(make, rows):
    X, y = rows
    model, before = make(classes=NAMES).fit(X, y), X.copy()
    proba = model.predict_proba(X)
    text = str(summary(model, X, y, n_refits=3, random_state=0))
    importances, share = threshold_importances(model, X, random_state=0)
    moved = (importances**2).mean(axis=1)
    assert f"share of the shifts in what features move: {(moved * share).sum() / moved.sum():.1%}" in text
    np.testing.assert_allclose(cells(text, "age ")[1:], [*importances[0], share[0]], rtol=0.01, atol=1e-3)
    thresholds = []
    random = np.random.RandomState(0)
    threshold_importances(model, X, random_state=random)  # draws first
    for _ in range(3):
        drawn = random.randint(300, size=300)
        seeds = {"random_state": int(random.randint(2**31 - 1))}
        thresholds.append(make(classes=NAMES, **seeds).fit(X.iloc[drawn], y[drawn]).thresholds_)
    spread = [cells(text, f"<= {name}")[1] for name in NAMES[:3]]
    np.testing.assert_allclose(spread, np.std(thresholds, axis=0, ddof=1), rtol=0.06)
    np.testing.assert_array_equal(model.predict_proba(X), proba)
    pd.testing.assert_frame_equal(X, before)


def test_one_score_has_no_shifts(rows):
    X, y = rows
    text = str(summary(make_engine(classes=NAMES, proportional=True).fit(X, y), X, random_state=0))
    assert "one score moves all thresholds" in text
    assert "share of the shifts in what features move: 0.0%" in text


@pytest.mark.filterwarnings("ignore:no tree has a split")
def test_features_that_move_nothing_have_no_shifts():
    X = np.zeros((60, 2))
    text = str(summary(make_engine().fit(X, np.arange(60) % 3), X, random_state=0))
    assert "share of the shifts in what features move: 0.0%" in text


def test_pipelines_name_the_features_that_are_given(rows):
    X, y = rows
    pipeline = make_pipeline(PCA(2, random_state=0), make_engine(classes=NAMES)).fit(X, y)
    assert summary(pipeline).feature_names == ["pca0", "pca1"]
    found = summary(pipeline, X, y, n_refits=2, sample_weight=np.ones(300), random_state=0)
    assert found.feature_importances is None
    assert found.feature_names == ["age", "income", "a & b"]
    search = GridSearchCV(pipeline, {"pca__n_components": [2]}, cv=2).fit(X, y)
    assert str(summary(search)) == str(summary(pipeline))


def test_a_notebook_shows_tables_of_escaped_names(rows):
    X, y = rows
    html = summary(make_engine(classes=NAMES).fit(X, y))._repr_html_()
    assert html.count("<table>") == 2
    assert "<td>a &amp; b</td>" in html
    assert "<td>&lt;= bad</td>" in html


def test_many_features_are_counted():
    X = np.random.default_rng(0).normal(size=(100, 30))
    text = str(summary(make_engine().fit(X, np.arange(100) % 3)))
    assert text.splitlines()[-1] == "and 10 more"
    assert text.count("feature ") >= 20
    assert "more" not in str(summary(make_engine().fit(X[:, :20], np.arange(100) % 3)))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_refits": 1}, ValueError, "n_refits must be 0 or at least 2; got 1"),
        ({"n_refits": 2.5}, TypeError, r"n_refits must be an integer at least 0; got 2.5"),
        ({"n_refits": 2, "y": [0, 1]}, ValueError, "inconsistent numbers of samples"),
    ],
)
def test_what_cannot_be_used_is_named(options, error, message, rows):
    X, y = rows
    with pytest.raises(error, match=message):
        summary(**{"estimator": make_engine(classes=NAMES, max_iter=2).fit(X, y), "X": X, "y": y, **options})
