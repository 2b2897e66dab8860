"""The CUDA kernels, compiled as C++ and run thread by thread, answer what the reference does; NVRTC compiles them."""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import itertools
import re
from pathlib import Path

import numpy as np
import pytest

import cuda_on_cpu
import fake_cupy
from ordinal_objectives.links import LINKS, Logit
from ordinal_objectives.losses import get_loss
from ordinal_objectives.rows import gpu
from ordinal_objectives.rows.device import on_cpu
from ordinal_objectives.rows.reference import ReferenceMarginPass, ReferenceRowPass

LOSSES = ["all_threshold", "immediate_threshold", "cost_weighted"]
CASES = list(itertools.product(LINKS, LOSSES, ["exact", "majorized"]))
SIZES = [1, 2, 255, 256, 257, 1023, 1024, 1025, 5000]


CUMULATIVE = [("logit", "cumulative_link", "exact"), ("logit", "cumulative_link", "majorized")]


def libraries():
    """Return the stand-in, and CuPy where there is a GPU."""
    if importlib.util.find_spec("cupy") is None:
        return [fake_cupy]
    cupy = importlib.import_module("cupy")
    return [fake_cupy, cupy] if cupy.is_available() else [fake_cupy]


@pytest.fixture(params=libraries(), ids=lambda library: library.__name__)
def device(request):
    return gpu.GPU(request.param)


def cases():
    return [case for case in CASES if get_loss(case[1], case[0]).supports(case[2])]


