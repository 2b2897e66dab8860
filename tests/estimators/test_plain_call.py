"""Classifiers without arguments find their number of rounds on rows held out, and train again on all rows."""

from __future__ import annotations

import warnings
from functools import partial

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from scipy.sparse import csr_matrix

from makers import mean_loss
from ordinal_objectives import HistGradientBoostingOrdinalClassifier, LGBMOrdinalClassifier, XGBOrdinalClassifier
from ordinal_objectives.estimators.held_out import Rates, Rows, find_rounds, hold_out, smallest_leaf
from ordinal_objectives.estimators.linear import LinearPart
from ordinal_objectives.metrics import ordinal_log_loss
from ordinal_objectives.row_blocks import RowBlocks

# What is left of the plain call beside a seed and threads; what its number of rounds is called.
CALLS = {
    "xgboost": (partial(XGBOrdinalClassifier, n_jobs=1, random_state=3), "n_estimators"),
    "lightgbm": (partial(LGBMOrdinalClassifier, n_jobs=1, random_state=3), "n_estimators"),
    "histogram": (partial(HistGradientBoostingOrdinalClassifier, n_jobs=1, random_state=3), "max_iter"),
}
EACH = pytest.mark.parametrize("name", CALLS)
# The learning rates of a search with 100 rows or more, and of the training after it.
RATES = {"xgboost": Rates(0.3, 0.1), "lightgbm": Rates(0.1, 0.05), "histogram": Rates(0.1, 0.1)}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    return X, np.digitize(X[:, 0] + rng.normal(size=400), [-1.0, 0.0, 1.0])


@EACH
def test_rounds_are_those_with_the_lowest_loss_on_rows_held_out(name, data):
    X, y = data
    make, rounds = CALLS[name]
    model = make().fit(X, y)
    found = model.round_search_
    assert found.n_held_out == 80
    rates, of_search = RATES[name], int(np.argmin(found.losses))
    assert 1 <= of_search < len(found.losses) - 1
    assert model.n_iter_ == found.n_iter == round(of_search * rates.search / rates.last * 1.25)
    assert found.settings["learning_rate"] == rates.last
    given = make(**{rounds: found.n_iter}, **found.settings).fit(X, y)
    assert given.round_search_ is None
    np.testing.assert_array_equal(given.predict_proba(X), model.predict_proba(X))
    # The search once more by hand.
    seed = model._seed if name == "histogram" else 3
    fit, held = hold_out(Rows(X, y), 0.2, seed)
    part = make(**found.settings | {rounds: of_search, "learning_rate": rates.search}, classes=range(4))
    if name == "histogram":  # draws its seed from random_state
        part.set_params(random_state=3)
    assert mean_loss(part.fit(fit.X, fit.codes), held.X, held.codes) == pytest.approx(found.losses[of_search], rel=1e-5)
    shares = np.cumsum(np.bincount(fit.codes))[:-1] / len(fit.codes)
    below = held.codes[:, None] <= np.arange(3)
    start = -np.where(below, np.log(shares), np.log1p(-shares)).sum(axis=1).mean()
    assert found.losses[0] == pytest.approx(start, rel=1e-6 if name == "histogram" else 1e-9)


@EACH
def test_weights_groups_and_seeds_are_respected(name, data):
    X, y = data
    make, _ = CALLS[name]
    weight = np.where(np.arange(400) % 4 == 0, 0.0, 1.0 + np.arange(400) % 3)
    weighted = make().fit(X, y, sample_weight=weight)
    assert weighted.round_search_.n_held_out == 60  # a fifth of the rows with weight
    without_weight = make().fit(X, np.where(weight > 0, y, 3 - y), sample_weight=weight)
    np.testing.assert_array_equal(without_weight.round_search_.losses, weighted.round_search_.losses)
    doubled = make().fit(X, y, sample_weight=np.where(y == 3, 50.0, 1.0)).round_search_
    assert doubled.losses[0] != pytest.approx(make().fit(X, y).round_search_.losses[0], rel=0.1)
    groups = np.arange(400) // 50
    of_groups = make().fit(X, y, groups=groups).round_search_
    assert of_groups.n_held_out in (50, 100)
    other = make(random_state=4).fit(X, y).round_search_
    again = make().fit(X, y).round_search_
    np.testing.assert_array_equal(again.losses, make().fit(X, y).round_search_.losses)
    assert not np.array_equal(other.losses[:5], again.losses[:5])


