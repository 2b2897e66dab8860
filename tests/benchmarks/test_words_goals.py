"""Verdicts in words: the goals, what was known before, how the shifts were chosen, and the README.

Each test is a sentence of a page and what it says of the tables; test_words.py looks for sentences without one.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

from claims.accuracy.accuracy import SLOW
from claims.report.accuracy_tables import METRICS
from claims.report.goals import LEAST_BETTER
from claims.report.shifts_table import LEAST
from lib.data import DESIGN_NOTE
from lib.methods import DEPTHS, MULTICLASS, OURS, PROPORTIONAL, ROUNDED
from lib.statistics import DUNN_SIDAK, critical_difference
from ordinal_objectives import XGBOrdinalClassifier
from ordinal_objectives.leaves.shifts import Shifts

pytestmark = pytest.mark.slow

SIXTEEN, NATURAL = "sixteen quantile", "ordinal classes"
KNOWN, ALL, NOTE, OTHERS = ("zero-one", "MAE", "RPS", "log loss"), "all, 39", "in the note, 12", "the others, 27"
MEASURES, TWELVE, FEW = ("mae", "zero_one", "rps", "log_loss", "by mode"), "design, shifts", "design, shifts, few rows"
RIDGE_10 = ("ridge 10", "native vector, ridge 10", "LightGBM, ridge 10")
ONE_ROW, ADDED, FASTER = "thesis tests, one row to a leaf", "added to losses", "times faster than ogboost"


def gap(goal):
    """Return the critical difference of the ranks that a goal is about."""
    return critical_difference(9 if goal.startswith(("RPS", "log loss")) else 11, 16 if "sixteen" in goal else 23)


def known(t, sets):
    return np.log(t.number("known sets", "mean ratio", metric="RPS", sets=sets))


def car(t):
    return np.log(t.number(f"{NATURAL} RPS", OURS, data="car") / t.number(f"{NATURAL} RPS", PROPORTIONAL, data="car"))


def test_goals_1(t):
    """With classes by decile and with the thesis's classes, the default has a lower absolute error than multiclass
    on all sixteen sets, and than rounded regression on most."""
    assert all(
        t.counts(name, "wins / ties / losses", metric="MAE", method=OURS, against=MULTICLASS) == (16, 0, 0)
        and t.counts(name, "wins / ties / losses", metric="MAE", method=OURS, against=ROUNDED)[0] > 8
        for name in (f"{SIXTEEN} tests", "thesis tests")
    )


def test_goals_2(t):
    """Asked for the most probable class, it also hits more often than multiclass."""
    assert {
        t.goal(f"zero-one by the mode lower than that of {MULTICLASS}, {words}")[1]
        for words in ("classes by decile", "the thesis's classes")
    } == {"yes"}


def test_goals_3(t):
    """With medians on both sides its absolute error is lower than multiclass's on fifteen of the sixteen sets, and
    on twelve of the 23 ordinal ones, which is not significant."""
    assert t.counts(f"{SIXTEEN} own decisions tests", "wins / ties / losses", metric="MAE", against=MULTICLASS) == (
        15,
        0,
        1,
    )
    assert t.counts(f"{NATURAL} own decisions tests", "wins / ties / losses", metric="MAE", against=MULTICLASS) == (
        12,
        0,
        11,
    )
    assert t.text(f"{NATURAL} own decisions tests", "significant", metric="MAE", against=MULTICLASS) == "no"


def test_goals_4(t):
    """It has the lowest mean rank of all methods by every measure that a goal names, on both groups of sets."""
    assert all(ours < other for ours, other, _ in t.leads().values())


def test_goals_5(t):
    """The sets decide only one of these ten leads, that of log loss on the sixteen; the others are undecided."""
    assert [goal for goal, lead in t.leads().items() if lead[2] != "undecided"] == ["log loss on the sixteen sets"]
    assert len(t.leads()) == 10


def test_goals_6(t):
    """Its lead over the next method is smaller than a critical difference everywhere."""
    assert all(other - ours < gap(goal) for goal, (ours, other, _) in t.leads().items())


def test_goals_7(t):
    """It does not lead by QWK on the sixteen sets, nor by zero-one error of the answers as given, where XGBOrdinal
    comes first on the sixteen sets and ogboost on the ordinal ones."""
    assert [t.first(f"{SIXTEEN} ranks", "zero-one"), t.first(f"{NATURAL} ranks", "zero-one")] == [
        "XGBOrdinal",
        "ogboost",
    ]
    assert [
        (case, metric)
        for case in (SIXTEEN, NATURAL)
        for metric in METRICS.values()
        if t.first(f"{case} ranks", metric) != OURS
    ] == [(SIXTEEN, "zero-one"), (SIXTEEN, "1 - QWK"), (NATURAL, "zero-one")]


def test_goals_7_without_slow_methods(t):
    """Without ogboost and statsmodels, which are slow, so with all partitions, it leads by zero-one error on both
    groups."""
    assert {t.first(f"{case} ranks, quick methods", "zero-one") for case in (SIXTEEN, NATURAL)} == {OURS}
    assert {"ogboost", "OrderedModel"} == set(SLOW)


def test_goals_8(t):
    """RPS is lower than that of one score on 30 of 39 sets, the very number that was asked for; with other
    partitions it would be fewer in more than half of the draws."""
    assert t.goal("RPS below")[0].startswith("30 of 39 ")
    assert LEAST_BETTER == 30
    assert float(re.search("in ([\\d.]+) of the draws", t.goal("RPS below")[0]).group(1)) < 0.5


def test_goals_9(t):
    """The thesis's split gain and step, `native joint`, confirm two of the thesis's four findings with at least 20
    rows in a leaf, its default, and three with one row to a leaf on the nine smallest sets (tables)."""
    assert len(t.shown("native joint")) == 2
    assert len(t.shown("native joint, one row to a leaf", ONE_ROW)) == 3


def test_goals_10(t):
    """Tuned, no rival is ahead of the default on average, and the closest one is within chance."""
    assert t.closest("RPS")[1] >= 1
    assert t.closest("MAE")[1] >= 1
    assert t.holds_1("tuned", "RPS", method=t.closest("RPS")[0])
    assert t.holds_1("tuned", "MAE", method=t.closest("MAE")[0])


def test_missed_goals_1(t):
    """Three kinds of goals are missed."""
    assert len(t.rows("goals", reached="no")) == 4


def test_missed_goals_2(t):
    """`balance_scale` is the one set where shifts cost more than was allowed: its class is the sign of a difference
    of two products, so one score holds all there is to know, and shifts follow noise."""
    assert {t.goal(f"{metric} higher")[0] for metric in ("RPS", "log loss")} == {"balance_scale"}


def test_missed_goals_3(t):
    """Against multiclass's median the lower absolute error is not shown on the ordinal sets."""
    assert t.goal("MAE by medians on both sides lower than that of xgb multiclass, the ordinal sets")[1] == "no"


