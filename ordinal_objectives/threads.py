"""How many threads the native kernels use, and what decides it."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import joblib
import threadpoolctl

from ordinal_objectives import _core
from ordinal_objectives.utils.validation import check_integer


class _KernelThreads(threadpoolctl.LibController):  # type: ignore[misc]
    """Lets ``threadpoolctl.threadpool_limits`` cap the kernels as it caps BLAS and OpenMP."""

    user_api = "ordinal_objectives"
    internal_api = "ordinal_objectives"
    filename_prefixes = ("_core",)
    check_symbols = ("ordinal_objectives_thread_limit",)

    def get_num_threads(self) -> int:
        return int(_core.thread_limit() or joblib.cpu_count())

    def set_num_threads(self, num_threads: int) -> None:
        # Leaving a limit sets what get_num_threads returned before: all processors mean that there was none.
        _core.set_thread_limit(num_threads if num_threads < joblib.cpu_count() else 0)

    def get_version(self) -> None:
        return None


threadpoolctl.register(_KernelThreads)

# A pass over fewer rows is done by one thread.
_MANY_ROWS = 1 << 15

_process = {"forked": False}
_limits: list[Callable[[], object]] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _process.update(forked=True))


def library_n_threads(n_jobs: int | None = None) -> int | None:
    """Return the number of threads to ask XGBoost or LightGBM for.

    Their OpenMP runtime does not survive a fork: in a forked process, two threads wait for each other
    forever. One thread works, so a forked process gets one.

    Parameters
    ----------
    n_jobs : int or None, default=None
        As in :func:`effective_n_threads`.

    Returns
    -------
    int or None
        None leaves the number to the library, which reads ``OMP_NUM_THREADS`` itself.

    Raises
    ------
    TypeError
        If ``n_jobs`` is neither an integer nor None.
    ValueError
        If it is 2**31 or more.

    Examples
    --------
    >>> from ordinal_objectives.threads import library_n_threads
    >>> library_n_threads(2), library_n_threads(None)
    (2, None)
    """
    n_threads = None if n_jobs is None else effective_n_threads(n_jobs)
    return 1 if _process["forked"] else n_threads


def limit_after_fork(limit: Callable[[], object]) -> None:
    """Call ``limit`` whenever a forked process enters a host; for a host that does not follow OpenMP's own limit."""
    _limits.append(limit)


@contextmanager
def one_thread_after_fork() -> Iterator[None]:
    """Keep XGBoost and LightGBM on one thread while a forked process is in them; elsewhere this does nothing.

    Every public function that enters one of them uses it. A booster from before the fork asks for the threads that it
    was trained with, even when it is copied or written. Setting its number of threads does not help: XGBoost then
    configures the booster anew, while other threads may use it. But it takes no more threads than OpenMP allows the
    calling thread.
    """
    if not _process["forked"]:
        yield
        return
    for limit in _limits:
        limit()
    with _openmp().limit(limits=1):
        yield


@contextmanager
def kept_helpers(n_threads: int | None, n_samples: int) -> Iterator[None]:
    """Keep helper threads for all passes over rows that this thread makes, where there are many rows.

    They sleep between passes. While a framework's own threads still spin, the system runs a thread that wakes before
    them, but a new thread after them.

    Parameters
    ----------
    n_threads : int or None
        As in :func:`effective_n_threads`.
    n_samples : int
    """
    wanted = effective_n_threads(n_threads) if n_samples >= _MANY_ROWS else 1
    helpers = _core.ThreadHelpers(wanted) if wanted > 1 else None
    try:
        yield
    finally:
        del helpers


@functools.cache
def _openmp() -> threadpoolctl.ThreadpoolController:
    return threadpoolctl.ThreadpoolController().select(user_api="openmp")


def effective_n_threads(n_threads: int | None = None) -> int:
    """Return the number of threads a kernel call will use.

    Parameters
    ----------
    n_threads : int or None, default=None
        A positive number is taken as it is. ``None`` or 0 asks for the default: the processors this process
        may use (its affinity and container limits), capped by the environment variable ``OMP_NUM_THREADS``.
        Negative numbers count from the processors down, -1 being all of them (joblib's convention).

    Returns
    -------
    int
        At least 1. A limit set by ``threadpoolctl.threadpool_limits`` caps every answer.

    Raises
    ------
    TypeError
        If ``n_threads`` is neither an integer nor None.
    ValueError
        If it is 2**31 or more.

    Examples
    --------
    >>> from ordinal_objectives.threads import effective_n_threads
    >>> effective_n_threads(2)
    2
    """
    if n_threads is not None:
        n_threads = check_integer("n_threads (n_jobs)", n_threads, -(2**31), 2**31 - 1, also=" or None")
    if n_threads is not None and n_threads > 0:
        wanted = n_threads
    else:
        processors = joblib.cpu_count()
        wanted = max(1, processors + 1 + n_threads) if n_threads else processors
        if not n_threads and os.environ.get("OMP_NUM_THREADS", "").isdigit():
            wanted = min(wanted, max(1, int(os.environ["OMP_NUM_THREADS"])))
    limit = _core.thread_limit()
    return int(min(wanted, limit) if limit else wanted)
