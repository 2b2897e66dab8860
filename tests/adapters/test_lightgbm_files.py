"""Damaged files of LightGBM models are refused before LightGBM reads them: it ends the process over some of them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import lightgbm
import numpy as np
import pytest

from ordinal_objectives.adapters import lgbm as olgbm

LOAD = """
import sys
from ordinal_objectives.adapters import lgbm as olgbm
for path in sys.argv[1:]:
    try:
        olgbm.load_model(path)
    except ValueError as error:
        print(path, str(error).replace("\\n", " "))
    else:
        print(path, "was loaded")
"""


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """A model of two trees with a categorical feature, as it is saved."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    X[:, 2] = rng.integers(0, 5, 300)
    y = np.digitize(X[:, 0] + 3 * np.isin(X[:, 2], (1, 3)), [0.5, 2.0])
    data = lightgbm.Dataset(X, y, categorical_feature=[2])
    params = {
        "verbosity": -1,
        "num_leaves": 6,
        "min_data_in_leaf": 5,
        "min_data_per_group": 5,
        "cat_smooth": 1,
        "num_threads": 1,
    }
    path = tmp_path_factory.mktemp("model") / "model.txt"
    olgbm.save_model(olgbm.train(params, data, 6, threshold_update="newton"), path)
    found = path.read_text()
    assert "num_cat=1" in found
    return found


def keys_of(text):
    """Return the fields of the first tree with a categorical split."""
    block = next(block for block in text.split("\n\n") if "num_cat=1" in block)
    return re.findall(r"^(\w+)=", block, re.MULTILINE)[1:]


def damaged(text):
    """Yield texts that are damaged in one place each, with what was done."""
    categorical = text.index("num_cat=1")
    for key in keys_of(text):
        if key in ("is_linear", "shrinkage", "split_gain", "leaf_weight", "leaf_count") or key.startswith("internal"):
            continue  # may be left out
        at = text.index(f"\n{key}=", categorical - 30)
        yield f"without {key}", text[:at] + text[text.index("\n", at + 1) :]
    for key in ("split_feature", "threshold", "left_child", "leaf_value", "leaf_count", "cat_threshold"):
        at = text.index(f"\n{key}=", categorical) + len(key) + 2
        end = text.index("\n", at)
        first = text[at:end].split(" ")[0]
        yield f"{key} is short", text[:at] + " ".join(text[at:end].split(" ")[1:]) + text[end:]
        yield f"{key} is text", text[:at] + "x" * len(first) + text[at + len(first) :]
    at = text.index("\nleft_child=", categorical) + len("\nleft_child=")
    yield "a circle", text[:at] + "0" + text[text.index(" ", at) :]
    at = text.index("\nsplit_feature=", categorical) + len("\nsplit_feature=")
    yield "another feature", text[:at] + "7" + text[at + 1 :]
    yield "tree_sizes", re.sub(r"tree_sizes=\d+", "tree_sizes=17", text)
    yield "one tree less", re.sub(r"(tree_sizes=.*) \d+", r"\1", text)
    yield "a key is misspelt", text.replace("\nsplit_feature=", "\nsplit_featurX=", 1)


def test_damaged_files_are_refused(text, tmp_path):
    paths = {}
    for what, other in damaged(text):
        assert other != text, what
        path = tmp_path / f"{len(paths)}.txt"
        path.write_text(other)
        paths[str(path)] = what
    assert len(paths) > 20
    done = subprocess.run(
        [sys.executable, "-c", LOAD, *paths], check=False, capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, (done.returncode, done.stdout[-500:], done.stderr[-500:])
    for line in done.stdout.splitlines():
        path, _, said = line.partition(" ")
        assert "is damaged" in said, (paths[path], said)
        paths.pop(path)
    assert not paths


@pytest.mark.parametrize(
    ("update", "more"),
    [
        *(
            (update, more)
            for update in ("newton", "joint")
            for more in ({}, {"num_leaves": 2}, {"min_data_in_leaf": 999})
        ),
        ("newton", {"linear_tree": True}),
    ],
    ids=str,
)
def test_texts_of_all_kinds_of_trees(update, more, tmp_path):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(200, 2)), rng.integers(0, 3, 200)
    params = {"verbosity": -1, "num_threads": 1, **more}
    booster = olgbm.train(params, lightgbm.Dataset(X, y), 4, threshold_update=update)
    olgbm.save_model(booster, tmp_path / "model.txt")
    loaded = olgbm.load_model(Path(tmp_path / "model.txt"))
    np.testing.assert_array_equal(olgbm.predict_proba(loaded, X), olgbm.predict_proba(booster, X))
