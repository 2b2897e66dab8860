"""What docstrings share: a line ``<<loss, link>>`` in one of them calls these entries. And what else shows docs.

Parameters
----------
n_classes : int or None
    Number of classes K. None takes the largest training label plus one.
loss : str or OrdinalLoss
    "all_threshold": a binary loss at each threshold; suits absolute error. "immediate_threshold": only at the two
    thresholds beside the class. "cumulative_link": the likelihood of the proportional odds model. Or an instance of
    :class:`ordinal_objectives.losses.OrdinalLoss`, which has its own link.
training_cost : {"absolute", "quadratic"} or array-like of float, shape (n_classes, n_classes)
    Cost of an error in training, with ``loss="all_threshold"``: the distance between the classes, its square, or a
    matrix, true class by predicted class, whose rows rise to both sides of the true class by steps that do not
    shrink. Unless "absolute", the decision is the median, and the probabilities are weighted by cost.
link : str or Link
    "logit", "probit", "cloglog", "loglog", "cauchit", or an instance of :class:`ordinal_objectives.links.Link`. Its
    inverse is G in P(y <= k | x) = G(theta_k - f(x)).
hessian : {"exact", "majorized"}
    Second derivative that steps are divided by. "exact": that of the loss. "majorized": an upper bound, which some
    losses and links have; steps are safer, and need about twice the rounds.
threshold_update : {"newton", "fixed", "schur", "joint"}
    Step of the thresholds after each tree. "newton": a Newton step, given the score. "joint": one Newton step of
    thresholds and leaves, halved until the training loss is not higher; not with a bare objective. "schur": only
    the thresholds' part of that step; needs the callback. "fixed": none.
thresholds : array-like of float, shape (n_classes - 1,), ThresholdRecord, or None
    Where the thresholds start, lowest first, on the scale of the score. None computes them from the class
    frequencies. For a continued model its record brings its last thresholds, and its history before them.
proportional : {True, False, "auto"}
    True: one score moves all thresholds alike (proportional odds). False: leaves also shift single thresholds, so
    that these move with x (partial proportional odds); the thresholds take a Newton step after each tree. False
    refuses the cumulative link, "fixed" and "schur". "auto": False where that is possible.
shift_l2 : float or None
    L2 penalty of the shifts, positive; a large one gives nearly proportional odds. None for 10. Not with
    ``proportional=True``.
shift_penalty : {"ridge", "smooth", "sparse"}
    What ``shift_l2`` penalises. "ridge": the squared shifts, which sum to zero over the thresholds. "smooth": the
    squared differences between neighbouring thresholds. "sparse": as "ridge", and only ``max_shifts`` thresholds of
    a leaf, those where it lowers the loss most, have a shift of their own.
max_shifts : int or None
    With ``shift_penalty="sparse"``: number of thresholds of a leaf with a shift of their own, None for 1.
    Otherwise: number of groups of neighbouring thresholds that are shifted alike, None for one each; few groups are
    faster with many classes.
shift_method : {"renewal", "host"} or None
    What fits the shifts. "renewal": this package, after each tree. "host": XGBoost, as outputs beside the score;
    ``proportional="auto"`` then means False. The user guide has the differences.
split_outputs : {"score", "all"} or int
    With ``shift_method="host"``: outputs that decide the splits. "score": only the score. An integer: also that
    many contrasts of the shifts, the smoothest first. "all": all contrasts. More of them find more effects on
    single thresholds, and take longer.
linear : {False, True, "auto"}
    Whether a linear score is fitted first, to which the trees are added. "auto": if it lowers the held-out loss in
    the search for the number of rounds; False without that search.
linear_l2 : float
    L2 penalty of the weights of the linear score, positive; half of it is added to the summed loss.
n_threads : int or None
    Threads of the passes over rows that compute gradients. None for the framework's; see
    :func:`ordinal_objectives.threads.effective_n_threads`. Results do not depend on it.
classes : array-like, shape (n_classes,), or None
    All classes, lowest first; some may have no rows. None takes the order of numbers or of an ordered categorical;
    plain strings are sorted, with a warning.
class_weight : dict, "balanced" or None
    Weights of classes, multiplied with ``sample_weight``: "balanced", in inverse proportion to their numbers of rows,
    also such of weight 0, or a dict; 1 for a class that it lacks. Evaluation sets have only their own weights.
decision_rule : {"median", "mode", "mean"}
    How probabilities become a class. "median" suits absolute error, "mode" accuracy, "mean" squared error.
cost_matrix : array-like of float, shape (n_classes, n_classes), or None
    Cost of predicting class j (column) where class i (row) is true, lowest first. Replaces ``decision_rule``.
progress : bool
    Show a bar with the rounds, the newest loss and the time left; needs tqdm.
n_estimators : int or "auto"
    Number of boosting rounds. "auto": the number with the lowest loss on a fifth of the rows, held out; then all
    rows are trained on. "auto" is 100 with early stopping, for a continued model, with "dart", and for fewer than
    10 rows.
num_boost_round : int
    Number of boosting rounds.
eval_metric : str, callable, list of these, or None
    Measured each round beside the loss: "rps", "log_loss", "ece", "mae", "macro_mae", "max_mae", "zero_one", "qwk",
    "lwk", "tau_b", or functions ``metric(y, proba)``; see :class:`ordinal_objectives.eval_metric.EvalMetric`.
random_state : int, RandomState or Generator instance, or None
    Seed of sampled rows and columns, and of rows held out. None takes NumPy's global state.
random_intercept : int, str, list of these, or None
    A random intercept for each group of rows, such as a clinic, as in a mixed model; needs ``loss="cumulative_link"``.
    The number or name of the column that holds the groups, or several columns, whose effects add up. The effect of a
    group on the score is shrunk towards 0; the trees do not see the column. Rows of new groups get the mean
    probabilities over all groups, rows without a group those of the average group.
importance_type : {"gain", "split"}
    Whether ``feature_importances_`` sums the gains of a feature's splits, or counts them.
n_jobs : int or None
    Threads; results do not depend on it. -1 for one a processor; None for the same, or OMP_NUM_THREADS where that
    is less.
X : array-like, data frame, Arrow table or sparse matrix, shape (n_samples, n_features)
    Rows with the features of the training, as ``fit`` takes them.
**start : array-like of float, shape (n_samples,)
    Scores that the trees are added to, by their name in ``fit``: ``base_margin`` with XGBoost, ``init_score`` with
    LightGBM. Zero unless given, whatever ``fit`` was given: they belong to the rows, not to the model. And how many
    rounds predict, with the thresholds of the last of them, by the library's name: ``iteration_range=(0, n)`` with
    XGBoost, ``num_iteration=n`` with LightGBM, ``ntree_end=n`` with CatBoost.
y : array-like, shape (n_samples,)
    Labels: integers, strings, or an ordered categorical. XGBOrdinalClassifier, LGBMOrdinalClassifier,
    HistGradientBoostingOrdinalClassifier, the ensemble and the wrappers take OrdinalLabels as well: several answers a
    row, intervals, missing labels.
sample_weight : array-like of float, shape (n_samples,), or None
    Weights of the rows, finite and non-negative. None for ones.
X_val, y_val, sample_weight_val : array-like or None
    An evaluation set, evaluated after each tree; early stopping uses it.
groups : array-like, shape (n_samples,), or None
    Rows of one group stay together where rows are held out.
max_iter : int
    Number of trees.
max_leaf_nodes : int or None
    Leaves of a tree, at least 2. None for no limit.
max_depth : int or None
    Depth of a tree, at least 1. None for no limit.
min_samples_leaf : int
    Rows of a leaf, whatever their weight.
max_bins : int
    Bins of a feature, 2 to 255; missing values have one more.
categorical_features : None, "from_dtype", or array-like of bool, int or str
    Columns of categories: "from_dtype" takes those of a category type; or a mask, numbers or names of columns.
    None: there are none. A split divides the categories of a column into two sets; they are matched by value, at
    most 254 and ``max_bins`` a column. Missing and unknown values go to one side together. The gain that
    meaningless categories have by chance is subtracted.
min_samples_category : int
    A category with fewer rows in a node goes to the side of the missing values.
n_iter_no_change : int
    Early stopping ends the training after so many trees without a lower validation loss.
tol : float
    Smallest decrease of the validation loss that counts, from the last value that counted: small decreases add up.
callback : callable or None
    ``callback(iteration, evals_result)`` after each tree; training ends if it returns True.
path : path-like
    The file.
class_names : sequence of str or None
    Names of the classes, lowest first; None prints the codes.
ax : matplotlib.axes.Axes or None
    Where to draw; None draws into a new figure.
axes : pair of matplotlib.axes.Axes or None
    Where to draw; None draws into a new figure.
booster : xgboost.Booster or lightgbm.Booster
    Trained with the callback or by ``train``, or loaded from a file of such a model: it carries its thresholds.
iteration_range : tuple of int, or None
    (0, t) uses the first t rounds and the thresholds of iteration t. None uses all rounds, or those up to the best
    one if early stopping ended the training.
num_iteration : int or None
    How many iterations to use, with the thresholds that belong to them; 0 and below for all. None uses those up to
    the best one if early stopping found one, else all.

Attributes
----------
classes_ : ndarray, shape (n_classes,)
    Labels in sorted order, which is that of the columns of ``predict_proba``.
ordered_classes_ : ndarray, shape (n_classes,)
    Labels from the lowest class to the highest.
n_classes_ : int
    Number of classes.
thresholds_ : ndarray of float64, shape (n_classes - 1,)
    Thresholds of the iteration that predictions use. Where they move with x, their mean over the training rows,
    which need not increase.
proportional_ : bool
    Whether one score moves all thresholds alike.
n_iter_ : int
    Number of iterations that predictions use; with early stopping up to the best one.
training_loss_ : ndarray of float64, shape (n_iterations + 1,)
    Weighted mean loss of the training rows after 0, 1, ... iterations; NaN where it is not known.
threshold_history_ : ndarray of float64, shape (n_iterations + 1, n_classes - 1)
    Thresholds that belong to the score after 0, 1, ... iterations.
ax_ : matplotlib.axes.Axes
    Where the picture is.
figure_ : matplotlib.figure.Figure
    That of the axes.
round_search_ : RoundSearch or None
    Result of the search by "auto": ``n_iter``, ``settings`` such as the size of the trees, ``losses`` after 0, 1,
    ... rounds, ``n_held_out`` rows, and ``tried``, all settings with their losses. None without a search, and for a
    loaded model.
linear_ : LinearPart or None
    The linear score under the trees: ``scores(X)``, and ``contributions(X)`` of each feature, which sum to it. None
    where there is none.
random_effects_ : RandomEffects, dict of these, or None
    With ``random_intercept``: ``groups``, their ``effects`` and ``standard_errors``, and the ``variance`` between
    groups; ``to_frame()`` returns a table of them. Of several columns, by the number of each.
n_features_in_ : int
    Number of features of the training.
columns_ : Columns
    Names of the columns and the levels of categories; ``columns_.encode(X)`` is X as the trees read it.
is_categorical_ : ndarray of bool, shape (n_features,)
    Which features are categories; of the native engine None where none is.
feature_names_in_ : ndarray of object, shape (n_features,)
    Names of the features, if the training had names and all were strings.
diagnostics_ : dict of str to int
    Counts of repaired thresholds, halved steps, clipped values, rounds that raised the loss ("n_raised"), trees
    without a split ("n_without_split"); see :class:`ordinal_objectives.threshold_solver.Diagnostics`.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import Any, overload

# ``_doc_link_template`` of an estimator: the page that scikit-learn's picture of it links to.
DOC_LINK = "https://ordinal-objectives.github.io/ordinal-objectives/generated/ordinal_objectives.{estimator_name}.html"


def entries_of(doc: str | None, *titles: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the entries in sections of a docstring: their names, and header with text."""
    for section in re.split(r"\n(?=.+\n-{3,}\n)", inspect.cleandoc(doc or "")):
        title, _, entries = section.partition("\n")
        if title in titles:
            for block in re.split(r"\n(?=\S)", entries.partition("\n")[2].rstrip()):
                names = block.split("\n")[0].partition(" : ")[0].split(",")
                yield tuple(name.strip().lstrip("*") for name in names), block


