"""``eval_metric`` of the classifiers: metrics by name or function, measured after each round on evaluation sets."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, cast

import numpy as np

from ordinal_objectives.aliases import FloatArray, IntArray, LabelArray
from ordinal_objectives.metrics import METRICS
from ordinal_objectives.metrics.table import on_codes, parameters_of
from ordinal_objectives.ordinal_labels import OrdinalLabels
from ordinal_objectives.utils.validation import call_read_only, read_only

__all__ = ["EvalMetric"]

# What XGBoost, LightGBM and CatBoost call the same metrics, two classes or more; results have the name that was given.
_SAME = {
    **dict.fromkeys(("logloss", "mlogloss", "binary_logloss", "multi_logloss", "Logloss", "MultiClass"), "log_loss"),
    **dict.fromkeys(("error", "merror", "binary_error", "multi_error", "ZeroOneLoss"), "zero_one"),
}
_HINTS = dict.fromkeys(("auc", "AUC", "auc_mu"), "; 'tau_b' says how well classes are ranked")

# (name, value, higher is better), as LightGBM has it.
Result = tuple[str, float, bool]
# (probabilities, weights of the rows or None) -> class codes.
Decide = Callable[[FloatArray, FloatArray | None], LabelArray]


class EvalMetric:
    """A metric of class codes and probabilities, as the classifiers measure it after each round.

    Parameters
    ----------
    metric : str or callable
        A name or a function in :data:`.metrics.METRICS` that judges decisions or probabilities, what XGBoost, LightGBM
        and CatBoost call log loss ("mlogloss") and zero-one error ("merror"), or a function of your own,
        ``metric(y, proba)``: class codes and probabilities, lowest class first; of two classes those of the higher one,
        as XGBoost and LightGBM give them. Where it takes them,
        ``sample_weight=``, or a third parameter without a default, gets the weights of the set, and ``labels=`` gets
        ``range(n_classes)``. It returns a number, of which lower is better, or (name, value, is_higher_better), or a
        list of these. The XGBoost and LightGBM classifiers record NaN as the infinity that is worst: as the first value
        it would stay the best one.
    n_classes : int
        Number of classes K.
    decide : callable
        ``decide(proba, weight)`` returns the class codes that metrics of decisions judge, given the weights of the
        set or None.

    Attributes
    ----------
    judges_probabilities : bool
        Whether it is a metric of this package that judges probabilities.

    Raises
    ------
    ValueError
        If it is neither the name of a metric nor a function.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives.decision import decide
    >>> from ordinal_objectives.eval_metric import EvalMetric
    >>> y, proba = np.array([0, 2]), np.array([[0.7, 0.2, 0.1], [0.2, 0.5, 0.3]])
    >>> EvalMetric("mae", n_classes=3, decide=lambda proba, weight: decide(proba))(y, proba, None)
    [('mae', 0.5, False)]
    """

    def __init__(self, metric: Any, n_classes: int, decide: Decide) -> None:
        known = METRICS.get(_SAME.get(metric, metric)) if isinstance(metric, str) else METRICS.of(metric)
        function = metric if known is None else known.function
        names = sorted(name for name, one in METRICS.items() if one.by_rounds)
        allowed = f"a function of (y, proba), one of {', '.join(map(repr, names))}, or a list of these"
        if not (callable(function) if known is None else known.by_rounds):
            raise ValueError(f"eval_metric must be {allowed}; got {metric!r}{_HINTS.get(str(metric), '')}")
        self.__name__: str = metric if isinstance(metric, str) else getattr(metric, "__name__", type(metric).__name__)
        self._higher = known is not None and known.higher_is_better
        self.judges_probabilities = known is not None and known.judges == "probabilities"
        self._decide = decide if known is not None and known.judges == "decisions" else None
        self._takes_one = known is None and n_classes == 2
        self._weight_name, self._takes_third = takes_weight(function)
        self._function = on_codes(function, n_classes)

    def __call__(self, y: IntArray | OrdinalLabels, proba: FloatArray, weight: FloatArray | None) -> list[Result]:
        """Measure codes (n_samples,) and probabilities (n_samples, n_classes) with weights (n_samples,) or None.

        Labels of several answers a row are judged answer by answer.

        Raises
        ------
        TypeError
            If the function returns what is no result.
        """
        if isinstance(y, OrdinalLabels):
            y, proba, weight = y.judged(proba, weight)
        response = proba[:, 1] if self._takes_one else proba if self._decide is None else self._decide(proba, weight)
        function = self._function
        given: tuple[object, ...] = (y, response)
        if self._takes_third:
            given = (y, response, weight)
        elif self._weight_name and weight is not None:
            function = partial(function, sample_weight=read_only(weight))
        result = call_read_only(f"eval_metric {self.__name__!r}", function, *given)
        return [self._named(one) for one in (result if isinstance(result, list) else [result])]

    def _named(self, result: Any) -> Result:
        name, value, higher = result if isinstance(result, tuple) else (self.__name__, result, self._higher)
        return str(name), float(value), bool(higher)


def for_early_stopping(results: list[Result]) -> list[Result]:
    """Return results of which no NaN, of a rank correlation before the trees tell rows apart, stays the best."""
    return [
        (name, -np.inf if higher else np.inf, higher) if np.isnan(v) else (name, v, higher)
        for name, v, higher in results
    ]


def eval_metrics(given: Iterable[object], n_classes: int, decide: Decide) -> list[EvalMetric]:
    """Return values of ``eval_metric``, each one or several, as metrics; see :class:`EvalMetric` for what is raised.

    One that is given twice counts once. "None" is LightGBM's word for none.
    """
    asked = list[Any]()
    for some in given:
        several = isinstance(some, Iterable) and not (callable(some) or isinstance(some, str))
        asked += [one for one in (cast(Iterable[Any], some) if several else [some]) if one not in asked]
    named = [one for one in asked if (one.lower() if isinstance(one, str) else one) not in (None, "none", "")]
    return [EvalMetric(one, n_classes, decide) for one in named]


def warn_of_costs(names: Iterable[str], stacklevel: int = 5) -> None:
    """Warn of metrics of probabilities, by name, that judge a model trained with costs."""
    judging = ", ".join(names)
    if judging:
        warnings.warn(
            f"{judging} judges probabilities, and those of a model with a training_cost are weighted by cost, not "
            f"those of the classes. Judge its decisions instead",
            stacklevel=stacklevel,
        )


def takes_weight(function: Callable[..., object]) -> tuple[bool, bool]:
    """Tell whether a function takes ``sample_weight``, and whether it takes weights as a third parameter instead."""
    parameters = list(parameters_of(function).values())
    by_name = any(p.name == "sample_weight" or p.kind is p.VAR_KEYWORD for p in parameters)
    third = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)][2:3]
    return by_name, not by_name and any(p.default is p.empty or "weight" in p.name for p in third)
