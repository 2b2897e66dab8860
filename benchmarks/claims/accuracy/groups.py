"""Rows that belong together: a random intercept, beside ignoring the groups and two ways to make a feature of them.

    python benchmarks/claims/accuracy/groups.py

A fifth of the groups is kept aside, and three tenths of the rows of the others: rows of new groups and of known ones.
The shrunk mean label is scikit-learn's ``TargetEncoder`` of the class numbers, cross-fitted, which shrinks by the
variances within and between groups.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import norm, rankdata
from sklearn.preprocessing import TargetEncoder

from lib import data, report
from ordinal_objectives import HistGradientBoostingOrdinalClassifier, LGBMOrdinalClassifier, XGBOrdinalClassifier
from ordinal_objectives.metrics import ordinal_log_loss, ranked_probability_score

Rows = tuple[pd.DataFrame, NDArray[np.intp]]
PARTITIONS, N, TAU, GROUP = range(10), 10_000, 1.5, "group"
SHARES = np.arange(1, 8) / 8
COMMON: dict[str, Any] = {"loss": "cumulative_link", "random_state": 0, "n_jobs": 1}
TRAINERS: dict[str, Callable[..., Any]] = {
    "native": partial(HistGradientBoostingOrdinalClassifier, max_leaf_nodes=15, **COMMON),
    "XGBoost": partial(XGBOrdinalClassifier, max_depth=4, **COMMON),
    "LightGBM": partial(LGBMOrdinalClassifier, num_leaves=15, verbosity=-1, **COMMON),
}


def simulated(n_groups: int, rng: np.random.Generator) -> Rows:
    """Return rows of a known score with five classes, and effects of groups with standard deviation 1.5."""
    X, group = rng.normal(size=(N, 8)), rng.integers(n_groups, size=N)
    score = 1.2 * X[:, 0] + np.sin(2.0 * X[:, 1]) + 0.8 * X[:, 4] * X[:, 5] + TAU * rng.normal(size=n_groups)[group]
    y = np.searchsorted([-2.0, -0.5, 0.5, 2.0], score + rng.logistic(size=N))
    return pd.DataFrame(X).add_prefix("x").assign(**{GROUP: group}), y


def abalone(rng: np.random.Generator) -> Rows:
    """Return abalones with 200 groups that differ: effects are added to the number of rings, as a normal score."""
    frame = data.read("abalone")
    rings, group = frame.pop("target").to_numpy(), rng.integers(200, size=len(frame))
    score = norm.ppf((rankdata(rings) - 0.5) / len(rings)) + 0.7 * rng.normal(size=200)[group]
    frame = frame.astype({"Sex": "category"})
    return frame.assign(**{GROUP: group}), np.digitize(score, np.quantile(score, SHARES))


def letor(rng: np.random.Generator) -> Rows:
    """Return documents that were judged for queries, which are real groups."""
    found = data.load("letor")
    assert found.groups is not None
    return found.X.copy().assign(**{GROUP: found.groups}), found.y.astype(np.intp)


SETS: dict[str, Callable[[np.random.Generator], Rows]] = {
    "simulated, 400 groups": partial(simulated, 400),
    "simulated, 2,000 groups": partial(simulated, 2_000),
    "abalone, 200 simulated groups": abalone,
    "letor, 201 queries": letor,
}


def divided(X: pd.DataFrame, rng: np.random.Generator) -> tuple[NDArray[np.bool_], dict[str, NDArray[np.bool_]]]:
    """Return which rows to train on, and which to test on: of known and of new groups."""
    names = X[GROUP].unique()
    new = X[GROUP].isin(rng.choice(names, len(names) // 5, replace=False)).to_numpy()
    train = ~new & (rng.random(len(X)) < 0.7)
    known = ~new & ~train & X[GROUP].isin(X[GROUP][train]).to_numpy()
    return train, {"known": known, "new": new}


def after(change: Callable[[pd.DataFrame], pd.DataFrame], model: Any) -> Callable[[pd.DataFrame], Any]:
    return lambda rows: model.predict_proba(change(rows))


def models(X: pd.DataFrame, y: NDArray[np.intp]) -> dict[tuple[str, str], Callable[[pd.DataFrame], Any]]:
    """Return predictions by method and trainer, of models of some rows."""
    found: dict[tuple[str, str], Callable[[pd.DataFrame], Any]] = {}
    mixed = TRAINERS["native"](random_intercept=GROUP).fit(X, y)
    found["random intercept", "native"] = mixed.predict_proba
    encoder = TargetEncoder(target_type="continuous", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of random_state, from scikit-learn 1.9 on
        encoded = X.assign(**{GROUP: encoder.fit_transform(X[[GROUP]], y)[:, 0]})
    levels = np.sort(X[GROUP].unique())

    def with_mean(rows: pd.DataFrame) -> pd.DataFrame:
        return rows.assign(**{GROUP: encoder.transform(rows[[GROUP]])[:, 0]})

    def with_category(rows: pd.DataFrame) -> pd.DataFrame:
        known = rows[GROUP].where(rows[GROUP].isin(levels))
        return rows.assign(**{GROUP: pd.Categorical(known, categories=levels)})

    for trainer, make in TRAINERS.items():
        ignoring = make().fit(X.drop(columns=GROUP), y)
        found["ignored", trainer] = after(lambda rows: rows.drop(columns=GROUP), ignoring)
        by_mean = make().fit(encoded, y)
        found["mean label", trainer] = after(with_mean, by_mean)
        if trainer != "native" or len(levels) <= 254:  # as many as the engine takes
            category = make().fit(with_category(X), y)
            found["category", trainer] = after(with_category, category)
    return found


def measure(name: str, seed: int) -> list[dict[str, Any]]:
    """Return the scores of all methods on a partition."""
    rng = np.random.default_rng([seed, list(SETS).index(name)])
    X, y = SETS[name](rng)
    train, tests = divided(X, rng)
    scores = []
    for (method, trainer), predict in models(X[train].reset_index(drop=True), y[train]).items():
        row: dict[str, Any] = {"data": name, "groups are": method, "trainer": trainer}
        for of, rows in tests.items():
            proba = predict(X[rows].reset_index(drop=True))
            row[f"log loss, {of}"] = ordinal_log_loss(y[rows], proba)
            row[f"RPS, {of}"] = ranked_probability_score(y[rows], proba)
        scores.append(row)
    return scores


def table(runs: pd.DataFrame) -> list[dict[str, object]]:
    """Return the mean of each method, and how its log loss of known groups lies above that of random intercepts."""
    by = ["data", "groups are", "trainer"]
    each = runs.set_index([*by, "partition"])
    found = each.sort_index()
    rows = []
    for names, scores in each.groupby(by, sort=False):
        row: dict[str, object] = dict(zip(by, names, strict=True))
        row |= {score: round(float(mean), 4) for score, mean in scores.mean().items()}
        for of in ("known", "new"):
            column = f"log loss, {of}"
            ours = found.loc[(names[0], "random intercept", "native"), column].to_numpy()
            more = scores[column].to_numpy() - ours
            wide = 2.0 * more.std(ddof=1) / np.sqrt(len(more)) if len(more) > 1 else np.nan
            row[f"more, {of}"] = f"{more.mean():+.4f} ± {wide:.4f}"
        rows.append(row)
    return rows


def main() -> None:
    runs = pd.DataFrame()
    for partition in PARTITIONS:
        for name in SETS:
            runs = pd.concat([runs, pd.DataFrame(measure(name, partition)).assign(partition=partition)])
        report.write(
            "groups",
            "Rows of groups: a random intercept, and other ways to use the groups",
            table(runs),
            f"Rows of groups that the training knows, and of new ones; mean of {partition + 1} partitions. More: log "
            f"loss less that of the random intercept, ± two standard errors. All with the cumulative-link loss and "
            f"the number of rounds found on rows held out. The engine takes no category of more than 254 levels.",
        )


if __name__ == "__main__":
    main()