def test_missed_goals_4(t):
    """And most of the best published errors are not reached (why)."""
    assert len(t.rows("published", reached="no")) > 4


def test_known_sets_1(t):
    """On the twelve the mean ratio of RPS is far lower than on the other 27, and most of that is `car`."""
    assert known(t, NOTE) < 2 * known(t, OTHERS)
    assert 11 / 12 * known(t, OTHERS) + car(t) / 12 == pytest.approx(known(t, NOTE), rel=0.25)


def test_known_sets_2(t):
    """On the 27, RPS, log loss and zero-one error are lower on most sets, and significantly so."""
    assert all(
        t.number("known sets", "p", metric=metric, sets=OTHERS) < DUNN_SIDAK
        and t.counts("known sets", "won / tied / lost", metric=metric, sets=OTHERS)[0] > 13
        for metric in ("RPS", "log loss", "zero-one")
    )


def test_known_sets_3(t):
    """Absolute error is lower on 17 of the 27, which is not significant, and its median ratio is level."""
    assert t.counts("known sets", "won / tied / lost", metric="MAE", sets=OTHERS)[0] == 17
    assert t.number("known sets", "p", metric="MAE", sets=OTHERS) > 0.05
    assert abs(t.number("known sets", "median ratio", metric="MAE", sets=OTHERS) - 1) < 0.005


def test_known_sets_4(t):
    """The median gain on the 27 is below one in a hundred by every measure."""
    assert all(0.99 < t.number("known sets", "median ratio", metric=metric, sets=OTHERS) < 1 for metric in KNOWN)


def test_known_sets_5(t):
    """No mean ratio but that of log loss has an interval that leaves 1 out, since a few sets that are nearly solved
    weigh much."""
    assert {
        metric
        for metric in KNOWN
        for sets in (ALL, NOTE, OTHERS)
        if t.ends("known sets", "mean ratio", metric=metric, sets=sets)[1] < 1
    } == {"log loss"}


