"""What wrappers and ensembles see of the classifiers inside: rows of any kind go in, refusals reach deep."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_matrix
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import VotingClassifier
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
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


@in_turn("kind", TEXTS)
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


@pytest.mark.parametrize("wrap", [OrdinalPredictionSets, ensemble])
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


@in_turn("nest", NESTED.values())
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


@in_turn("given", ["search", "searches", "early stopping", "searched"])
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


def searched(scorer):
    single = not isinstance(scorer, list)
    return GridSearchCV(
        LogisticRegression(), {"C": [1.0]}, scoring=scorer if single else {"s": scorer[0]}, refit=single or "s"
    )


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


@in_turn("kind", [kind for kind in NESTED if kind not in ("calibration", "ensemble", "votes")])
def test_classes_inside_a_pipeline_are_those_of_the_classifier(wrap, kind, data):
    X, y = data
    bare = wrap(NESTED[kind](make_engine()), classes=NAMES).fit(X, NAMES[y])
    told = wrap(NESTED[kind](make_engine(classes=NAMES)), classes=NAMES).fit(X, NAMES[y])
    np.testing.assert_array_equal(told.predict_proba(X), bare.predict_proba(X))
    with pytest.raises(ValueError, match=r"has classes \['excellent', .*; those of the classifier around it are"):
        wrap(NESTED[kind](make_engine(classes=NAMES[::-1])), classes=NAMES).fit(X, NAMES[y])


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


def test_a_small_subsample_is_named(data):
    with pytest.raises(ValueError, match=r"subsample=0\.003 of 200 rows with weight leaves none to train on"):
        ensemble(LogisticRegression(), subsample=0.003).fit(*data)


# Classes that a search sets
