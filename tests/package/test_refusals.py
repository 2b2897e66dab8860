"""What is refused by its name, and no other test meets: each in one call."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from scipy.sparse import csr_matrix
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline

from ordinal_objectives import (
    HistGradientBoostingMultiOutputClassifier,
    HistGradientBoostingMultiOutputRegressor,
    HistGradientBoostingOrdinalClassifier,
    LGBMOrdinalClassifier,
    OrdinalDistributionRegressor,
    OrdinalLabels,
    OrdinalPredictionSets,
    RowBlocks,
    XGBOrdinalClassifier,
    inspection,
    metrics,
)
from ordinal_objectives.adapters import lgbm as olgbm, xgb as oxgb
from ordinal_objectives.adapters.xgb import input_checks
from ordinal_objectives.decision import kappa_weights
from ordinal_objectives.distributions import DistributionScorer
from ordinal_objectives.estimators.class_order import classes_in_order, columns_in_order, has_response
from ordinal_objectives.estimators.labels import OrderedLabels, ordered_categories
from ordinal_objectives.estimators.linear import LinearPart
from ordinal_objectives.export import to_onnx, to_treelite
from ordinal_objectives.leaves import vector
from ordinal_objectives.random_effects import GroupColumn, RandomEffects
from ordinal_objectives.utils.files import labels_to_json

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
Y = np.digitize(X[:, 0] + 0.3 * RNG.normal(size=120), [-0.5, 0.5])
NUMBERS = X[:, 0] + RNG.normal(size=120)
INTERVALS = OrdinalLabels.from_intervals(Y, np.minimum(Y + 1, 2))
DMATRIX = xgboost.DMatrix(X, Y)


def native(**options):
    return HistGradientBoostingOrdinalClassifier(max_iter=3, max_leaf_nodes=4, **options)


def trained(**options):
    return native(**options).fit(X, Y)


def booster():
    return oxgb.train({"verbosity": 0}, DMATRIX, 2)


def group(**effects):
    given = {"effects": np.zeros(1), "standard_errors": np.zeros(1), "variance": 1.0, "variance_error": 0.0}
    return RandomEffects(GroupColumn(0, ["a"]), **given | effects)


class Unnamed:
    """Probabilities of classes that nothing names."""

    def predict(self, X):
        return np.zeros(len(X), int)

    def predict_proba(self, X):
        return np.full((len(X), 3), 1 / 3)


TABLE = pd.DataFrame(X, columns=["a", "b", "c"])
ANSWERS = TABLE.rename(columns={"a": "label"})
TOWNS = TABLE.assign(town=pd.Categorical(np.resize(["Aachen", "Bonn"], 120)))
GROUPED = np.column_stack([X, np.arange(120) % 6])
LINE = {
    "n_features": 2,
    "places": np.array([0]),
    "levels": {1: [0.0, 1.0, 2.0]},
    "level_weights": [np.zeros(3)],
    **dict.fromkeys(("mean", "low", "high", "weights"), np.zeros(1)),
    "scale": np.ones(1),
}


def grouped(**options):
    return native(loss="cumulative_link", random_intercept=3, **options).fit(GROUPED, Y)


class Guess:
    """Squared error of one output, but for what it answers."""

    def __init__(self, start=0.0, outputs=1):
        self.first, self.outputs = start, outputs

    def derivatives(self, y, raw_prediction, hessian):
        errors = raw_prediction - y.reshape(len(y), -1)
        return 0.5 * (errors**2).sum(axis=1), errors, None

    def start(self, y, weight):
        return np.array([self.first])

    def predict(self, raw_prediction):
        return np.zeros((len(raw_prediction), self.outputs))


def regressor(loss):
    return HistGradientBoostingMultiOutputRegressor(loss=loss, max_iter=2).fit(X, NUMBERS)


REFUSED = {
    "groups twice": (lambda: GroupColumn(0, ["a", "a"]), ValueError, "groups"),
    "groups of a sparse matrix": (lambda: GroupColumn.learn(csr_matrix(X), 0), ValueError, "random_intercept"),
    "effects of other groups": (lambda: group(effects=np.zeros(2)), ValueError, "random effects"),
    "effects without a beginning": (group, ValueError, "history"),
    "penalty of outputs": (lambda: vector.output_steps([[1.0]], [[1.0]], -1.0), ValueError, "reg_lambda"),
    "penalty of matrices": (lambda: vector.output_steps([[1.0]], [[[1.0]]], 0.0), ValueError, "reg_lambda"),
    "penalty of steps": (
        lambda: vector.steps([[1.0]], [[1.0]], reg_lambda=-1.0, shift_l2=1.0),
        ValueError,
        "reg_lambda",
    ),
    "penalty of contrasts": (lambda: vector.contrasts(3, reg_lambda=0.0, shift_l2=1.0), ValueError, "reg_lambda"),
    "huge targets": (lambda: HistGradientBoostingMultiOutputRegressor().fit(X, 1e39 * NUMBERS), ValueError, "y must"),
    "an array for a booster": (lambda: oxgb.predict(booster(), X), TypeError, "data"),
    "more columns": (
        lambda: oxgb.predict(booster(), xgboost.DMatrix(np.hstack([X, X]))),
        ValueError,
        "columns",
    ),
    "an array to train on": (lambda: oxgb.train({}, X, 2), TypeError, "dtrain"),
    "an objective to train with": (lambda: oxgb.train({}, DMATRIX, 2, obj=print), ValueError, "obj"),
    "a loss that rises": (lambda: input_checks.check_loss_name("auc_of_mine"), ValueError, "losses"),
    "missing is text": (lambda: XGBOrdinalClassifier(missing="?").fit(X, Y), ValueError, "missing"),
    "no order of columns": (
        lambda: columns_in_order(np.ones((3, 2)), OrderedLabels([0, 1, 2]), [0, 1, 2]),
        ValueError,
        "predict_proba",
    ),
    "labels that end in NUL": (lambda: native(classes=["a\0", "b"]).fit(X, Y), ValueError, "classes"),
    "labels that are records": (
        lambda: native().fit(X, np.zeros(120, dtype=[("a", int)])),
        (TypeError, ValueError),
        "y",
    ),
    "groups of a model without": (lambda: trained().with_groups(X, Y), ValueError, "random_intercept"),
    "blocks without rows": (lambda: native().fit(RowBlocks([X[:1]]), Y[:1]), ValueError, "sample"),
    "label that is an object": (lambda: labels_to_json(np.array([None, "a"], object)), TypeError, "labels"),
    "weights on the diagonal": (lambda: kappa_weights(np.ones((3, 3)), 3), ValueError, "kappa_weights"),
    "a row for importances": (
        lambda: inspection.threshold_importances(trained(proportional=False), X[:1]),
        ValueError,
        "X must",
    ),
    "odds of two classes": (
        lambda: inspection.proportional_odds_test(native(), X, Y > 0, random_state=0),
        ValueError,
        "3 classes",
    ),
    "odds of a class with one row": (
        lambda: inspection.proportional_odds_test(native(), X, np.append(Y[:-1] % 2, 2), random_state=0),
        ValueError,
        "2 rows",
    ),
    "a report of no classifier": (
        lambda: metrics.report(Unnamed(), X, Y),
        TypeError,
        "model",
    ),
    "numbers in the wrong order": (
        lambda: OrdinalDistributionRegressor(native()).fit(X, np.column_stack([NUMBERS + 1, NUMBERS])),
        ValueError,
        "y must",
    ),
    "crps of numbers within bounds": (
        lambda: OrdinalDistributionRegressor(native()).fit(X, NUMBERS).crps(X, np.column_stack([NUMBERS, NUMBERS + 1])),
        ValueError,
        "log_loss",
    ),
    "weights of sets of intervals": (
        lambda: OrdinalPredictionSets(native()).fit(X, INTERVALS, sample_weight=np.ones(120)),
        ValueError,
        "sample_weight",
    ),
    "sets of each class of intervals": (
        lambda: OrdinalPredictionSets(native(), coverage="class").fit(X, INTERVALS),
        ValueError,
        "coverage",
    ),
    "no estimator for a graph": (lambda: to_onnx(LinearRegression(), X), TypeError, "model"),
    "zeros that are missing": (
        lambda: to_treelite(LGBMOrdinalClassifier(n_estimators=2, zero_as_missing=True, verbose=-1).fit(X, Y)),
        ValueError,
        "zero_as_missing",
    ),
    "other missing values": (
        lambda: to_treelite(XGBOrdinalClassifier(n_estimators=2, missing=-1.0).fit(X, Y)),
        ValueError,
        "missing",
    ),
    "a set without labels": (
        lambda: olgbm.train({"verbosity": -1}, lightgbm.Dataset(X), 2),
        ValueError,
        "label",
    ),
    "categories by a number": (
        lambda: olgbm.train({"verbosity": -1}, lightgbm.Dataset(X, Y, categorical_feature=3.5), 2),
        (TypeError, ValueError),
        "categorical_feature",
    ),
    "other columns of a graph": (
        lambda: to_onnx(native().fit(TABLE, Y), TABLE.rename(columns={"a": "z"})),
        ValueError,
        "X_example",
    ),
    "a column of a graph's answers": (
        lambda: to_onnx(native().fit(ANSWERS, Y), ANSWERS),
        ValueError,
        "X_example",
    ),
    "a step of categories": (
        lambda: inspection.average_marginal_effects(native().fit(TOWNS, Y), TOWNS, "town", step=1.0),
        ValueError,
        "step",
    ),
    "a row of a table": (lambda: native().fit(TABLE[:1], Y[:1]), ValueError, "X must|sample"),
    "rounds that are no integer": (
        lambda: XGBOrdinalClassifier(early_stopping_rounds=2.5).fit(X, Y, eval_set=[(X, Y)]),
        TypeError,
        "early_stopping_rounds",
    ),
    "weights of new groups by balance": (
        lambda: grouped(class_weight="balanced").with_groups(GROUPED, Y),
        ValueError,
        "class_weight",
    ),
    "rows of new groups": (lambda: grouped().with_groups(GROUPED, Y[:-1]), ValueError, "rows"),
    "predictions of other outputs": (lambda: regressor(Guess(outputs=2)).predict(X), ValueError, "predict"),
    "a start that is infinite": (lambda: regressor(Guess(start=np.inf)), ValueError, "start"),
    "levels of a linear part": (
        lambda: LinearPart.check(SimpleNamespace(**LINE | {"level_weights": [np.zeros(2)]}), 2),
        ValueError,
        "level",
    ),
    "codes of a linear part": (
        lambda: LinearPart.check(SimpleNamespace(**LINE | {"levels": {1: [1.0, 0.0, 2.0]}}), 2),
        ValueError,
        "codes",
    ),
    "constraints in both directions": (
        lambda: native(monotonic_cst={"a": 1, 0: -1}).fit(pd.DataFrame(X, columns=["a", "b", "c"]), Y),
        (KeyError, TypeError, ValueError),
        "monotonic_cst",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_is_refused_by_name(case):
    call, kind, name = REFUSED[case]
    with pytest.raises(kind, match=name):
        call()


@pytest.mark.parametrize(
    ("labels", "named"),
    [
        (["Low", "high"], "'low' by 'Low'"),
        (["lwo ", "high"], "low"),
        ([0.1, 0.2], "float32"),
    ],
)
def test_a_label_that_is_nearly_a_class_is_told(labels, named):
    classes = np.array([0.1, 0.2], np.float32) if isinstance(labels[0], float) else ["low", "high"]
    with pytest.raises(ValueError, match="classes") as caught:
        native(classes=classes).fit(X[:20], np.resize(labels, 20))
    assert named in str(caught.value)


def test_an_ordered_dictionary_of_arrow_has_an_order():
    pa = pytest.importorskip("pyarrow")

    def of(*levels):
        return pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(levels), ordered=True)

    assert ordered_categories(of("low", "high")).tolist() == ["low", "high"]
    chunks = pa.chunked_array([of("low", "high"), of("low", "high")])
    assert ordered_categories(chunks).tolist() == ["low", "high"]
    frame = pd.Series(pd.arrays.ArrowExtensionArray(chunks))
    assert ordered_categories(frame).tolist() == ["low", "high"]
    with pytest.raises(ValueError, match="same categories"):
        ordered_categories(pa.chunked_array([of("low", "high"), of("high", "low")]))


@pytest.mark.parametrize("measure", ["crps", "quantile_loss", "coverage", "width", "log_loss"])
def test_scorers_of_distributions_prefer_what_knows_more(measure):
    X, y = np.repeat(RNG.normal(size=(200, 1)), 2, axis=0), RNG.normal(size=400)
    y = 3.0 * X[:, 0] + 0.1 * y
    known = OrdinalDistributionRegressor(native(), n_cuts=8, random_state=0).fit(X, y)
    noise = RNG.normal(size=X.shape)
    guess = OrdinalDistributionRegressor(native(), n_cuts=8, random_state=0).fit(noise, y)
    scorer = DistributionScorer(measure, levels=[0.1, 0.9])
    by_model, by_guess = scorer(known, X, y), scorer(guess, noise, y)
    assert by_model <= 0.0 or measure == "log_loss"
    assert measure == "coverage" or by_model > by_guess


def test_a_pipeline_answers_as_its_last_step():
    pipeline = make_pipeline(OrdinalDistributionRegressor(native()))
    assert has_response(pipeline, "predict_quantile")
    assert not has_response(make_pipeline(LogisticRegression()), "predict_quantile")


def test_ends_that_two_rows_share_are_told():
    ends = np.column_stack([np.floor(NUMBERS), np.floor(NUMBERS) + 1])
    with pytest.warns(UserWarning, match="lowest number"):
        OrdinalDistributionRegressor(native(), n_cuts=3).fit(X, ends)


def test_labels_that_no_training_knew():
    model = HistGradientBoostingMultiOutputClassifier(max_iter=2)
    with pytest.raises(ValueError, match="evaluation set"):
        model.fit(X, Y, X_val=X, y_val=Y + 1)
    several = np.column_stack([Y > 0, Y > 1]).astype(int)
    with pytest.raises(ValueError, match="evaluation set"):
        model.fit(X, several, X_val=X, y_val=several + 1)


def test_a_frame_that_only_says_how_it_is_exchanged():
    class Frame:
        def __init__(self, frame):
            self.frame = frame

        def __dataframe__(self, **options):
            return self.frame.__dataframe__(**options)

    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pandas ends this protocol
        if not hasattr(frame, "__dataframe__"):
            pytest.skip("pandas has given this protocol up")
        model = native().fit(frame, Y)
        assert (model.predict(Frame(frame)) == model.predict(frame)).all()


def test_a_reader_is_refused():
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"a": X[:, 0], "b": X[:, 1]})
    with pytest.raises(TypeError, match="X must be"):
        native().fit(table.to_reader(), Y)


def test_a_loss_of_one_output_may_predict_a_flat_array():
    class Flat(Guess):
        def predict(self, raw_prediction):
            return raw_prediction[:, 0]

    model = regressor(Flat())
    assert np.corrcoef(model.predict(X), NUMBERS)[0, 1] > 0.3


def test_rows_of_a_fan_are_bars_by_their_names():
    plotting = pytest.importorskip("ordinal_objectives.plotting")
    pytest.importorskip("matplotlib")
    model = OrdinalDistributionRegressor(native()).fit(TABLE, NUMBERS)
    few = TABLE[:3].set_axis(["first", "second", "third"])
    display = plotting.DistributionFanDisplay.from_estimator(model, few)
    assert [text.get_text() for text in display.ax_.get_xticklabels()] == ["first", "second", "third"]
    assert len(display.ax_.patches) == 3 * (len(display.levels) // 2)


def test_labels_of_ordered_categories_need_no_order_beside():
    classes = pytest.importorskip("ordinal_objectives.plotting.classes")
    levels = pd.CategoricalDtype(["low", "high"], ordered=True)
    given = pd.Series(["high", "low"], dtype=levels)
    assert list(classes._labels_of(given, given, None)) == ["low", "high"]
    unordered = LogisticRegression().fit(X, np.resize(given, 120))
    assert list(classes_in_order(unordered, given, None, "labels=").ordered_classes_) == ["low", "high"]
