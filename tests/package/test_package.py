"""What importing the package costs, and how its threads behave."""

from __future__ import annotations

import multiprocessing
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import threadpoolctl

import ordinal_objectives
from ordinal_objectives import _core
from ordinal_objectives.losses import get_loss
from ordinal_objectives.rows import RowStatistics
from ordinal_objectives.threads import effective_n_threads
from ordinal_objectives.utils.extras import versions


@pytest.mark.slow
def test_import_loads_no_framework(tmp_path):
    code = (
        "import sys, ordinal_objectives, ordinal_objectives.losses, ordinal_objectives.threshold_solver;"
        "print([m for m in ('xgboost', 'lightgbm', 'catboost', 'matplotlib', 'pandas') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.strip() == "[]"


STATEMENTS = [
    ("xgboost", "from ordinal_objectives import XGBOrdinalClassifier"),
    ("xgboost", "from ordinal_objectives.adapters import xgb"),
    ("lightgbm", "from ordinal_objectives import LGBMOrdinalClassifier"),
    ("lightgbm", "from ordinal_objectives.adapters import lgbm"),
    ("catboost", "from ordinal_objectives.adapters import cb"),
]
ON_DASK = [
    ("dask", "from ordinal_objectives import DaskXGBOrdinalClassifier"),
    ("dask", "from ordinal_objectives.adapters.xgb import dask"),
]


@pytest.mark.slow
@pytest.mark.parametrize("statements", [STATEMENTS, ON_DASK], ids=["without libraries", "without Dask"])
def test_a_missing_library_is_named_with_its_extra(statements, tmp_path):
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({[library for library, _ in statements]}))\n"
        f"for statement in {[statement for _, statement in statements]}:\n"
        "    try: exec(statement)\n"
        "    except ModuleNotFoundError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    for (library, _), said in zip(statements, done.stdout.splitlines(), strict=True):
        extras = "xgboost,dask" if library == "dask" else library
        assert said.endswith(f": pip install 'ordinal-objectives[{extras}]', in a checkout '.[{extras}]'")


LOST = {
    "xgboost": {"XGB", "DaskXGB", "DaskLGBM"},
    "lightgbm": {"LGBM", "DaskLGBM"},
    "catboost": {"CatBoost"},
    "distributed": {"DaskLGBM", "DaskXGB"},
}


@pytest.mark.slow
def test_a_missing_library_leaves_the_other_names(tmp_path):
    """Which are those in ``__all__``; ``import *`` takes them where no framework is there."""
    code = (
        "import sys, importlib, ordinal_objectives as oo\n"
        "def left(names): return sorted(name for name in names if name.endswith('OrdinalClassifier'))\n"
        f"for library in {list(LOST)}:\n"
        "    sys.modules[library] = None; print(*left(importlib.reload(oo).__all__)); del sys.modules[library]\n"
        f"sys.modules.update(dict.fromkeys({list(LOST)})); importlib.reload(oo)\n"
        "from ordinal_objectives import *\n"
        "print(*left(globals()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    everything = {"CatBoost", "DaskLGBM", "DaskXGB", "HistGradientBoosting", "LGBM", "XGB"}
    expected = [everything - lost for lost in LOST.values()] + [{"HistGradientBoosting"}]
    for names, said in zip(expected, done.stdout.splitlines(), strict=True):
        assert said.split() == sorted(f"{name}OrdinalClassifier" for name in names)


def test_public_names_exist():
    for name in ordinal_objectives.__all__:
        assert getattr(ordinal_objectives, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = ordinal_objectives.nothing


def test_source_folder_says_that_it_is_not_built(tmp_path):
    source = tmp_path / "ordinal_objectives"
    source.mkdir()
    shutil.copy(ordinal_objectives.__file__, source)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    done = subprocess.run(
        [sys.executable, "-S", "-c", "import ordinal_objectives"],  # an editable install would find the kernels
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=environment,
    )
    assert done.returncode != 0
    assert "is a source folder whose native kernels are not built" in done.stderr


def test_thread_limits(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    available = effective_n_threads()
    assert effective_n_threads(3) == 3
    assert effective_n_threads(1) == 1
    assert effective_n_threads(-1) == available
    assert effective_n_threads(0) == available
    assert effective_n_threads(-1000) == 1
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert effective_n_threads() == 1
    assert effective_n_threads(3) == 3
    monkeypatch.setattr("joblib.cpu_count", lambda: 8)
    told = [one["num_threads"] for one in threadpoolctl.threadpool_info() if one["user_api"] == "ordinal_objectives"]
    assert told == [8]
    with threadpoolctl.threadpool_limits(2):
        assert effective_n_threads(64) == 2
    with threadpoolctl.threadpool_limits(1, user_api="ordinal_objectives"):
        assert effective_n_threads(64) == 1
    assert effective_n_threads(64) == 64
    for bad in (1.5, "2", True):
        with pytest.raises(TypeError, match=r"n_threads \(n_jobs\) must be an integer"):
            effective_n_threads(bad)


def _loss_in_child(queue):
    queue.put(_some_loss())


def _some_loss():
    y = np.arange(50_000) % 4
    rows = RowStatistics(get_loss("all_threshold"), y, 4, n_threads=2)
    return rows(np.sin(np.arange(50_000.0)), [-1.0, 0.0, 1.0]).loss


@pytest.mark.skipif(sys.platform != "linux", reason="fork is the question")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_kernels_survive_a_fork():
    before = _some_loss()
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    child = context.Process(target=_loss_in_child, args=(queue,))
    child.start()
    child.join(timeout=60)
    assert child.exitcode == 0
    assert queue.get() == before == _some_loss()


def test_instruction_sets():
    names = _core.instruction_sets()
    assert _core.instruction_set() == names[0]
    assert not _core.select_instruction_set("none such")
    assert _core.instruction_set() == names[0]


def test_extras_for_users_are_in_all_and_in_the_versions():
    tomllib = pytest.importorskip("tomllib")
    project = Path(__file__).resolve().parents[2] / "pyproject.toml"
    extras = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    named = set(re.findall(r"\[(.*?)\]", " ".join(extras["all"]))[0].split(","))
    clusters = {"dask", "ray", "spark"}
    gpu, others = {"gpu", "gpu12"}, {"all", "demo", "test", "bench", "distributions", "docs"}
    assert named | clusters | gpu | others == set(extras)
    packages = {re.match(r"[\w-]+", one)[0] for extra in (*named, *clusters, *gpu, "all") for one in extras[extra]}
    assert packages - {"ordinal-objectives"} <= set(versions())
