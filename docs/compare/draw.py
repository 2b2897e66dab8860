"""Draw compare.png, the picture of the comparison in the README: simulated rows of five classes.

python docs/compare/draw.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ordinal_objectives.compare import compare_updates

rng = np.random.default_rng(0)
X = rng.normal(size=(6000, 8))
score = 2 * X[:, 0] + 2 * np.sin(2 * X[:, 1]) + X[:, 2] * X[:, 3]
y = np.digitize(score + rng.logistic(size=len(X)), [-4, -1, 0, 2.5])
figure = compare_updates(X, y, rounds=100).plot()
figure.savefig(Path(__file__).with_name("compare.png"), dpi=70, metadata={"Software": None})
