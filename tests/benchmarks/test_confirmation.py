"""The tables of the confirmation: ratios to the default by each metric's own answer, intervals over sets."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from claims.accuracy import accuracy, confirmation
from lib.methods import MULTICLASS, OURS, ROUNDED

pytestmark = pytest.mark.slow


@pytest.fixture
def runs_file(tmp_path):
    """Two sets, two seeds. Multiclass has twice our loss on one set and the same on the other, by the median alone."""
    rows = []
    for data, factor in (("kin8nm", 2.0), ("wine_white", 1.0)):
        for seed in (0, 1):
            base = {"experiment": "confirmation", "data": data, "rule": "classes", "seed": seed, "n_train": 70}
            base |= {"n_test": 30, "n_classes": 4, "failure": "", "machine": "1"}
            scores = dict.fromkeys(accuracy.MEASURES, 0.5 + 0.1 * seed)
            rows.append(base | scores | {"method": OURS})
            rows.append(base | {key: 9.0 * value for key, value in scores.items()} | {"method": MULTICLASS, "qwk": 0.1})
            rows.append(base | {"mae": 3.0 * scores["mae"], "zero_one": 0.6, "qwk": 0.1} | {"method": ROUNDED})
            for rule in accuracy.RULES:
                decided = base | {"experiment": "confirmation decisions"}
                by_rule = {"median": factor}.get(rule, 5.0)
                rows.append(decided | scores | {"method": f"{OURS}, {rule}"})
                other = {key: by_rule * value for key, value in scores.items()}
                rows.append(decided | other | {"method": f"{MULTICLASS}, {rule}", "qwk": 0.1})
    path = tmp_path / "confirmation_runs.csv"
    pd.DataFrame(rows, columns=[*accuracy.COLUMNS, "machine"]).to_csv(path, index=False)
    return path


def test_each_metric_is_judged_by_its_own_answer_on_both_sides(runs_file):
    found = confirmation.tables(runs_file)
    by_method = {row["method"]: row for row in found["confirmation"].rows}
    multiclass, rounded = by_method[MULTICLASS], by_method[ROUNDED]
    assert multiclass["sets"] == rounded["sets"] == "2"
    assert multiclass["MAE"] == f"{np.sqrt(2):.3f} [1.000, 2.000] (0 / 1 / 1)"
    assert multiclass["zero-one"].startswith("5.000 [5.000, 5.000] (0 / 0 / 2)")
    assert multiclass["RPS"].startswith("9.000")
    assert rounded["MAE"].startswith("3.000")
    assert rounded["RPS"] == "-"
    assert by_method["ogboost"]["sets"] == "0"
    assert "fewer than ten: ordinal shifts 2 of each set; " in found["confirmation"].note


def test_each_set_is_shown_once(runs_file):
    rows = confirmation.tables(runs_file)["confirmation sets"].rows
    assert [(row["data"], row["K"], row[f"MAE {MULTICLASS}"]) for row in rows] == [
        ("kin8nm", "4", "2.000"),
        ("wine_white", "4", "1.000"),
    ]


def test_without_a_file_there_are_no_tables(tmp_path):
    assert not any(table.rows for table in confirmation.tables(tmp_path / "none.csv").values())
