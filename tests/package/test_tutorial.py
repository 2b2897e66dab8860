"""The tutorial runs as it stands, and prints and draws what it shows."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tutorial.md"
NUMBER = r"-?\d+(?:\.\d+)?"


def blocks():
    """Return each block of Python with the output that the page shows below it, None where it shows none."""
    found = re.findall(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```)?", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return [(code, shown or None) for code, shown in found]


def assert_alike(printed, shown):
    """Words are the same; versions of the libraries may move numbers a little."""
    assert re.sub(r"\s+", " ", re.sub(NUMBER, "0", printed)) == re.sub(r"\s+", " ", re.sub(NUMBER, "0", shown))
    numbers = [np.array(re.findall(NUMBER, text), dtype=float) for text in (printed, shown)]
    np.testing.assert_allclose(*numbers, rtol=0.15, atol=0.1)


@pytest.fixture(scope="module")
def tutorial(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tutorial")
    names, printed = {}, []
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for code, _ in blocks():
            with contextlib.redirect_stdout(io.StringIO()) as output:
                exec(compile(code, str(PAGE), "exec"), names)  # our own text
            printed.append(output.getvalue())
    return names, printed, folder


def test_prints_what_the_page_shows(tutorial):
    shown = [output for _, output in blocks()]
    assert sum(output is not None for output in shown) >= 7
    for printed, output in zip(tutorial[1], shown, strict=True):
        assert bool(printed) == (output is not None)
        if printed:
            assert_alike(printed, output)


def test_the_server_answers_as_the_model_does(tutorial):
    names = tutorial[0]
    assert onnxruntime.InferenceSession(tutorial[2] / "severity.onnx").get_providers()
    row = names["X"].iloc[:1].assign(age=71, dose=np.nan, clinic="north", smoker="yes").astype(names["X"].dtypes)
    assert names["label"].tolist() == names["model"].predict(row).tolist()
    np.testing.assert_allclose(names["probabilities"], names["loaded"].predict_proba(row), atol=2e-6)