def make(seed, n, n_classes, spread=2.0):
    """Return labels, weights of which some are 0, scores of which some are far, and thresholds."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    weight = rng.exponential(size=n) * (rng.random(n) > 0.1)
    score = spread * rng.normal(size=n)
    score[rng.random(n) < 0.05] *= 12.0
    score = np.clip(score, -60, 60)  # float32 takes derivatives up to a distance of 80
    theta = np.sort(rng.normal(size=n_classes - 1)) * 2 + np.arange(n_classes - 1) * 0.05
    return rng, y, weight, score, theta


def close(found, expected, precise, scale):
    rtol, atol = (1e-6, 1e-9) if precise else (2e-5, 3e-6)
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol * scale)


def compare(found, expected, precise):
    for name in ("gradient", "hessian"):
        got, wanted = on_cpu(getattr(found, name)), getattr(expected, name)
        close(got, wanted, precise, 1.0 + np.abs(wanted).max())
    for name in ("threshold_gradient", "threshold_hessian", "threshold_hessian_off"):
        wanted = getattr(expected, name)
        close(getattr(found, name), wanted, precise, 1.0 + np.abs(wanted).max(initial=0.0))
    assert found.loss == pytest.approx(expected.loss, rel=1e-7 if precise else 2e-6)
    assert found.n_floored == expected.n_floored


@pytest.mark.parametrize(
    ("link", "loss", "hessian", "K"),
    [(*case, K) for i, case in enumerate(cases() + CUMULATIVE) for K in ((2, 3, 5)[i % 3], (10, 33, 64)[i % 3])],
)
def test_a_pass_is_the_reference(device, link, loss, hessian, K):
    rng, y, weight, score, theta = make(K, 1500, K)
    if link in ("cloglog", "loglog"):
        score = np.clip(score, -8, 8)  # their derivatives grow like exp, and would drown those of other rows
    costly = get_loss(loss, link)
    here = device.row_pass(costly, y, K, weight)
    reference = ReferenceRowPass(costly, y, K, weight.astype(np.float32))
    compare(here(score, theta, hessian), reference(score, theta, hessian), link != "logit")
    leaves = rng.integers(0, 7, len(y)).astype(np.int32)
    sums = vars(reference.leaf_sums(leaves, 8)).values()
    for found, expected in zip(vars(here.leaf_sums(leaves, 8)).values(), sums, strict=True):
        close(found, expected, link != "logit", 100.0 * (1.0 + np.abs(expected).max()))


@pytest.mark.parametrize(
    ("link", "loss", "hessian", "K"), [(*case, K) for i, case in enumerate(cases()) for K in ((2, 5)[i % 2], 64)]
)
def test_a_pass_over_margins_is_the_reference(device, link, loss, hessian, K):
    rng, y, weight, score, theta = make(K, 1100, K)
    score = np.clip(score, -8, 8)
    scores = np.asfortranarray(score[:, None] + 0.3 * rng.normal(size=(len(y), K - 1)))
    costly = get_loss(loss, link)
    here = device.margin_pass(costly, y, K, weight)
    scores = scores.astype(here.scores_dtype)
    reference = ReferenceMarginPass(costly, y, K, weight.astype(np.float32))
    columns, here_columns = np.empty((len(y), 2 * K - 2), np.float32), device.columns(len(y), 2 * K - 2)
    precise = link != "logit"
    expected = reference(scores, theta, hessian, columns=columns)
    compare(here(scores, theta, hessian, columns=here_columns), expected, precise)
    close(on_cpu(here_columns), columns, precise, 1.0 + np.abs(columns).max())
    leaves = rng.integers(0, 7, len(y)).astype(np.int32)
    for found, wanted in zip(here.leaf_sums(leaves, 8), reference.leaf_sums(leaves, 8), strict=True):
        close(found, wanted, precise, 100.0 * (1.0 + np.abs(wanted).max()))
    loss_of_margins = reference.loss_of_prediction(scores, theta)
    assert here.loss_of_prediction(scores, theta) == pytest.approx(loss_of_margins, rel=1e-7 if precise else 2e-6)
    assert not np.array_equal(np.sort(theta - scores, axis=1), theta - scores) or K == 2  # or nothing was sorted


@pytest.mark.parametrize("link", LINKS)
def test_extreme_scores_are_those_of_the_reference(device, link):
    score = np.array([-1e5, -750.0, -90.0, -38.0, -5.0, 0.0, 5.0, 38.0, 90.0, 750.0, 1e5])
    if link in ("cloglog", "loglog"):
        score = score[np.abs(score) <= 60]
    theta, loss = np.array([-30.0, 0.0, 30.0]), get_loss("all_threshold", link)
    for label in range(4):
        y = np.full(len(score), label)
        found = device.row_pass(loss, y, 4, part=True)(score, theta, "exact")
        expected = ReferenceRowPass(loss, y, 4, part=True)(score, theta, "exact")
        # Beyond 80 the float32 curvatures of the logit are next to nothing, and not the same nothing.
        for name in ("gradient", "hessian"):
            np.testing.assert_allclose(
                on_cpu(getattr(found, name)),
                getattr(expected, name),
                rtol=1e-5,
                atol=1e-12 if link == "logit" else 1e-300,
            )
        assert found.loss == pytest.approx(expected.loss, rel=1e-6)


def test_gradients_that_overflow_float32_are_cut(device):
    loss = get_loss("all_threshold", "cloglog")
    rows = device.row_pass(loss, [0, 1], 2)
    found = rows(np.array([-500.0, -500.0]), [0.0], "exact")
    assert np.isfinite(on_cpu(found.gradient)).all()
    assert found.n_clipped == 2


@pytest.mark.parametrize("n_leaves", [1, 7, 3000])
@pytest.mark.parametrize("n", SIZES)
def test_leaf_sums_of_any_number_of_rows_and_leaves(device, monkeypatch, n, n_leaves):
    monkeypatch.setattr(gpu, "_MOST_BLOCKS", 2)  # each block goes on with other rows
    rng, y, weight, score, theta = make(n, n, 4)
    weight[0] = 1.0
    loss = get_loss("all_threshold")
    leaves = np.minimum(rng.geometric(0.3, n) - 1, n_leaves - 1).astype(np.int32)  # one leaf holds most rows
    leaves = rng.permutation(n_leaves)[leaves].astype(np.int32)
    here = device.row_pass(loss, y, 4, weight, part=True)
    now = here(score, theta, "exact")
    found = here.leaf_sums(leaves, n_leaves)
    expected = np.bincount(leaves, on_cpu(now.gradient).astype(np.float64), n_leaves)
    np.testing.assert_allclose(found.gradient, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.cross.sum(axis=1), -found.hessian, rtol=1e-5, atol=1e-6)
    weights = np.bincount(leaves, weight.astype(np.float32), n_leaves)
    np.testing.assert_allclose(here.leaf_weights(leaves, n_leaves), weights, rtol=1e-12)


def everything(device, seed):
    """Return the bytes of all results of a pass, its leaves and a step."""
    rng, y, weight, score, theta = make(seed, 4000, 6)
    loss = get_loss("all_threshold")
    leaves = rng.integers(0, 9, len(y)).astype(np.int32)
    rows = device.row_pass(loss, y, 6, weight)
    found = rows(score.astype(np.float32), theta)
    scores = np.asfortranarray(score[:, None] + rng.normal(size=(len(y), 5)), dtype=np.float32)
    margins = device.margin_pass(loss, y, 6, weight)
    values = np.sort(rng.normal(size=9))
    order, before = np.arange(9, dtype=np.int32), device.copy(np.zeros(len(y), np.float32))
    moved = device.add_leaf_vectors(device.copy(scores), leaves, rng.normal(size=(9, 5)).astype(np.float32))
    matched = device.match_leaves(before, values[leaves].astype(np.float32), values, order)
    results = [
        *(found.gradient, found.hessian, found.threshold_gradient, found.threshold_hessian, np.array(found.loss)),
        *vars(rows.leaf_sums(leaves, 9)).values(),
        rows.leaf_weights(leaves, 9),
        margins(moved, theta).threshold_gradient,
        *margins.leaf_sums(leaves, 9),
        np.array(margins.loss_of_prediction(scores, theta)),
        *(matched[0], np.array(matched[1:])),
    ]
    return [on_cpu(result).tobytes() for result in results]


def test_no_result_depends_on_the_order_of_threads_and_blocks(device, monkeypatch):
    first = everything(device, 0)
    assert everything(device, 0) == first
    monkeypatch.setattr(cuda_on_cpu, "backwards", True)  # on the stand-in; a GPU takes its own order
    assert everything(device, 0) == first


def test_a_pass_starts_two_kernels():
    _, y, weight, score, theta = make(3, 3000, 64)
    rows = gpu.GPU(fake_cupy).row_pass(get_loss("all_threshold"), y, 64, weight)
    fake_cupy.RawModule.started.clear()
    rows(score, theta)
    assert fake_cupy.RawModule.started == ["threshold_pass", "combine"]
    fake_cupy.RawModule.started.clear()
    rows.leaf_sums(np.zeros(len(y), np.int32), 3)
    assert fake_cupy.RawModule.started == ["leaf_sums", "combine"]


def test_the_stand_in_refuses_what_a_gpu_would_misread():
    kernels = gpu.Kernels(fake_cupy, Logit(), np.float32, np.float32)
    parts, cells = (fake_cupy.zeros(4, dtype=dtype) for dtype in (np.float64, np.float64))
    kernels.start("combine", 1, 4, np.int64(1), np.int64(4), 0, parts, cells)
    with pytest.raises(AssertionError, match=r"argument 4 of combine must hold .*float64.*; got float32"):
        kernels.start("combine", 1, 4, np.int64(1), np.int64(4), 0, parts.astype(np.float32), cells)
    with pytest.raises(AssertionError, match=r"argument 1 of combine must be .*int64"):
        kernels.start("combine", 1, 4, 1, np.int64(4), 0, parts, cells)
    with pytest.raises(AssertionError, match="must be contiguous"):
        kernels.start("combine", 1, 4, np.int64(1), np.int64(4), 0, fake_cupy.zeros(8)[::2], cells)


def test_numbers_are_those_of_the_source():
    constants = {
        name: eval(value, {"kThreads": gpu.THREADS, "kRows": 4})
        for name, value in re.findall(r"constexpr int (kThreads|kBlockRows|kPlaces) = ([^;]+);", gpu.source())
    }
    assert constants == {
        "kThreads": gpu.THREADS,
        "kBlockRows": gpu.BLOCK_ROWS,
        "kPlaces": (1 << 32) // (gpu.MOST_LEAVES + 1),
    }
    bits = re.search(r"constexpr int (kWeighted.*?);", gpu.source(), re.DOTALL)
    assert bits is not None
    named = dict(re.findall(r"k(\w+) = (\d+)", bits[1]))
    assert {name.upper(): int(bit) for name, bit in named.items()} == {bit.name: bit.value for bit in gpu.Asked}
    assert set(LINKS) == {struct.__name__.lower() for struct in gpu._STRUCTS}


def nvrtc():
    """Return NVIDIA's compiler, which needs no GPU; the test extra brings it for Linux on x86-64."""
    found = importlib.util.find_spec("nvidia.cu13") if importlib.util.find_spec("nvidia") else None
    if found is None or found.submodule_search_locations is None:
        pytest.skip("NVRTC is not installed: the kernels are not compiled for a GPU")
    return ctypes.CDLL(str(Path(next(iter(found.submodule_search_locations)), "lib", "libnvrtc.so.13")))


