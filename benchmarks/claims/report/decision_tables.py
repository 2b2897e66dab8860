"""Each metric by its own decision: what a method's probabilities are worth where the decision fits the error.

Zero-one error by the mode, absolute error by the median, and 1 - QWK by the mean, rounded, which has the least expected
quadratic cost. A method without probabilities keeps its only answer.
"""

from __future__ import annotations

import pandas as pd

from claims.report import accuracy_tables
from claims.report.accuracy_tables import METRICS, noted
from lib.generated import Table
from lib.methods import MULTICLASS, OURS, ROUNDED

# Macro MAE is left out: its own decision needs the shares of the classes, which probabilities do not hold.
RULES = {"zero_one": "mode", "mae": "median", "qwk": "mean", "rps": "median", "log_loss": "median"}
CASES = (("sixteen", "quantile"), ("ordinal", "classes"))
KEY = ["data", "seed", "method"]


def own_decisions(runs: pd.DataFrame, experiment: str, rule: str) -> pd.DataFrame:
    """Return the runs of a case with every metric by its own decision."""
    answers = runs[(runs["experiment"] == experiment) & (runs["rule"] == rule)]
    decided = runs[(runs["experiment"] == f"{experiment} decisions") & (runs["rule"] == rule)]
    names = decided["method"].str.rsplit(", ", n=1, expand=True).reindex(columns=[0, 1])
    decided = decided.assign(method=names[0].astype(object), decision=names[1].astype(object))
    found = decided[decided["decision"] == "median"].set_index(KEY)
    for metric, decision in RULES.items():
        of_rule = decided[decided["decision"] == decision].set_index(KEY)
        found[metric] = of_rule[metric].reindex(found.index)
    without = answers[answers["method"].str.endswith("rounded")]
    parts = [part for part in (found.reset_index(), without) if len(part)]
    return pd.concat(parts, ignore_index=True)[answers.columns] if parts else answers[:0]


def tables(runs: pd.DataFrame) -> dict[str, Table]:
    """Return ranks, tests and means of each case by name."""
    found = {}
    for case in CASES:
        rows, name = own_decisions(runs, *case), f"{' '.join(case)} own decisions"
        found[f"{name} ranks"] = noted(accuracy_tables.rank_table(rows, tuple(RULES)), rows)
        found[f"{name} tests"] = noted(tests(rows), rows[rows["method"].isin(accuracy_tables.MAIN)])
        for metric in ("zero_one", "qwk"):
            found[f"{name} {METRICS[metric]}"] = noted(accuracy_tables.means(rows, metric), rows)
    return found


def tests(runs: pd.DataFrame) -> Table:
    """Return the tests of Table 5.3, and those of the quadratic cost, by own decisions."""
    pairs = [(metric, other) for metric in ("zero_one", "mae", "qwk") for other in (MULTICLASS, ROUNDED)]
    rows = [accuracy_tables.test(runs, metric, OURS, other) for metric, other in pairs]
    return Table([row for row in rows if row])