def _known(doc: str | None) -> dict[str, str]:
    """Return the entries of a docstring by name; that of a parameter goes before that of an attribute."""
    return {
        name: block
        for title in ("Attributes", "Parameters")
        for names, block in entries_of(doc, title)
        for name in names
    }


_SHARED = _known(__doc__)
# Parameters that go together, by what a line ``<<...>>`` calls them.
_GROUPS = {
    "step parameters": ("hessian", "threshold_update"),
    "shift parameters": ("proportional", "shift_l2", "shift_penalty", "max_shifts"),
}


@overload
def documented[Thing: Callable[..., Any]](thing: Thing) -> Thing: ...
@overload
def documented[Thing: Callable[..., Any]](*, like: Callable[..., object]) -> Callable[[Thing], Thing]: ...
def documented(thing: object = None, *, like: object = None) -> Any:
    """Fill shared entries into the docstring of a class or function, and defaults into the headers of parameters.

    A line ``<<loss, link>>`` becomes the entries of these names: those of the bases of a class or of ``like``, or
    else those of this module. "shift parameters" and "step parameters" are several of them. Indented lines under it
    continue the last entry. A function whose docstring has no parameters gets those of its signature. Without
    docstrings, as under ``python -OO``, nothing happens.

    Parameters
    ----------
    thing : class or callable
    like : class or callable
        Another one whose entries and defaults hold as well, such as that of a function's ``**options``.

    Raises
    ------
    KeyError
        If no entry has the name.
    """
    if thing is None:
        return lambda decorated: _fill(decorated, [like])
    return _fill(thing, [one for one in getattr(thing, "__mro__", ())[1:] if one.__module__.startswith(_PACKAGE)])


