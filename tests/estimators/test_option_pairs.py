"""Two options at once, in every trainer: the same training said another way gives the same probabilities.

The options of a trainer are drawn so that every two values of two options meet in some training, unless a pair is
refused, which is tested too. On each training every oracle is looked at that has something to say of it.
"""

from __future__ import annotations

import pickle
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from makers import make_cat, make_engine, make_lgb, make_xgb, watching
from ordinal_objectives.metrics import ordinal_log_loss, ranked_probability_score
from pairs import pairwise

NAMES = np.array(["poor", "fair", "good", "best", "excellent"])  # not in the order of the alphabet
UPDATES: dict[str, dict[str, Any]] = {
    "newton": {"proportional": True, "threshold_update": "newton"},
    "joint": {"proportional": True, "threshold_update": "joint"},
    "shifts": {"proportional": False},
    "two shifts": {"proportional": False, "max_shifts": 2},
    "fixed": {"threshold_update": "fixed"},
}
# No rows are drawn, and leaves and bins do not depend on numbers of rows, only on weights.
TRAINERS: dict[str, Any] = {
    "xgboost": partial(make_xgb, max_depth=2),
    "lightgbm": partial(
        make_lgb, num_leaves=4, min_child_samples=1, min_child_weight=1.0, min_data_in_bin=1, reg_lambda=0.0
    ),
    "catboost": partial(make_cat, depth=2, random_strength=0.0, bootstrap_type="No", l2_leaf_reg=0.0),
    "histogram": partial(
        make_engine, max_leaf_nodes=4, min_samples_leaf=1, min_child_weight=1.0, early_stopping=False, cross_terms="all"
    ),
}
ROUNDS = {"xgboost": "n_estimators", "lightgbm": "n_estimators", "catboost": "iterations", "histogram": "max_iter"}
START = {"xgboost": "base_margin", "lightgbm": "init_score", "catboost": "baseline"}
CONTINUED = {"xgboost": "xgb_model", "lightgbm": "init_model", "catboost": "init_model"}
SET_WEIGHTS = {"xgboost": "sample_weight_eval_set", "catboost": "sample_weight_eval_set"}
SET_STARTS = {"xgboost": "base_margin_eval_set", "lightgbm": "eval_init_score", "catboost": "baseline_eval_set"}


class Options(NamedTuple):
    """Of one training; the first value of each is the plain one."""

    update: str = "newton"
    loss: str = "all_threshold"
    weights: str = "none"
    class_weight: str = "none"
    start: str = "none"
    linear: str = "no"
    groups: str = "none"
    continued: str = "no"
    table: str = "array"


VALUES: dict[str, tuple[str, ...]] = {
    "update": tuple(UPDATES),
    "loss": ("all_threshold", "cumulative_link"),
    "weights": ("none", "whole"),
    "class_weight": ("none", "by class"),
    "start": ("none", "given"),
    "linear": ("no", "yes"),
    "groups": ("none", "column"),
    "continued": ("no", "yes"),
    "table": ("array", "frame"),
}
# What a trainer has not at all, which its own tests of parameters refuse.
LACKS: dict[str, dict[str, tuple[str, ...]]] = {
    "xgboost": {},
    "lightgbm": {},
    "catboost": {"update": ("joint", "shifts", "two shifts"), "groups": ("column",)},
    "histogram": {"start": ("given",)},
}
# Pairs that are refused: what the message names.
REFUSED: dict[tuple[tuple[str, str], tuple[str, str]], str] = {
    (("loss", "all_threshold"), ("groups", "column")): "loss",
    (("update", "shifts"), ("loss", "cumulative_link")): "loss",
    (("update", "two shifts"), ("loss", "cumulative_link")): "loss",
    (("update", "joint"), ("groups", "column")): "threshold_update",
    (("update", "shifts"), ("groups", "column")): "proportional",
    (("update", "two shifts"), ("groups", "column")): "proportional",
    (("update", "fixed"), ("groups", "column")): "threshold_update",
    (("update", "fixed"), ("linear", "yes")): "linear",
    (("update", "fixed"), ("start", "given")): "score",
    (("start", "given"), ("continued", "yes")): "model",
    (("groups", "column"), ("continued", "yes")): "random_intercept",
    (("linear", "yes"), ("continued", "yes")): "linear part",
}
# Pairs of the above that some trainers take.
TAKEN = {
    "xgboost": [(("start", "given"), ("continued", "yes")), (("linear", "yes"), ("continued", "yes"))],
    "lightgbm": [],
    "catboost": [],
    "histogram": [
        (("update", "joint"), ("groups", "column")),
        (("groups", "column"), ("continued", "yes")),
        (("linear", "yes"), ("continued", "yes")),
    ],
}


