"""Sets whose errors were known before, what is added to losses, and the thesis's method with one row to a leaf."""

from __future__ import annotations

import pandas as pd

from claims.accuracy import host_vector_leaves, known_sets
from claims.report import published_tables
from lib.data import DESIGN_NOTE, ORDINAL, SIXTEEN
from lib.methods import OURS, PROPORTIONAL


def test_sets_that_were_known():
    known = set(DESIGN_NOTE)
    assert len(known) == len(DESIGN_NOTE) == 12
    assert known <= set(SIXTEEN | ORDINAL)
    again = set(host_vector_leaves.DATA) & set(SIXTEEN | ORDINAL)
    assert again == {"bank32nh", "boston", "census16H", "skillcraft", "student_por"}  # five, says the page
    assert again <= known


def runs(losses, **columns):
    """Return runs of {data: {method: losses by seed}}."""
    scores = ("zero_one", "mae", "rps", "log_loss")
    return pd.DataFrame(
        [
            {"data": data, "seed": seed, "method": method, **dict.fromkeys(scores, loss), **columns}
            for data, methods in losses.items()
            for method, values in methods.items()
            for seed, loss in enumerate(values)
        ]
    )


def test_known_sets_stand_apart():
    even, lower, higher = [0.4, 0.4, 0.41], [0.19, 0.2, 0.21], [0.5, 0.61, 0.54]
    losses = {
        "car": {OURS: lower, PROPORTIONAL: even},
        "esl": {OURS: even, PROPORTIONAL: even},
        "era": {OURS: higher, PROPORTIONAL: even},
    }
    rows = {row["sets"]: row for row in known_sets.known(runs(losses)).rows if row["metric"] == "RPS"}
    assert list(rows) == ["all, 3", "in the note, 1", "the others, 2"]
    assert rows["in the note, 1"]["mean ratio"] == "0.496"  # one set has no interval
    assert rows["all, 3"]["won / tied / lost"] == "1 / 1 / 1"
    assert rows["all, 3"]["median ratio"].startswith("1.000 [0.496, 1.3")
    assert rows["all, 3"]["lower / higher on a set"] == "1 / 1"
    assert [row["level"] for row in rows.values()] == ["1", "0", "1"]


def test_known_sets_leave_out_those_that_are_solved():
    losses = {name: {OURS: [0.2] * 3, PROPORTIONAL: [0.3] * 3} for name in ("esl", "era")}
    losses["nursery"] = {OURS: [0.0, 1e-4, 0.0], PROPORTIONAL: [0.01] * 3}
    table = known_sets.known(runs(losses))
    row = next(row for row in table.rows if row["metric"] == "MAE" and row["sets"] == "all, 3")
    assert row["won / tied / lost"] == "2 / 0 / 0"
    assert row["lower / higher on a set"] == "2 / 0"
    assert "nursery by" in table.note


def test_what_is_added_pulls_a_ratio_to_1():
    row = known_sets._added("a", runs({"car": {"x": [0.01], "y": [0.03]}}), "x", "y")
    assert row["MAE, 1e-05 added"] == f"{0.01001 / 0.03001:.3f}"
    assert row["MAE, 0.001 added"] == f"{0.011 / 0.031:.3f}"
    assert row["ratio of means by set"] == "0.333"


def test_methods_with_one_row_to_a_leaf_are_as_usual_on_the_other_sets():
    own, one_row = "thesis's method", "thesis's method, one row to a leaf"
    small = runs({"boston": {f"{own}, mode": [0.3], f"{one_row}, mode": [0.2]}})
    large = runs({"california": {f"{own}, mode": [0.4]}, "abalone": {f"{own}, mode": [0.5]}})
    found = published_tables.with_one_row(pd.concat([small, large])).set_index(["method", "data"])["mae"]
    assert dict(found[f"{one_row}, mode"]) == {"boston": 0.2, "california": 0.4, "abalone": 0.5}
    assert dict(found[f"{own}, mode"]) == {"boston": 0.3, "california": 0.4, "abalone": 0.5}
    assert published_tables.with_one_row(large).equals(large)


def test_answers_that_never_change_are_counted():
    assert published_tables._constant(pd.DataFrame({"qwk": [0.0, 0.2, -0.1, -2e-16, 0.5]})) == "0.400"
