"""The table of metrics: the properties that scorers, ``eval_metric`` and messages read.

Each metric enters itself where it is defined, by its decorator; :mod:`ordinal_objectives.metrics` imports all of them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from ordinal_objectives.utils.validation import check_choice

_Function = TypeVar("_Function", bound=Callable[..., float])
# What a metric judges, and the method of an estimator that returns it.
_RESPONSE = {"decisions": "predict", "probabilities": "predict_proba", "scores": "predict_raw"}
RESPONSES = tuple(_RESPONSE.values())


@dataclass(frozen=True)
class Metric:
    """A metric and its properties.

    Parameters
    ----------
    name : str
        Short name, by which `eval_metric` finds it.
    function : callable
        ``function(y_true, response, sample_weight=None, *, labels=None) -> float``.
    judges : {"decisions", "probabilities", "scores"}
        What `response` is.
    higher_is_better : bool
        Whether a high value is good.
    stands_for : tuple of str
        The hosts' names of metrics that measure the same without thresholds.

    Raises
    ------
    ValueError
        If `judges` is unknown.
    """

    name: str
    function: Callable[..., float]
    judges: str
    higher_is_better: bool = False
    stands_for: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_choice(self.judges, tuple(_RESPONSE), name="judges")

    @property
    def response_method(self) -> str:
        """The method of an estimator that gives what the metric judges."""
        return _RESPONSE[self.judges]

    @property
    def by_rounds(self) -> bool:
        """Whether `eval_metric` takes it: what is known after each round are probabilities, not scores."""
        return self.judges != "scores"

    @property
    def names(self) -> tuple[str, ...]:
        """Every name by which it may be asked for."""
        return self.name, self.scorer_name, self.function.__name__, *self.stands_for

    @property
    def scorer_name(self) -> str:
        """The name of its scorer, of which higher is better, as scikit-learn names its own."""
        return self.name if self.higher_is_better else f"neg_{self.name}"


class MetricTable(dict[str, Metric]):
    """Metrics by their short names."""

    def entry(self, name: str, **traits: Any) -> Callable[[_Function], _Function]:
        """Return a decorator that enters a function, with the traits of :class:`Metric`, and leaves it as it is.

        Raises
        ------
        ValueError
            If the name is taken.
        """
        if name in self:
            raise ValueError(f"there is a metric called {name!r} already: {self[name].function.__name__}")

        def enter(function: _Function) -> _Function:
            self[name] = Metric(name, function, **traits)
            return function

        return enter

    def of(self, function: Any) -> Metric | None:
        """Return the metric of a function; None for one that is not in the table, or anything else."""
        return next((metric for metric in self.values() if metric.function is function), None)

    def meant_by(self, name: str) -> Metric | None:
        """Return the metric that another name stands for: its scorer's, its function's or one of a host's, or None."""
        return next((metric for metric in self.values() if name in metric.names), None)

    def refuse_scorer(self, metric: Any, name: str) -> None:
        """Raise TypeError if what is given as the argument ``name`` is a scorer, which takes (estimator, X, y)."""
        try:
            first = next(iter(inspect.signature(metric).parameters), None)
        except (TypeError, ValueError):  # not every callable has a signature
            return
        if first == "estimator":
            known = self.of(getattr(metric, "metric", None))
            instead = "a metric" if known is None else f"{known.name!r}"
            raise TypeError(
                f"{name} must be a metric, not a scorer of (estimator, X, y): pass {instead}; got {metric!r}"
            )


METRICS = MetricTable()
