"""What travels with a model: its thresholds at every iteration and how they were learned."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinal_objectives.leaves.shifts import Shifts
from ordinal_objectives.losses import OrdinalLoss, get_loss
from ordinal_objectives.registry import NotRegisteredError
from ordinal_objectives.spec import THRESHOLD_UPDATES
from ordinal_objectives.threshold_solver.leaf_vectors import vectors_from_json, vectors_to_json
from ordinal_objectives.threshold_solver.outputs import VectorOutputs
from ordinal_objectives.utils.files import counts_from_json, losses_from_json, losses_to_json, numbers_from_json
from ordinal_objectives.utils.shared_docs import documented
from ordinal_objectives.utils.validation import check_n_classes, check_thresholds

FORMAT = "ordinal_objectives"
VERSION = 1
# Of models whose thresholds move with x: versions before 0.3 must not read them as if they did not.
VERSION_WITH_SHIFTS = 2
# Of models whose framework predicts the shifts.
VERSION_WITH_OUTPUTS = 3
# Of models whose trees start from a linear part, with shifts or without.
VERSION_WITH_LINEAR = 4
# Fields of a record that are mutable.
_CONTAINERS = ("thresholds", "training_loss", "diagnostics", "classifier", "trees", "leaf_vectors", "outputs", "linear")


@documented
@dataclass(frozen=True)
class ThresholdRecord:
    """Thresholds and training loss after t = 0, 1, ... boosting iterations.

    Parameters
    ----------
    loss, link, hessian, threshold_update : str
        As given to the objective; a loss and a link by their identities, which are their names if they are built in.
    n_classes : int
        Number of classes K.
    thresholds : list of ndarray of float64, shape (n_classes - 1,)
        Entry t belongs to the score after t trees (rounds); entry 0 is the start.
    training_loss : list of float
        Weighted mean of the loss over the training rows at (score, thresholds) of iteration t; NaN where
        the iteration was not evaluated, infinite where it is beyond float64. Of margins that are not
        sorted, as the training steps see them: where those of a row cross, predictions can have a lower loss.
    diagnostics : dict of str to int
        Counters of everything that was repaired, halved, clipped or floored.
    classifier : dict or None
        Fields of a scikit-learn classifier: class labels, features and decision rule. JSON types only.
    trees : list of int or None
        A checksum of the trees of each iteration, where the adapter compares them with the model's.
    last_only : bool or None
        Whether the model holds the score of its last iteration alone: earlier trees were rescaled (dart), or
        there are none (gblinear). None where the file does not say.
    shifts : Shifts or None
        How thresholds move with x, or None if they do not.
    leaf_vectors : list of ndarray of float32, shape (n_leaves, n_classes - 1)
        With shifts: what each leaf of each iteration's tree adds to f + v_k, its mean over k to the score f. An
        array without rows stands for a tree that shifts nothing.
    outputs : VectorOutputs or None
        With shifts that the framework fits itself: how its outputs become scores. There are no ``leaf_vectors`` then.
    linear : dict or None
        The linear score that the trees are added to, in JSON's types, as a classifier writes it.
    of_loss : OrdinalLoss or None
        What ``loss`` and ``link`` name; None looks them up. It is not written into files.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives.threshold_solver import ThresholdRecord
    >>> record = ThresholdRecord("all_threshold", "logit", "majorized", "newton", 3, [np.array([-1.0, 1.0])], [1.2])
    >>> record.n_iterations, record.at(0)
    (0, array([-1.,  1.]))
    >>> ThresholdRecord.from_json(record.to_json()).training_loss
    [1.2]
    """

    loss: str
    link: str
    hessian: str
    threshold_update: str
    n_classes: int
    thresholds: list[NDArray[np.float64]] = field(default_factory=list)
    training_loss: list[float] = field(default_factory=list)
    diagnostics: dict[str, int] = field(default_factory=dict)
    classifier: dict[str, Any] | None = None
    trees: list[int] | None = None
    last_only: bool | None = None
    shifts: Shifts | None = None
    leaf_vectors: list[NDArray[np.float32]] = field(default_factory=list)
    outputs: VectorOutputs | None = None
    linear: dict[str, Any] | None = None
    of_loss: OrdinalLoss | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of(
        cls,
        loss: OrdinalLoss,
        hessian: str,
        threshold_update: str,
        thresholds: Iterable[NDArray[np.float64]],
        training_loss: list[float],
        diagnostics: dict[str, int],
    ) -> ThresholdRecord:
        """Return the record of a training, at least at its start."""
        history = list(thresholds)
        n_classes = history[0].shape[0] + 1
        name, link = loss.identity, loss.link.identity
        record = cls(name, link, hessian, threshold_update, n_classes, history, list(training_loss), diagnostics)
        return replace(record, of_loss=loss)

    @property
    def n_iterations(self) -> int:
        """Number of boosting iterations covered."""
        return len(self.thresholds) - 1

    def ordinal_loss(self) -> OrdinalLoss:
        """Return the loss object named by the record."""
        return get_loss(self.loss, self.link) if self.of_loss is None else self.of_loss

    def at(self, iteration: int) -> NDArray[np.float64]:
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
        return replace(self, **{name: copy.deepcopy(getattr(self, name)) for name in _CONTAINERS})

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

    def check_start(self, has_start: bool, name: str) -> None:
        """Raise ValueError where the trees start from a linear part that nobody has added.

        Parameters
        ----------
        has_start : bool
            Whether the rows have scores to start from.
        name : str
            What the model, or the rows, are called in the message.
        """
        if self.linear is not None and not has_start:
            raise ValueError(
                f"{name}: the trees of this booster start from a linear part, which no tree holds. Predict with the "
                f"classifier that trained it, or load its file with the classifier's load_model; with XGBoost, set "
                f"base_margin to linear_.scores(X) of the classifier"
            )

    def _version(self) -> int:
        """Return the oldest version of the format that can hold the record."""
        if self.linear is not None:
            return VERSION_WITH_LINEAR
        if self.outputs is not None:
            return VERSION_WITH_OUTPUTS
        return VERSION if self.shifts is None else VERSION_WITH_SHIFTS

    def to_json(self) -> str:
        """Write the record as one line of JSON; numbers round-trip exactly."""
        content = {
            "format": FORMAT,
            "version": self._version(),
            "loss": self.loss,
            "link": self.link,
            "hessian": self.hessian,
            "threshold_update": self.threshold_update,
            "n_classes": self.n_classes,
            "thresholds": [theta.tolist() for theta in self.thresholds],
            "training_loss": losses_to_json(self.training_loss),
            "diagnostics": self.diagnostics,
        }
        if self.classifier is not None:
            content["classifier"] = self.classifier
        if self.trees is not None:
            content["trees"] = self.trees
        if self.last_only is not None:
            content["last_only"] = self.last_only
        if self.shifts is not None:
            content["shifts"] = vectors_to_json(self.shifts, self.leaf_vectors)
        if self.outputs is not None:
            content["outputs"] = self.outputs.to_json()
        if self.linear is not None:
            content = {"shifts": None, "outputs": None, **content, "linear": self.linear}
        return json.dumps(content, separators=(",", ":"), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> ThresholdRecord:
        """Read what :meth:`to_json` wrote.

        Raises
        ------
        ValueError
            If the text is not such a record, or was written by a newer version of the format.
        """
        content, version = _content_of(text)
        try:
            model, scores = _model(content), _scores(content, version)
            return cls(**model, **scores, **_history(content, "shifts" in scores), **_notes(content))
        except NotRegisteredError:
            raise
        except Exception as error:
            raise ValueError(f"the model's threshold record is damaged: {error}") from error


def _content_of(text: str) -> tuple[dict[str, Any], int]:
    """Return what a text of JSON holds, and the version of the format that it is written in."""
    try:
        content: dict[str, Any] = json.loads(text)
        written_as, version = content["format"], content["version"]
    except Exception as error:  # whatever a damaged text makes the reader raise
        raise ValueError(f"the model's threshold record is damaged: {error}") from error
    if written_as != FORMAT:
        raise ValueError(
            f"the model's threshold record cannot be read: its format must be {FORMAT!r}; got {written_as!r}"
        )
    if type(version) is not int or version not in range(VERSION, VERSION_WITH_LINEAR + 1):
        raise ValueError(
            f"the model's threshold record has format version {version!r}; this version of "
            f"ordinal_objectives reads versions {VERSION} to {VERSION_WITH_LINEAR}"
        )
    return content, version


def _model(content: dict[str, Any]) -> dict[str, Any]:
    """Return what the objective was given."""
    n_classes = check_n_classes(content["n_classes"])
    loss = get_loss(content["loss"], content["link"])
    loss.check_hessian(content["hessian"])
    if content["threshold_update"] not in THRESHOLD_UPDATES:
        raise ValueError(f"threshold_update must be one of {', '.join(map(repr, THRESHOLD_UPDATES))}")
    given = {name: content[name] for name in ("loss", "link", "hessian", "threshold_update")}
    return given | {"n_classes": n_classes, "of_loss": loss}


def _scores(content: dict[str, Any], version: int) -> dict[str, Any]:
    """Return what trees start from, and how thresholds move with x; nothing if they do not.

    The version says what the model has: without its shifts, or without its linear part, it is damaged.
    """
    found: dict[str, Any] = {}
    has_shifts, has_outputs = version > VERSION, version == VERSION_WITH_OUTPUTS
    if version == VERSION_WITH_LINEAR:
        found["linear"] = content["linear"]
        if not isinstance(found["linear"], dict):
            raise ValueError(f"linear must be a JSON object; got {found['linear']!r}")
        has_shifts, has_outputs = content["shifts"] is not None, content["outputs"] is not None
    if not has_shifts:
        return found
    get_loss(content["loss"], content["link"]).check_shifts()
    n_classes, n_iterations = content["n_classes"], len(content["thresholds"]) - 1
    shifts, vectors = vectors_from_json(content["shifts"], n_classes, 0 if has_outputs else n_iterations)
    found |= {"shifts": shifts, "leaf_vectors": vectors}
    if has_outputs:
        found["outputs"] = VectorOutputs.from_json(content["outputs"], n_classes, n_iterations)
    return found


def _history(content: dict[str, Any], has_shifts: bool) -> dict[str, Any]:
    """Return thresholds and loss of every iteration."""
    ordered = get_loss(content["loss"], content["link"]).ordered and not has_shifts
    rows = [numbers_from_json(row, "thresholds") for row in content["thresholds"]]
    thresholds = [check_thresholds(row, content["n_classes"], ordered=ordered) for row in rows]
    losses = losses_from_json(content["training_loss"], "training_loss")
    if not thresholds:
        raise ValueError("it holds no thresholds")
    if len(losses) != len(thresholds):
        raise ValueError(f"training_loss must have {len(thresholds)} entries; got {len(losses)}")
    return {"thresholds": thresholds, "training_loss": losses}


def _notes(content: dict[str, Any]) -> dict[str, Any]:
    """Return the counters, and what only some models have: files of a bare booster have no classifier."""
    classifier, trees, last_only = (content.get(name) for name in ("classifier", "trees", "last_only"))
    if not isinstance(classifier, dict | None):
        raise ValueError(f"classifier must be a JSON object; got {classifier!r}")
    if not isinstance(trees, list | None) or any(type(checksum) is not int for checksum in trees or []):
        raise ValueError("trees must be a list of integers")
    if not isinstance(last_only, bool | None):
        raise ValueError(f"last_only must be true or false; got {last_only!r}")
    diagnostics = counts_from_json(content["diagnostics"], "diagnostics")
    return {"diagnostics": diagnostics, "classifier": classifier, "trees": trees, "last_only": last_only}
