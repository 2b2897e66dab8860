"""What importing the package costs, and how its threads behave."""

from __future__ import annotations

import importlib
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
from ordinal_objectives.utils import shared_docs
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


@pytest.mark.slow
def test_a_command_that_lacks_a_library_ends_with_one_line(tmp_path):
    command = "import sys; sys.modules['pandas'] = None; from ordinal_objectives.__main__ import main; "
    code = f"{command}main(['compare', 'table.csv', '--target', 'y'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stderr.startswith("error: import of pandas halted")
    assert done.stderr.endswith(": pip install 'ordinal-objectives[demo]', in a checkout '.[demo]'\n")


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


def test_a_missing_matplotlib_is_named_with_its_extra(monkeypatch):
    from ordinal_objectives.plotting import ScoreDistributionDisplay

    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'ordinal-objectives\[plot\]'"):
        ScoreDistributionDisplay([-1.0, 1.0], [0, 1], [0.0]).plot()


def test_the_oldest_versions_tested_are_the_lower_bounds():
    root = Path(__file__).resolve().parents[2]
    bounds = (root / "pyproject.toml").read_text(encoding="utf-8")
    oldest = (root / "tests" / "oldest.txt").read_text(encoding="utf-8")
    for library in ("xgboost", "lightgbm", "catboost"):
        bound = re.search(rf'"{library}>=([\d.]+)"', bounds).group(1)
        version = re.search(rf"^{library}==([\d.]+)$", oldest, re.MULTILINE).group(1)
        assert f"{version}.".startswith(f"{bound}.")


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
        with pytest.raises(TypeError, match=r"n_threads \(n_jobs\) must be an integer or None"):
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


PUBLIC = (
    *("", "adapters.lgbm", "adapters.xgb", "compare", "decisions", "export", "inspection", "links", "losses"),
    *("metrics", "plotting", "rows", "scorers", "threshold_solver", "trees"),
)


@pytest.mark.parametrize("name", PUBLIC)
def test_tab_completion_shows_public_names_and_submodules(name):
    full = f"ordinal_objectives.{name}".rstrip(".")
    module = importlib.import_module(full)
    shown = [one for one in dir(module) if not one.startswith("_") and one not in module.__all__]
    others = [one for one in shown if getattr(getattr(module, one), "__name__", "") != f"{full}.{one}"]
    assert set(module.__all__) <= set(dir(module))
    assert others == (["METRICS"] if name == "metrics" else [])


MODULES = (
    "agreement",
    "compare",
    "decisions",
    "distributions",
    "export",
    "inspection",
    "metrics",
    "plotting",
    "scorers",
)


def test_modules_are_there_without_a_second_import():
    listed = {"adapters", "links", "losses", *MODULES}
    code = (
        "import sys, ordinal_objectives as oo\n"
        "assert 'sklearn' not in sys.modules\n"
        f"assert {listed} == {{name for name in dir(oo) if not name.startswith('_')}} - {{*oo.__all__}}\n"
        "assert oo.metrics.mean_absolute_error([0, 1], [0, 1]) == 0.0\n"
        f"for name in {MODULES}: getattr(oo, name).__all__\n"
        f"assert {listed} == {{name for name in dir(oo) if not name.startswith('_')}} - {{*oo.__all__}}\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr == ""


@pytest.mark.parametrize("name", [name for name in ordinal_objectives.__all__ if name.endswith(("Classifier", "Sets"))])
def test_tab_completion_of_models_shows_no_internals(name):
    kind = getattr(ordinal_objectives, name)
    around = name in ("OrdinalCalibratedClassifier", "OrdinalPredictionSets", "OrdinalTunedClassifier")
    model = kind(None) if around else kind()
    assert not shared_docs.INTERNAL & {*dir(model)}
    model.mine = 1
    assert {"fit", "predict", "get_params", "mine", "__dict__"} <= {*dir(model)}


def test_internal_names_are_those_of_methods():
    kinds = [getattr(ordinal_objectives, name) for name in ordinal_objectives.__all__]
    assert {name for kind in kinds if isinstance(kind, type) for name in dir(kind)} >= shared_docs.INTERNAL


def test_notebooks_link_to_the_page_of_an_estimator():
    for name in ("XGBOrdinalClassifier", "OrdinalTunedClassifier", "HistGradientBoostingMultiOutputRegressor"):
        kind = getattr(ordinal_objectives, name)
        model = kind(ordinal_objectives.XGBOrdinalClassifier()) if name.startswith("OrdinalTuned") else kind()
        assert f"ordinal-objectives.github.io/ordinal-objectives/generated/ordinal_objectives.{name}.html" in (
            model._repr_html_()
        )
    assert "LabelOrderWarning" in ordinal_objectives.__all__


def test_extras_for_users_are_in_all_and_in_the_versions():
    tomllib = pytest.importorskip("tomllib")
    project = Path(__file__).resolve().parents[2] / "pyproject.toml"
    extras = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    named = set(re.findall(r"\[(.*?)\]", " ".join(extras["all"]))[0].split(","))
    clusters = {"dask", "ray", "spark"}
    assert named | clusters | {"all", "demo", "gpu"} | {"test", "bench", "distributions", "docs", "lint", "dev"} == set(
        extras
    )
    packages = {re.match(r"[\w-]+", one)[0] for extra in (*named, *clusters, "gpu", "all") for one in extras[extra]}
    assert packages - {"ordinal-objectives"} <= set(versions())