def compile_for(arch, options, source):
    """Return NVRTC's result and what it says."""
    library, program = nvrtc(), ctypes.c_void_p()
    assert library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernels.cu", 0, None, None) == 0
    given = [f"--gpu-architecture={arch}".encode(), *(option.encode() for option in options)]
    result = library.nvrtcCompileProgram(program, len(given), (ctypes.c_char_p * len(given))(*given))
    size = ctypes.c_size_t()
    library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    library.nvrtcGetProgramLog(program, log)
    library.nvrtcDestroyProgram(ctypes.byref(program))
    return result, log.value.decode().strip()


# sm_: down to the code of the processor, registers and shared memory included.
@pytest.mark.parametrize(
    ("arch", "link"), [("sm_90", "logit"), *(("compute_75", link) for link in LINKS if link != "logit")]
)
def test_nvrtc_compiles_the_kernels_without_a_word(link, arch):
    reals = scores = (np.float32, np.float64)
    if link != "logit":
        reals, scores = (np.float64,), (np.float32,)
    for real, score in itertools.product(reals, scores):
        options = gpu.options_of(LINKS[link], real, score)
        assert compile_for(arch, options, gpu.source()) == (0, "")


def test_nvrtc_reports_what_is_wrong():
    options = gpu.options_of(Logit(), np.float32, np.float32)
    wrong = gpu.source().replace("cells[blockIdx.x] = lanes[0]", "cells[blockIdx.x] = unknown[0]")
    result, log = compile_for("compute_80", options, wrong)
    assert result != 0
    assert "unknown" in log
