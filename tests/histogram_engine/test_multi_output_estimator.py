"""Boosting of several outputs: trainings against NumPy, losses, files, continuation, refusals."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from damage_files import without_digest
from ordinal_objectives import (
    HistGradientBoostingMultiOutputClassifier,
    HistGradientBoostingMultiOutputRegressor,
    HistGradientBoostingOrdinalClassifier,
)
from ordinal_objectives.histogram_engine.multi_output.losses import (
    BinaryCrossEntropy,
    SoftmaxCrossEntropy,
    SquaredError,
)
from ordinal_objectives.histogram_engine.run import Sampler
from ordinal_objectives.leaves import vector

OPTIONS = {"max_iter": 6, "max_leaf_nodes": 6, "early_stopping": False, "random_state": 0, "n_jobs": 1}
LABELS = np.array(["ant", "bee", "cow", "dog", "elk", "fox"])


def regressor(**options):
    return HistGradientBoostingMultiOutputRegressor(**{**OPTIONS, **options})


def classifier(**options):
    return HistGradientBoostingMultiOutputClassifier(**{**OPTIONS, **options})


@pytest.fixture(scope="module")
def data():
    """Return features, six numbers, a class and six labels of each of 700 rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 5))
    Y = np.sin(np.outer(X[:, 0], np.arange(1, 7))) + X[:, 1:2] * rng.normal(size=6) + 0.3 * rng.normal(size=(700, 6))
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, Y, LABELS[Y.argmax(axis=1)], (Y > 0.3).astype(int)


def second(hessian, shape):
    return np.ones((shape[0], 1)) if hessian is None else hessian


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("task", "options"),
    [
        ("numbers", {}),
        ("numbers", {"max_outputs": 2}),
        ("numbers", {"max_outputs": 4, "search": "unrestricted"}),
        ("numbers", {"hessian": "full"}),
        ("numbers", {"subsample": 0.5, "max_outputs": 3}),
        ("class", {"subsample": 0.4, "colsample_bytree": 0.6}),
        ("class", {}),
        ("class", {"hessian": "majorized"}),
        ("class", {"hessian": "full"}),
        ("class", {"max_outputs": 2, "search": "unrestricted"}),
        ("class", {"max_outputs": 3}),
        ("labels", {"max_outputs": 1}),
    ],
)
def test_every_leaf_is_the_step_of_its_rows(data, task, options, weighted):
    """The rounds are gone through in float64, from derivatives at the score of the trees so far."""
    X, Y, names, labels = data
    tasks: dict[str, tuple[Any, Any, Any, Any]] = {
        "numbers": (regressor, Y, SquaredError(), Y),
        "class": (classifier, names, SoftmaxCrossEntropy(6), np.searchsorted(LABELS, names)),
        "labels": (classifier, labels, BinaryCrossEntropy(), labels),
    }
    make, y, loss, targets = tasks[task]
    weight = np.random.default_rng(1).gamma(2.0, size=len(X)) if weighted else None
    model = make(**options).fit(X, y, sample_weight=weight)
    w = np.ones(len(X)) if weight is None else weight
    raw, hessian, l2 = np.tile(loss.start(targets, weight), (len(X), 1)), model.hessian, model.l2_regularization
    for t, (tree, nodes) in enumerate(zip(model._ensemble.trees, model.apply(X).T, strict=True)):
        values, g, h = loss.derivatives(targets, raw, hessian)
        assert model.evals_result_["training"][t] == pytest.approx(np.average(values, weights=w), rel=1e-5)
        h = second(h, g.shape)
        under = {leaf: [leaf] for leaf in range(len(tree.left))}  # the leaves below each node
        for node in reversed(np.flatnonzero(tree.left >= 0)):
            under[node] = under[tree.left[node]] + under[tree.left[node] + 1]

        def sums(node: int, nodes: Any = nodes, under: Any = under, g: Any = g, h: Any = h) -> tuple[Any, Any]:
            mine = np.isin(nodes, under[node])
            of_rows = w[mine].reshape(-1, *[1] * (h.ndim - 1))
            return (g[mine] * w[mine, None]).sum(axis=0)[None], (h[mine] * of_rows).sum(axis=0)[None]

        parent = {child: node for node in np.flatnonzero(tree.left >= 0) for child in tree.left[node] + [0, 1]}
        for leaf in tree.leaves:
            outputs = None
            if model.max_outputs is not None:
                siblings = [leaf]
                if model.search == "restricted":
                    siblings = tree.left[parent[leaf]] + [0, 1]
                worth = sum(vector.output_values(*sums(node), l2) for node in siblings)
                outputs = vector.largest(worth, model.max_outputs)
                assert np.count_nonzero(tree.value[leaf]) == model.max_outputs
            expected = model.learning_rate * vector.output_steps(*sums(leaf), l2, outputs)
            np.testing.assert_allclose(tree.value[leaf], expected[0], rtol=2e-4, atol=1e-6)
        raw += tree.value[nodes]
    np.testing.assert_allclose(model.predict_raw(X), raw, atol=1e-12)
    assert model.evals_result_["training"][-1] < model.evals_result_["training"][0]


