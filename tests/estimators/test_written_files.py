"""What a save that fails, or one in the middle of a load, leaves behind."""

from __future__ import annotations

import os
import resource
import threading
from contextlib import contextmanager

import numpy as np
import pytest

from damage_files import MAKERS
from ordinal_objectives import HistGradientBoostingMultiOutputClassifier
from ordinal_objectives.utils import files

ALL = MAKERS | {"several outputs": (lambda **o: HistGradientBoostingMultiOutputClassifier(max_iter=15), "model")}
HOSTS = {"XGBoost, JSON": "xgb_model", "XGBoost, UBJSON": "xgb_model", "LightGBM": "init_model"}


@contextmanager
def full_disk(n_bytes):
    """Let no file grow beyond a number of bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture(scope="module")
def models():
    """Return two fitted models of every format."""
    X = np.random.default_rng(0).normal(size=(150, 4))
    y = np.digitize(X[:, 0] + X[:, 1], [-1.0, 0.0, 1.0])
    return X, {name: [make().fit(X, codes) for codes in (y, y[::-1])] for name, (make, _) in ALL.items()}


@pytest.mark.parametrize("name", ALL)
def test_a_full_disk_leaves_the_file_that_stood_there(name, models, tmp_path):
    X, (first, second) = models[0], models[1][name]
    path = tmp_path / ALL[name][1]
    second.save_model(path)
    size = path.stat().st_size
    first.save_model(path)
    before = path.read_bytes()
    for share in (0.01, 0.5, 0.95):
        with full_disk(int(size * share)), pytest.raises(Exception, match=r"File too large|can't write"):
            second.save_model(path)
        assert path.read_bytes() == before
        assert [file.name for file in tmp_path.iterdir()] == [path.name]
    with full_disk(10), pytest.raises(Exception, match=r"File too large|can't write"):
        second.save_model(tmp_path / "new" if name == "engine" else tmp_path / f"new {path.name}")
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    np.testing.assert_array_equal(type(first)().load_model(path).predict_proba(X), first.predict_proba(X))


def test_an_error_without_a_number_keeps_its_words(tmp_path):
    with pytest.raises(OSError, match=r"^in the library's words$"), files.written(tmp_path / "model"):
        raise OSError("in the library's words")


@pytest.mark.parametrize("name", ALL)
def test_a_file_that_is_saved_anew_while_it_is_read_is_one_of_both(name, models, tmp_path):
    X, both = models[0], models[1][name]
    path, over = tmp_path / ALL[name][1], threading.Event()
    answers = [model.predict_proba(X) for model in both]
    both[0].save_model(path)

    def write():
        while not over.is_set():
            for model in both:
                model.save_model(path)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(10):
            found = type(both[0])().load_model(path).predict_proba(X)
            assert any(np.array_equal(found, one) for one in answers)
    finally:
        over.set()
        writer.join()


def test_a_place_stays_what_it_was(models, tmp_path):
    model, other = models[1]["engine"]
    model.save_model(tmp_path / "model")
    (tmp_path / "model").chmod(0o640)
    (tmp_path / "link").symlink_to(tmp_path / "model")
    other.save_model(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "model").stat().st_mode & 0o777 == 0o640
    model.save_model(tmp_path / "other")
    (tmp_path / "as ever").write_bytes(b"")
    assert (tmp_path / "other").stat().st_mode == (tmp_path / "as ever").stat().st_mode
    model.save_model(os.devnull)
    assert not os.path.isfile(os.devnull)


@pytest.mark.parametrize("name", HOSTS)
def test_a_checkpoint_that_is_cut_is_refused(name, models, tmp_path):
    """As the library writes it, without a digest."""
    X, (model, other) = models[0], models[1][name]
    path = tmp_path / ALL[name][1]
    model.booster_.save_model(path)
    whole, before = path.read_bytes(), other.predict_proba(X)
    if name == "LightGBM":  # which leaves our record out: as a callback saves it
        model.save_model(path)
        whole = path.read_bytes()
    for share in np.linspace(0.05, 0.999, 12):
        path.write_bytes(whole[: int(len(whole) * share)])
        with pytest.raises(ValueError, match="model"):
            other.load_model(path)
        with pytest.raises(ValueError, match="model"):
            other.fit(X, np.arange(len(X)) % 4, **{HOSTS[name]: path})
    np.testing.assert_array_equal(other.predict_proba(X), before)
