"""What travels with a model: its thresholds at every iteration, how they were learned, and what was counted then."""

from __future__ import annotations

import copy
import json
import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ordinal_objectives.aliases import JSON, FloatArray, NDArray, RealArray
from ordinal_objectives.leaves.vector import Shifts
from ordinal_objectives.losses import OrdinalLoss, get_loss
from ordinal_objectives.registry import NotRegisteredError
from ordinal_objectives.spec import OrdinalSpec
from ordinal_objectives.utils import documented, json_of, validation

if TYPE_CHECKING:
    from ordinal_objectives.random_effects import RandomEffects

FORMAT = "ordinal_objectives"
VERSION = 1


@dataclass
class Diagnostics:
    """Counts of repairs, halvings and other departures from the plain Newton step.

    Every field starts at 0 and only grows.

    Parameters
    ----------
    n_repaired : int
        Neighbouring thresholds found out of order and sorted.
    n_halved : int
        Halvings of a step.
    n_rejected : int
        Steps given up after the last halving.
    n_raised : int
        Rounds after which the training loss was higher than before: trees that a framework grew on a sample or with too
        large a learning rate, and whose leaves this package does not halve. 0 with the joint step and in the native
        engine.
    n_fallback : int
        Systems that were not positive definite, solved with a diagonal bound instead.
    n_flat_leaves : int
        Leaves with a gradient but no curvature, whose weight was set to 0.
    n_merged_leaves : int
        Leaves with the value of another leaf, which took the same renewed value because their rows cannot be
        distinguished.
    n_floored : int
        Curvatures raised to the link's floor.
    n_clipped : int
        Distances from a threshold that were clipped before the exponential.
    n_inactive : int
        Thresholds with no weight on one side, left at their start value.
    n_tied : int
        Thresholds that move together with the one below because no row lies between them.
    n_all_cross_terms : int
        Trees of the native engine whose splits were judged by the cross terms of all thresholds because those of a few
        were not exact enough.
    n_low_order : int
        Leaves that took the Newton step because the step of the higher order did not exist, had the other sign or was
        too long.

    Examples
    --------
    >>> from ordinal_objectives.threshold_solver import Diagnostics
    >>> diagnostics = Diagnostics()
    >>> diagnostics.add(n_halved=3, n_rejected=1)
    >>> diagnostics.add(n_halved=2)
    >>> diagnostics.n_halved, diagnostics.as_dict()["n_rejected"]
    (5, 1)
    """

    n_repaired: int = 0
    n_halved: int = 0
    n_rejected: int = 0
    n_raised: int = 0
    n_fallback: int = 0
    n_flat_leaves: int = 0
    n_merged_leaves: int = 0
    n_floored: int = 0
    n_clipped: int = 0
    n_inactive: int = 0
    n_tied: int = 0
    n_all_cross_terms: int = 0
    n_low_order: int = 0

    def add(self, **counts: int) -> None:
        """Raise the named counters.

        Parameters
        ----------
        **counts : int
            Counter name and how much to add.

        Raises
        ------
        AttributeError
            If a counter is unknown.
        """
        for name, count in counts.items():
            setattr(self, name, getattr(self, name) + operator.index(count))

    def as_dict(self) -> dict[str, int]:
        """Return the counters by name.

        Returns
        -------
        dict of str to int
        """
        return dict(vars(self))


@dataclass
class VectorOutputs:
    r"""How outputs (w, z) of a row become its scores, :math:`f + v_k = w + \sum_j C_{kj} (z_j - \bar z_j)`.

    Parameters
    ----------
    contrasts : ndarray of float64, shape (n_classes - 1, n_classes - 2)
        C; see :func:`ordinal_objectives.leaves.vector.contrasts`.
    means : list of ndarray of float64, shape (n_classes - 2,)
        For every iteration, the weighted mean of z over the training rows. It belongs to the thresholds, so that
        shifts have mean zero there.
    """

    contrasts: FloatArray
    means: list[FloatArray]

    @property
    def mixing(self) -> FloatArray:
        """The matrix that takes (w, z) to w + C z, (n_classes - 1, n_classes - 1)."""
        return np.column_stack([np.ones(len(self.contrasts)), self.contrasts])

    def offset(self, iteration: int) -> FloatArray:
        """Return the mean of C z over the training rows, (n_classes - 1,)."""
        return self.contrasts @ self.means[iteration]

    def scores(self, outputs: RealArray, start: int, stop: int) -> FloatArray:
        """Return what iterations ``start`` to ``stop - 1`` add to f + v_k, (n_samples, n_classes - 1).

        Parameters
        ----------
        outputs : ndarray, shape (n_samples, n_classes - 1), or (n_samples,) of two classes
            What these iterations add to (w, z).
        start, stop : int
        """
        rows = np.asarray(outputs, dtype=np.float64).reshape(len(outputs), len(self.mixing))
        return rows @ self.mixing.T - (self.offset(stop) - self.offset(start))

    def kept(self, n_iterations: int) -> VectorOutputs:
        """Return those of the first iterations."""
        return VectorOutputs(self.contrasts, self.means[: n_iterations + 1])