_PACKAGE = __name__.partition(".")[0]


def _fill(thing: Any, sources: list[object]) -> Any:
    if thing.__doc__ is None:
        return thing
    known = dict(_SHARED)
    for source in reversed(sources):
        known |= _known(source.__doc__)
    doc = inspect.cleandoc(thing.__doc__)
    if not isinstance(thing, type) and "\nParameters\n" not in doc:
        own = ", ".join(name for name in inspect.signature(thing).parameters if name not in ("self", "cls"))
        text, *sections = re.split(r"\n\n(?=.+\n-{3,}\n)", doc)
        doc = "\n\n".join([text, f"Parameters\n----------\n<<{own}>>", *sections])

    def filled_in(names: re.Match[str]) -> str:
        given = [name.strip().lstrip("*") for name in names[1].split(",")]
        return "\n".join(dict.fromkeys(known[name] for group in given for name in _GROUPS.get(group, (group,))))

    doc = re.sub(r"^<<([^>]+)>>", filled_in, doc, flags=re.M)
    defaults = dict[str, str]()  # as code, strings in double quotes
    for one in (*reversed(sources), thing):
        for p in inspect.signature(one).parameters.values():
            if has_written_default(p):
                defaults[p.name] = json.dumps(p.default) if isinstance(p.default, str) else repr(p.default)
    for names, block in list(entries_of(doc, "Parameters")):
        header, newline, text = block.partition("\n")
        written = {defaults[name] for name in names if name in defaults}
        if " : " in header and "default=" not in header and len(written) == 1:
            doc = doc.replace(block, f"{header}, default={written.pop()}{newline}{text}", 1)
    thing.__doc__ = doc
    return thing