def refused(trainer: str) -> list[Any]:
    return [pair for pair in REFUSED if pair not in TAKEN[trainer] and not _lacks(trainer, dict(pair))]


def _lacks(trainer: str, options: dict[str, str]) -> bool:
    return any(options.get(name) in values for name, values in LACKS[trainer].items())


def trainings(trainer: str) -> list[Options]:
    def allowed(*values: str) -> bool:
        options = set(Options(*values)._asdict().items())
        return not _lacks(trainer, dict(options)) and not any(options >= set(pair) for pair in refused(trainer))

    return [Options(*values) for values in pairwise(*VALUES.values(), allowed=allowed)]


CASES = [(trainer, options) for trainer in TRAINERS for options in trainings(trainer)]
EACH = pytest.mark.parametrize(
    ("trainer", "options"), CASES, ids=lambda part: part if isinstance(part, str) else "-".join(part)
)


class Data(NamedTuple):
    X: Any
    y: np.ndarray
    weight: np.ndarray | None
    start: np.ndarray | None

    def take(self, rows: Any) -> Data:
        X = self.X.iloc[rows].reset_index(drop=True) if hasattr(self.X, "iloc") else self.X[rows]
        return Data(X, *(None if of is None else of[rows] for of in self[1:]))


def drawn(options: Options, n_rows: int = 120, seed: int = 1) -> Data:
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, 9, size=(n_rows, 3)) / 2.0, np.arange(n_rows) % 6])
    X[:, 3] = rng.permutation(X[:, 3])
    score = X[:, 0] - 0.3 * (X[:, 1] - 2.0) ** 2 + 0.4 * X[:, 3] + rng.logistic(size=n_rows)
    y = np.searchsorted(np.quantile(score, [0.2, 0.4, 0.6, 0.8]), score)
    weight = rng.integers(1, 4, n_rows).astype(np.float64) if options.weights == "whole" else None
    start = 0.5 * np.sin(X[:, 2]) if options.start == "given" else None
    table = pd.DataFrame(X, columns=list("abcd")) if options.table == "frame" else X
    return Data(table, y, weight, start)


def model_of(trainer: str, options: Options, n_rounds: int, **more: Any) -> Any:
    params = {"loss": options.loss, **UPDATES[options.update], ROUNDS[trainer]: n_rounds}
    if trainer == "catboost":
        params = {name: value for name, value in params.items() if name not in ("proportional", "max_shifts")}
    params |= {"linear": True} if options.linear == "yes" else {}
    params |= {"class_weight": {0: 2.0, 2: 0.5}} if options.class_weight == "by class" else {}
    params |= {"random_intercept": "d" if options.table == "frame" else 3} if options.groups == "column" else {}
    return TRAINERS[trainer](**params | {"random_state": 0} | more)


def fitted(
    trainer: str, options: Options, data: Data, n_rounds: int = 4, sets: Any = (), metric: Any = None, **more: Any
) -> Any:
    """Return a model of so many rounds, the last two of which may continue the others."""
    given: dict[str, Any] = {"sample_weight": data.weight}
    if data.start is not None:
        given[START[trainer]] = data.start
    watched: dict[str, Any] = {}
    if metric is not None and trainer in ("lightgbm", "catboost"):
        watched["eval_metric"] = metric
    elif metric is not None:
        more["eval_metric"] = metric
    if sets:
        if trainer == "histogram":
            (one,) = sets
            watched |= watching(TRAINERS[trainer](), one.X, one.y, one.weight)
        else:
            watched["eval_set"] = [(one.X, one.y) for one in sets]
            watched[SET_WEIGHTS.get(trainer, "eval_sample_weight")] = [one.weight for one in sets]
        if data.start is not None:
            watched[SET_STARTS[trainer]] = [one.start for one in sets]
    if options.continued == "no":
        return model_of(trainer, options, n_rounds, **more).fit(data.X, data.y, **given, **watched)
    first = model_of(trainer, options, n_rounds - 2, **more).fit(data.X, data.y, **given)
    if trainer == "histogram":
        return first.set_params(max_iter=n_rounds, warm_start=True).fit(data.X, data.y, **given, **watched)
    given[CONTINUED[trainer]] = first
    return model_of(trainer, options, 2, **more).fit(data.X, data.y, **given, **watched)


