"""Two columns of y: the lowest and the highest number, or an event and a time."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from ordinal_objectives import OrdinalDistributionRegressor
from ordinal_objectives.distributions.judging import ends_of


def censored(n=200):
    """Return features, and times that end at another time, as intervals that are open above."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    time, end = rng.exponential(size=n) * np.exp(0.7 * X[:, 0]), 2.0 * rng.exponential(size=n)
    return X, np.column_stack([np.minimum(time, end), np.where(time <= end, time, np.inf)])


def test_an_event_and_a_time_are_read_by_name():
    X, ends = censored()
    time, event = ends[:, 0], np.isfinite(ends[:, 1])
    ends = np.column_stack([np.where(event, time, np.nextafter(time, np.inf)), ends[:, 1]])
    frame = pd.DataFrame({"event": event.astype(int), "time": time})
    records = np.array(list(zip(event, time, strict=True)), dtype=[("Status", "?"), ("Survival", "f8")])
    given = [
        pd.DataFrame({"upper": ends[:, 1], "lower": ends[:, 0]}),
        frame,
        frame[["time", "event"]],
        frame.assign(event=event).set_axis(["dead", "months"], axis=1),
        pa.Table.from_pandas(frame),
        records,
        records[["Survival", "Status"]],
    ]
    expected = OrdinalDistributionRegressor(random_state=0).fit(X, ends).predict_quantile(X[:50], 0.5)
    for y in given:
        np.testing.assert_array_equal(ends_of(y), ends)
    found = OrdinalDistributionRegressor(random_state=0).fit(X, records).predict_quantile(X[:50], 0.5)
    np.testing.assert_array_equal(found, expected)


def test_columns_that_may_be_an_event_and_a_time_are_asked_for_names():
    X, ends = censored(n=60)
    time, event = ends[:, 0], np.isfinite(ends[:, 1])
    for y in (np.column_stack([event, time]), pd.DataFrame({"status": event * 1, "months": time}), [[0, 2.5]] * 60):
        with pytest.raises(ValueError, match=r"y must say what its two columns are.*'event' and 'time'"):
            OrdinalDistributionRegressor().fit(X, y)
    for strange, error in (
        (pd.DataFrame({"event": event + 1, "time": time}), "events that are 0 or 1"),
        (pd.DataFrame({"event": event, "time": np.where(event, time, np.nan)}), "finite times"),
        (np.array([(1, 2.5)] * 60, dtype=[("a", "i4"), ("b", "f8")]), "y must have the fields 'lower' and 'upper'"),
    ):
        with pytest.raises(ValueError, match=error):
            OrdinalDistributionRegressor().fit(X, strange)
    for plain in ([[0.0, np.inf], [1.0, 1.0]], [[0.0, 0.0], [1.0, 1.0]], [[0.0, 1.0], [2.0, 3.0]]):
        np.testing.assert_array_equal(ends_of(plain), plain)
