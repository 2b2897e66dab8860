"""Pruning and step size against a transcription of Algorithm 4 that computes everything anew at each question.

Beside them, the validation rows that may judge instead of those outside each sample.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from makers import SKLEARN_DEFAULTS
from ordinal_objectives import HistGradientBoostingOrdinalClassifier, RowBlocks
from ordinal_objectives.histogram_engine.fit_loop import LabelledEvaluationSet
from ordinal_objectives.histogram_engine.parameters import BoostingParameters
from ordinal_objectives.histogram_engine.run import EngineRun, best_step_size, merge_splits
from ordinal_objectives.histogram_engine.state import LeafStep, TrainingSet
from ordinal_objectives.losses import get_loss
from ordinal_objectives.threshold_solver import JointQuadratic

#        0
#     1     2
#   3  4   5  6
#     7 8
LEFT = np.array([1, 3, 5, -1, 7, -1, -1, -1, -1], dtype=np.int32)
L2 = 1.0
LARGEST_STEP = 0.3


def random_sums(rng, n_cross=2):
    L = -rng.uniform(0.2, 1.0, (len(LEFT), n_cross))
    V = np.diag(-L[LEFT < 0].sum(axis=0) + 0.5)
    H = -L.sum(axis=1) if n_cross else rng.uniform(0.2, 1.0, len(LEFT))
    return JointQuadratic(rng.normal(size=len(LEFT)), H, L, rng.normal(size=n_cross), V).of_all_nodes(LEFT)


def system(sums, leaves, l2):
    M = np.block([[np.diag(sums.H[leaves] + l2), sums.L[leaves]], [sums.L[leaves].T, sums.V]])
    return np.concatenate([sums.G[leaves], sums.u]), M


def fit(sums, leaves):
    g, M = system(sums, leaves, L2)
    beta = -np.linalg.solve(M, g)
    return LeafStep(beta[: len(leaves)], beta[len(leaves) :])


def fit_each(training, leaves):
    steps = [fit(training, one) for one in leaves]
    return np.array([step[0] for step in steps]), np.array([step[1] for step in steps])


def leaves_below(left, node):
    return [node] if left[node] < 0 else leaves_below(left, left[node]) + leaves_below(left, left[node] + 1)


def judge(left, training, held_out):
    """Return Q of the tree's step, and the best size of that step."""
    leaves = np.array(sorted(leaves_below(left, 0)))
    beta = np.concatenate(fit(training, leaves))
    g, M = system(held_out, leaves, 0.0)
    return g @ beta + 0.5 * beta @ M @ beta, np.clip(-(g @ beta) / (beta @ M @ beta), 0.0, LARGEST_STEP)


def pruned(left, training, held_out):
    left = left.copy()
    while True:
        options = {}
        for node in np.flatnonzero(left >= 0):
            if left[left[node]] < 0 and left[left[node] + 1] < 0:
                merged = left.copy()
                merged[node] = -1
                options[node] = judge(merged, training, held_out)[0]
        if not options or min(options.values()) > judge(left, training, held_out)[0]:
            return left
        left[min(options, key=options.get)] = -1


@pytest.mark.parametrize("n_cross", [0, 1, 4])
def test_pruned_trees_and_step_sizes_equal_the_transcription(n_cross):
    rng = np.random.default_rng(n_cross)
    n_merged = 0
    for _ in range(70):
        training, held_out = random_sums(rng, n_cross), random_sums(rng, n_cross)
        expected = pruned(LEFT, training, held_out)
        left = merge_splits(LEFT, training, held_out, fit_each)
        np.testing.assert_array_equal(left, expected)
        n_merged += int((left != LEFT).sum())
        leaves = np.array(sorted(leaves_below(left, 0)))
        size = best_step_size(held_out, leaves, fit(training, leaves), LARGEST_STEP)
        assert size == pytest.approx(judge(left, training, held_out)[1], abs=1e-12)
    assert n_merged > 50


def judged(**options):
    options = {
        "learning_rate": 1.0,
        "max_iter": 30,
        "max_leaf_nodes": 8,
        **SKLEARN_DEFAULTS,
        "min_samples_leaf": 3,
    } | options
    return HistGradientBoostingOrdinalClassifier(judged_by="validation", **options)