def test_trees_are_grown_on_the_drawn_rows_and_columns(data):
    X, Y, _, _ = data
    weight = np.random.default_rng(2).integers(0, 3, len(X)).astype(float)
    model = regressor(subsample=0.5, colsample_bytree=0.4, max_iter=12).fit(X, Y, sample_weight=weight)
    sampler = Sampler(len(X), X.shape[1], weight, 0.5, 0.4, model._seed)
    drawn = [(sample.rows.copy(), columns) for sample, columns in map(sampler.draw, range(12))]
    for tree, (rows, columns) in zip(model._ensemble.trees, drawn, strict=True):
        assert len(rows) == round(0.5 * np.count_nonzero(weight)) == len(np.unique(rows))
        assert weight[rows].all()
        assert set(tree.feature[tree.left >= 0]) <= set(columns)
        assert len(columns) == 2
    assert len({tuple(columns) for _, columns in drawn}) > 1
    assert not np.array_equal(drawn[0][0], drawn[1][0])
    # The first split does not change with the targets of rows that were not drawn; the mean of the targets is kept.
    other, outside = Y.copy(), weight == 1.0
    outside[drawn[0][0]] = False
    other[outside] = other[outside][::-1]
    again = clone(model).set_params(max_iter=1).fit(X, other, sample_weight=weight)._ensemble.trees[0]
    first = model._ensemble.trees[0]
    np.testing.assert_array_equal(again.feature, first.feature)
    np.testing.assert_array_equal(again.threshold, first.threshold)
    np.testing.assert_allclose(again.gain, first.gain, rtol=1e-6)
    assert not np.allclose(again.value, first.value)


@pytest.mark.parametrize("loss", [SquaredError(), SoftmaxCrossEntropy(4), BinaryCrossEntropy()], ids=type)
def test_derivatives_are_those_of_the_loss(loss):
    rng = np.random.default_rng(2)
    raw = rng.normal(size=(9, 4)) * 2
    y = rng.integers(0, 4, 9) if isinstance(loss, SoftmaxCrossEntropy) else rng.integers(0, 2, (9, 4)).astype(float)
    values, gradient, matrix = loss.derivatives(y, raw, "full")
    p = loss.predict(raw)
    if isinstance(loss, SoftmaxCrossEntropy):
        np.testing.assert_allclose(values, -np.log(p[np.arange(9), y]), rtol=1e-5)
    for j in range(4):
        step = np.zeros(4)
        step[j] = 0.02
        up, down = loss.derivatives(y, raw + step, "full"), loss.derivatives(y, raw - step, "full")
        np.testing.assert_allclose(gradient[:, j], (up[0] - down[0]) / 0.04, atol=1e-3)
        if isinstance(loss, SoftmaxCrossEntropy):
            np.testing.assert_allclose(matrix[:, :, j], (up[1] - down[1]) / 0.04, atol=1e-3)
        elif matrix is not None:
            np.testing.assert_allclose(matrix[:, j], (up[1] - down[1])[:, j] / 0.04, atol=1e-3)
    if isinstance(loss, SoftmaxCrossEntropy):
        bound = loss.derivatives(y, raw, "majorized")[2]
        np.testing.assert_allclose(bound, 2 * loss.derivatives(y, raw, "diagonal")[2])
        assert np.linalg.eigvalsh(np.einsum("ij,jk->ijk", bound, np.eye(4)) - matrix).min() > -1e-6


