"""Trees under constraints: monotone features, groups that may interact, and columns drawn for each node."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

from makers import make_engine
from ordinal_objectives.histogram_engine.constraints import Constraints, monotone_values
from ordinal_objectives.histogram_engine.parameters import BoostingParameters
from ordinal_objectives.histogram_engine.run import EngineRun
from ordinal_objectives.histogram_engine.state import LeafStep, TrainingSet
from ordinal_objectives.trees import Tree

CRITERIA = [
    {},
    {"split_gain": "joint"},
    {"split_gain": "scalar"},
    {"shift_penalty": "sparse"},
    {"proportional": True},
    {"proportional": True, "threshold_update": "newton"},
    {"proportional": True, "threshold_update": "fixed", "hessian": "majorized"},
    {"proportional": True, "order": 3},
    {"proportional": True, "order": 4},
    {"proportional": True, "pruning": True, "adaptive_step": True, "subsample": 0.7},
    {"pruning": True, "subsample": 0.7},
    {"loss": "immediate_threshold"},
    {"loss": "cumulative_link", "proportional": True},
    {"link": "cloglog"},
    {"training_cost": "quadratic"},
]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 4))
    # Against the constraints in places: the data ask for what is refused.
    z = X[:, 0] + np.sin(3 * X[:, 1]) + 0.6 * X[:, 2] * X[:, 0] + 0.8 * rng.logistic(size=1200)
    return X, np.digitize(z, [-1.5, -0.3, 0.6, 1.9])


def rises(model, signs, n=10_000, seed=1):
    """Return how P(y <= k) changes where a constrained feature changes in the direction in which it must not rise."""
    rng = np.random.default_rng(seed)
    low = rng.normal(scale=1.3, size=(n, len(signs)))
    high, feature = low.copy(), rng.choice(np.flatnonzero(signs), size=n)
    high[np.arange(n), feature] += np.asarray(signs)[feature] * rng.exponential(size=n)
    return model.predict_cumulative_proba(high) - model.predict_cumulative_proba(low)


@pytest.mark.parametrize("params", CRITERIA, ids=str)
def test_monotone_models_are_monotone(data, params):
    X, y = data
    signs = [1, -1, 0, 0]
    free = make_engine(max_iter=30, max_leaf_nodes=15, random_state=0, **params).fit(X, y)
    bound = make_engine(max_iter=30, max_leaf_nodes=15, random_state=0, monotonic_cst=signs, **params).fit(X, y)
    assert rises(free, signs).max() > 0.05
    assert rises(bound, signs).max() <= 1e-15
    # What is allowed is learned: the loss falls well below that of the thresholds alone.
    assert bound.training_loss_[-1] < 0.97 * bound.training_loss_[0]


@pytest.mark.parametrize("params", [{}, {"proportional": True}, {"proportional": True, "order": 3}])
def test_an_inactive_constraint_changes_nothing(data, params):
    X, y = data
    plain = make_engine(max_iter=20, **params).fit(X, y).predict_proba(X)
    nothing = make_engine(max_iter=20, monotonic_cst=[0, 0, 0, 0], **params).fit(X, y)
    assert_array_equal(nothing.predict_proba(X), plain)
    # Stumps of one feature that the classes follow: no split asks for anything else.
    x = np.linspace(-1, 1, 300)[:, np.newaxis]
    classes = np.digitize(x[:, 0], [-0.3, 0.4])
    plain, bound = (
        make_engine(max_iter=10, max_leaf_nodes=2, monotonic_cst=signs, **params).fit(x, classes).predict_proba(x)
        for signs in (None, [1])
    )
    assert_array_equal(bound, plain)


def test_thresholds_follow_leaves_that_were_clipped(data):
    X, y = data
    rows = TrainingSet(X, y.astype(np.int32), 5)
    parameters = BoostingParameters.of("all_threshold", constraints=Constraints.of([1, -1, 0, 0], None, 4))
    run = EngineRun(parameters, rows)
    tree = Tree.from_bins(run.grow(None, [0, 1, 2, 3]), run.cuts, None)
    sums = run.criterion.sums(len(tree.left), None)
    leaves, weights = tree.leaves, np.linspace(-1.0, 1.0, len(tree.leaves))
    step = run.criterion.with_leaves(sums, leaves, LeafStep(weights, np.zeros(4)))
    assert_array_equal(step.weights, weights)
    assert_allclose(sums.u + weights @ sums.L[leaves] + sums.V @ step.delta, 0.0, atol=1e-8 * len(y))


@pytest.mark.parametrize("params", [{}, {"proportional": True}, {"pruning": True, "judged_by": "validation"}], ids=str)
def test_leaves_are_clipped_by_the_weights_of_rows(data, params):
    X, y = (part[:400] for part in data)
    times = np.arange(400) % 3  # a third of the rows has no weight
    options = {"max_iter": 3, "max_leaf_nodes": 15, "monotonic_cst": [1, -1, 1, 0], "min_samples_leaf": 1, **params}
    options |= {"subsample": 1.0, "early_stopping": False}
    held = {"X_val": data[0][400:], "y_val": data[1][400:]} if "judged_by" in params else {}
    weighted = make_engine(**options).fit(X, y, sample_weight=times.astype(float), **held)
    repeated = make_engine(**options).fit(np.repeat(X, times, axis=0), np.repeat(y, times), **held)
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-6)


def test_two_classes_beside_scikit_learn(data):
    X, y = data
    y = (y > 2).astype(int)
    signs = [1, -1, 0, 0]
    shared = {
        "learning_rate": 0.3,
        "max_iter": 15,
        "max_leaf_nodes": 6,
        "early_stopping": False,
        "min_samples_leaf": 20,
    }
    with threadpool_limits(1, "openmp"):  # its threads are not instrumented where ours are
        theirs = HistGradientBoostingClassifier(monotonic_cst=signs, **shared).fit(X, y)
    ours = make_engine(monotonic_cst=signs, threshold_update="fixed", **shared, proportional=True).fit(X, y)
    loss = -np.log(np.take_along_axis(theirs.predict_proba(X), y[:, np.newaxis], axis=1)).mean()
    assert_allclose(ours.training_loss_[-1], loss, rtol=0.03)


def paths(model):
    """Yield the features on the way to each leaf."""
    for tree in model._ensemble.trees:
        above = {0: frozenset()}
        for node, left in enumerate(tree.left):
            if left < 0:
                yield above[node]
            else:
                above[left] = above[left + 1] = above[node] | {int(tree.feature[node])}


@pytest.mark.parametrize(
    ("given_groups", "groups"),
    [
        ([[0, 1], [1, 2]], [{0, 1}, {1, 2}, {3}]),
        ([{0, 2}], [{0, 2}, {1, 3}]),
        ("no_interactions", [{0}, {1}, {2}, {3}]),
        ("pairwise", [{i, j} for i in range(4) for j in range(i)]),
    ],
)
@pytest.mark.parametrize("proportional", [True, False])
def test_paths_stay_within_a_group(data, given_groups, groups, proportional):
    X, y = data
    params = {"max_iter": 10, "max_leaf_nodes": 20, "proportional": proportional}
    free = make_engine(**params).fit(X, y)
    bound = make_engine(**params, interaction_cst=given_groups).fit(X, y)
    assert not all(any(path <= group for group in groups) for path in paths(free))
    assert all(any(path <= group for group in groups) for path in paths(bound))
    assert any(len(path) == max(map(len, groups)) for path in paths(bound))
    everything = make_engine(**params, interaction_cst=[[0, 1, 2, 3]]).fit(X, y)
    assert_array_equal(everything.predict_proba(X), free.predict_proba(X))


def drawn(seed, share, allowed):
    """Return the features of the root that the engine draws, by the same generator."""
    mask, n = 2**64 - 1, math.ceil(share * len(allowed))
    state, places = (seed + 0x9E3779B97F4A7C15) & mask, list(allowed)
    for i in range(n):
        state = (state + 0x9E3779B97F4A7C15) & mask
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        j = i + (z ^ (z >> 31)) % (len(places) - i)
        places[i], places[j] = places[j], places[i]
    return set(places[:n])


def test_features_are_drawn_for_each_node(data):
    X, y = data
    model = make_engine(max_iter=40, max_features=0.5, random_state=7, n_jobs=1).fit(X, y)
    roots = []
    for iteration, tree in enumerate(model._ensemble.trees):
        seed = int(np.random.default_rng([model._seed, iteration, 1]).integers(2**63))
        roots.append(int(tree.feature[0]))
        assert roots[-1] in drawn(seed, 0.5, range(4))
    assert set(roots) == {0, 1, 2, 3}
    two = make_engine(max_iter=40, max_features=0.5, random_state=7, n_jobs=2).fit(X, y)
    assert_array_equal(two.predict_proba(X), model.predict_proba(X))
    whole = make_engine(max_iter=5, random_state=7).fit(X, y)
    assert_array_equal(
        make_engine(max_iter=5, max_features=1.0, random_state=7).fit(X, y).predict_proba(X), whole.predict_proba(X)
    )


@pytest.mark.parametrize(
    ("asked", "share"), [("sqrt", 0.5), ("log2", 0.5), (1, 0.25), (np.int64(3), 0.75), (4, 1.0), (99, 1.0)]
)
def test_features_of_a_split_by_number_and_by_word(data, asked, share):
    X, y = data
    found, expected = (make_engine(max_iter=5, max_features=one, random_state=7).fit(X, y) for one in (asked, share))
    assert_array_equal(found.predict_proba(X), expected.predict_proba(X))


def test_every_share_of_features_draws_one(data):
    X, y = data
    model = make_engine(max_iter=20, max_features=1e-6, max_leaf_nodes=8, random_state=0).fit(X, y)
    assert {int(f) for tree in model._ensemble.trees for f in tree.feature[tree.left >= 0]} == {0, 1, 2, 3}


def test_constraints_by_name_and_in_a_search(data, tmp_path):
    X, y = data
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    named = make_engine(monotonic_cst={"a": 1, "b": -1}, interaction_cst=[["a", "b"], ["c", 3]]).fit(frame, y)
    numbered = make_engine(monotonic_cst=[1, -1, 0, 0], interaction_cst=[[0, 1], [2, 3]]).fit(X, y)
    assert_array_equal(named.predict_proba(frame), numbered.predict_proba(X))
    named.save_model(tmp_path / "model")
    loaded = type(named)().load_model(tmp_path / "model")
    assert loaded.monotonic_cst == {"a": 1, "b": -1}
    assert_array_equal(loaded.fit(frame, y).predict_proba(frame), named.predict_proba(frame))
    searched = make_engine(monotonic_cst=[1, -1, 0, 0], random_state=0).set_params(max_iter="auto").fit(X, y)
    assert rises(searched, [1, -1, 0, 0]).max() <= 1e-15
    continued = make_engine(monotonic_cst=[1, -1, 0, 0], warm_start=True).fit(X, y).set_params(max_iter=25).fit(X, y)
    assert rises(continued, [1, -1, 0, 0]).max() <= 1e-15


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"monotonic_cst": [1, 0]}, ValueError, "monotonic_cst"),
        ({"monotonic_cst": [1, 2, 0, 0]}, ValueError, "monotonic_cst"),
        ({"monotonic_cst": {"a": 1}}, ValueError, "monotonic_cst must name features 0 to 3; got 'a'"),
        ({"monotonic_cst": {7: 1}}, ValueError, "monotonic_cst must name features 0 to 3; got 7"),
        ({"monotonic_cst": {0: True}}, ValueError, "monotonic_cst"),
        ({"interaction_cst": "pairs"}, ValueError, "interaction_cst"),
        ({"interaction_cst": [["a"]]}, ValueError, "interaction_cst must name features 0 to 3; got 'a'"),
        ({"interaction_cst": [[0.0, 1.0]]}, ValueError, "interaction_cst"),
        ({"interaction_cst": [0, 1]}, ValueError, "interaction_cst"),
        ({"interaction_cst": ["ab"]}, ValueError, "interaction_cst"),
        ({"interaction_cst": 1}, ValueError, "interaction_cst"),
        ({"max_features": 0.0}, ValueError, "max_features"),
        ({"max_features": 0}, ValueError, "max_features"),
        ({"max_features": 1.5}, ValueError, "max_features"),
        ({"max_features": "half"}, ValueError, "max_features"),
        ({"max_features": True}, TypeError, "max_features"),
        ({"max_features": None}, TypeError, "max_features"),
        ({"monotonic_cst": [1, 0, 0, 0], "linear": True}, ValueError, "linear must"),
        ({"monotonic_cst": [1, 0, 0, 0], "linear": "auto"}, ValueError, "linear must"),
    ],
)
def test_mistakes_are_told(data, params, error, message):
    X, y = data
    with pytest.raises(error, match=message):
        make_engine(**params).fit(X, y)


@st.composite
def grown_trees(draw):
    """A tree of random splits on two features, values of its leaves, and the ranges that its leaves cover."""
    n_splits = draw(st.integers(1, 7))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    feature, left, threshold = [-1], [-1], [0.0]
    boxes = {0: np.array([[0.0, 1.0], [0.0, 1.0]])}
    for _ in range(n_splits):
        node = int(rng.choice([n for n, child in enumerate(left) if child < 0]))
        f, box = int(rng.integers(2)), boxes[node]
        cut = rng.uniform(*box[f])
        feature[node], left[node], threshold[node] = f, len(left), cut
        for side in range(2):
            feature.append(-1)
            left.append(-1)
            threshold.append(0.0)
            boxes[len(left) - 1] = box.copy()
            boxes[len(left) - 1][f, 1 - side] = cut
    n = len(left)
    tree = Tree(
        feature=np.array(feature, np.int32),
        threshold=np.array(threshold),
        left=np.array(left, np.int32),
        missing_left=np.zeros(n, np.uint8),
        value=np.zeros(n),
        gain=np.zeros(n),
        count=rng.integers(1, 50, n),
    )
    return tree, boxes, rng


@given(grown_trees(), st.sampled_from([(1, 0), (1, 1), (-1, 1), (0, -1)]))
def test_clipped_leaves_are_monotone_and_stay_in_range(grown, signs):
    tree, boxes, rng = grown
    values = rng.normal(size=(len(tree.leaves), 3))
    found, clipped = monotone_values(tree, tree.count.astype(float), tree.leaves, values, np.array(signs, np.int8))
    assert (found.min(axis=0) >= values.min(axis=0)).all()
    assert (found.max(axis=0) <= values.max(axis=0)).all()
    assert clipped == bool((found != values).any())
    for a, leaf in enumerate(tree.leaves):
        for b, other in enumerate(tree.leaves):
            for f, sign in enumerate(signs):
                g = 1 - f
                beside = boxes[leaf][g, 0] < boxes[other][g, 1] and boxes[other][g, 0] < boxes[leaf][g, 1]
                if sign and beside and boxes[leaf][f, 1] <= boxes[other][f, 0]:
                    assert (sign * found[a] <= sign * found[b] + 1e-12).all()
    again, clipped = monotone_values(tree, tree.count.astype(float), tree.leaves, found, np.array(signs, np.int8))
    assert_allclose(again, found, atol=1e-12)
