"""A damaged model file is a ValueError and leaves the fitted model as it was, in all formats.

Files carry a digest, which notices every change. Most tests change the part that this package
writes in files without one: a file may be made by hand, and of the digest its maker knows as much as we do.
"""

from __future__ import annotations

import copy
import functools
import json
import os
import pickle
import subprocess
import sys
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pytest
import xgboost

from damage_files import MAKERS, rewritten
from ordinal_objectives import HistGradientBoostingOrdinalClassifier, LGBMOrdinalClassifier, XGBOrdinalClassifier
from ordinal_objectives.adapters import lgbm as olgbm, xgb as oxgb

pytestmark = pytest.mark.slow

GRADES = np.array(["low", "medium", "high", "top"])
COST = np.abs(np.subtract.outer(range(4), range(4))).tolist()


class Engine:
    """Of a file: the part that this package writes."""

    make = staticmethod(lambda **o: HistGradientBoostingOrdinalClassifier(max_iter=3, max_leaf_nodes=4, n_jobs=1, **o))

    @staticmethod
    def ours(whole):
        return whole.index(b"\n") + 1, len(whole)


class XGBoost:
    make = staticmethod(lambda **o: XGBOrdinalClassifier(n_estimators=3, max_depth=2, n_jobs=1, **o))

    @staticmethod
    def ours(whole):
        # A text in quotes within JSON.
        return whole.index(b'\\"format'), whole.index(b'}"', whole.index(b'\\"format')) + 1


class LightGBM(XGBoost):
    make = staticmethod(lambda **o: LGBMOrdinalClassifier(n_estimators=3, num_leaves=4, n_jobs=1, **o))
    start = b"[ordinal_thresholds: "

    @classmethod
    def ours(cls, whole):
        begin = whole.index(cls.start) + len(cls.start)
        return begin, whole.index(b"\n", begin) - 1


FORMATS: dict[str, Any] = {"engine": Engine, "model.json": XGBoost, "model.ubj": XGBoost, "model.txt": LightGBM}
EACH = pytest.mark.parametrize("name", FORMATS)


def in_turn(kinds):
    """Return the parametrisation by kinds of damage, each in one of the formats: one reader takes the header of all."""
    return pytest.mark.parametrize(("name", "kind"), list(zip(cycle(FORMATS), kinds)))


@pytest.fixture(scope="module")
def data(ordinal_data):
    return ordinal_data(150, 4)


@pytest.fixture(scope="module")
def fitted(data):
    """Return a maker of fitted models, which are trained once."""
    X, y = data
    return functools.cache(
        lambda name, with_costs: (
            FORMATS[name].make(classes=GRADES, **{"cost_matrix": COST} if with_costs else {}).fit(X, GRADES[y])
        )
    )


@pytest.fixture
def saved(fitted, tmp_path):
    """Return a maker of (format, path, fitted model)."""

    def save(name, *, with_costs=False):
        model = copy.deepcopy(fitted(name, with_costs))
        model.save_model(tmp_path / name)
        return FORMATS[name], tmp_path / name, model

    return save


def changed(form, path, change):
    """Change the JSON of this package in a file."""

    def of_text(text):
        header = json.loads(text)
        header.update(change(header, header["classifier"]))
        return json.dumps(header)

    rewritten(path, of_text)


def refused(form, path, model, X, message="damaged"):
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match=message):
        model.load_model(path)
    np.testing.assert_array_equal(model.predict_proba(X), before)
    assert model.ordered_classes_.tolist() == GRADES.tolist()


ALPHABET = b'0123456789.-+eE[]{}",:nulltrueNaNInfinity abcUO<f8|i'