@pytest.mark.parametrize("loss", ["auto", "squared_error"])
def test_classes_and_labels(data, loss):
    X, _, names, labels = data
    for y, shape in [(names, (700, 6)), (names > "bee", (700, 2)), (labels, (700, 6))]:
        model = classifier(loss=loss, max_iter=40).fit(X, y)
        assert model.predict(X).shape == y.shape
        assert (model.predict(X) == y).mean() > 0.6
        if loss == "auto":
            proba = model.predict_proba(X)
            assert proba.shape == shape
            np.testing.assert_array_equal(list(model.staged_predict_proba(X))[-1], proba)
            if y is not labels:
                np.testing.assert_allclose(proba.sum(axis=1), 1.0)
        else:
            assert not hasattr(model, "predict_proba")
        np.testing.assert_array_equal(list(model.staged_predict(X))[-1], model.predict(X))


@pytest.mark.parametrize("shape", [(), (1,), (6,)])
def test_predictions_have_the_shape_of_the_targets(data, shape):
    X, Y, *_ = data
    Y = Y[:, 0].reshape(-1, *shape) if shape != (6,) else Y
    model = regressor(max_iter=40).fit(X, Y)
    assert model.predict(X).shape == Y.shape
    assert model.score(X, Y) > 0.5
    assert set(model.feature_importances_.argsort()[-2:]) == {0, 1}


class Huber:
    """A loss of a user's own: two targets, of which one output is made each."""

    def start(self, y, weight):
        return np.median(y, axis=0)

    def derivatives(self, y, raw_prediction, hessian):
        away = raw_prediction - y
        size = np.sqrt(1 + away**2)
        return np.sum(size - 1, axis=1), away / size, size**-3.0

    def predict(self, raw_prediction):
        return raw_prediction


def test_a_loss_of_ones_own(data, tmp_path):
    X, Y, *_ = data
    Y = Y.copy()
    Y[::20] += 50.0
    model = regressor(loss=Huber(), max_iter=60).fit(X, Y)
    rest = np.ones(len(Y), bool)
    rest[::20] = False
    error = np.abs(model.predict(X) - Y)[rest].mean()
    assert error < 0.6 < np.abs(regressor(max_iter=60).fit(X, Y).predict(X) - Y)[rest].mean()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    with pytest.raises(TypeError, match="Pickle the model"):
        model.save_model(tmp_path / "model")


def kinds(data):
    _, Y, names, labels = data
    sampled = regressor(subsample=0.6, colsample_bytree=0.6)
    return [(regressor(max_outputs=3), Y), (sampled, Y[:, 0]), (classifier(), names), (classifier(), labels)]


def test_files(data, tmp_path):
    for n, (model, y) in enumerate(kinds(data)):
        model.fit(data[0], y).save_model(tmp_path / str(n))
        loaded = type(model)(n_jobs=model.n_jobs).load_model(tmp_path / str(n))
        assert loaded.get_params() == model.get_params()
        assert loaded.evals_result_ == model.evals_result_
        for method in ("predict", "predict_raw", "apply"):
            np.testing.assert_array_equal(getattr(loaded, method)(data[0]), getattr(model, method)(data[0]))
        with pytest.raises(
            ValueError, match="several outputs, which a HistGradientBoostingMultiOutput estimator loads"
        ):
            HistGradientBoostingOrdinalClassifier().load_model(tmp_path / str(n))
    with pytest.raises(ValueError, match=r"0 holds a model of .*Regressor; .*Classifier cannot load it"):
        classifier().load_model(tmp_path / "0")
    HistGradientBoostingOrdinalClassifier(max_iter=2).fit(data[0], np.arange(700) % 3).save_model(tmp_path / "ordinal")
    with pytest.raises(ValueError, match="HistGradientBoostingOrdinalClassifier loads"):
        regressor().load_model(tmp_path / "ordinal")


