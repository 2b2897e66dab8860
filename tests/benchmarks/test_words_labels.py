"""Sentences on labels of several answers, and intervals, against the committed results; see test_words.py."""

from __future__ import annotations

import re

import pytest

from claims.accuracy.label_patterns import ALL_THRESHOLD, CUMULATIVE, KINDS, SHARES, XGBOOST

pytestmark = pytest.mark.slow

MERGED, SIDES, AT_LEAST = KINDS


def lower_on(row):
    """Return on how many sets intervals are lower by log loss, and by RPS."""
    return int(row["log loss, lower on"]), int(row["RPS, lower on"])


def compared(t, model=ALL_THRESHOLD):
    rows = [row for row in t.rows("label_patterns") if row["model"] == model]
    return {(row["intervals"], int(row["% of rows"]), row["beside"]): row for row in rows}


def ends(text):
    """Return mean, lower and upper end of a cell."""
    return [float(number) for number in re.findall(r"[-+]?\d+\.\d+", text)]


def of_readers(t, column):
    return {row["data"]: ends(row[column]) for row in t.rows("label_patterns_readers")}


def test_intervals_are_never_surely_behind(t):
    """Intervals are never surely behind leaving such rows out, nor behind midpoints: no interval of a paired
    difference lies above 0."""
    rows = compared(t)
    assert len(rows) == 24
    assert all(
        row[f"surely lower / higher, {name}"].endswith("/ 0") for row in rows.values() for name in ("RPS", "log loss")
    )


def test_intervals_beside_midpoints(t):
    """With three tenths of the rows or more they are ahead of midpoints by log loss on all six sets, and with four
    fifths of leaving such rows out on five or six."""
    rows = compared(t)
    assert all(lower_on(rows[kind, share, "midpoints"])[0] == 6 for kind in KINDS for share in SHARES[1:])
    assert {lower_on(rows[kind, 80, "dropped"])[0] for kind in KINDS} == {5, 6}


def test_what_intervals_miss(t):
    """The goal, five of six sets by both measures, is reached in 17 of these 24 comparisons."""
    assert len(missed(t)) == 7


def test_which_are_missed(t):
    """It is missed beside dropped rows by "merged" with a tenth, by "below, or at least" with a tenth, three tenths
    and a half, and by "at least" with four fifths, there by RPS; and beside midpoints by "merged" with a tenth
    and three tenths."""
    assert missed(t) == {
        (MERGED, 10, "dropped"),
        (SIDES, 10, "dropped"),
        (SIDES, 30, "dropped"),
        (SIDES, 50, "dropped"),
        (AT_LEAST, 80, "dropped"),
        (MERGED, 10, "midpoints"),
        (MERGED, 30, "midpoints"),
    }
    log_loss, rps = lower_on(compared(t)[AT_LEAST, 80, "dropped"])
    assert rps < 5 <= log_loss


def missed(t, model=ALL_THRESHOLD):
    return {key for key, row in compared(t, model).items() if min(lower_on(row)) < 5}


def test_masking(t):
    """Beside masking it is reached in eight of twelve: it is missed by "merged" with a tenth, by "below, or at least"
    with a tenth and a half, and by "at least" with four fifths, where masking is ahead on most sets by RPS."""
    assert len(compared(t, XGBOOST)) == 12
    expected = {(MERGED, 10), (SIDES, 10), (SIDES, 50), (AT_LEAST, 80)}
    assert missed(t, XGBOOST) == {(*key, "masked") for key in expected}
    assert lower_on(compared(t, XGBOOST)[AT_LEAST, 80, "masked"])[1] < 3


def test_the_cumulative_link(t):
    """With the cumulative link it is reached in 22 of the same 24, missed by "merged" with a tenth alone."""
    assert len(compared(t, CUMULATIVE)) == 24
    assert missed(t, CUMULATIVE) == {("merged", 10, "dropped"), ("merged", 10, "midpoints")}


def test_shares_predict_answers(t):
    """Shares predict a fresh answer better than votes on all six sets by RPS, surely on four."""
    found = of_readers(t, "RPS of a fresh answer, shares less votes")
    assert len(found) == 6
    assert all(mean < 0 for mean, _, _ in found.values())
    assert sum(high < 0 for _, _, high in found.values()) == 4


def test_shares_and_the_class(t):
    """The true class they predict neither better nor worse: by RPS no interval of the difference leaves out 0."""
    assert all(low < 0 < high for _, low, high in of_readers(t, "shares less votes").values())


def test_posteriors(t):
    """Posteriors predict the true class better than votes on all six sets by RPS, surely on `skillcraft` and
    `eucalyptus`."""
    found = of_readers(t, "posterior less votes")
    assert all(mean < 0 for mean, _, _ in found.values())
    assert {data for data, (_, _, high) in found.items() if high < 0} == {"skillcraft", "eucalyptus"}


def test_how_to_readers(t):
    """On six sets with simulated readers, two to five a row, shares predicted a fresh answer better than majority
    votes did, and such posteriors predicted the true class better."""
    test_shares_predict_answers(t)
    test_posteriors(t)


def test_what_labels_cost(t):
    """A fit with shares takes three tenths longer than one with classes in XGBoost and LightGBM, and nearly twice as
    long in the native engine; with half of the rows intervals six to seven tenths longer, and two and a half times as
    long."""
    rows = {row["trainer"]: row for row in t.rows("label_patterns_speed")}
    shares, intervals = (
        {trainer: float(row[f"{kind}, times that"]) for trainer, row in rows.items()}
        for kind in ("shares", "intervals")
    )
    for found, hosts, native in ((shares, (1.3, 1.3), 1.7), (intervals, (1.6, 1.7), 2.4)):
        assert sorted(round(found[host], 1) for host in ("XGBoost", "LightGBM")) == list(hosts)
        assert native <= found["native"] < native + 0.3
