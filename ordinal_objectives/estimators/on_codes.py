"""A classifier inside another: trained on class codes, whatever the labels are, and asked for all classes."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from ordinal_objectives.estimators.ordered_classifier import OrderedClassifier
from ordinal_objectives.threads import one_thread_after_fork
from ordinal_objectives.utils.validation import check_proba


def told_classes(what: str, copy: Any, codes: NDArray[np.int32], classes: NDArray[Any]) -> NDArray[np.int32]:
    """Return the class codes that a classifier is trained on: label i of its training is entry i.

    A classifier of this package is told all classes; others know those that have rows.

    Raises
    ------
    ValueError
        If it has other classes already; the message begins with ``what`` it is.
    """
    if not isinstance(copy, OrderedClassifier):
        return np.unique(codes)
    own = None if copy.classes is None else np.asarray(copy.classes).tolist()
    if own not in (None, classes.tolist()):
        raise ValueError(
            f"{what} has classes {own}; those of the classifier around it are {classes.tolist()}. Give classes to that "
            f"alone"
        )
    every = np.arange(len(classes), dtype=np.int32)
    copy.set_params(classes=every)
    return every


def weight_keywords(what: str, copy: Any, weight: NDArray[np.float64] | None) -> dict[str, Any]:
    """Return weights of rows as a classifier's ``fit`` takes them, in a pipeline that of its last step.

    Raises
    ------
    ValueError
        If there are weights and it takes none.
    """
    if weight is None:
        return {}
    if isinstance(copy, Pipeline):
        routed = sklearn.get_config().get("enable_metadata_routing", False)
        return {"sample_weight" if routed else f"{copy.steps[-1][0]}__sample_weight": weight}
    if not has_fit_parameter(copy, "sample_weight"):
        raise ValueError(f"{what} takes no sample_weight in fit, and the rows have weights")
    return {"sample_weight": weight}


@dataclass(frozen=True)
class FittedMember:
    """A classifier trained on codes.

    Attributes
    ----------
    estimator : object
        Fitted on labels 0, 1, ...: classifiers of this package on all codes, others on those that had rows.
    present : ndarray of int32, shape (n_labels,)
        Class code of each of these labels.
    """

    estimator: Any
    present: NDArray[np.int32]

    # The booster of a host's own classifier asks for its threads while it is copied.
    @one_thread_after_fork()
    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).unpickled, (pickle.dumps(self.estimator), self.present)

    @classmethod
    @one_thread_after_fork()
    def unpickled(cls, estimator: bytes, present: NDArray[np.int32]) -> FittedMember:
        """Return a member whose estimator was pickled by itself."""
        return cls(pickle.loads(estimator), present)

    @property
    def columns(self) -> NDArray[np.int32]:
        """Class code of each column of the estimator's probabilities."""
        return self.present[np.asarray(self.estimator.classes_, dtype=np.intp)]

    @one_thread_after_fork()
    def proba(self, X: Any, n_classes: int) -> NDArray[np.float64]:
        """Return probabilities, (n_samples, n_classes), lowest class first; 0 for a class that had no rows."""
        found = check_proba(self.estimator.predict_proba(X)).astype(np.float64)
        of_all = np.zeros((len(found), n_classes))
        of_all[:, self.columns] = found
        of_all /= of_all.sum(axis=1, keepdims=True)
        return of_all


class PrefitMember(FittedMember):
    """A classifier that was trained before, on labels of any kind; ``present`` is the class code of each column."""

    @property
    def columns(self) -> NDArray[np.int32]:
        """Class code of each column of the estimator's probabilities."""
        return self.present