@EACH
def test_where_early_stopping_or_a_model_decides_nothing_is_searched(name, data):
    X, y = data
    make, rounds = CALLS[name]
    if name == "xgboost":
        stopped = make(early_stopping_rounds=5, learning_rate=0.01).fit(X, y, eval_set=[(X, y)])
        by_callback = make(learning_rate=0.01, callbacks=[xgboost.callback.EarlyStopping(rounds=5)])
        assert len(by_callback.fit(X, y, eval_set=[(X, y)]).evals_result_["validation_0"]["all_threshold"]) == 100
        continued = make().fit(X, y, xgb_model=make(n_estimators=2).fit(X, y))
        assert continued.n_iter_ == 102
    elif name == "lightgbm":
        stopped = make(learning_rate=0.01).fit(
            X, y, eval_set=[(X.copy(), y)], callbacks=[lightgbm.early_stopping(5, verbose=False)]
        )
        assert make(early_stopping_round=5, learning_rate=0.01).fit(X, y, eval_set=[(X.copy(), y)]).n_iter_ == 100
        continued = make().fit(X, y, init_model=make(n_estimators=2).fit(X, y))
        assert continued.n_iter_ == 102
    else:
        stopped = make(learning_rate=0.01).fit(X, y, X_val=X, y_val=y)
        assert make(early_stopping=False).fit(X, y).n_iter_ == 100
        continued = make(warm_start=True, max_iter=2).fit(X, y).set_params(max_iter="auto").fit(X, y)
        assert continued.n_iter_ == 100
        blocks = RowBlocks([X[:200].astype(np.float32), X[200:].astype(np.float32)])
        assert make().fit(blocks, y).n_iter_ == 100
    assert stopped.n_iter_ == 100
    assert stopped.round_search_ is None is continued.round_search_
    with pytest.raises((TypeError, ValueError), match=rf"{rounds} must be an integer.*; got 'all'"):
        make(**{rounds: "all"}).fit(X, y)


@EACH
@pytest.mark.parametrize("n", [9, 36])
def test_few_rows_have_splits(name, n):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 2))
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = CALLS[name][0]().fit(X, y)
    assert (model.round_search_ is None) == (n == 9)
    assert model.diagnostics_["n_without_split"] < model.n_iter_
    shares = np.bincount(y) / n
    below, cumulative = y[:, None] <= np.arange(2), np.cumsum(shares)[:-1]
    of_shares = -np.where(below, np.log(cumulative), np.log1p(-cumulative)).sum(axis=1).mean()
    assert mean_loss(model, X, y) < 0.8 * of_shares


@EACH
def test_noise_needs_few_rounds(name):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(600, 5)), rng.integers(0, 3, 600)
    assert CALLS[name][0]().fit(X, y).n_iter_ <= 5


def test_one_class_left_is_not_searched():
    y = np.zeros(300, dtype=int)
    y[7] = 1
    losses = {"asked": 0}

    def trial_of(*_):
        losses["asked"] += 1
        return lambda *_: [1.0, 0.5]

    found = [find_rounds(trial_of, [{}], Rows(np.zeros((300, 1)), y), Rates(0.3, 0.3), seed) for seed in range(40)]
    assert 0 < sum(one is None for one in found) < 40
    assert losses["asked"] == sum(one is not None for one in found)


@pytest.mark.parametrize(
    ("rate", "most", "patience"),
    [(0.3, 500, 10), (0.1, 1000, 20), (0.01, 10_000, 200), (1e-9, 10_000, 500), (1e-320, 10_000, 500)],
)
def test_small_steps_are_waited_for(rate, most, patience):
    asked = []

    def trial_of(fit, held):
        def trial(*numbers):
            asked.append((len(fit.codes), len(held.codes), *numbers))
            return [1.0, 0.5, 0.7]

        return trial

    rows = Rows(np.zeros((500, 1)), np.arange(500, dtype=np.int32) % 3, None, np.zeros(500))
    found = find_rounds(trial_of, [{}], rows, Rates(rate, rate), 0)
    assert (found.n_iter, asked) == (2 - 1, [(400, 100, most, patience, {})])