def starts(trainer: str, data: Data, added: float = 0.0) -> dict[str, Any]:
    return {} if data.start is None else {START[trainer]: data.start + added}


def proba(trainer: str, model: Any, data: Data) -> np.ndarray:
    return model.predict_proba_ordered(data.X, **starts(trainer, data))


# The oracles: what else is trained, and what its probabilities must be.


def repeated_rows(trainer: str, options: Options, data: Data, model: Any) -> Any:
    if data.weight is None:
        return None
    rows = np.repeat(np.arange(len(data.y)), data.weight.astype(int))
    other = fitted(trainer, options, data.take(rows)._replace(weight=None))
    return proba(trainer, other, data), proba(trainer, model, data)


def weights_of_classes(trainer: str, options: Options, data: Data, model: Any) -> Any:
    if options.class_weight == "none":
        return None
    weight = np.array([2.0, 1.0, 0.5, 1.0, 1.0])[data.y] * (1.0 if data.weight is None else data.weight)
    other = fitted(trainer, options._replace(class_weight="none"), data._replace(weight=weight))
    return proba(trainer, other, data), proba(trainer, model, data)


def rows_of_weight_zero(trainer: str, options: Options, data: Data, model: Any) -> Any:
    n = len(data.y)
    more = data.take(np.append(np.arange(n), np.arange(0, n, 3)))
    weight = np.append(np.ones(n) if data.weight is None else data.weight, np.zeros(len(more.y) - n))
    y = np.append(data.y, 4 - data.y[::3])
    return proba(trainer, fitted(trainer, options, more._replace(y=y, weight=weight)), data), proba(
        trainer, model, data
    )


def renamed_classes(trainer: str, options: Options, data: Data, model: Any) -> Any:
    weights = {"class_weight": {"poor": 2.0, "good": 0.5}} if options.class_weight == "by class" else {}
    other = fitted(trainer, options, data._replace(y=NAMES[data.y]), classes=NAMES, **weights)
    assert (
        other.predict(data.X, **starts(trainer, data)).tolist()
        == NAMES[model.predict(data.X, **starts(trainer, data))].tolist()
    )
    return proba(trainer, other, data), proba(trainer, model, data)


def reversed_labels(trainer: str, options: Options, data: Data, model: Any) -> Any:
    weights = {"class_weight": {4: 2.0, 2: 0.5}} if options.class_weight == "by class" else {}
    turned = data._replace(y=4 - data.y, start=None if data.start is None else -data.start)
    other = fitted(trainer, options, turned, **weights)
    return proba(trainer, other, turned)[:, ::-1], proba(trainer, model, data)


def shifted_start(trainer: str, options: Options, data: Data, model: Any) -> Any:
    if data.start is None:
        return None
    moved = data._replace(start=data.start + 1.5)
    return proba(trainer, fitted(trainer, options, moved), moved), proba(trainer, model, data)


def start_of_zeros(trainer: str, options: Options, data: Data, model: Any) -> Any:
    if trainer not in START or data.start is not None or options.continued == "yes":
        return None
    other = fitted(trainer, options, data._replace(start=np.zeros(len(data.y))))
    return proba(trainer, other, data), proba(trainer, model, data)


def permuted_columns(trainer: str, options: Options, data: Data, model: Any) -> Any:
    order, place = [3, 2, 0, 1], {}
    if options.groups == "column" and options.table == "array":
        place = {"random_intercept": 0}
    X = data.X.iloc[:, order] if hasattr(data.X, "iloc") else data.X[:, order].copy()
    turned = data._replace(X=X)
    return proba(trainer, fitted(trainer, options, turned, **place), turned), proba(trainer, model, data)


def sparse_rows(trainer: str, options: Options, data: Data, model: Any) -> Any:
    # XGBoost takes what is not stored for missing; a linear part and groups need a table.
    if (
        trainer in ("xgboost", "histogram")
        or options.linear == "yes"
        or options.groups == "column"
        or options.table == "frame"
    ):
        return None
    sparse = data._replace(X=csr_matrix(data.X))
    return proba(trainer, fitted(trainer, options, sparse), sparse), proba(trainer, model, data)


