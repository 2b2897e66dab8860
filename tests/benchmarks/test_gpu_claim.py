"""The claim of rounds on a GPU runs from end to end, here on a stand-in for CuPy, and judges what it measures."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import fake_cupy
from claims.speed import gpu
from lib import report
from ordinal_objectives.adapters import xgb as oxgb
from ordinal_objectives.adapters.xgb import training
from ordinal_objectives.rows.device import on_cpu
from ordinal_objectives.rows.gpu import GPU


def on_host(variants, *args):
    """Return the variants with a floor whose arrays XGBoost can take on a machine without a GPU."""
    return variants(*args[:-1], np.asarray)


def test_rounds_on_a_gpu_are_judged_against_their_floor(monkeypatch, tmp_path, capsys):
    called = oxgb.OrdinalObjective.__call__
    monkeypatch.setattr(oxgb.OrdinalObjective, "__call__", lambda *args: tuple(map(on_cpu, called(*args))))
    monkeypatch.setattr(training, "device_of", lambda *given: GPU(fake_cupy))
    monkeypatch.setattr(gpu, "cupy_of", lambda ordinal: (fake_cupy, ""))
    monkeypatch.setattr(gpu, "described", lambda cupy: "no GPU")
    monkeypatch.setattr(gpu, "variants", partial(on_host, gpu.variants))
    monkeypatch.setattr(gpu, "TARGET_SIZES", [(300, 3), (77, 5)])
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    options = {"--rows": "300", "--classes": "3", "--rounds": "5", "--repeats": "1", "--device": "cpu"}
    monkeypatch.setattr("sys.argv", ["gpu.py", *(word for pair in options.items() for word in pair)])
    gpu.main()
    printed = capsys.readouterr().out
    rows = {row["round"]: row for row in report.Result("gpu", "").rows}
    assert all(rows[name]["/ floor"] > 0 and rows[name]["kernels ms"] > 0 for name in gpu.VARIANTS)
    assert f"newton, / floor at 300 rows, K = 3: {rows['newton']['/ floor']:.3g}, at most 1.3: " in printed
    assert "newton, / floor at 77 rows, K = 5: not measured" in printed
    assert "joint, kernels / binary at 10,000,000 rows, K = 10: not measured" in printed


def test_a_target_on_a_gpu_is_met_or_missed():
    rounds = dict.fromkeys((gpu.BINARY, gpu.FLOOR, *gpu.VARIANTS), 10.0) | {gpu.FLOOR_OF_OUTPUTS: 20.0, "newton": 14.0}
    rows = gpu.rows_of(rounds, dict.fromkeys(gpu.VARIANTS, 0.9) | {"joint": 1.1})
    found = {row["round"]: row for row in rows}
    assert found["newton"]["/ floor"] == pytest.approx(1.4)
    assert found["host's shifts"]["/ floor"] == pytest.approx(0.5)
    assert found["joint"]["kernels / binary"] == pytest.approx(0.11)
    sizes = {"n": 1_000_000, "K": 5}, {"n": 10_000_000, "K": 10}
    lines = gpu.verdicts([{**size, **row} for size in sizes for row in rows])
    assert "newton, / floor at 1,000,000 rows, K = 5: 1.4, at most 1.3: MISSED" in lines
    assert "host's shifts, / floor at 1,000,000 rows, K = 5: 0.5, at most 1.5: met" in lines
    assert "joint, kernels / binary at 10,000,000 rows, K = 10: 0.11, at most 0.1: MISSED" in lines
    assert "newton, kernels / binary at 10,000,000 rows, K = 10: 0.09, at most 0.1: met" in lines
    assert sum("not measured" in line for line in lines) == len(gpu.TARGETS)
