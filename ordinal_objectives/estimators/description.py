"""What the file of a model says of its classifier, beside trees and thresholds: the same of all trainers."""

from __future__ import annotations

import inspect
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Annotated, Any

from ordinal_objectives.aliases import Estimator, LabelArray, Params
from ordinal_objectives.estimators import arguments
from ordinal_objectives.utils import files
from ordinal_objectives.utils.json_of import Plain, Within

# Parameters that belong to the machine: files do not hold them, and loading leaves them as they are.
OF_MACHINE = frozenset({"device", "n_jobs", "progress", "verbose", "verbosity"})


@dataclass(frozen=True)
class ClassifierDescription:
    """A fitted classifier, but for its trees and thresholds.

    Attributes
    ----------
    classes : list or None
        Labels, lowest first; none of a regressor, None where JSON cannot hold them.
    dtype : str
        Their type in NumPy.
    feature_names, column_numbers : list of str or None
        Names of the features, and those that are numbers, as text.
    levels : dict of int to list
        Of each column of categories, in the order of their codes.
    params : dict of str to object
        Parameters, as :func:`.files.value_to_json` writes them.
    left_out : list of str
        Parameters that JSON cannot hold.
    found : dict of str to object
        Values of parameters that the search of the training found.
    n_rounds : int or None
        Rounds of the training, where the number of trees is another.
    lengths : dict of int to int
        Of the columns of embeddings.
    """

    classes: list[Plain] | None
    dtype: str
    feature_names: list[str] | None
    column_numbers: list[str] | None
    levels: dict[int, list[Plain]]
    params: dict[str, Any]
    left_out: list[str]
    found: dict[str, Any] = field(default_factory=dict)
    n_rounds: Annotated[int, Within(0)] | None = None
    lengths: dict[int, int] = field(default_factory=dict)

    @property
    def labels(self) -> LabelArray:
        """Class labels, lowest first, (n_classes,)."""
        return files.labels_from_json(self.classes, self.dtype)


def describe(
    model: Estimator, params: Params, classes: LabelArray | None, not_in_files: Collection[str] = (), **others: Any
) -> ClassifierDescription:
    """Return the description of a fitted classifier.

    Parameters
    ----------
    model : estimator
    params : dict of str to object
        Its parameters.
    classes : ndarray of shape (n_classes,) or None
        Labels, lowest first; None for a description without them.
    not_in_files : collection of str
        Parameters that stand elsewhere in the file, beside those of the machine.
    **others
        Other fields.

    Raises
    ------
    TypeError
        If class labels are neither strings nor numbers.
    """
    labels, dtype = (None, "O") if classes is None else files.labels_to_json(classes)
    left = {"classes", *OF_MACHINE, *not_in_files}
    held, left_out = files.parameters_to_json({name: value for name, value in params.items() if name not in left})
    names, columns = getattr(model, "feature_names_in_", None), getattr(model, "columns_", None)
    return ClassifierDescription(
        classes=labels,
        dtype=dtype,
        feature_names=None if names is None else [str(name) for name in names],
        column_numbers=getattr(model, "_column_numbers", None),
        levels={} if columns is None else dict(columns.levels),
        params=held,
        left_out=left_out,
        found=dict(getattr(model, "_found", {})),
        n_rounds=getattr(model, "_n_rounds", None),
        **others,
    )


def give_back(
    described: ClassifierDescription, model: Estimator, n_features: int, not_in_files: Collection[str] = ()
) -> None:
    """Set parameters, labels and names of columns of a classifier to those of a description.

    Parameters that the description does not name get their defaults.

    Raises
    ------
    ValueError, TypeError
        If the description holds what the classifier does not have.
    """
    left, own = {*OF_MACHINE, *not_in_files}, arguments.constructor_arguments(model)
    if left & described.params.keys():
        raise ValueError(f"{', '.join(sorted(left & described.params.keys()))} must not be among the parameters")
    read = {name: files.value_from_json(value) for name, value in described.params.items()}
    kept = {*left, *read, *described.left_out}
    defaults = inspect.signature(arguments.class_with_constructor(type(model))).parameters
    of_host = {name: value for name, value in read.items() if name not in own}
    if hasattr(model, "_host_params"):
        before = {name: value for name, value in model._host_params.items() if name in kept}
        model._keep_host_params(before | of_host)
        model._refuse_unknown()
    elif of_host:
        raise ValueError(f"{type(model).__name__} has no parameters {sorted(of_host)}")
    unnamed = {name: defaults[name].default for name in own if name not in kept}
    arguments.store_constructor_arguments(model, unnamed | {name: value for name, value in read.items() if name in own})
    if "classes" in own:
        model.classes = described.labels
    for names in (described.feature_names, described.column_numbers):
        if names is not None and len(names) != n_features:
            raise ValueError(f"feature names must be {n_features} strings; got {names!r}")
    arguments.keep_names(model, described.feature_names, described.column_numbers)
    model.n_features_in_ = n_features
    model.__dict__.pop("evals_result_", None)  # of an earlier fit
