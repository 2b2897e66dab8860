"""The guide's table of what is called how, and where it is passed."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import numpy as np
import pytest

from ordinal_objectives import HistGradientBoostingOrdinalClassifier, LGBMOrdinalClassifier, XGBOrdinalClassifier

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "classifiers.md"
KINDS = [XGBOrdinalClassifier, LGBMOrdinalClassifier, HistGradientBoostingOrdinalClassifier]
# Of fit, what one host alone has.
OTHERS = {"self", "X", "y", "verbose", "categorical_feature", "eval_names"}


def table():
    """Return the rows of the table: what, and a cell for each classifier."""
    text = GUIDE.read_text(encoding="utf-8")
    head = "| | " + " | ".join(f"`{kind.__name__}`" for kind in KINDS) + " |\n"
    lines = text[text.index(head) + len(head) :].splitlines()[1:]
    rows = [line.strip("|").split("|") for line in lines[: lines.index("")]]
    return {row[0].strip(): [cell.strip() for cell in row[1:]] for row in rows}


def small(kind, **params):
    rounds = "max_iter" if kind is HistGradientBoostingOrdinalClassifier else "n_estimators"
    return kind(**{rounds: 30, "n_jobs": 1, "learning_rate": 0.3, **params})


@pytest.fixture
def halves(ordinal_data):
    X, y = ordinal_data(400, 4)
    return X[:200], y[:200], X[200:], y[200:]


@pytest.mark.parametrize("place", [0, 1, 2], ids=[kind.__name__ for kind in KINDS])
def test_every_name_is_where_the_table_says(place, halves):
    kind = KINDS[place]
    X, y, Xv, yv = halves
    fitted = small(kind).fit(X, y, eval_set=[(Xv, yv)])
    found = {"constructor": set(inspect.signature(kind).parameters), "fit": set(inspect.signature(kind.fit).parameters)}
    told = set()
    for cells in table().values():
        where = cells[place].split(":")[0]
        names = set(re.findall("`([^`]+)`", cells[place]))
        if where == "fit":
            told |= names
        if where == "attribute":
            assert all(hasattr(fitted, name) for name in names)
        elif where in found:
            assert names <= found[where], cells[place]
    assert told == found["fit"] - OTHERS


@pytest.mark.parametrize("place", [0, 1, 2], ids=[kind.__name__ for kind in KINDS])
def test_predictions_start_from_the_scores_that_the_table_names(place, halves):
    X, y, *_ = halves
    model = small(KINDS[place]).fit(X, y)
    name = table()["the same in predictions"][place].strip("`")
    if name == "none":
        with pytest.raises(TypeError, match="take only X"):
            model.predict_raw(X, base_margin=X[:, 0])
    else:
        moved = model.predict_raw(X, **{name: np.full(200, 2.0)})
        np.testing.assert_allclose(moved, model.predict_raw(X) + 2.0, atol=1e-5)


def constant(y, proba):
    return 1.0


@pytest.mark.slow
def test_the_last_metric_on_the_last_set_stops_xgboost(halves):
    X, y, Xv, yv = halves
    options = {"early_stopping_rounds": 3, "max_depth": 2}
    sets = {"eval_set": [(Xv, yv), (X, y)]}
    alone = small(XGBOrdinalClassifier, eval_metric=[constant], **options).fit(X, y, **sets)
    assert alone.n_iter_ == 1
    first = small(XGBOrdinalClassifier, eval_metric=[constant, "log_loss"], **options).fit(X, y, **sets)
    losses = first.evals_result_["validation_1"]["log_loss"]
    assert first.best_iteration_ == np.argmin(losses) > 10


def test_every_metric_on_every_set_stops_lightgbm(halves):
    X, y, Xv, yv = halves
    sets = {"eval_set": [(Xv, yv), (X, y)], "eval_metric": [constant, "log_loss"]}
    options = {"early_stopping_round": 3, "num_leaves": 4}
    assert small(LGBMOrdinalClassifier, **options).fit(X, y, **sets).n_iter_ == 1
    by_loss = small(LGBMOrdinalClassifier, first_metric_only=True, **options).fit(X, y, **sets)
    assert by_loss.n_iter_ > 5


def test_the_loss_on_the_last_set_stops_the_engine(halves):
    X, y, Xv, yv = halves
    wrong = (Xv, 3 - yv)  # its loss rises from the first tree on
    options = {"n_iter_no_change": 3, "max_leaf_nodes": 4}
    model = small(HistGradientBoostingOrdinalClassifier, **options).fit(X, y, eval_set=[(Xv, yv), wrong])
    assert model.n_iter_ == 0
    model = small(HistGradientBoostingOrdinalClassifier, **options).fit(X, y, eval_set=[wrong, (Xv, yv)])
    assert model.n_iter_ > 5