def test_what_is_set_after_the_fit_changes_neither_predictions_nor_files(data, tmp_path):
    X, Y, classes, labels = data
    for y, fitted, later in [(labels, "auto", "squared_error"), (classes, "squared_error", "auto")]:
        model = classifier(loss=fitted).fit(X, y)
        expected, has_proba = model.predict(X), hasattr(model, "predict_proba")
        model.set_params(loss=later)
        assert hasattr(model, "predict_proba") is has_proba
        model.save_model(tmp_path / "model")
        loaded = classifier().load_model(tmp_path / "model")
        assert loaded.loss == fitted
        np.testing.assert_array_equal(loaded.predict(X), expected)
        with pytest.raises(ValueError, match=f"continues a model of loss='{fitted}'; got loss='{later}'"):
            model.set_params(warm_start=True, max_iter=9).fit(X, y)
    own = regressor(loss=SquaredError()).fit(X, Y).set_params(loss="auto")
    with pytest.raises(TypeError, match="a file holds no loss of your own"):
        own.save_model(tmp_path / "model")


def test_a_damaged_file_is_refused(data, tmp_path):
    model = regressor(max_iter=2).fit(data[0], data[1])
    model.save_model(tmp_path / "model")
    content = without_digest((tmp_path / "model").read_bytes())
    for old, new in [(b'"start": [', b'"start": {'), (b'"targets"', b'"tergets"')]:
        assert content.count(old) == 1
        (tmp_path / "damaged").write_bytes(content.replace(old, new))
        with pytest.raises(ValueError, match="is damaged"):
            regressor().load_model(tmp_path / "damaged")
    (tmp_path / "damaged").write_bytes(content[:-9])
    with pytest.raises(ValueError, match="is damaged"):
        regressor().load_model(tmp_path / "damaged")


def test_warm_start_goes_on_as_one_training(data):
    for model, y in kinds(data):
        whole = clone(model).set_params(max_iter=8).fit(data[0], y)
        part = clone(model).set_params(max_iter=3, warm_start=True).fit(data[0], y)
        part.set_params(max_iter=8).fit(data[0], y)
        np.testing.assert_allclose(part.predict_raw(data[0]), whole.predict_raw(data[0]), atol=1e-9)
        np.testing.assert_allclose(part.evals_result_["training"], whole.evals_result_["training"])
        with pytest.raises(ValueError, match="max_iter"):
            part.set_params(max_iter=2).fit(data[0], y)


def test_early_stopping_keeps_the_best_trees(data):
    X, Y, names, _ = data
    for model, y in [(regressor(), Y), (classifier(), names)]:
        model.set_params(early_stopping=True, max_iter=400, learning_rate=0.3, n_iter_no_change=5).fit(X, y)
        losses = model.evals_result_["validation"]
        assert model.n_iter_ == np.argmin(losses) < 400
        model.set_params(early_stopping="auto").fit(X[:400], y[:400], X_val=X[400:], y_val=y[400:])
        assert model.n_iter_ == np.argmin(model.evals_result_["validation"])


def test_threads_change_nothing(data):
    for model, y in kinds(data):
        one, three = (clone(model).set_params(n_jobs=n).fit(data[0], y).predict_raw(data[0]) for n in (1, 3))
        np.testing.assert_array_equal(one, three)


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (regressor, {"loss": "huber"}, "loss"),
        (regressor, {"max_outputs": 0}, "max_outputs"),
        (regressor, {"search": "greedy"}, "search"),
        (regressor, {"hessian": "exact"}, "hessian"),
        (classifier, {"hessian": "full", "max_outputs": 2}, "max_outputs=2 needs outputs that are separate"),
        (classifier, {"hessian": "full", "l2_regularization": 0.0}, "l2_regularization > 0"),
        (regressor, {"l2_regularization": -1.0}, "l2_regularization"),
        (regressor, {"subsample": 0.0}, "subsample"),
        (classifier, {"colsample_bytree": 1.5}, "colsample_bytree"),
    ],
)
def test_mistakes_are_named_and_leave_the_model_alone(data, make, options, message):
    X, Y, names, _ = data
    y = Y if make is regressor else names
    model = make(max_iter=2).fit(X, y)
    before = model.predict_raw(X)
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        model.set_params(**options).fit(X, y)
    np.testing.assert_array_equal(model.predict_raw(X), before)
