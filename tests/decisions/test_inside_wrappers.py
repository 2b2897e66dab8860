"""What wrappers and ensembles see of the classifiers inside: rows of any kind go in, refusals reach deep."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_matrix
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectFromModel
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, log_loss, make_scorer, precision_score, recall_score
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from makers import make_engine, make_xgb
from ordinal_objectives import (
    OrdinalCalibratedClassifier,
    OrdinalEnsembleClassifier,
    OrdinalPredictionSets,
    OrdinalTunedClassifier,
)
from ordinal_objectives.metrics import mean_absolute_error
from ordinal_objectives.scorers import OrdinalScorer

pytestmark = pytest.mark.usefixtures("few_cut_points")

NAMES = np.array(["poor", "fair", "good", "excellent"])


def ensemble(estimator, **options):
    return OrdinalEnsembleClassifier([("a", estimator)], **options)


AROUND = [OrdinalCalibratedClassifier, OrdinalTunedClassifier, OrdinalPredictionSets]
WRAPPERS = pytest.mark.parametrize("wrap", [*AROUND, ensemble])


def in_turn(name, values):
    """Return the parametrisation by values, each in an ensemble and in one of the wrappers, which share their fit."""
    cases = [(wrap, value) for i, value in enumerate(values) for wrap in (AROUND[i % 3], ensemble)]
    return pytest.mark.parametrize(("wrap", name), cases)


NESTED = {
    "bare": lambda model: model,
    "pipeline": lambda model: make_pipeline(StandardScaler(), model),
    "nested pipeline": lambda model: make_pipeline(StandardScaler(), make_pipeline(StandardScaler(), model)),
    "search": lambda model: GridSearchCV(model, {}, cv=2),
    "search of a pipeline": lambda model: GridSearchCV(make_pipeline(StandardScaler(), model), {}, cv=2),
    "calibration": lambda model: CalibratedClassifierCV(model, cv=2),
    "wrapper": lambda model: OrdinalTunedClassifier(make_pipeline(StandardScaler(), model), cv=2),
    "ensemble": lambda model: ensemble(model, n_bags=1),
    "votes": lambda model: VotingClassifier([("b", model)], voting="soft"),
}
EACH = pytest.mark.parametrize("nest", NESTED.values(), ids=NESTED)


TEXTS = {
    "list": list,
    "tuple": tuple,
    "series": lambda texts: pd.Series(texts, index=np.arange(len(texts))[::-1]),
    "polars": pl.Series,
    "array": np.array,
    "objects": lambda texts: np.array(texts, dtype=object),
}


@WRAPPERS
@pytest.mark.parametrize("kind", TEXTS)
def test_texts_reach_a_pipeline_that_reads_them(wrap, kind, data):
    _, y = data
    texts = [f"{'ab'[label % 2]}{'ab'[label // 2]} word{i % 7}" for i, label in enumerate(y)]
    model = wrap(make_pipeline(TfidfVectorizer(), LogisticRegression()))
    reference = model.fit(texts, y).predict_proba(texts)
    X = TEXTS[kind](texts)
    np.testing.assert_array_equal(model.fit(X, y).predict_proba(X), reference)
    assert model.score(X, y) > 0.5
    assert not hasattr(model, "n_features_in_")
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X[:-1], y)


@WRAPPERS
def test_tables_dicts_and_sparse_rows_reach_pipelines(wrap, data):
    X, y = data
    frame = pd.DataFrame({"age": X[:, 0], "town": np.where(X[:, 1] > 0, "Bonn", "Aachen")})
    encode = make_column_transformer((OneHotEncoder(sparse_output=False), ["town"]), remainder="passthrough")
    by_frame = wrap(make_pipeline(encode, make_xgb())).fit(frame, y)
    assert by_frame.feature_names_in_.tolist() == ["age", "town"]
    rows = frame.to_dict("records")
    by_dicts = wrap(make_pipeline(DictVectorizer(sparse=False), make_xgb())).fit(rows, y)
    assert by_dicts.predict_proba(rows).shape == (200, 4)
    mixed = frame.to_numpy(dtype=object).tolist()
    columns = make_column_transformer((OneHotEncoder(sparse_output=False), [1]), remainder="passthrough")
    by_lists = wrap(make_pipeline(columns, make_xgb())).fit(mixed, y)
    np.testing.assert_allclose(by_lists.predict_proba(mixed), by_frame.predict_proba(frame))
    assert wrap(make_xgb()).fit(csr_matrix(X), y).predict(csr_matrix(X)).shape == (200,)


@WRAPPERS
@pytest.mark.parametrize("X", ["text", {"a": [1.0]}, np.arange(200.0), np.ma.masked_invalid([[np.nan]] * 200)])
def test_rows_that_cannot_be_divided_are_refused(wrap, X, data):
    with pytest.raises(ValueError, match=r"Expected 2D array|masked"):
        wrap(LogisticRegression()).fit(X, data[1])


@WRAPPERS
@EACH
def test_a_class_weight_by_label_is_refused_at_any_depth(wrap, nest, data):
    X, y = data
    weights = LogisticRegression(class_weight=dict(zip(NAMES, [9.0, 1.0, 1.0, 1.0], strict=True)))
    searches = [
        GridSearchCV(nest(LogisticRegression()), {"class_weight": [{"poor": 9.0}]}),
        GridSearchCV(make_pipeline(nest(LogisticRegression())), {"steps": [[("nested", nest(weights))]]}),
        GridSearchCV(make_pipeline(nest(LogisticRegression())), {"steps": [(("nested", nest(weights)),)]}),
        GridSearchCV(searched("accuracy"), {"param_grid": [{"class_weight": [{"poor": 9.0}]}]}),
    ]
    for model in (nest(weights), *searches):
        with pytest.raises(ValueError, match=r"has .*class_weights? by label.*trained on class codes"):
            wrap(model, classes=NAMES).fit(X, NAMES[y])


@WRAPPERS
@pytest.mark.parametrize("given", ["search", "searches", "early stopping", "searched"])
def test_labels_of_a_scorer_are_refused_where_others_are_trained_on(wrap, given, data):
    X, y = data

    def model(labels):
        scorer = OrdinalScorer(mean_absolute_error, labels=labels)
        inside = {
            "search": lambda: GridSearchCV(make_engine(), {"max_iter": [1, 2]}, scoring=scorer, cv=2),
            "searches": lambda: GridSearchCV(make_engine(), {}, scoring={"mae": scorer}, refit="mae", cv=2),
            "early stopping": lambda: make_pipeline(StandardScaler(), make_engine(early_stopping=True, scoring=scorer)),
            "searched": lambda: GridSearchCV(make_engine(early_stopping=True), {"scoring": [scorer]}, cv=2),
        }
        return wrap(inside[given]())

    labels = np.array([2, 0, 3, 1])
    message = r"has .*scoring.* by label, but it is trained on class codes: give it none"
    with pytest.raises(ValueError, match=message):
        model(labels).set_params(classes=labels).fit(X, labels[y])
    assert len(model(range(4)).fit(X, y).classes_) == 4  # the codes


def share_of_one_class(y, predicted, pos_label=0):
    return np.mean((y == pos_label) == (predicted == pos_label))


SCORERS = {
    "one class": make_scorer(recall_score, labels=[3], average="macro"),
    "partial": make_scorer(partial(recall_score, labels=np.array([3]), average="macro")),
    "in a list": [make_scorer(f1_score, labels=(1, 3), average="macro")],
    "all": make_scorer(log_loss, response_method="predict_proba", labels=[1, 2, 3, 4]),
    "names": make_scorer(recall_score, labels=["poor"], average="macro"),
    "positive": make_scorer(share_of_one_class, pos_label=3),
}
OF_ONE_CLASS = {"f1": "f1", "named": make_scorer(f1_score, pos_label=2), "default": make_scorer(precision_score)}


def searched(scorer):
    single = not isinstance(scorer, list)
    return GridSearchCV(
        LogisticRegression(), {"C": [1.0]}, scoring=scorer if single else {"s": scorer[0]}, refit=single or "s"
    )


@in_turn("scorer", SCORERS.values())
def test_labels_of_scikit_learns_scorers_are_refused_unless_they_are_codes(wrap, scorer, data):
    X, y = data
    with pytest.raises(ValueError, match=r"has scoring by label, but it is trained on class codes"):
        wrap(searched(scorer)).fit(X, y + 1)
    codes = make_scorer(recall_score, labels=[3], average="macro")
    assert len(wrap(searched(codes)).fit(X, y).classes_) == 4


@WRAPPERS
@pytest.mark.parametrize("scorer", OF_ONE_CLASS.values(), ids=OF_ONE_CLASS)
def test_the_class_that_a_scorer_calls_positive_is_the_same_inside(wrap, scorer, data):
    X, y = data[0], (data[1] > 1).astype(int)
    with pytest.raises(ValueError, match=r"has .*scoring by label"):
        wrap(searched(scorer)).fit(X, y + 1)  # 1 is the lower class, and the code of the higher one
    if scorer is not OF_ONE_CLASS["named"]:
        assert wrap(searched(scorer)).fit(X, y).score(X, y) > 0.5
        assert wrap(searched(scorer), classes=NAMES[:2]).fit(X, NAMES[y]).score(X, NAMES[y]) > 0.5


@WRAPPERS
@pytest.mark.parametrize("scorer", ["f1_macro", "recall_weighted", "jaccard_micro", "neg_brier_score", "accuracy"])
def test_scorers_that_call_no_class_positive_are_taken(wrap, scorer, data):
    X, y = data[0], (data[1] > 1).astype(int)
    for labels in ([0, 1], [1, 2]):
        found = wrap(searched(scorer), classes=labels).fit(X, np.array(labels)[y])
        assert found.classes_.tolist() == labels


@WRAPPERS
def test_a_label_and_the_positive_class_of_a_scorer_are_not_all_codes(wrap, data):
    X, y = data[0], (data[1] > 1).astype(int)
    scorer = make_scorer(f1_score, labels=[0], average="macro")  # 1 is positive, unless another is named
    with pytest.raises(ValueError, match=r"has .*scoring by label"):
        wrap(searched(scorer), classes=[1, 0]).fit(X, 1 - y)


@WRAPPERS
@pytest.mark.parametrize("grid", [{"pos_label": [1]}, {"threshold": [0.4]}])
def test_the_positive_class_of_a_threshold_is_the_same_inside(wrap, grid, data):
    X, y = data[0], (data[1] > 1).astype(int)
    search = GridSearchCV(FixedThresholdClassifier(LogisticRegression(), pos_label=1), grid, cv=2)
    with pytest.raises(ValueError, match=r"has .*pos_label by label, but it is trained on class codes"):
        wrap(search).fit(X, y + 1)
    assert len(wrap(search).fit(X, y).classes_) == 2


CONSTANTS = {
    "bare": lambda label: DummyClassifier(strategy="constant", constant=label),
    "a list": lambda label: DummyClassifier(strategy="constant", constant=[label]),
    "pipeline": lambda label: make_pipeline(DummyClassifier(strategy="constant", constant=label)),
    "searched": lambda label: GridSearchCV(DummyClassifier(), {"strategy": ["constant"], "constant": [label]}, cv=2),
}


@WRAPPERS
@pytest.mark.parametrize("make", CONSTANTS.values(), ids=CONSTANTS)
def test_the_class_that_is_always_predicted_is_the_same_inside(wrap, make, data):
    X, y = data
    with pytest.raises(ValueError, match=r"has .*constant by label, but it is trained on class codes"):
        wrap(make(2)).fit(X, y + 1)
    assert len(wrap(make(2)).fit(X, y).classes_) == 4
    assert len(wrap(DummyClassifier()).fit(X, y + 1).classes_) == 4


@EACH
def test_trained_costs_are_not_averaged_at_any_depth(nest, data):
    X, y = data
    model = ensemble(nest(make_engine(training_cost="quadratic")))
    if nest is NESTED["calibration"]:
        assert model.fit(X, y).predict_proba(X).shape == (200, 4)
        return
    with pytest.raises(ValueError, match=r"has a training_cost, so its probabilities are weighted by cost"):
        model.fit(X, y)
    assert ensemble(OrdinalCalibratedClassifier(make_engine(training_cost="quadratic"))).fit(X, y).score(X, y) > 0.3
    frozen = FrozenEstimator(make_engine(training_cost="quadratic").fit(X, y))
    with pytest.raises(ValueError, match="has a training_cost"):
        ensemble(frozen).fit(X, y)


@pytest.mark.parametrize("costs", [["quadratic", "absolute"], ["absolute", "quadratic"]])
def test_a_search_may_try_no_cost_whatever_else_it_tries(costs, data):
    X, y = data
    for grid in ({"training_cost": costs}, [{"training_cost": [cost]} for cost in costs]):
        with pytest.raises(ValueError, match="has a training_cost"):
            ensemble(GridSearchCV(make_engine(), grid, cv=2)).fit(X, y)
    by_member = GridSearchCV(
        Pipeline([("m", make_engine())]), {"m": [make_engine(training_cost=cost) for cost in costs]}
    )
    with pytest.raises(ValueError, match="has a training_cost"):
        ensemble(by_member).fit(X, y)


@in_turn("kind", [kind for kind in NESTED if kind not in ("calibration", "ensemble", "votes")])
def test_classes_inside_a_pipeline_are_those_of_the_classifier(wrap, kind, data):
    X, y = data
    bare = wrap(NESTED[kind](make_engine()), classes=NAMES).fit(X, NAMES[y])
    told = wrap(NESTED[kind](make_engine(classes=NAMES)), classes=NAMES).fit(X, NAMES[y])
    np.testing.assert_array_equal(told.predict_proba(X), bare.predict_proba(X))
    with pytest.raises(ValueError, match=r"has classes \['excellent', .*; those of the classifier around it are"):
        wrap(NESTED[kind](make_engine(classes=NAMES[::-1])), classes=NAMES).fit(X, NAMES[y])


BESIDE = {
    "stack": lambda model: StackingClassifier([("b", model)], LogisticRegression(), cv=2, stack_method="predict_proba"),
    "step": lambda model: make_pipeline(SelectFromModel(model, max_features=1), LogisticRegression()),
    "searched": lambda model: GridSearchCV(Pipeline([("b", LogisticRegression())]), {"b": [model]}, cv=2),
}


@in_turn("kind", BESIDE)
def test_classes_of_whatever_is_trained_inside_are_those_of_the_classifier(wrap, kind, data):
    X, order = data[0], [0, 2, 3, 1]  # class codes in another order
    y = np.array(order)[data[1]]
    bare = wrap(BESIDE[kind](make_engine()), classes=order).fit(X, y)
    model = BESIDE[kind](make_engine(classes=order))
    told = wrap(model, classes=order).fit(X, y)
    np.testing.assert_array_equal(told.predict_proba(X), bare.predict_proba(X))
    with pytest.raises(ValueError, match=r"has classes \[1, 3, 2, 0\] in .*; those of the classifier around it are"):
        wrap(BESIDE[kind](make_engine(classes=order[::-1])), classes=order).fit(X, y)
    model.fit(X, y)  # with the classes that it was given


@pytest.mark.parametrize("wrap", [OrdinalCalibratedClassifier, OrdinalTunedClassifier, ensemble])
@pytest.mark.parametrize("kind", ["bare", "pipeline", "nested pipeline", "search", "search of a pipeline"])
def test_weights_of_rows_reach_the_classifier(wrap, kind, data):
    X, y = data
    weight = np.where(y == 3, 50.0, 1.0)
    model = wrap(NESTED[kind](LogisticRegression()))
    plain = model.fit(X, y).predict_proba(X)[:, 3].mean()
    assert model.fit(X, y, sample_weight=weight).predict_proba(X)[:, 3].mean() > plain + 0.1


@WRAPPERS
def test_a_trained_classifier_inside_another_one_is_refused_where_labels_are_not_codes(wrap, data):
    X, y = data
    frozen = FrozenEstimator(LogisticRegression().fit(X, NAMES[y]))
    with pytest.raises(ValueError, match=r"has a FrozenEstimator in frozenestimator.*put FrozenEstimator around the"):
        wrap(make_pipeline(StandardScaler(), frozen), classes=NAMES).fit(X, NAMES[y])


def test_a_trained_classifier_is_a_member(data):
    X, y = data
    inner = LogisticRegression().fit(X, NAMES[y])
    model = OrdinalEnsembleClassifier([("a", FrozenEstimator(inner))], classes=NAMES).fit(X, NAMES[y])
    np.testing.assert_allclose(model.predict_proba(X), inner.predict_proba(X), rtol=1e-12)
    with pytest.raises(ValueError, match="classes_ of member 'a' holds labels outside the classes"):
        OrdinalEnsembleClassifier([("a", FrozenEstimator(inner))]).fit(X, y)
    with pytest.raises(ValueError, match="member 'a' is a FrozenEstimator, and what it holds is not fitted"):
        OrdinalEnsembleClassifier([("a", FrozenEstimator(LogisticRegression()))]).fit(X, y)


def test_a_small_subsample_is_named(data):
    with pytest.raises(ValueError, match=r"subsample=0\.003 of 200 rows with weight leaves none to train on"):
        ensemble(LogisticRegression(), subsample=0.003).fit(*data)


# Classes that a search sets


def test_a_search_over_the_classes_of_a_wrapper_is_right(data):
    X, y = data
    names = list(NAMES)
    one = OrdinalCalibratedClassifier(make_engine(max_iter=2), cv=2, classes=names).fit(X, NAMES[y])
    wrapped = OrdinalCalibratedClassifier(make_engine(max_iter=2), cv=2)
    for grid in ({"classes": [names]}, {"estimator__classes": [names]}):
        found = GridSearchCV(wrapped, grid, cv=2, error_score="raise").fit(X, NAMES[y]).best_estimator_
        assert found.ordered_classes_.tolist() == names
        np.testing.assert_array_equal(found.predict_proba(X), one.predict_proba(X))
    search = GridSearchCV(
        ensemble(make_engine(), classes=names[::-1]), {"a__classes": [names]}, cv=2, error_score="raise"
    )
    with pytest.raises(ValueError, match="has classes"):
        search.fit(X, NAMES[y])


def test_labels_that_are_no_codes_are_noticed_wherever_they_come_from(data):
    X, y = data
    frozen = FrozenEstimator(LogisticRegression().fit(X, y + 7))
    search = GridSearchCV(make_pipeline(LogisticRegression()), {"logisticregression": [frozen]}, cv=2)
    with pytest.raises(ValueError, match=r"GridSearchCV was trained on class codes from 0 to 3; its classes_ are \[7"):
        ensemble(search, n_bags=1).fit(X, y)