def one_long_training(trainer: str, options: Options, data: Data, model: Any) -> Any:
    if options.continued == "no" or options.groups == "column":  # effects are settled where a training ends
        return None
    other = fitted(trainer, options._replace(continued="no"), data)
    np.testing.assert_allclose(model.threshold_history_, other.threshold_history_, atol=1e-4)
    return proba(trainer, other, data), proba(trainer, model, data)


def a_copy(trainer: str, options: Options, data: Data, model: Any) -> Any:
    other = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(
        list(other.staged_predict_proba(data.X, **starts(trainer, data)))[1],
        list(model.staged_predict_proba(data.X, **starts(trainer, data)))[1],
    )
    return proba(trainer, other, data), proba(trainer, model, data)


ORACLES = [
    repeated_rows,
    weights_of_classes,
    rows_of_weight_zero,
    renamed_classes,
    reversed_labels,
    shifted_start,
    start_of_zeros,
    permuted_columns,
    sparse_rows,
    one_long_training,
    a_copy,
]


# Every second oracle on every training; the others are looked at with the slow tests.
HALVES = [
    pytest.param(trainer, options, half, marks=[] if place % 2 == half else [pytest.mark.slow])
    for place, (trainer, options) in enumerate(CASES)
    for half in (0, 1)
]


@pytest.mark.parametrize(("trainer", "options", "half"), HALVES)
def test_the_same_training_said_another_way(trainer, options, half):
    data = drawn(options)
    model = fitted(trainer, options, data)
    for oracle in ORACLES[half::2]:
        found = oracle(trainer, options, data, model)
        if found is not None:
            np.testing.assert_allclose(*found, atol=2e-4, err_msg=oracle.__name__)


@EACH
def test_evaluation_sets_and_files_tell_what_predictions_do(trainer, options, tmp_path):
    """Losses and metrics of rows held out are those of the stages; a file has all that predictions need."""
    data, held = drawn(options), drawn(options, 80, seed=2)
    more = {"use_best_model": False} if trainer == "catboost" else {}
    model = fitted(trainer, options, data, sets=[held], metric="rps", **more)
    stages = list(model.staged_predict_proba(held.X, **starts(trainer, held)))
    results = next(iter(model.evals_result_.values()))
    if trainer == "histogram":
        losses, rps = model.evals_result_["validation"][1:], model.evals_result_["validation_rps"][1:]
    else:
        losses, rps = results[options.loss], results["rps"]
    known = slice(0, -1 if options.groups == "column" else None)  # the last effects are settled after the training
    stages, rps, losses = (of[-len(rps) :][known] for of in (stages, rps, losses))
    by_hand = [ranked_probability_score(held.y, P, sample_weight=held.weight) for P in stages]
    np.testing.assert_allclose(rps, by_hand, rtol=1e-4)
    if options.loss == "cumulative_link":
        by_hand = [ordinal_log_loss(held.y, P, sample_weight=held.weight) for P in stages]
        np.testing.assert_allclose(losses, by_hand, rtol=1e-4)
    path = tmp_path / ("model.cbm" if trainer == "catboost" else "model.txt" if trainer == "lightgbm" else "model.json")
    model.save_model(path)
    loaded = type(model)().load_model(path)
    np.testing.assert_allclose(proba(trainer, loaded, held), proba(trainer, model, held), atol=1e-7)


@pytest.mark.parametrize(
    ("trainer", "pair"), [(trainer, pair) for trainer in TRAINERS for pair in refused(trainer)], ids=str
)
def test_pairs_that_do_not_go_together_are_refused_by_name(trainer, pair):
    options = Options()._replace(**dict(pair))
    if "groups" in dict(pair) and "loss" not in dict(pair):
        options = options._replace(loss="cumulative_link")
    with pytest.raises(ValueError, match=REFUSED[pair]):
        fitted(trainer, options, drawn(options))


@pytest.mark.parametrize("trainer", TRAINERS)
def test_every_two_values_meet_or_are_refused(trainer):
    met = {pair for options in trainings(trainer) for pair in combinations(options._asdict().items(), 2)}
    every = {
        ((one, first), (other, second))
        for one, other in combinations(VALUES, 2)
        for first in VALUES[one]
        for second in VALUES[other]
        if not _lacks(trainer, {one: first, other: second})
    }
    assert every - met == set(refused(trainer))