def test_few_rows_are_divided_several_times():
    draws = [[3.0, 2.0, 1.9, 2.5, 9.0], [3.0, 2.0, 1.5, 2.5], [3.0, 1.0, 1.0, 2.5, 0.0]]
    held_rows, longest = [], []

    def trial_of(_, held):
        losses = draws[len(held_rows)]
        held_rows.append(held.X[:, 0].tolist())

        def trial(most, *_):
            longest.append(most)
            return losses[: most + 1]

        return trial

    rows = Rows(np.arange(90.0)[:, np.newaxis], np.arange(90, dtype=np.int32) % 3)
    search = find_rounds(trial_of, [{}], rows, Rates(0.4, 0.1), 2**32 - 1)
    assert len({*map(tuple, held_rows)}) == 3
    assert {len(held) for held in held_rows} == {18} == {search.n_held_out}
    assert longest == [500, 4, 3]  # none goes on where the mean has ended
    np.testing.assert_allclose(search.losses, [3.0, 5.0 / 3.0, 4.4 / 3.0, 2.5])
    assert (search.n_iter, search.lowest) == (10, pytest.approx(4.4 / 3.0))  # 2 * 4 * 1.25


@EACH
def test_noise_of_few_rows_needs_hardly_a_round(name):
    n_iter = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        n_iter.append(CALLS[name][0]().fit(rng.normal(size=(50, 4)), rng.integers(0, 4, 50)).n_iter_)
    assert np.mean(n_iter) <= 3.0


# Losses after 0, 1, ... rounds, by size of the trees: larger ones learn faster, or not.
CURVES = {
    "small": [9.0, 8.0, 7.0, 6.0, 5.0, 5.5, 5.6],
    "ahead, and lower in the end": [9.0, 7.0, 5.0, 4.0, 4.5],
    "ahead, and not lower in the end": [9.0, 7.0, 5.5, 5.2, 6.0],
    "behind": [9.0, 8.0, 7.0, 3.0, 2.0],
}


@pytest.mark.parametrize(
    ("names", "chosen", "tried"),
    [
        (["small"], "small", [(4, 6)]),
        (["small", "ahead, and lower in the end"], "ahead, and lower in the end", [(4, 6), (3, 4)]),
        (["small", "ahead, and not lower in the end"], "small", [(4, 6), (3, 4)]),
        (["small", "behind"], "small", [(4, 6), (2, 2)]),
        (["ahead, and lower in the end", "small"], "ahead, and lower in the end", [(3, 4), (2, 2)]),
        (["small", "behind", "ahead, and lower in the end"], "ahead, and lower in the end", [(4, 6), (2, 2), (3, 4)]),
    ],
)
def test_larger_trees_must_be_ahead_soon_and_lower_in_the_end(names, chosen, tried):
    def trial(most, patience, settings):
        curve = CURVES[settings["size"]]
        return curve if patience is not None else curve[: most + 1]

    rows = Rows(np.zeros((50, 1)), np.arange(50, dtype=np.int32) % 3)
    settings = [{"size": name} for name in names]
    search = find_rounds(lambda *_: trial, settings, rows, Rates(0.75, 0.75), 0)  # 1.5 / 0.75 rounds
    assert search.settings == {"size": chosen}
    assert search.n_iter == round(1.25 * np.argmin(CURVES[chosen]))
    np.testing.assert_allclose(search.losses, CURVES[chosen])
    assert [one["size"] for one in search.tried] == names
    assert [(one["n_iter"], one["n_tried"]) for one in search.tried] == tried


def rich(n):
    """Rows whose classes only deep trees separate."""
    rng = np.random.default_rng(5)
    X = rng.uniform(-1, 1, size=(n, 4))
    cells = (np.floor(X[:, :3] * 2).astype(int) @ [7, 3, 5]) % 5
    return X, np.digitize(cells, [1, 2, 4])


SIZES = {"xgboost": "max_depth", "lightgbm": "num_leaves", "histogram": "max_leaf_nodes"}


@EACH
def test_the_size_of_the_trees_is_found_with_many_rows(name):
    make = partial(CALLS[name][0], learning_rate=0.5)
    few, many = make().fit(*rich(600)), make().fit(*rich(1_500))
    assert len(few.round_search_.tried) == 1
    assert [SIZES[name] in one for one in many.round_search_.tried] == [True] * (3 if name == "xgboost" else 2)
    best = min(many.round_search_.tried, key=lambda one: one["loss"])
    assert many.round_search_.settings.items() <= best.items()
    assert many.n_iter_ == round(1.25 * best["n_iter"])
    value = best[SIZES[name]] + 1
    given = make(**{SIZES[name]: value}).fit(*rich(1_500))
    assert [one for one in given.round_search_.tried if SIZES[name] in one] == []
    fixed = make(**{SIZES[name]: best[SIZES[name]]}).fit(*rich(1_500))
    np.testing.assert_array_equal(fixed.predict_proba(rich(50)[0]), many.predict_proba(rich(50)[0]))
    np.testing.assert_array_equal(fixed.round_search_.losses, many.round_search_.losses)