@pytest.mark.parametrize("name", ["engine", "model.json", "model.txt"])
def test_changed_bytes_are_refused_or_predict(name, data, saved, tmp_path):
    X, _ = data
    form, path, model = saved(name, with_costs=True)
    rewritten(path, lambda text: text)  # without a digest
    whole = path.read_bytes()
    begin, end = form.ours(whole)
    rng = np.random.default_rng(0)
    n_refused = 0
    for i in range(120):
        content, at = bytearray(whole), int(rng.integers(begin, end))
        if i % 3 == 0:
            content[at] ^= 1 << int(rng.integers(7))
        elif i % 3 == 1:
            content[at] = ALPHABET[rng.integers(len(ALPHABET))]
        else:
            last = min(at + int(rng.integers(1, 9)), end)
            content[at:last] = bytes(ALPHABET[j] for j in rng.integers(0, len(ALPHABET), last - at))
        (tmp_path / f"changed {name}").write_bytes(content)
        try:
            model.load_model(tmp_path / f"changed {name}")
        except ValueError:
            n_refused += 1
        else:
            assert np.isfinite(model.predict_proba(X)).all()
            assert len(model.predict(X)) == len(X)
    assert 12 < n_refused < 116


def test_the_digest_notices_every_change():
    """In a process of its own: some damaged files end the process if a library reads them."""
    script = Path(__file__).parents[1] / "damage_files.py"
    path = os.pathsep.join(filter(None, [str(script.parent), os.environ.get("PYTHONPATH")]))  # "" is the source folder
    done = subprocess.run(
        [sys.executable, script, "--each", "20"],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answers = [line.split(": ") for line in done.stdout.splitlines()]
    assert {kind for kind, _, answer, _ in answers if answer == "refused"} == set(MAKERS)
    # A bit of an archive may be that of a date.
    assert sum(int(count) for kind, _, answer, count in answers if answer != "refused") <= 2
    # Of a digest behind CatBoost's own bytes its name may be damaged.
    assert {kind for kind, _, answer, _ in answers if answer != "refused"} <= {"ensemble", "CatBoost"}


@pytest.mark.parametrize("name", ["model.json", "model.ubj", "model.txt"])
def test_the_library_reads_a_file_with_a_digest_and_writes_it_without(name, data, saved, tmp_path):
    X, _ = data
    _, path, model = saved(name)
    assert b"ordinal_objectives_sha256" in path.read_bytes()[:100]
    library = lightgbm if name == "model.txt" else xgboost
    booster = library.Booster(model_file=path)
    booster.save_model(tmp_path / f"again {name}")
    assert b"sha256" not in (tmp_path / f"again {name}").read_bytes()
    rows, raw = (X, {"raw_score": True}) if name == "model.txt" else (xgboost.DMatrix(X), {"output_margin": True})
    np.testing.assert_array_equal(booster.predict(rows, **raw), model.booster_.predict(rows, **raw))


@pytest.mark.parametrize("name", ["model.json", "model.ubj", "model.txt"])
def test_a_training_does_not_go_on_from_a_changed_file(name, data, saved):
    X, y = data
    form, path, _ = saved(name)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    given = {"init_model" if form is LightGBM else "xgb_model": path}
    with pytest.raises(ValueError, match=r"is damaged: its content is not what was written"):
        form.make(classes=GRADES).fit(X, GRADES[y], **given)
    train, rows = (olgbm.train, lightgbm.Dataset) if form is LightGBM else (oxgb.train, xgboost.DMatrix)
    with pytest.raises(ValueError, match=r"is damaged: its content is not what was written"):
        train({}, rows(X, y), 2, **given)


TEXTS = {
    "deep": lambda text: text[:-1] + ', "x": ' + "[" * 200_000 + "]" * 200_000 + "}",
    "long number": lambda text: text[:-1] + ', "x": ' + "9" * 5000 + "}",
    "cut off": lambda text: text[:-40],
    "empty": lambda text: "",
    "list": lambda text: "[]",
    "number": lambda text: "1",
}


@in_turn(TEXTS)
def test_texts_that_are_no_header(name, kind, data, saved):
    form, path, model = saved(name)
    rewritten(path, TEXTS[kind])
    refused(form, path, model, data[0], r"damaged|no ordinal thresholds")


LABELS = {
    "149 GiB": (None, "<U10000000000"),
    "wide": (None, "<U1000000"),
    "a type of types": (None, "f8,(2)"),
    "no type": (None, "no such type"),
    "objects of C": (None, [["a", "O"]]),
    "a date": (None, "<M8[s]"),
    "void": (None, "V100000000"),
    "wrong kind": (None, "<f8"),
    "too small": ([1, 2, 3, 300], "|i1"),
    "too large": ([1, 2, 3, 10**30], "<i8"),
    "negative": ([1, 2, 3, -1], "<u8"),
    "fractions": ([1.5, 2.5, 3.5, 4.5], "<i8"),
    "infinite": ([1.0, 2.0, 3.0, float("inf")], "<f8"),
    "booleans": ([True, False, True, False], "|b1"),
    "twice": (["a", "b", "b", "c"], "<U1"),
    "nested": ([["a"], ["b"], ["c"], ["d"]], "O"),
    "missing": (["a", "b", None, "d"], "O"),
    "a class less": (["a", "b", "c"], "<U1"),
    "no list": ("abcd", "<U1"),
    "none": ([], "<U1"),
    "one for many": (["a"] * 200_000, "<U1"),
}


@in_turn(LABELS)
def test_labels_are_not_trusted(name, kind, data, saved):
    form, path, model = saved(name)
    labels, dtype = LABELS[kind]

    def change(header, place):
        place["classes"] = place["classes"] if labels is None else labels
        place["dtype"] = dtype
        return {}

    changed(form, path, change)
    if kind in ("wide", "149 GiB"):  # the width of text is that of the labels
        loaded = form.make().load_model(path)
        assert loaded.ordered_classes_.dtype.itemsize < 100
        assert loaded.ordered_classes_.tolist() == GRADES.tolist()
    else:
        refused(form, path, model, data[0])


DECISIONS = {
    "rule": {"decision_rule": "mod"},
    "rule of another type": {"decision_rule": [1]},
    "rule beside costs": {"decision_rule": "mode", "cost_matrix": COST},
    "costs of three classes": {"cost_matrix": np.ones((3, 3)).tolist()},
    "costs of strings": {"cost_matrix": [["a"] * 4] * 4},
    "ragged costs": {"cost_matrix": [[1], [1, 2], [], []]},
    "infinite costs": {"cost_matrix": np.full((4, 4), 1e308 * 10).tolist()},
    "huge costs": {"cost_matrix": [[10**400] * 4] * 4},
    "loss": {"loss": "hinge"},
    "link": {"link": ["logit"]},
}


@in_turn(DECISIONS)
def test_wrong_decisions_are_refused_at_load(name, kind, data, saved):
    form, path, model = saved(name)

    def change(header, place):
        of_record = kind in ("loss", "link") and form is not Engine
        (header if of_record else place["params"]).update(DECISIONS[kind])
        return {}

    changed(form, path, change)
    refused(form, path, model, data[0])


@EACH
@pytest.mark.parametrize("labels", [GRADES, np.array([10, 20, 30, 40]), np.array([0.5, 1, 2, 4], np.float32)])
@pytest.mark.parametrize("kind", ["own", "object", "string"])
def test_labels_of_every_type_survive_the_file(name, labels, kind, data, tmp_path):
    X, y = data
    if kind == "object":
        labels = labels.astype(object)
    elif kind == "string":
        labels = labels.astype(str).astype(np.dtypes.StringDType())
    form = FORMATS[name]
    model = form.make(classes=labels).fit(X, labels[y])
    model.save_model(tmp_path / name)
    loaded = form.make().load_model(tmp_path / name)
    assert loaded.ordered_classes_.dtype == model.ordered_classes_.dtype
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


@EACH
def test_files_that_the_host_cannot_read(name, data, saved, tmp_path):
    X, _ = data
    form, path, model = saved(name)
    whole = path.read_bytes()
    for content in (whole[: len(whole) // 2], b"", b"\xff\xfe\x00" * 100, b"{"):
        path.write_bytes(content)
        refused(form, path, model, X, name)
    with pytest.raises(FileNotFoundError):
        model.load_model(tmp_path / "none" / name)


@pytest.mark.parametrize(
    "change",
    [
        {"n_classes": 10**12},
        {"n_classes": True},
        {"hessian": "other"},
        {"threshold_update": "sometimes"},
        {"thresholds": [[0.0, 1.0, 10**400]]},
        {"training_loss": [1.0, 1.0, 1.0, 10**400]},
    ],
)
def test_records_of_boosters_are_not_trusted(change, saved):
    _, _, model = saved("model.txt")
    text = olgbm.threshold_record(model.booster_).to_json()
    with pytest.raises(ValueError, match="threshold record is damaged"):
        oxgb.ThresholdRecord.from_json(json.dumps({**json.loads(text), **change}))


# The engine's own trees and cuts


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": -1}, "seed"),
        ({"n_features": 1e400}, "JSON has no Infinity"),
        ({"n_features": 3.0}, "n_features"),
        ({"evals": {"training": ["x"]}}, r"evals.training\[0\]"),
        ({"diagnostics": {"n_halved": None}}, "diagnostics.n_halved"),
        ({"arrays": [["thresholds", "<f8"]]}, r"arrays\[0\]"),
        ({"max_bins": 256}, "max_bins"),
        ({"unknown": 1}, "unknown"),
    ],
)
def test_headers_of_the_engine_are_not_trusted(change, message, data, saved):
    form, path, model = saved("engine")
    changed(form, path, lambda header, place: change)
    refused(form, path, model, data[0], f"damaged.*{message}")


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"tol": np.nan}, "JSON has no NaN"),
        ({"importance_type": "x"}, "importance_type"),
        ({"no_parameter": 1}, "no_parameter"),
        ({"self": 1}, "self"),
    ],
)
def test_parameters_in_files_of_the_engine_are_not_trusted(params, message, data, saved):
    form, path, model = saved("engine")
    changed(form, path, lambda header, place: place.update(params=params) or {})
    refused(form, path, model, data[0], f"damaged.*{message}")