def has_written_default(parameter: inspect.Parameter) -> bool:
    """Tell whether a parameter has a default that can be written down: a dataclass makes some anew each time."""
    return parameter.default is not parameter.empty and repr(parameter.default) != "<factory>"


def public_names(module: str, submodules: Iterable[str] | None = None) -> Callable[[], list[str]]:
    """Return a module's ``__dir__``: what it exports, and ``submodules``, or those that have been imported."""

    def names() -> list[str]:
        content = vars(sys.modules[module])
        inner = submodules or [
            name
            for name, value in content.items()
            if isinstance(value, ModuleType) and value.__name__ == f"{module}.{name}" and not name.startswith("_")
        ]
        return sorted({*content["__all__"], *inner, *(name for name in content if name.startswith("__"))})

    return names


# Methods of models that other modules of the package call, and users do not.
INTERNAL = frozenset(
    (
        *("check_fitted_decision", "check_stages", "divides_rows", "fitted_curve", "fitted_effects", "fitted_member"),
        *("grown_trees", "has_labels", "n_earlier_rounds", "score_contributions", "trained_parts"),
        *("rounds_of_copies", "trained_rounds", "trained_spec", "weighted_copies"),
    )
)


def names_for_users(model: object) -> list[str]:
    """Return a model's ``__dir__``, which tab completion shows: its names without :data:`INTERNAL` ones."""
    return [name for name in object.__dir__(model) if name not in INTERNAL]
