"""Tests meet the installed package, never the source folder beside them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

# Workers share the processors: a thread of OpenMP or OpenBLAS that spins while it waits takes them from other tests.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

_ROOT = Path(__file__).resolve().parents[1]
sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != _ROOT]

from ordinal_objectives import _core  # noqa: E402, from the installed package


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--instruction-set",
        choices=_core.instruction_sets(),
        help="what the native code runs on, of this processor's; tests that choose it themselves are left out",
    )


def pytest_configure(config: pytest.Config) -> None:
    chosen = config.getoption("--instruction-set")
    assert chosen is None or _core.select_instruction_set(chosen)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--instruction-set") is not None:
        items[:] = [item for item in items if "instruction_set" not in getattr(item, "fixturenames", ())]


settings.register_profile("reproducible", derandomize=True, deadline=None, max_examples=100)
settings.load_profile("reproducible")


@pytest.fixture(autouse=True)
def no_figure_stays_open():
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(scope="session")
def ordinal_data() -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    """Return a maker of (X, y): a nonlinear score with logistic noise, cut into classes of equal size."""

    def make(n_rows: int = 400, n_classes: int = 5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n_rows, 4))
        score = 2 * X[:, 0] + 2 * np.sin(2 * X[:, 1]) + rng.logistic(size=n_rows)
        return X, np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)

    return make


@pytest.fixture(params=_core.instruction_sets())
def instruction_set(request):
    before = _core.instruction_set()
    assert _core.select_instruction_set(request.param)
    yield request.param
    _core.select_instruction_set(before)


@pytest.fixture
def halves(ordinal_data: Callable[..., tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, ...]:
    """Return 300 rows to train on and 300 others: X, y, X, y."""
    X, y = ordinal_data(600, 4)
    return X[:300], y[:300], X[300:], y[300:]


@pytest.fixture
def few_cut_points(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a tuned decision be one of few, where a test is about what stands around it."""
    from ordinal_objectives.decisions import tuned

    monkeypatch.setattr(tuned, "_MOST_CANDIDATES", 20)
    monkeypatch.setattr(tuned, "_MOST_PAIRED", 5)


@pytest.fixture(scope="session")
def forked_workers() -> Iterator[None]:
    """Let Dask fork its workers from a process that has imported what takes each of them seconds."""
    dask = pytest.importorskip("dask")
    pytest.importorskip("distributed")
    from distributed.utils import get_mp_context

    imported = ["pytest", *(f"ordinal_objectives.adapters.{host}.dask" for host in ("xgb", "lgbm"))]
    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        get_mp_context().set_forkserver_preload(imported)
        yield


@pytest.fixture(scope="module")
def client(forked_workers: None, request: pytest.FixtureRequest) -> Iterator[Any]:
    """Return a client of three workers, which cannot import the test's module and are sent what it defines.

    Workers that wait take a tenth of a core; forking new ones for each module takes a second.
    """
    import cloudpickle
    from distributed import Client, LocalCluster

    options = {"n_workers": 3, "threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    cloudpickle.register_pickle_by_value(request.module)
    with LocalCluster(**options, silence_logs=50) as cluster, Client(cluster) as client:
        yield client
    cloudpickle.unregister_pickle_by_value(request.module)


@pytest.fixture(scope="module")
def divided(client: Any) -> Callable[..., list[Any]]:
    """Return a maker of Dask arrays of which each of the first workers has a part."""
    import dask.array as da

    def divide(*arrays: np.ndarray, n_parts: int = 3) -> list[Any]:
        workers = sorted(client.nthreads())[:n_parts]
        return [
            da.concatenate(
                [
                    da.from_delayed(client.scatter(part, workers=[worker], hash=False), part.shape, part.dtype)
                    for part, worker in zip(np.split(array, n_parts), workers, strict=True)
                ]
            )
            for array in arrays
        ]

    return divide
