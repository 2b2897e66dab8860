"""Columns whose names are those of attributes that tables, labels or models may have are columns as any other."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from makers import ALL, make_lgb
from ordinal_objectives.inspection import partial_probabilities

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 2)).round()
y = np.digitize(X @ [1.0, 0.5] + rng.logistic(size=120), [-1.0, 1.0])


def frame(name):
    return pd.DataFrame(X, columns=["a", name])


@ALL
@pytest.mark.parametrize("name", ["patterns", "clear", "column_names", "schema", "type"])
def test_a_column_may_have_any_name(make, name):
    model, plain = (make(random_state=0).fit(frame(one), y) for one in (name, "b"))
    np.testing.assert_array_equal(model.predict_proba(frame(name)), plain.predict_proba(frame("b")))
    effects = [partial_probabilities(one, frame(of), of)[1] for one, of in ((model, name), (plain, "b"))]
    np.testing.assert_array_equal(*effects)


def test_lightgbm_finds_a_category_by_any_name():
    found = [
        make_lgb(random_state=0).fit(abs(frame(name)), y, categorical_feature=[name]).predict_proba(abs(frame(name)))
        for name in ("column_names", "b")
    ]
    np.testing.assert_array_equal(*found)