@pytest.mark.parametrize(
    ("cuts", "message"),
    [
        (np.arange(255.0), "at most 254; got 255"),
        (np.array([1.0, 1.0]), "must increase"),
        (np.array([2.0, 1.0]), "must increase"),
        (np.array([np.nan]), "must increase"),
    ],
)
def test_cuts_that_are_none_are_refused(cuts, message, data, saved):
    form, path, model = saved("engine")
    other = copy.copy(model)
    before = model._grown.cuts
    other._grown = replace(model._grown, cuts=[before[0], cuts, *before[2:]])
    other.save_model(path)
    refused(form, path, model, data[0], f"damaged: the cuts of a feature .*{message}")


def tampered(model):
    """Yield copies of a model whose trees are none."""
    for name, node, value in [
        ("left", 0, 0),
        ("left", 0, 10**6),
        ("left", 0, -5),
        ("feature", 0, 4),
        ("feature", 0, 2**31 - 1),
        ("feature", 1, -2),
        ("threshold", 0, np.nan),
        ("value", -1, np.inf),
        ("gain", 0, np.nan),
    ]:
        other = copy.deepcopy(model)
        getattr(other._ensemble.trees[1], name)[node] = value
        yield other
    for name, value in [
        ("left", np.zeros(0, np.int32)),
        ("value", np.zeros(1)),
        ("feature", np.zeros(7)),
        ("missing_left", None),
    ]:
        other = copy.deepcopy(model)
        setattr(other._ensemble.trees[1], name, value)
        yield other
    for tree in model._ensemble.trees:
        tree.value[-1] = 1e308
    yield model


def test_trees_from_a_pickle_are_checked(data, saved):
    X, _ = data
    _, _, model = saved("engine")
    expected = model.predict_raw(X)
    for other in tampered(copy.deepcopy(model)):
        content = pickle.dumps(other)
        with pytest.raises((ValueError, TypeError), match=r"tree 1|overflow"):
            pickle.loads(content)
    # What the predictor walks through is packed anew, never taken from the pickle.
    model._ensemble._packed[2][:] = 10**6
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_raw(X), expected)
    np.testing.assert_array_equal(copy.deepcopy(model).predict_raw(X), expected)