@pytest.mark.parametrize("hessian", ["exact", "majorized"])
@pytest.mark.parametrize(
    ("loss", "n_classes", "options"),
    [
        (("all_threshold", "logit"), 4, {}),
        (("all_threshold", "logit"), 12, {}),
        (("all_threshold", "probit"), 4, {"threshold_update": "newton"}),
        (("cumulative_link", "logit"), 4, {}),
        (("immediate_threshold", "logit"), 4, {"threshold_update": "fixed"}),
        (("all_threshold", "logit"), 4, {"proportional": False, "shift_l2": 3.0}),
    ],
)
def test_validation_rows_add_up_what_the_reference_says(ordinal_data, loss, n_classes, options, hessian):
    X, y = ordinal_data(300, n_classes)
    y, weight = y.astype(np.int32), np.random.default_rng(0).uniform(0.5, 2.0, 300)
    parameters = BoostingParameters.of(get_loss(*loss), hessian=hessian, **options)
    labelled = TrainingSet(X, y, n_classes, weight)
    rows = LabelledEvaluationSet("validation", labelled, parameters, 1)
    trained = HistGradientBoostingOrdinalClassifier(
        loss=loss[0], link=loss[1], max_iter=3, max_leaf_nodes=5, proportional=options.get("proportional", True)
    ).fit(X[::-1], y)
    first, second, tree = trained._ensemble.trees
    rows.add(type(trained._ensemble)([first, second], X.shape[1]))
    thresholds = trained.thresholds_
    model: Any = rows.sums(tree, thresholds, EngineRun(parameters, labelled).criterion.exact_sums)
    now: Any
    leaf = trained.apply(X)[:, 2]
    score = trained._ensemble.scores(X, 0, 2, 1)
    one_hot = np.eye(len(tree.left))[leaf]
    close = {"rtol": 1e-5, "atol": 1e-4}
    if "shift_l2" in options:
        now = parameters.spec.loss.margin_derivatives(thresholds - score, y, hessian)
        np.testing.assert_allclose(model.G, one_hot.T @ (weight[:, None] * now.gradient), **close)
        np.testing.assert_allclose(model.H, one_hot.T @ (weight[:, None] * now.hessian), **close)
        return
    now = parameters.spec.loss.round_statistics(score, y, thresholds, weight, hessian)
    np.testing.assert_allclose(model.G, one_hot.T @ now.gradient, **close)
    np.testing.assert_allclose(model.H, one_hot.T @ now.hessian, **close)
    n = n_classes - 1 if "threshold_update" not in options else 0
    off = now.threshold_hessian_off
    V = np.diag(now.threshold_hessian) + np.diag(off, 1) + np.diag(off, -1)
    np.testing.assert_allclose(model.L, (one_hot.T @ now.cross)[:, :n], **close)
    np.testing.assert_allclose(model.u, now.threshold_gradient[:n], **close)
    np.testing.assert_allclose(model.V, V[:n, :n], **close)


@pytest.mark.parametrize("proportional", [True, False])
def test_validation_rows_are_those_given_or_held_out(halves, proportional):
    """Either way early stopping looks at them; others judge other trees."""
    X, y, X_val, y_val = halves
    options = {"pruning": True, "adaptive_step": True, "proportional": proportional, "random_state": 0}
    model = judged(**options).fit(X, y, X_val=X_val, y_val=y_val)
    loss = model.evals_result_["validation"]
    assert loss[model.n_iter_] == min(loss) < 0.9 * loss[0]
    assert len(loss) < 31
    assert all((tree.left[tree.feature < 0] == -1).all() for tree in model._ensemble.trees)
    other = judged(**options).fit(X, y, X_val=X_val[::2], y_val=y_val[::2])
    assert np.abs(other.predict_proba(X) - model.predict_proba(X)).max() > 0.01
    held = judged(**options, validation_fraction=0.3).fit(X, y)
    assert len(held.evals_result_["validation"]) < 31
    assert {tree.count[0] for tree in held._ensemble.trees} == {210}
    plain = judged(**options, early_stopping=False).fit(X, y)
    assert len(plain.evals_result_["validation"]) == 31


def test_without_early_stopping_steps_of_0_go_on(halves):
    """One set judges every tree: once it wants no step, the next trees are nearly the same, and add next to nothing."""
    X, y, X_val, y_val = halves
    given = {"X_val": X_val, "y_val": y_val}
    stopped = judged(adaptive_step=True, max_iter=200).fit(X, y, **given)
    plain = judged(adaptive_step=True, max_iter=200, early_stopping=False).fit(X, y, **given)
    assert stopped.n_iter_ < plain.n_iter_ == 200
    assert len(stopped.evals_result_["validation"]) < 200
    assert np.ptp(plain.evals_result_["training"][stopped.n_iter_ :]) < 1e-6
    np.testing.assert_allclose(plain.predict_proba(X), stopped.predict_proba(X), atol=1e-4)


def test_a_training_that_validation_rows_judge_is_continued_and_stored(halves, tmp_path):
    X, y, X_val, y_val = halves
    given = {"X_val": X_val, "y_val": y_val}
    options = {"pruning": True, "adaptive_step": True, "early_stopping": False, "random_state": 0}
    whole = judged(max_iter=8, **options).fit(X, y, **given)
    judged(max_iter=4, warm_start=True, **options).fit(X, y, **given).save_model(tmp_path / "model")
    loaded = HistGradientBoostingOrdinalClassifier().load_model(tmp_path / "model")
    assert loaded.judged_by == "validation"
    loaded.set_params(max_iter=8).fit(X, y, **given)
    np.testing.assert_allclose(loaded.predict_proba(X), whole.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"judged_by": "validation"}, "judged_by='validation' belongs to pruning=True or adaptive_step=True"),
        ({"judged_by": "sample", "pruning": True}, "judged_by"),
        (
            {"pruning": True, "subsample": 1.0},
            "pruning=True judges by rows left out .* subsample < 1; got 1.0. .*judged_by='validation'",
        ),
        ({"judged_by": "validation", "adaptive_step": True, "order": 3}, "adaptive_step=True .* order=2; got 3"),
    ],
)
def test_what_cannot_judge_is_refused(halves, options, message):
    with pytest.raises(ValueError, match=message):
        HistGradientBoostingOrdinalClassifier(**options).fit(*halves[:2])


def test_blocks_of_rows_need_validation_rows_beside_them(halves):
    X, y, X_val, y_val = halves
    blocks = RowBlocks([X[:100], X[100:]])
    model = judged(pruning=True)
    with pytest.raises(ValueError, match="judged_by holds rows out of arrays only; for RowBlocks pass X_val and y_val"):
        model.fit(blocks, y)
    plain = judged(pruning=True).fit(X, y, X_val=X_val, y_val=y_val)
    model.fit(blocks, y, X_val=X_val, y_val=y_val)
    np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X), atol=1e-6)