@documented
@dataclass(frozen=True)
class ThresholdRecord:
    """Thresholds and training loss after t = 0, 1, ... boosting iterations.

    Parameters
    ----------
    spec : OrdinalSpec
        The ordinal model as it was trained: see ``OrdinalSpec.decided``.
    thresholds : list of ndarray of float64, shape (n_classes - 1,)
        Entry t belongs to the score after t trees (rounds); entry 0 is the start.
    training_loss : list of float
        Weighted mean of the loss over the training rows at (score, thresholds) of iteration t; NaN where
        the iteration was not evaluated, infinite where it is beyond float64. Of margins that are not
        sorted, as the training steps see them: where those of a row cross, predictions can have a lower loss.
    diagnostics : dict of str to int
        Counters of everything that was repaired, halved, clipped or floored.
    classifier : ClassifierDescription or None
        Class labels, features and parameters of a scikit-learn classifier.
    trees : list of int or None
        A checksum of the trees of each iteration, where the adapter compares them with the model's.
    last_only : bool or None
        Whether the model holds the score of its last iteration only: earlier trees were rescaled (dart), or
        there are none (gblinear). None where the file does not say.
    leaf_vectors : list of ndarray of float32, shape (n_leaves, n_classes - 1)
        With shifts: what each leaf of each iteration's tree adds to f + v_k, its mean over k to the score f. An
        array without rows stands for a tree that shifts nothing.
    outputs : VectorOutputs or None
        With shifts that the framework fits itself: how its outputs become scores. There are no ``leaf_vectors`` then.
    linear : LinearPart or None
        The linear score that the trees of a classifier are added to.
    random_effects : tuple of RandomEffects
        Effects of groups, those of each random intercept.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives.losses import AllThreshold
    >>> from ordinal_objectives.spec import OrdinalSpec
    >>> from ordinal_objectives.threshold_solver import ThresholdRecord
    >>> record = ThresholdRecord(OrdinalSpec(AllThreshold()), [np.array([-1.0, 1.0])], [1.2])
    >>> record.n_iterations, record.at(0)
    (0, array([-1.,  1.]))
    >>> ThresholdRecord.from_json(record.to_json()).training_loss
    [1.2]
    """

    spec: OrdinalSpec = field(metadata=json_of.NOT_IN_FILES)
    thresholds: list[FloatArray]
    training_loss: list[float]
    diagnostics: dict[str, int] = field(default_factory=dict)
    classifier: Any = None
    trees: list[int] | None = None
    last_only: bool | None = None
    leaf_vectors: list[NDArray[np.float32]] = field(default_factory=list)
    outputs: VectorOutputs | None = None
    linear: Any = None
    random_effects: tuple[RandomEffects, ...] = ()

    @classmethod
    def of(
        cls,
        spec: OrdinalSpec,
        thresholds: Iterable[FloatArray],
        training_loss: list[float],
        diagnostics: dict[str, int],
        *,
        shifts: Shifts | None = None,
    ) -> ThresholdRecord:
        """Return the record of a training, at least at its start; ``shifts`` are None where one score moved all."""
        return cls(spec.decided(shifts), list(thresholds), list(training_loss), diagnostics)

    @property
    def n_classes(self) -> int:
        """Number of classes K."""
        return len(self.thresholds[0]) + 1

    @property
    def shifts(self) -> Shifts | None:
        """How thresholds move with x, or None if they do not."""
        return None if self.spec.proportional else self.spec.given_shifts

    @property
    def n_iterations(self) -> int:
        """Number of boosting iterations covered."""
        return len(self.thresholds) - 1

    def ordinal_loss(self) -> OrdinalLoss:
        """Return the loss, with its link."""
        return self.spec.loss

    def at(self, iteration: int) -> FloatArray:
        """Return the thresholds that belong to the score after ``iteration`` trees.

        Raises
        ------
        ValueError
            If the record does not cover that iteration.
        """
        if not 0 <= iteration <= self.n_iterations:
            raise ValueError(
                f"iteration must be in 0..{self.n_iterations}, the iterations whose thresholds were recorded; "
                f"got {iteration}"
            )
        return self.thresholds[iteration]

    def copied(self) -> ThresholdRecord:
        """Return a record that shares no list and no array with this one."""
        return copy.deepcopy(self, {id(self.spec): self.spec})

    def kept(self, n_iterations: int) -> ThresholdRecord:
        """Return the record of the same model cut to its first iterations."""
        self.at(n_iterations)
        return replace(
            self,
            thresholds=self.thresholds[: n_iterations + 1],
            training_loss=self.training_loss[: n_iterations + 1],
            trees=None if self.trees is None else self.trees[:n_iterations],
            leaf_vectors=self.leaf_vectors[:n_iterations],
            outputs=None if self.outputs is None else self.outputs.kept(n_iterations),
        )

    def stretched(self, n_iterations: int, offset: int = 0) -> ThresholdRecord:
        """Return the record laid over a model of ``n_iterations``.

        The first ``offset`` iterations (of a model continued without its record) take the first thresholds;
        a last tree without its step keeps the thresholds it was grown on.
        """
        before = [self.thresholds[0]] * offset
        missing = n_iterations + 1 - offset - len(self.thresholds)
        unknown = float("nan")
        without = [np.zeros((0, self.n_classes - 1), np.float32)] * offset if self.shifts is not None else []
        return replace(
            self,
            leaf_vectors=without + self.leaf_vectors,
            thresholds=before + self.thresholds + [self.thresholds[-1]] * missing,
            training_loss=[unknown] * offset + self.training_loss + [unknown] * missing,
        )

    def check_leaves(self, n_leaves: Iterable[int]) -> None:
        """Raise ValueError unless the vectors of leaves are those of trees of so many leaves."""
        for tree, (expected, vectors) in enumerate(zip(n_leaves, self.leaf_vectors, strict=False)):
            if len(vectors) not in (0, expected):
                raise ValueError(
                    f"the model's threshold record holds vectors of {len(vectors)} leaves of tree {tree}, which has "
                    f"{expected}"
                )

    def check_start(self, has_start: bool, name: str, *, has_groups: bool = False) -> None:
        """Raise ValueError where a classifier adds a linear part, or effects of groups, and the rows have none.

        Parameters
        ----------
        has_start : bool
            Whether the rows have scores to start from.
        name : str
            What the model, or the rows, are called in the message.
        has_groups : bool, default=False
            Whether the rows have groups, whose effects are added.
        """
        parts = {} if self.linear is None else {"a linear part": "linear_.scores(X)"}
        if self.classifier and self.random_effects and not has_groups:
            parts["effects of groups"] = "those of random_effects_"
        if parts and not has_start:
            raise ValueError(
                f"{name}: the trees of this booster start from {' and '.join(parts)}, which no tree holds. Predict "
                f"with the classifier that trained it, or load its file with the classifier's load_model; with "
                f"XGBoost, set base_margin to {' plus '.join(parts.values())} of the classifier"
            )

    def to_json(self) -> str:
        """Write the record as one line of JSON; numbers round-trip exactly."""
        content = {
            "format": FORMAT,
            "version": VERSION,
            "loss": self.spec.loss.identity,
            "link": self.spec.loss.link.identity,
            **self.spec.common_parameters,
            **json_of.encoded(self),
        }
        return json.dumps(content, separators=(",", ":"), allow_nan=False)

    @classmethod
    def from_json(cls, text: str, kinds: Mapping[str, Any] | None = None) -> ThresholdRecord:
        """Read what :meth:`to_json` wrote.

        Parameters
        ----------
        text : str
            The record.
        kinds : mapping of str to type or None, default=None
            Types of ``classifier``, ``linear`` and ``random_effects``, which the records of classifiers have, and
            which this package's solver does not know.

        Raises
        ------
        ValueError
            If the text is not such a record, or of another version of the format.
        """
        try:
            content = json_of.parsed(text)
            found = content.pop("format"), content.pop("version")
            if found != (FORMAT, VERSION):
                raise ValueError(
                    f"it has format {found[0]!r}, version {found[1]!r}; this version of ordinal_objectives reads "
                    f"{FORMAT!r}, version {VERSION}"
                )
            start = OrdinalSpec(get_loss(content.pop("loss"), content.pop("link")))
            spec = replace(start, **{name: content.pop(name) for name in start.common_parameters})
            spec.check()
            given = {name: content.pop(name) for name in ("classifier", "linear", "random_effects")}
            parts = {
                name: json_of.decoded((kinds or {})[name], part, name)
                for name, part in given.items()
                if part not in (None, [])
            }
            none: JSON = {"classifier": None, "linear": None, "random_effects": ()}
            record: ThresholdRecord = json_of.decoded(cls, content, spec=spec, **(none | parts))
            record._check_shapes()
        except NotRegisteredError:
            raise
        except Exception as error:  # whatever a damaged text makes the reader raise
            raise ValueError(f"the model's threshold record is damaged or of another format: {error}") from error
        return record

    def _check_shapes(self) -> None:
        n_classes, ordered = self.n_classes, self.spec.loss.ordered and self.shifts is None
        for theta in self.thresholds:
            validation.check_thresholds(theta, n_classes, ordered=ordered)
        if any(vectors.shape[1:] != (n_classes - 1,) for vectors in self.leaf_vectors):
            raise ValueError(f"leaf_vectors must have {n_classes - 1} columns")
        if self.outputs is not None:
            shapes = {mean.shape for mean in self.outputs.means}
            if self.outputs.contrasts.shape != (n_classes - 1, n_classes - 2) or shapes != {(n_classes - 2,)}:
                raise ValueError(f"outputs must be those of {n_classes} classes")
            if len(self.outputs.means) != len(self.thresholds):
                raise ValueError(f"outputs.means must be those of {self.n_iterations} iterations")