def test_known_sets_6(t):
    """Set by set, RPS is lower on 20 of the 39 by an interval over the partitions, and higher on one; eleven are
    level."""
    assert t.text("known sets", "lower / higher on a set", metric="RPS", sets=ALL) == "20 / 1"
    assert t.text("known sets", "level", metric="RPS", sets=ALL) == "11"


def test_other_sets_1(t):
    """There too the default has the lowest mean rank by absolute error, RPS and log loss, and not by zero-one error."""
    assert [metric for metric in KNOWN if t.first("other sets ranks", metric) == OURS] == ["MAE", "RPS", "log loss"]


def test_other_sets_2(t):
    """Its intervals overlap those of `native joint` by each of these."""
    assert all(
        t.ends("other sets ranks", metric, method=OURS)[1]
        > t.ends("other sets ranks", metric, method="native joint")[0]
        for metric in ("MAE", "RPS", "log loss")
    )


def test_shifts_1(t):
    """With small samples a ridge of 10 lowered all measures in all three trainers."""
    assert all(t.number("shifts", measure, rows=FEW, method=method) < 1 for method in RIDGE_10 for measure in MEASURES)


def test_shifts_2(t):
    """On the twelve sets it lowered zero-one error, RPS and log loss in all three; absolute error stayed in XGBoost
    and fell a little in the two others."""
    assert all(
        t.number("shifts", measure, rows=TWELVE, method=method) < 1 for method in RIDGE_10 for measure in MEASURES[1:]
    )
    assert abs(t.number("shifts", "mae", rows=TWELVE, method=RIDGE_10[0]) - 1) < 0.005
    assert all(0.97 < t.number("shifts", "mae", rows=TWELVE, method=method) < 1 for method in RIDGE_10[1:])


def test_shifts_3(t):
    """The means over the twelve are made by some sets where shifts help much: RPS is lower on ten of them in
    XGBoost, on eight in LightGBM and on five in the native engine."""
    lower = {method: t.below("shifts", "rps", rows=TWELVE, method=method) for method in RIDGE_10}
    assert lower == {"ridge 10": 10, "LightGBM, ridge 10": 8, "native vector, ridge 10": 5}


def test_shifts_4(t):
    """So a ridge of 10 is the default, and `proportional="auto"` is that of the classifiers."""
    assert Shifts() == Shifts(l2=10.0, penalty="ridge")
    assert XGBOrdinalClassifier().proportional == "auto"


def test_shifts_5(t):
    """On the twelve, stronger and smooth penalties were as good."""
    assert all(
        abs(
            t.number("shifts", measure, rows=TWELVE, method=method)
            - t.number("shifts", measure, rows=TWELVE, method="ridge 10")
        )
        < 0.02
        for measure in MEASURES
        for method in ("ridge 30", "smooth 10", "smooth 30")
    )


def test_shifts_6(t):
    """Validation rows that choose the penalty ("chosen") were a little better on the twelve sets, and no better with
    few rows."""
    assert all(
        t.number("shifts", measure, rows=TWELVE, method="chosen")
        < t.number("shifts", measure, rows=TWELVE, method="ridge 10")
        for measure in MEASURES
    )
    assert (
        sum(
            t.number("shifts", measure, rows=FEW, method="chosen")
            - t.number("shifts", measure, rows=FEW, method="ridge 10")
            for measure in MEASURES
        )
        >= 0
    )


def test_shifts_7(t):
    """In the native engine, trees grown by the gain of the vectors had lower errors than those of the joint or the
    scalar gain on the twelve sets, and three groups of thresholds were as good as all."""
    assert all(
        t.number("shifts", measure, rows=TWELVE, method=RIDGE_10[1])
        < t.number("shifts", measure, rows=TWELVE, method=f"native {gain}, ridge 10")
        for measure in MEASURES
        for gain in ("scalar", "joint gain")
    )
    assert all(
        abs(
            t.number("shifts", measure, rows=rows, method=RIDGE_10[1])
            - t.number("shifts", measure, rows=rows, method=f"{RIDGE_10[1]}, all")
        )
        < 0.01
        for measure in MEASURES
        for rows in (TWELVE, FEW)
    )


def test_shifts_8(t):
    """Multiclass has the lowest zero-one error on the twelve, by the mode as well, but not with few rows, and a
    higher absolute error."""
    assert [t.first("shifts", measure, rows=TWELVE) for measure in ("zero_one", "by mode")] == [MULTICLASS] * 2
    assert t.first("shifts", "zero_one", rows=FEW) != MULTICLASS
    assert t.first("shifts", "by mode", rows=FEW) != MULTICLASS
    assert all(t.number("shifts", "mae", rows=rows, method=MULTICLASS) > 1 for rows in (TWELVE, FEW))


