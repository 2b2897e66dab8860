"""The fastest NumPy gradient of the all-threshold loss that we can write, beside the native kernel.

python benchmarks/claims/speed/numpy_kernel.py [--rows 1000000]
"""

from __future__ import annotations

import argparse
import time
from statistics import median

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from lib import report
from ordinal_objectives.losses import AllThreshold
from ordinal_objectives.rows import RowStatistics
from ordinal_objectives.threshold_solver import initial_thresholds


class NumpyKernel:
    """All-threshold logit, majorised: float32, in place, threshold by threshold, buffers made once."""

    def __init__(self, y: NDArray[np.int32], n_classes: int) -> None:
        n = y.shape[0]
        self.above = [(y > k).astype(np.float32) for k in range(n_classes - 1)]
        self.d, self.sigma, self.gradient, self.hessian = (np.empty(n, np.float32) for _ in range(4))

    def __call__(self, score: NDArray[np.float32], thresholds: NDArray[np.float64]) -> tuple[list[float], list[float]]:
        d, sigma, gradient, hessian = self.d, self.sigma, self.gradient, self.hessian
        gradient.fill(0)
        hessian.fill(0)
        u, v = [], []
        for above, threshold in zip(self.above, thresholds.astype(np.float32), strict=True):
            np.subtract(score, threshold, out=d)
            expit(d, out=sigma)
            # (sigma - 1/2) / d, and 1/4 at 0: moving d off zero is cheaper than a mask.
            np.add(d, np.float32(1e-4), out=d)
            np.divide(sigma - np.float32(0.5), d, out=d)
            np.subtract(sigma, above, out=sigma)
            gradient += sigma
            hessian += d
            u.append(-float(sigma.sum(dtype=np.float64)))
            v.append(float(d.sum(dtype=np.float64)))
        return u, v


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    options = parser.parse_args()
    table = []
    rng = np.random.default_rng(0)
    score = rng.normal(size=options.rows).astype(np.float32)
    for n_classes in (5, 10):
        y = rng.integers(0, n_classes, options.rows).astype(np.int32)
        reference = NumpyKernel(y, n_classes)
        for threads in (1, 2):
            rows = RowStatistics(AllThreshold(), y, n_classes, n_threads=threads)
            thresholds = initial_thresholds(rows.class_weights).thresholds
            times: dict[str, list[float]] = {"numpy": [], "kernel": []}
            for _ in range(9):
                start = time.perf_counter()
                reference(score, thresholds)
                middle = time.perf_counter()
                rows(score, thresholds, want_loss=False)
                times["numpy"].append(middle - start)
                times["kernel"].append(time.perf_counter() - middle)
            numpy_ms, kernel_ms = (1e3 * median(times[name]) for name in ("numpy", "kernel"))
            table.append(
                {
                    "K": n_classes,
                    "threads": threads,
                    "NumPy ms": numpy_ms,
                    "kernel ms": kernel_ms,
                    "NumPy / kernel": numpy_ms / kernel_ms,
                }
            )
    report.write("numpy_kernel", f"NumPy gradient against the native kernel, n = {options.rows:,}", table)


if __name__ == "__main__":
    main()