def penalty(**given):
    model = LGBMOrdinalClassifier(n_jobs=1, random_state=0, learning_rate=0.5, **given)
    return lambda n: model.fit(*rich(n)).booster_.params["lambda_l2"]


def test_lightgbm_has_a_penalty_with_few_rows():
    assert [penalty()(n) for n in (300, 1_500)] == [1.0, 0.0]
    assert penalty(n_estimators=3)(300) == 0.0
    assert [penalty(reg_lambda=0.5)(300), penalty(lambda_l2=2.0)(300), penalty(reg_lambda=0.5)(1_500)] == [
        0.5,
        2.0,
        0.5,
    ]


@pytest.mark.parametrize("name", ["xgboost", "lightgbm"])
def test_a_search_makes_its_rows_ready_once(name, monkeypatch):
    X, y = rich(1_500)
    X[:, 3] = np.arange(1_500) % 4
    sizes, fitted = [], []
    host, fit_linear = xgboost.DMatrix if name == "xgboost" else lightgbm.Dataset, LinearPart.fit
    make_ready = host.__init__

    def counted(self, data, *args, **options):
        sizes.append(len(data))
        make_ready(self, data, *args, **options)

    def counted_fit(rows, *args, **options):
        fitted.append(len(rows))
        return fit_linear(rows, *args, **options)

    monkeypatch.setattr(host, "__init__", counted)
    monkeypatch.setattr(LinearPart, "fit", counted_fit)
    given, options = ({"feature_types": [*"qqqc"]}, {}) if name == "xgboost" else ({}, {"categorical_feature": [3]})
    model = CALLS[name][0](linear=True, **given).fit(X, y, **options)
    assert len(model.round_search_.tried) == (3 if name == "xgboost" else 2)
    assert sizes == [1_200, 300, 1_500]
    assert fitted == [1_200, 1_500]


@EACH
def test_copies_of_a_model_have_the_settings_that_it_found(name, tmp_path):
    make, rounds = CALLS[name]
    X, y = rich(1_500)
    model = make().fit(X, y, eval_set=[(X[:100], y[:100])]) if name != "histogram" else make().fit(X, y)
    fixed = model._fixed_rounds(3)
    found = model.round_search_.settings
    assert found.items() <= fixed.items()
    assert fixed[rounds] == 3
    for path in (tmp_path / "model.json", tmp_path / "again.json"):
        model.save_model(path)
        model = make().load_model(path)
        assert found.items() <= model._fixed_rounds(3).items()
    model.set_params(**{rounds: 3}).fit(X, y)
    assert not found.keys() & model._fixed_rounds(3).keys()


@pytest.mark.parametrize(("n", "expected"), [(30, 1), (150, 3), (1_000, 20), (10**6, 20)])
def test_leaves_of_few_rows_are_small(n, expected):
    assert smallest_leaf("auto", n) == expected
    assert smallest_leaf(7, n) == 7


@pytest.mark.parametrize("name", ["lightgbm", "histogram"])
def test_auto_leaves_are_those_of_the_number(name, data):
    X, y = data
    make, rounds = CALLS[name]
    limit = "min_child_samples" if name == "lightgbm" else "min_samples_leaf"
    auto, eight = (make(**{rounds: 5, **leaf}).fit(X, y).predict_proba(X) for leaf in ({}, {limit: 8}))
    np.testing.assert_array_equal(auto, eight)
    assert not np.array_equal(auto, make(**{rounds: 5, limit: 9}).fit(X, y).predict_proba(X))


