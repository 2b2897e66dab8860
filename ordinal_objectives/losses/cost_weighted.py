"""The all-threshold loss with a weight for each threshold and class: what errors cost, in training."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ordinal_objectives.decision import RULES
from ordinal_objectives.links import FloatArray, Link
from ordinal_objectives.losses.formulas import CodeArray
from ordinal_objectives.losses.initial_thresholds import ClassWeights, InitialThresholds, from_costs
from ordinal_objectives.losses.threshold_sums import ThresholdSum
from ordinal_objectives.utils.shared_docs import documented
from ordinal_objectives.utils.validation import as_floats, check_choice

ABSOLUTE, QUADRATIC = "absolute", "quadratic"


@documented
class CostWeighted(ThresholdSum):
    r"""Sum over all thresholds of binary losses that count by what an error there costs [1]_.

    Where y is the class of row i, threshold k counts w_ik = \|C[y, k] - C[y, k + 1]\|, divided by the mean of these
    numbers over all classes and thresholds: to multiply all costs by a number changes nothing. With costs
    \|y - k\| it is the all-threshold loss. The prediction is the number of thresholds below the score, which the
    median of the probabilities is.

    Its probabilities are not those of the classes: G(theta_k - f) tends to the share of the costs, not of the rows,
    that the classes up to k have at x. Measures of probabilities do not suit them.

    Parameters
    ----------
    <<link>>
    training_cost : {"absolute", "quadratic"} or array-like of float, shape (n_classes, n_classes), default="quadratic"
        What an error costs: the distance between the classes, or its square. In a matrix entry [j, k] is the
        cost where class j is taken for k; each row rises to both sides of the true class, by steps that do not shrink.

    Raises
    ------
    ValueError
        If the costs of a class do not bend upwards, have no single lowest place at the class itself, or are not finite.

    References
    ----------
    .. [1] H.-T. Lin and L. Li, "Reduction from cost-sensitive ordinal ranking to weighted binary classification",
       Neural Computation 24 (2012), 1329-1367.

    Examples
    --------
    >>> from ordinal_objectives.losses import CostWeighted
    >>> CostWeighted().threshold_costs(3)
    array([[0.6, 1.8],
           [0.6, 0.6],
           [1.8, 0.6]])
    """

    name = "cost_weighted"
    ordered = True

    def __init__(self, link: str | Link = "logit", training_cost: str | ArrayLike = QUADRATIC) -> None:
        super().__init__(link)
        if isinstance(training_cost, str):
            check_choice(training_cost, (ABSOLUTE, QUADRATIC), name="training_cost", hint=" (or give a matrix)")
            self._costs: str | list[list[float]] = training_cost
        else:
            self._costs = _check_costs(training_cost).tolist()

    @property
    def training_cost(self) -> str | list[list[float]]:
        """What errors cost, by name or as the rows of a matrix."""
        return self._costs

    @property
    def identity(self) -> str:
        """Its name in model files, with the costs unless they are quadratic."""
        if not self.is_built_in or self._costs == QUADRATIC:
            return super().identity
        return f"{self.name}({json.dumps(self._costs)})"

    @classmethod
    def of_identity(cls, identity: str, link: str | Link) -> CostWeighted:
        """Return the loss that a model file names.

        Raises
        ------
        ValueError
            If it names none.
        """
        costs = identity.removeprefix(f"{cls.name}(").removesuffix(")")
        try:
            return cls(link) if costs == identity else cls(link, json.loads(costs))
        except ValueError as error:
            raise ValueError(f"loss must hold costs of errors that can be read; got {identity!r}: {error}") from None

    def _parameters(self) -> dict[str, Any]:
        return super()._parameters() | ({} if self._costs == QUADRATIC else {"training_cost": self._costs})

    def threshold_costs(self, n_classes: int) -> FloatArray:
        """Return the weights of the thresholds, (n_classes, n_classes - 1) by class; their mean is 1.

        Raises
        ------
        ValueError
            If the costs are those of another number of classes.
        """
        if isinstance(self._costs, str):
            distance = np.abs(np.subtract.outer(np.arange(n_classes), np.arange(n_classes))).astype(np.float64)
            costs = distance**2 if self._costs == QUADRATIC else distance
        else:
            costs = np.array(self._costs)
            if len(costs) != n_classes:
                raise ValueError(
                    f"training_cost must have shape ({n_classes}, {n_classes}), true class by predicted class; got "
                    f"{costs.shape}"
                )
        steps: FloatArray = np.abs(np.diff(costs, axis=1))
        return np.asarray(steps / steps.mean())

    def check_decision(self, rule: str, cost_matrix: ArrayLike | None) -> None:
        """Raise ValueError unless the decision is the median, which counts the thresholds passed."""
        if rule != RULES[0] or cost_matrix is not None:
            got = f"decision_rule={rule!r}" if cost_matrix is None else "a cost_matrix"
            raise ValueError(
                f"with a training_cost the decision is decision_rule={RULES[0]!r}: the model's probabilities are "
                f"weighted by these costs already, and other rules would count them twice; got {got}"
            )

    def as_parameters(self) -> dict[str, Any]:
        """Return ``loss``, ``link`` and ``training_cost``, from which :func:`.get_loss` makes it again."""
        if not self.is_built_in or self._costs == ABSOLUTE:
            return super().as_parameters()
        return {"loss": "all_threshold", "link": self.link.identity, "training_cost": self.training_cost}

    def start(self, classes: ClassWeights) -> InitialThresholds:
        """Thresholds before the first tree, those of the costs on both sides."""
        return from_costs(self.link, classes, self.threshold_costs(len(classes.weights)))

    def _weights(self, y: CodeArray, n_thresholds: int) -> FloatArray:
        return np.asarray(self.threshold_costs(n_thresholds + 1)[y])


def _check_costs(training_cost: ArrayLike) -> FloatArray:
    """Return a matrix of costs, true class by predicted class."""
    costs = as_floats(training_cost, name="training_cost")
    if costs.ndim != 2 or costs.shape[0] != costs.shape[1] or len(costs) < 2:
        raise ValueError(
            f"training_cost must be 'absolute', 'quadratic' or a (n_classes, n_classes) matrix, true class by "
            f"predicted class; got shape {costs.shape}"
        )
    if not np.isfinite(costs).all():
        raise ValueError("training_cost holds NaN or infinite values; costs must be finite")
    steps = np.diff(costs, axis=1)
    column = np.arange(len(costs) - 1)
    for code, row in enumerate(steps):
        if (row[column < code] >= 0.0).any() or (row[column >= code] <= 0.0).any():
            raise ValueError(
                f"training_cost must be lowest where the prediction is right, and rise to both sides: the costs of "
                f"class {code} are {costs[code].tolist()}"
            )
        if (np.diff(row) < -1e-9 * np.abs(row).max()).any():
            raise ValueError(
                f"training_cost must be convex in the predicted class, so that thresholds keep their order: each step "
                f"away from the true class must cost at least as much as the one before; the costs of class {code} are "
                f"{costs[code].tolist()}"
            )
    return costs
