"""No picture of a test stays open."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pytest


@pytest.fixture(autouse=True)
def no_figure_stays_open():
    yield
    plt.close("all")