@pytest.mark.parametrize("name", ["xgboost", "lightgbm"])
def test_frames_with_categories_and_sparse_matrices_are_divided(name, data):
    X, y = data
    make, _ = CALLS[name]
    frame = pd.DataFrame(X, columns=list("abcd")).assign(e=pd.Categorical(np.where(X[:, 1] > 0, "u", "v")))
    assert make().fit(frame, y).round_search_.n_held_out == 80
    assert make().fit(csr_matrix(np.where(X > 0, X, 0.0)), y).round_search_.n_held_out == 80
    start = "base_margin" if name == "xgboost" else "init_score"
    with_start = make().fit(X, y, **{start: 3.0 * X[:, 0]}).round_search_
    assert np.isnan(with_start.losses[0])
    assert with_start.losses[1] < make().fit(X, y).round_search_.losses[1]


@pytest.mark.parametrize("name", ["xgboost", "lightgbm"])
@pytest.mark.parametrize("rate", [0, 0.0, -0.1, float("nan"), float("inf"), "0.1", True, np.array([0.1])], ids=str)
def test_a_learning_rate_that_no_search_can_take_is_named(name, rate, data):
    with pytest.raises((TypeError, ValueError), match=r"^learning_rate must be a finite number above 0; got"):
        CALLS[name][0](learning_rate=rate).fit(*data)


@pytest.mark.parametrize("name", ["xgboost", "lightgbm"])
def test_negative_seeds_of_the_hosts_draw_rows_too(name, data):
    losses = [CALLS[name][0](random_state=seed).fit(*data).round_search_.losses[1] for seed in (-1, -1, 3)]
    assert losses[0] == losses[1] != losses[2]


@EACH
def test_one_group_cannot_be_held_out(name, data):
    with pytest.raises(ValueError, match="groups must name at least two groups where rows are held out; got 1"):
        CALLS[name][0]().fit(*data, groups=np.zeros(400))


def many_classes(rng):
    X = rng.normal(size=(1_276, 8))
    score = X[:, 0] + rng.logistic(size=1_276)
    return X, np.clip(np.floor((score + 4.5) * 2), 0, 17).astype(int), 276


def many_columns(rng):
    X = rng.normal(size=(600, 300)).astype(np.float32)
    return X, np.digitize(X[:, 0] + 0.5 * rng.logistic(size=600), [-1, 0, 1]), 200


def many_levels(rng):
    level, effects = rng.integers(0, 200, 2_000), rng.normal(size=200)
    frame = pd.DataFrame({"level": pd.Categorical(level), "noise": rng.normal(size=2_000)})
    return frame, np.digitize(effects[level] + 0.3 * rng.logistic(size=2_000), [-1, 0, 1]), 1_000


@pytest.mark.slow
@EACH
@pytest.mark.parametrize("make_rows", [many_classes, many_columns, many_levels])
def test_odd_tables_are_predicted_no_worse_than_by_the_class_shares(name, make_rows):
    X, y, n_train = make_rows(np.random.default_rng(0))
    classes = range(y.max() + 1)
    rows = getattr(X, "iloc", X)
    model = CALLS[name][0](classes=classes).fit(rows[:n_train], y[:n_train])
    loss = ordinal_log_loss(y[n_train:], model.predict_proba(rows[n_train:]), labels=classes)
    shares = (np.bincount(y[:n_train], minlength=len(classes)) + 1) / (n_train + len(classes))
    of_shares = ordinal_log_loss(y[n_train:], np.tile(shares, (len(y) - n_train, 1)), labels=classes)
    assert loss < 1.01 * of_shares
    assert model.n_iter_ == model.round_search_.n_iter


# Rows held out


@pytest.mark.parametrize("seed", range(5))
def test_each_class_gives_its_share(seed):
    y = np.random.default_rng(0).permutation(np.repeat([0, 1, 2, 3], [8, 12, 80, 300])).astype(np.int32)
    X = np.arange(len(y))
    fit, held = hold_out(Rows(X, y), 0.25, seed)
    np.testing.assert_array_equal(np.bincount(held.codes), [2, 3, 20, 75])
    np.testing.assert_array_equal(np.sort(np.concatenate([fit.X, held.X])), X)


def test_rows_of_weight_zero_do_not_count_for_the_shares():
    y = np.repeat(np.arange(3, dtype=np.int32), [40, 40, 40])
    weight = np.ones(120)
    weight[:20] = 0.0
    fit, held = hold_out(Rows(np.arange(120), y, weight), 0.2, 0)
    np.testing.assert_array_equal(np.bincount(held.codes), [4, 8, 8])
    assert weight[held.X].all()
    np.testing.assert_array_equal(np.sort(np.concatenate([fit.X, held.X])), np.arange(120))