def test_added_1(t):
    """For the shifts it changes next to nothing."""
    assert all(
        abs(
            t.number(ADDED, column, method="ridge 10", sets=sets)
            - t.number(ADDED, f"MAE, {LEAST:g} added", method="ridge 10", sets=sets)
        )
        < 0.01
        for sets in ("12", "21")
        for column in ("MAE, 1e-05 added", "MAE, 0.001 added", "ratio of means by set")
    )


def test_added_2(t):
    """The lead of one tree for ordered classes over one score, by absolute error, is made by it."""
    assert t.number(ADDED, f"MAE, {LEAST:g} added", method="vector multiclass", against=PROPORTIONAL) < 0.97


def test_added_3(t):
    """With ten times as much added the lead is gone, and by ratios of means it is a small deficit."""
    assert t.number(ADDED, "MAE, 0.001 added", method="vector multiclass", against=PROPORTIONAL) > 0.99
    assert 1 < t.number(ADDED, "ratio of means by set", method="vector multiclass", against=PROPORTIONAL) < 1.02


def test_fast_1(t):
    """with one score and the update "newton" a fit takes about a fortieth of ogboost's processor time with 20,000
    simulated rows, and a tenth with 3,000 real ones."""
    assert all(
        35 < t.number("peers", FASTER, data="synthetic", method=f"{host} newton") < 50
        for host in ("XGBoost", "LightGBM")
    )
    assert 8 < t.number("peers", FASTER, data="abalone", method="XGBoost newton") < 12


def test_fast_2(t):
    """Its log loss is lower than that of ogboost and of XGBOrdinal on all three sets; XGBOrdinal has the highest QWK
    of all on the simulated rows ( to our ) and the lowest absolute error on california ( to our )."""
    assert all(
        t.number("peers", "log loss", data=data, method=f"{host} newton")
        < t.number("peers", "log loss", data=data, method=rival)
        for data in ("synthetic", "california", "abalone")
        for host in ("XGBoost", "LightGBM")
        for rival in ("ogboost", "XGBOrdinal")
    )
    assert max(t.values("peers", "QWK", data="synthetic").values()) == t.number(
        "peers", "QWK", data="synthetic", method="XGBOrdinal"
    )
    assert t.first("peers", "MAE", data="california") == "XGBOrdinal"


def test_readme_1(t):
    """on the sixteen discretised regression sets of the thesis that the engine follows (Kemeng Zhang, *HistGBODT:
    Gradient Boosting for Ordinal Classification*, Johns Hopkins University, 2020) and on 23 naturally ordered
    ones, `XGBOrdinalClassifier` with depth and rounds chosen on validation rows has the lowest mean rank: by
    absolute error of eleven methods, by RPS and log loss of the nine that have probabilities."""
    assert {
        t.first(f"{case} ranks", metric) for case in (SIXTEEN, NATURAL) for metric in ("MAE", "RPS", "log loss")
    } == {OURS}
    assert [len(t.values(f"{SIXTEEN} ranks", metric)) for metric in ("MAE", "RPS", "log loss")] == [11, 9, 9]
    assert DEPTHS == (3, 6)


def test_readme_2(t):
    """Three of the eleven are ours, the lead over the next is smaller than a critical difference, and only one of
    these leads is beyond chance: log loss on the sixteen."""
    assert all((other - ours < gap(goal) for goal, (ours, other, _) in t.leads().items()))
    assert [goal for goal, lead in t.leads().items() if lead[2] != "undecided"] == ["log loss on the sixteen sets"]


def test_readme_3(t):
    """RPS is lower than that of one score on 30 of the 39 sets."""
    assert t.goal("RPS below")[0].startswith("30 of 39 ")


def test_readme_4(t):
    """Errors on twelve of these were known when thresholds that move with x were designed; on the other 27 it is lower
    on 20."""
    assert t.counts("known sets", "won / tied / lost", metric="RPS", sets=OTHERS) == (20, 0, 7)
    assert len(DESIGN_NOTE) == 12


def test_readme_5(t):
    """After the same search for settings, on six of the sets, no rival is ahead on average, and the closest is
    within chance."""
    assert t.closest("RPS")[1] >= 1
    assert t.closest("MAE")[1] >= 1
    assert t.holds_1("tuned", "RPS", method=t.closest("RPS")[0])
    assert t.holds_1("tuned", "MAE", method=t.closest("MAE")[0])
