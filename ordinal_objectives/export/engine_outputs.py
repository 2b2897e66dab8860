"""The trees of the engine's estimators of several outputs."""

from __future__ import annotations

from ordinal_objectives.export.engine_trees import scoring_trees
from ordinal_objectives.export.scoring_model import Scorer
from ordinal_objectives.histogram_engine.multi_output.estimator import MultiOutputModel
from ordinal_objectives.histogram_engine.multi_output.losses import (
    BinaryCrossEntropy,
    SoftmaxCrossEntropy,
    SquaredError,
)

# What the raw predictions of each loss go through.
_SAYS = {SquaredError: "", BinaryCrossEntropy: "Sigmoid", SoftmaxCrossEntropy: "Softmax"}


def read(model: MultiOutputModel) -> tuple[Scorer, str]:
    """Return the scorer of a fitted estimator, and the operator that its predictions go through."""
    loss, start, ensemble = model.trained_parts()
    if type(loss) not in _SAYS:
        raise ValueError(f"model must have a built-in loss; a graph cannot hold {type(loss).__name__}")
    levels = model.category_levels()
    trees = scoring_trees(ensemble.trees, levels)
    return Scorer(trees, len(start), start, levels=levels, codes_everywhere=True), _SAYS[type(loss)]
