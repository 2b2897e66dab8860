"""Steps and classifiers of scikit-learn in a graph: written as they answer for every setting, or refused by name."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier, VotingClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils._param_validation import Options

from ordinal_objectives import (
    HistGradientBoostingOrdinalClassifier,
    LGBMOrdinalClassifier,
    OrdinalCalibratedClassifier,
    OrdinalEnsembleClassifier,
    OrdinalTunedClassifier,
    XGBOrdinalClassifier,
)
from ordinal_objectives.export import to_onnx
from served import answers

N_ROWS = 300
OF_RUNS = ("copy", "copy_X", "n_jobs", "verbose", "random_state", "warm_start", "dtype", "verbose_feature_names_out")


def native(**options):
    """Return a classifier that a small change of any column changes a little, by its linear part."""
    options = {"max_iter": 4, "min_samples_leaf": 5, "random_state": 0, "linear": True, "n_jobs": 1} | options
    return HistGradientBoostingOrdinalClassifier(**options)


def rows(n_classes=4):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 3)).astype(np.float32).astype(np.float64)
    return X, np.digitize(X[:, 0] + X[:, 1] + 0.4 * rng.logistic(size=N_ROWS), np.linspace(-1, 1, n_classes + 1)[1:-1])


def far_rows(X):
    """Return rows like those of the training, some far away, some of zeros, some on the numbers of others."""
    new = X.copy()
    new[:20] *= 100
    new[20:40] *= -1
    new[40:45] = 0
    new[45:60, 1] = X[:15, 1]
    return new.astype(np.float32).astype(np.float64)


def settings(kind, **fixed):
    """Return an estimator for each setting that scikit-learn declares by name."""
    found = [fixed]
    for name, allowed in kind._parameter_constraints.items():
        for one in allowed if isinstance(allowed, list) and name not in OF_RUNS else ():
            options = (False, True) if one == "boolean" else sorted(one.options) if isinstance(one, Options) else ()
            found += [fixed | {name: value} for value in options if value not in ("deprecated", "warn", "precomputed")]
    return [kind(**options) for options in found]


NUMBERS = {
    FunctionTransformer: [FunctionTransformer(np.log1p)],
    MinMaxScaler: [MinMaxScaler((-2, 3))],
    RobustScaler: [RobustScaler(quantile_range=(5.0, 90.0))],
    SimpleImputer: [
        SimpleImputer(strategy="constant", fill_value=-1.0),
        SimpleImputer(missing_values=0.0, strategy="constant", fill_value=3.0),
        SimpleImputer(strategy="constant", fill_value=np.nan),
    ],
    StandardScaler: [],
}
CLASSIFIERS = {
    DecisionTreeClassifier: [DecisionTreeClassifier(max_depth=3, class_weight="balanced")],
    ExtraTreesClassifier: [ExtraTreesClassifier(5, max_samples=0.5, bootstrap=True)],
    LogisticRegression: [LogisticRegression(C=0.1), LogisticRegression(solver="saga", l1_ratio=0.5)],
    RandomForestClassifier: [RandomForestClassifier(5, max_depth=3)],
}
CATEGORIES = {
    OneHotEncoder: [
        *(OneHotEncoder(sparse_output=False, drop=drop) for drop in ("first", "if_binary")),
        *(OneHotEncoder(sparse_output=False, handle_unknown=way) for way in ("ignore", "infrequent_if_exist")),
        *(OneHotEncoder(sparse_output=False, handle_unknown="ignore", **few) for few in ({"min_frequency": 70},)),
        OneHotEncoder(sparse_output=False, handle_unknown="infrequent_if_exist", max_categories=3),
    ],
    OrdinalEncoder: [OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=way) for way in (-1, np.nan)],
    TargetEncoder: [TargetEncoder(smooth=3.0, target_type="continuous")],
}


def compared(model, X, tables, y, kinds=("float32",)):
    """Compare graphs' answers with a pipeline's on new rows; return "same", or the message of a refusal, of each graph.

    Trees cut at numbers of the training rows, and rounding may move one to the other side: a row of a hundred.
    """
    expected, asked, refusal = [], [], None
    for rows in tables:
        try:
            expected.append((model if asked else model.fit(X, y)).predict_proba(rows))
            asked.append(rows)
        except (AttributeError, OSError, TypeError, ValueError) as error:  # scikit-learn's own, also of missing values
            refusal = f"not trained: {error}"
    return [same_or_refused_graph(model, X, asked, expected, floats) if asked else refusal for floats in kinds]


def same_or_refused_graph(model, X, asked, expected, floats):
    try:
        graph = to_onnx(model, X, floats=floats)
    except (TypeError, ValueError) as error:
        return str(error)
    rows = pd.concat(asked) if isinstance(X, pd.DataFrame) else np.concatenate(asked)
    difference = np.abs(answers(graph, rows, floats)[1] - np.concatenate(expected)).max(axis=1)
    for part in np.split(difference, np.cumsum([len(some) for some in expected])[:-1]):
        assert (part > 3e-6).mean() <= 0.01, (model, part.max())
    return "same"


def same_or_refused(model, X, new, y, floats="float32"):
    """Return what :func:`compared` does of one graph and table."""
    return compared(model, X, [new], y, [floats])[0]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", NUMBERS, ids=lambda kind: kind.__name__)
def test_every_setting_of_a_step_is_written_or_refused(kind):
    X, y = rows()
    new = far_rows(X)
    with_missing = new.copy()
    with_missing[::3, 0] = with_missing[1::4, 1] = np.nan
    steps = (*settings(kind), *NUMBERS[kind])
    found = [
        compared(make_pipeline(step, native()), X, [new, with_missing], y, ["float32", "float64"]) for step in steps
    ]
    singles, doubles = zip(*found, strict=True)
    assert "same" in singles, found
    assert "same" in doubles or kind is SimpleImputer, found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("kind", CLASSIFIERS, ids=lambda kind: kind.__name__)
def test_every_setting_of_a_classifier_is_written_or_refused(kind, n_classes):
    X, y = rows(n_classes)
    new = far_rows(X)
    small = {"n_estimators": 3} if hasattr(kind(), "n_estimators") else {}
    for member in (*settings(kind, **small), *CLASSIFIERS[kind]):
        member = make_pipeline(SimpleImputer(), member)
        model = OrdinalEnsembleClassifier([("a", member)], n_bags=1, random_state=0)
        found = same_or_refused(model, X, new, y)
        assert found == "same" or found.startswith("not trained") or "newton-cholesky" in found, found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", CATEGORIES, ids=lambda kind: kind.__name__)
def test_every_setting_of_an_encoder_is_written_or_refused(kind):
    rng = np.random.default_rng(0)
    found = []
    texts = np.array(["low", "Über", "", "x y"], dtype=object)
    for levels, unknown in ((texts, "unknown"), (np.array([1.0, 2.5, -3, 0]), 7.0), (np.array([1.0, 2, -3, 0]), 1.5)):
        X = pd.DataFrame({"a": levels[rng.integers(0, 4, N_ROWS)], "b": levels[rng.integers(0, 4, N_ROWS)]})
        y = np.digitize(rng.normal(size=N_ROWS) + (X["a"] == levels[0]), [0.0, 1.0])
        new = X.copy()
        new.loc[::5, "a"] = unknown
        for step in (*settings(kind), *CATEGORIES[kind]):
            columns = make_column_transformer((step, ["a", "b"]), sparse_threshold=0)
            found += compared(make_pipeline(columns, native(linear=False)), X, [X, new], y)
    assert found.count("same") > 4, found


COUNTED = pd.DataFrame({"n": np.arange(N_ROWS) % 7 - 2, "x": np.arange(N_ROWS) % 11 / 10}).astype({"x": np.float32})
TOGETHER = {
    "numbers": (COUNTED, MinMaxScaler()),
    "numbers, nothing done first": (COUNTED, make_pipeline("passthrough", StandardScaler())),
    "text": (
        pd.DataFrame({"a": np.array(["u", "v", np.nan, "w"] * 75, object), "b": np.array(["v", "x"] * 150, object)}),
        make_pipeline(SimpleImputer(strategy="most_frequent"), OrdinalEncoder()),
    ),
}


@pytest.mark.parametrize("name", TOGETHER)
def test_columns_that_a_step_takes_together(name):
    X, step = TOGETHER[name]
    first = (np.asarray(X)[:, 1] == "v") * 2.0 if name == "text" else np.asarray(X)[:, 1]
    y = np.digitize(np.random.default_rng(0).normal(size=len(X)) / 3 + first, [first.mean(), first.mean() + 0.3])
    assert same_or_refused(make_pipeline(step, native()), X, X, y) == "same"
    assert same_or_refused(make_pipeline(step, native(linear=False)), X, X, y) == "same"


def test_members_of_an_ensemble_that_is_the_only_step_take_all_columns():
    X, y = rows()
    X = pd.DataFrame(X, columns=["a", "b", "c"])
    for step in (StandardScaler(), make_column_transformer((MinMaxScaler(), [0, 2]))):
        members = [("m", make_pipeline(step, LogisticRegression()))]
        assert same_or_refused(make_pipeline(OrdinalEnsembleClassifier(members, n_bags=1)), X, X, y) == "same"


def test_columns_of_doubles_are_scaled_as_doubles():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"n": 1.6e9 + rng.normal(size=N_ROWS), "x": rng.normal(size=N_ROWS)})
    y = np.digitize(X["n"] - 1.6e9 + X["x"], [-1, 0, 1])
    assert same_or_refused(make_pipeline(StandardScaler(), native()), X, X, y, "float64") == "same"


def test_floats_beside_text_in_one_step_are_refused():
    step = TargetEncoder(target_type="continuous")
    X = pd.DataFrame({"x": np.array([0.1, 0.5, -3.7, 2.0] * 50, np.float32), "t": np.array(["1", "2"] * 100, object)})
    model = make_pipeline(make_column_transformer((step, ["t", "x"])), native(linear=False)).fit(X, np.arange(200) % 4)
    with pytest.raises(ValueError, match="floats and text cannot be written as columns of one step, since skl2onnx"):
        to_onnx(model, X)


def test_empty_text_that_is_a_level_after_an_imputer_is_refused():
    levels = np.array(["a", "", "b", np.nan] * 10, dtype=object)
    X, y = pd.DataFrame({"said": levels}), np.arange(40) % 4
    imputer = SimpleImputer(strategy="most_frequent")
    encoded = make_pipeline(imputer, OneHotEncoder(handle_unknown="ignore", sparse_output=False))
    model = make_pipeline(make_column_transformer((encoded, ["said"])), native()).fit(X, y)
    with pytest.raises(ValueError, match="OneHotEncoder must have no level '' after a SimpleImputer of text"):
        to_onnx(model, X)


def test_target_encoders_of_more_than_two_classes_are_refused_with_what_works():
    X, y = rows()
    X = pd.DataFrame(np.round(X), columns=list("abcd")[: X.shape[1]])
    model = make_pipeline(make_column_transformer((TargetEncoder(), ["a"]), remainder="passthrough"), native())
    with pytest.raises(ValueError, match=r"TargetEncoder.*target_type='continuous'"):
        to_onnx(model.fit(X, y), X)


REFUSED = {
    "no MaxAbsScaler, of which": MaxAbsScaler(),
    "no KBinsDiscretizer, of which": KBinsDiscretizer(3, encode="ordinal"),
    "no QuantileTransformer, of which": QuantileTransformer(n_quantiles=10),
    "no PCA, of which": PCA(2),
    "no PowerTransformer, of which": make_pipeline(SimpleImputer(), PowerTransformer()),
    "no SelectKBest, of which": SelectKBest(k=2),
    "no FeatureUnion, of which": make_union(StandardScaler(), "passthrough"),
    r"FunctionTransformer\(func=<ufunc 'exp'>\) cannot be": FunctionTransformer(np.exp),
    "RandomForestClassifier cannot be written where": RandomForestClassifier(2),
    "OrdinalEncoder cannot be written after a step that computes": make_pipeline(StandardScaler(), OrdinalEncoder()),
    "no KNeighborsClassifier, of which.*For others call register_converters": KNeighborsClassifier(weights="distance"),
    "no CalibratedClassifierCV, of which": CalibratedClassifierCV(method="isotonic", cv=2),
    "no LinearDiscriminantAnalysis, of which": LinearDiscriminantAnalysis(),
    "no VotingClassifier, of which": VotingClassifier([("a", GaussianNB())], voting="soft"),
    "no GaussianNB, of which": GridSearchCV(make_pipeline(StandardScaler(), GaussianNB()), {}, cv=2),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_skl2onnx_may_write_otherwise_is_refused_at_any_depth(message):
    X, y = rows(2)
    step = REFUSED[message]
    if hasattr(step, "transform"):
        within = make_column_transformer((step, [0, 1]), remainder="passthrough")
        models = [make_pipeline(step, native()), make_pipeline(within, native())]
    else:
        models = [kind(step, cv=2) for kind in (OrdinalCalibratedClassifier, OrdinalTunedClassifier)]
        models += [OrdinalEnsembleClassifier([("a", step), ("b", native())], n_bags=1)]
    for model in models:
        with pytest.raises((TypeError, ValueError), match=message):
            to_onnx(model.fit(X, y), X)


@pytest.mark.filterwarnings("ignore:Skipping features without any observed values")
@pytest.mark.parametrize("options", [{}, {"strategy": "constant", "fill_value": 2.0}, {"keep_empty_features": True}])
def test_columns_that_an_imputer_leaves_out_are_refused(options):
    X, y = rows()
    X[:, 1] = np.nan
    found = same_or_refused(make_pipeline(SimpleImputer(**options), native()), X, X, y)
    what = "SimpleImputer cannot be written where a column had no value in the training"
    may_keep = "keep_empty_features" in options or "fill_value" in options  # scikit-learn kept constants until 1.8
    assert found.startswith(what) or (may_keep and found == "same")


def test_imputers_of_a_fraction_in_whole_numbers_are_refused():
    X = pd.DataFrame({"a": np.arange(N_ROWS) % 4, "b": np.arange(N_ROWS) % 7})
    step = SimpleImputer(missing_values=0.5, strategy="most_frequent")
    model = make_pipeline(make_column_transformer((step, ["a"]), remainder="passthrough"), native()).fit(X, X["a"])
    with pytest.raises(ValueError, match=r"must have a whole one as missing_values, .* got \[0.5\]: take floats"):
        to_onnx(model, X)
    assert same_or_refused(model, X.astype(float), X.astype(float), X["a"]) == "same"


@pytest.mark.filterwarnings("ignore:XGBoost cuts at numbers of the training")  # which is of float32
@pytest.mark.parametrize(
    ("imputer", "between", "is_written"),
    [
        (SimpleImputer(), [], True),
        (make_column_transformer((SimpleImputer(), [0, 1, 2])), [StandardScaler()], True),
        (make_column_transformer((SimpleImputer(), [0, 1]), remainder="passthrough"), [], False),
        (SimpleImputer(missing_values=-1.0), [], False),
        (SimpleImputer(strategy="constant", fill_value=np.nan, keep_empty_features=True), [], False),
        (SimpleImputer(), [OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan)], False),
    ],
)
def test_trees_of_scikit_learn_need_an_imputer_before_them(imputer, between, is_written):
    X, y = rows()
    member = make_pipeline(imputer, *between, DecisionTreeClassifier(max_depth=3, random_state=0))
    model = OrdinalEnsembleClassifier([("a", native()), ("b", member)], n_bags=1).fit(X, y)
    new = far_rows(X)
    if not is_written:
        with pytest.raises(ValueError, match="DecisionTreeClassifier cannot be written where numbers may be missing"):
            to_onnx(model, X)
        return
    new[::3, 0] = np.nan
    assert_allclose(answers(to_onnx(model, X), new)[1], model.predict_proba(new), atol=2e-6)


@pytest.mark.parametrize("last", ["XGB", "LGBM", "ensemble"])
def test_what_a_sparse_matrix_leaves_out_is_what_it_was(last):
    """XGBoost takes it as missing, LightGBM and scikit-learn as 0, and a graph has 0."""
    rng = np.random.default_rng(0)
    said = rng.choice(["good", "bad", "naïve", ""], N_ROWS).astype(object)
    X = pd.DataFrame({"said": said, "x": rng.normal(size=N_ROWS).astype(np.float32)})
    y = np.digitize(rng.normal(size=N_ROWS) + (said == "good") - (said == "bad"), [0.0, 1.0])
    X.loc[::3, "x"] = 0.0
    model = {
        "XGB": XGBOrdinalClassifier(n_estimators=9, n_jobs=1),
        "LGBM": LGBMOrdinalClassifier(n_estimators=9, min_child_samples=5, n_jobs=1, verbosity=-1),
        "ensemble": OrdinalEnsembleClassifier(
            [("a", LogisticRegression()), ("b", XGBOrdinalClassifier(n_estimators=3))]
        ),
    }[last]
    words = OneHotEncoder(handle_unknown="ignore")
    for steps in (
        make_column_transformer((words, ["said"]), remainder="passthrough", sparse_threshold=1.0),
        make_column_transformer((make_pipeline(words, "passthrough"), ["said"]), sparse_threshold=1.0),
        make_pipeline(make_column_transformer((words, ["said"]), sparse_threshold=1.0)),
    ):
        pipeline = make_pipeline(steps, make_pipeline("passthrough", model)).fit(X, y)
        if last == "LGBM":
            assert_allclose(answers(to_onnx(pipeline, X), X)[1], pipeline.predict_proba(X), atol=2e-6)
        else:
            with pytest.raises(
                ValueError, match="Classifier cannot be written after a step that gives sparse matrices"
            ):
                to_onnx(pipeline, X)
    dense = make_column_transformer((words, ["said"]), remainder="passthrough", sparse_threshold=0)
    assert same_or_refused(make_pipeline(dense, model), X, X, y) == "same"


AROUND = {
    "none": lambda one: one,
    "tuned": lambda one: OrdinalTunedClassifier(one, cv=2),
    "frozen": lambda one: OrdinalEnsembleClassifier([("a", FrozenEstimator(one.fit(*scaled())))], n_bags=1),
}


def scaled():
    """Return rows of a column with few numbers, most of them on a cut of XGBoost, as a scaler has them."""
    X = np.random.default_rng(0).integers(0, 40, (N_ROWS, 2)).astype(float)
    return StandardScaler().fit_transform(X), np.digitize(X.sum(axis=1), [30, 40, 50])


@pytest.mark.parametrize("around", AROUND.values(), ids=AROUND)
def test_graphs_of_float32_warn_of_scaled_numbers_before_xgboost(around):
    """Of a column with few numbers most rows are on a cut of XGBoost."""
    X = np.random.default_rng(0).integers(0, 40, (N_ROWS, 2)).astype(float)
    y = np.digitize(X.sum(axis=1), [30, 40, 50])
    model = make_pipeline(StandardScaler(), around(XGBOrdinalClassifier(n_estimators=9, n_jobs=1))).fit(X, y)
    with pytest.warns(UserWarning, match="on the other side. Take floats='float64'"):
        to_onnx(model, X)
    assert_allclose(answers(to_onnx(model, X, floats="float64"), X, "float64")[1], model.predict_proba(X), atol=1e-6)
    bare = around(XGBOrdinalClassifier(n_estimators=9, n_jobs=1))
    to_onnx(make_pipeline(make_column_transformer((SimpleImputer(), [0, 1])), bare).fit(X, y), X)
    whole = pd.DataFrame(X.astype(int), columns=["a", "b"])  # skl2onnx scales them as float32 in any graph
    with pytest.warns(UserWarning, match="Take floats='float64' and an X_example of floats"):
        to_onnx(make_pipeline(MinMaxScaler(), bare).fit(whole, y), whole, floats="float64")


def test_graphs_of_float32_warn_of_a_scaler_before_lightgbm_and_forests():
    """The least number becomes 0, beside which LightGBM cuts, and in float32 a number above."""
    X = 0.1 * np.random.default_rng(0).integers(-3, 0, (N_ROWS, 1)).astype(np.float32).astype(float)
    last = LGBMOrdinalClassifier(n_estimators=9, min_child_samples=5, n_jobs=1, verbosity=-1)
    model = make_pipeline(MinMaxScaler(), last).fit(X, np.arange(N_ROWS) % 2 + (X[:, 0] > X.min()))
    with pytest.warns(UserWarning, match="LightGBM next to 0"):
        to_onnx(model, X)
    assert_allclose(answers(to_onnx(model, X, floats="float64"), X, "float64")[1], model.predict_proba(X), atol=1e-6)
    forest = make_pipeline(SimpleImputer(), MinMaxScaler(), RandomForestClassifier(5, random_state=0))
    around = OrdinalEnsembleClassifier([("a", forest)], n_bags=1).fit(X, np.arange(N_ROWS) % 3)
    with pytest.warns(UserWarning, match="scikit-learn's trees at numbers that a sample lacked"):
        to_onnx(around, X)


@pytest.mark.parametrize("step", [StandardScaler(), RobustScaler(), MinMaxScaler()])
def test_graphs_of_float32_warn_of_a_scaler_of_numbers_far_from_0(step):
    X = 1_600_000_000.0 + 128 * np.random.default_rng(0).integers(0, 40, (N_ROWS, 1))
    member = make_pipeline(step, LogisticRegression())
    model = OrdinalEnsembleClassifier([("a", member)], n_bags=1).fit(X, np.arange(N_ROWS) % 3)
    with pytest.warns(UserWarning, match="to float32, with few digits of columns far from 0"):
        to_onnx(model, X)
    assert_allclose(answers(to_onnx(model, X, floats="float64"), X, "float64")[1], model.predict_proba(X), atol=1e-6)
