"""Which set ends a training, by which metric, in which direction: as each library's own entry points decide it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import catboost
import lightgbm
import numpy as np
import pytest
import xgboost

from ordinal_objectives import CatBoostOrdinalClassifier, LGBMOrdinalClassifier, XGBOrdinalClassifier
from ordinal_objectives.adapters import lgbm as olgbm, xgb as oxgb

# Values of the metric after 1, 2, ... rounds, by the number of rows of a set: the training has 60, its best round is 2.
SCRIPT = {
    60: [8, 1, *[2] * 10],
    30: [8, 7, 6, 5, 4, 9, 9, 9, 9, 9, 9, 9],
    40: [8, 7, 6, 7, 7, 5, 9, 9, 9, 9, 9, 9],
    20: [8, 7, 6, 5, 4, 3, 2, 9, 9, 9, 9, 9],
    50: [1] * 13,
}
HIGHER = pytest.mark.parametrize("higher", [False, True])
RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 2))
y = (X[:, 0] > 0).astype(np.int64)
SETS = {n: (X[:n], y[:n]) for n in SCRIPT}
QUIET: dict[str, Any] = {"verbosity": -1, "min_child_samples": 1, "learning_rate": 0.01, "num_leaves": 3}


class Scripted:
    """A metric of given values, each asked for ``times`` times."""

    def __init__(self, higher: bool, times: int = 1) -> None:
        self.higher, self.times, self.calls = higher, times, Counter[int]()

    def value(self, n_rows: int) -> float:
        place = self.calls[n_rows] // self.times
        self.calls[n_rows] += 1
        return float(-SCRIPT[n_rows][place] if self.higher else SCRIPT[n_rows][place])

    def of_labels(self, y: Any, _: Any) -> tuple[str, float, bool]:
        return "scripted", self.value(len(y)), self.higher

    def of_lightgbm(self, _: Any, data: lightgbm.Dataset) -> tuple[str, float, bool]:
        return self.of_labels(data.get_label(), None)

    def of_xgboost(self, _: Any, data: xgboost.DMatrix) -> tuple[str, float]:
        return "scripted", self.value(data.num_row())

    # As CatBoost asks for it.
    no_jit = True

    def is_max_optimal(self) -> bool:
        return self.higher

    def get_final_error(self, error: float, weight: float) -> float:
        return error / weight

    def evaluate(self, approxes: Any, target: Any, weight: Any) -> tuple[float, float]:
        return self.value(len(approxes[0])), 1.0


def lightgbm_stops(kind, sets, higher):
    stop = lightgbm.early_stopping(3, verbose=False)
    model = kind(n_estimators=12, **QUIET)
    model.fit(*SETS[60], eval_set=sets, eval_metric=Scripted(higher).of_labels, callbacks=[stop])
    return model.best_iteration_, list(model.evals_result_)


def xgboost_stops(kind, sets, higher):
    metric, stop = Scripted(higher), xgboost.callback.EarlyStopping(rounds=3, maximize=higher)
    of_library = kind is xgboost.XGBClassifier
    given = (lambda y, p: metric.of_labels(y, p)[1]) if of_library else metric.of_labels
    model = kind(n_estimators=12, learning_rate=0.01, eval_metric=given, callbacks=[stop])
    return model.fit(*SETS[60], eval_set=sets, verbose=False).best_iteration, len(model.evals_result())


def catboost_stops(kind, sets, higher):
    # CatBoost asks for its metric on the training rows too, here 50 others.
    options = {"iterations": 12, "early_stopping_rounds": 3, "learning_rate": 0.01}
    metric = Scripted(higher)
    if kind is CatBoostOrdinalClassifier:
        model = kind(**options).fit(*SETS[50], eval_set=sets, eval_metric=metric.of_labels)
        return model.n_iter_, model.booster_.best_iteration_, len(model.evals_result_["validation_0"]["scripted"])
    model = kind(**options, verbose=False, allow_writing_files=False, eval_metric=metric).fit(*SETS[50], eval_set=sets)
    return model.tree_count_, model.best_iteration_, len(list(model.evals_result_.values())[-1]["Scripted"])


@pytest.mark.filterwarnings("ignore::lightgbm.basic.LGBMDeprecationWarning")
@HIGHER
@pytest.mark.parametrize("sizes", [(60, 30), (30, 60), (30, 40), (40, 20, 60), (20,)], ids=str)
@pytest.mark.parametrize(
    ("stops", "of_library", "ours"),
    [
        (lightgbm_stops, lightgbm.LGBMClassifier, LGBMOrdinalClassifier),
        (xgboost_stops, xgboost.XGBClassifier, XGBOrdinalClassifier),
        (catboost_stops, catboost.CatBoostClassifier, CatBoostOrdinalClassifier),
    ],
    ids=["lightgbm", "xgboost", "catboost"],
)
def test_a_classifier_stops_where_the_library_does(stops, of_library, ours, sizes, higher):
    # A set of 60 rows is the training set, the same objects.
    sets = [SETS[size] for size in sizes]
    assert stops(ours, sets, higher) == stops(of_library, sets, higher)


def test_equal_rows_in_other_objects_are_another_set_for_lightgbm():
    """It compares objects, and so does its early stopping."""
    copied = [(X[:60].copy(), y[:60]), SETS[30]]
    assert lightgbm_stops(LGBMOrdinalClassifier, copied, False) == (2, ["valid_0", "valid_1"])
    assert lightgbm_stops(LGBMOrdinalClassifier, [SETS[60], SETS[30]], False) == (5, ["training", "valid_1"])


@HIGHER
@pytest.mark.parametrize("sizes", [(60, 30), (30, 60), (30, 40)], ids=str)
def test_train_stops_where_the_library_does(sizes, higher):
    def of_lightgbm(train, **params):
        sets = {n: lightgbm.Dataset(*SETS[n]) for n in (60, *sizes)}
        options = {"feval": Scripted(higher).of_lightgbm, "valid_sets": [sets[n] for n in sizes]}
        stop = lightgbm.early_stopping(3, verbose=False)
        return train({**QUIET, **params}, sets[60], 12, callbacks=[stop], **options).best_iteration

    assert of_lightgbm(olgbm.train) == of_lightgbm(lightgbm.train, objective="binary")

    def of_xgboost(train, **params):
        sets = {n: xgboost.DMatrix(*SETS[n]) for n in (60, *sizes)}
        options = {"evals": [(sets[n], str(n)) for n in sizes], "custom_metric": Scripted(higher).of_xgboost}
        stopping = {"early_stopping_rounds": 3, "maximize": higher, "verbose_eval": False}
        return train({"eta": 0.01, **params}, sets[60], 12, **options, **stopping).best_iteration

    assert of_xgboost(oxgb.train) == of_xgboost(xgboost.train, objective="binary:logistic")


@HIGHER
def test_cross_validation_stops_where_the_library_does(higher):
    """Three folds of 60 rows to train on and 30 to evaluate."""
    rows = X[:90], y[:90]

    def of_lightgbm(cv, **params):
        options = {"nfold": 3, "stratified": False, "eval_train_metric": True, "feval": Scripted(higher, 3).of_lightgbm}
        stop = lightgbm.early_stopping(3, verbose=False)
        found = cv({**QUIET, **params}, lightgbm.Dataset(*rows), 12, callbacks=[stop], **options)
        return len(found["valid scripted-mean"])

    assert of_lightgbm(olgbm.cv) == of_lightgbm(lightgbm.cv, objective="binary") == 5

    def of_xgboost(cv, **params):
        options = {"nfold": 3, "as_pandas": False, "custom_metric": Scripted(higher, 3).of_xgboost}
        stopping = {"early_stopping_rounds": 3, "maximize": higher}
        found = cv({"eta": 0.01, **params}, xgboost.DMatrix(*rows), 12, **options, **stopping)
        return len(found["test-scripted-mean"])

    assert of_xgboost(oxgb.cv) == of_xgboost(xgboost.cv, objective="binary:logistic") == 5


def test_the_training_set_is_judged_with_its_weights():
    """Losses and metrics of "training", with the weights of the training, whatever eval_sample_weight says."""
    weight = np.linspace(0.5, 2.0, 60)
    model = LGBMOrdinalClassifier(n_estimators=5, **QUIET, class_weight={0: 2.0})
    sets, weights = [SETS[60], SETS[30]], [None, np.ones(30)]
    model.fit(*SETS[60], sample_weight=weight, eval_set=sets, eval_sample_weight=weights, eval_metric="rps")
    np.testing.assert_allclose(model.evals_result_["training"]["all_threshold"], model.training_loss_[1:], rtol=1e-6)
    combined = weight * np.where(y[:60] == 0, 2.0, 1.0)
    by_hand = [
        np.average((proba[:, 0] - (y[:60] == 0)) ** 2, weights=combined) for proba in model.staged_predict_proba(X[:60])
    ]
    np.testing.assert_allclose(model.evals_result_["training"]["rps"], by_hand, rtol=1e-6)


def test_a_metric_without_a_value_never_is_the_best_of_catboost():
    values = iter([np.nan, 0.5, 0.6, 0.4, 0.4, 0.4])
    model = CatBoostOrdinalClassifier(iterations=6, early_stopping_rounds=3)
    model.fit(*SETS[60], eval_set=[SETS[30]], eval_metric=lambda y, proba: ("correlation", next(values), True))
    assert model.n_iter_ == 3
