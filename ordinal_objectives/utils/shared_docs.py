"""What docstrings share: a line ``<<loss, link>>`` in one of them calls these entries.

Parameters
----------
n_classes : int or None
    Number of classes K. None takes the largest training label plus one.
loss : str or OrdinalLoss
    What the training minimises. "all_threshold": a binary loss for each threshold, which aims at absolute error.
    "immediate_threshold": for the two thresholds beside the class. "cumulative_link": the likelihood, as in
    proportional odds models. An instance of :class:`ordinal_objectives.losses.OrdinalLoss` brings its own link;
    another ``link`` beside it is refused.
training_cost : {"absolute", "quadratic"} or array-like of float, shape (n_classes, n_classes)
    What an error costs in training, with ``loss="all_threshold"``: the distance between the classes, its square, or
    entry [j, k] where class j is taken for k; each row of a matrix rises to both sides of the true class, by steps
    that do not shrink. Unless "absolute", the decision is the median, and probabilities are weighted by cost: they
    are not those of the classes.
link : str or Link
    "logit", "probit", "cloglog", "loglog", "cauchit", or an instance of :class:`ordinal_objectives.links.Link`. Its
    inverse is G in P(y <= k | x) = G(theta_k - f(x)).
hessian : {"exact", "majorized"}
    Second derivative by which steps are taken. "exact": that of the loss. "majorized": a bound above it, for some
    losses and links only; steps are shorter and need about twice the rounds, and with the logit or probit, all rows
    and a learning rate of at most 1 none raises the training loss.
threshold_update : {"newton", "fixed", "schur", "joint"}
    How thresholds move after each tree. "newton": one Newton step, given the score. "fixed": not at all. "joint":
    thresholds and leaves take one joint Newton step, halved until the training loss is not higher; not with a bare
    objective, since leaves are renewed. "schur": the thresholds take their part of that step times the learning
    rate; needs the callback. Where a tree raises the loss, ``diagnostics_`` counts the round ("n_raised").
thresholds : array-like of float, shape (n_classes - 1,), ThresholdRecord, or None
    Where the thresholds start, lowest first, on the scale of the score. None computes them from the shares of the
    classes. The record of a model that is continued brings its last thresholds, and its history before them.
proportional : {True, False, "auto"}
    True: one score moves all thresholds alike (proportional odds). False: leaves also shift single thresholds, so
    that these move with x (partial proportional odds); "joint" and "newton" both mean then that the thresholds take
    one Newton step after each tree. False refuses what "joint" refuses, the cumulative link, "fixed" and "schur".
    "auto": False where that is possible.
shift_l2 : float or None
    L2 penalty of the shifts, positive. The larger it is, the closer the model is to proportional odds. None for 10.
    Not with ``proportional=True``.
shift_penalty : {"ridge", "smooth", "sparse"}
    What ``shift_l2`` penalises. "ridge": the squared shifts, which sum to zero over the thresholds. "smooth": the
    squared differences between neighbouring thresholds. "sparse": as "ridge", and a leaf gives ``max_shifts``
    thresholds alone a shift of their own, those where it lowers the loss most; the others move alike.
max_shifts : int or None
    With ``shift_penalty="sparse"``: how many thresholds of a leaf have a shift of their own, None for 1. Otherwise:
    into how many groups thresholds are divided, of neighbours that are shifted alike; None for one each. With many
    classes a round with few groups costs little more than one with a single score.
shift_method : {"renewal", "host"} or None
    Who fits the shifts where thresholds move with x. "renewal": this package, after each tree. "host": XGBoost
    itself, as outputs beside the score; ``proportional="auto"`` then means False. The user guide has the differences.
split_outputs : {"score", "all"} or int
    With ``shift_method="host"``: which outputs judge the splits. "score": only the score. An integer: also so many
    contrasts, the smoothest over the thresholds first. "all": all ``n_classes - 2`` contrasts. Splits then also find
    what moves single thresholds, and a round takes longer.
linear : {False, True, "auto"}
    Whether the trees start from a linear score that is fitted first: numbers scaled, one weight for each level of a
    category, nothing added where a value is missing. "auto": where the rows held out for ``n_estimators`` or
    ``max_iter`` "auto" have a lower loss with it, which takes a second search; without a search there is none.
linear_l2 : float
    Penalty of the linear part's squared weights, positive; half of it is added to the summed loss.
n_threads : int or None
    Threads of the passes over rows that compute gradients. None for the framework's; see
    :func:`ordinal_objectives.threads.effective_n_threads`. Results do not depend on it.
classes : array-like, shape (n_classes,), or None
    The classes, lowest first; they may lack rows. None takes the order of numbers or of an ordered categorical;
    plain strings are sorted, with a warning that prints the order.
class_weight : dict, "balanced" or None
    Weights of classes, multiplied with ``sample_weight``. "balanced": in inverse proportion to their rows. A class
    that a dict does not name has 1. Evaluation sets are weighted by their own weights alone.
decision_rule : {"median", "mode", "mean"}
    How probabilities become a class: "median" suits absolute error, "mode" the zero-one error, "mean" squared
    error.
cost_matrix : array-like of float, shape (n_classes, n_classes), or None
    Cost of predicting column j where row i is true, lowest class first; replaces ``decision_rule``.
kappa_weights : {"quadratic", "linear"} or array-like of float, shape (n_classes, n_classes)
    With ``decision_rule="kappa"``: what it costs that a class (row) is taken for another (column), lowest first.
kappa_rows : {"unseen", "training"}
    With ``decision_rule="kappa"``: which rows the rule is fitted to. "unseen": the last evaluation set; or the rows
    held out for the number of rounds; else all rows, by five models that were not trained on them. "training": the
    training rows, whose probabilities are overfitted; ``expected_kappa_`` is missing then.
progress : bool
    Whether to show a bar with the rounds, the newest loss (of the last set that is evaluated, or else of the
    training rows) and the time left, on a terminal or in a notebook. It needs tqdm.
n_estimators : int or "auto"
    Number of boosting rounds. "auto" trains on four fifths of the rows, takes the number with the lowest loss on
    the others, and trains so many rounds on all rows (fewer than 100 rows: three divisions). ``round_search_`` has
    what was tried. "auto" is 100 with early stopping, for a model that is continued, with XGBoost's "dart", and for
    fewer than 10 rows.
num_boost_round : int
    Number of boosting rounds.
eval_metric : str, callable, list of these, or None
    Measured each round beside the loss: "rps", "log_loss", "ece", "mae", "macro_mae", "max_mae", "zero_one", "qwk",
    "lwk", "tau_b", or functions ``metric(y, proba)``; see
    :class:`ordinal_objectives.eval_metric.EvalMetric`.
random_state : int, RandomState instance or None
    Seed of everything that is drawn: rows, columns, and rows held out. None takes NumPy's global state.
random_intercept : int, str, list of these, or None
    Number or name of the column that names the group of each row, or several, whose effects add up. Each group has an
    effect, which is added to the score and shrunk towards 0, as far as its rows say little about it; the trees do not
    see the column. Rows of groups that are new get their mean probabilities over all groups, and rows whose group is
    missing those of the average group. With ``loss="cumulative_link"`` only.
importance_type : {"gain", "split"}
    What ``feature_importances_`` adds up for each feature: the gains of its splits, or their number.
n_jobs : int or None
    Threads; results do not depend on it. None for one a processor, or OMP_NUM_THREADS where that is less; -1 for
    one a processor.
X : array-like, data frame, Arrow table or sparse matrix, shape (n_samples, n_features)
    Rows with the features of the training, as ``fit`` takes them.
**start : array-like of float, shape (n_samples,)
    Scores that the trees' are added to, by the name that they have in ``fit``: ``base_margin`` with XGBoost,
    ``init_score`` with LightGBM. Zero unless given, whatever ``fit`` was given: they belong to the rows, not to the
    model.
y : array-like, shape (n_samples,)
    Labels: integers, strings, or an ordered categorical. XGBOrdinalClassifier, LGBMOrdinalClassifier and
    HistGradientBoostingOrdinalClassifier take OrdinalLabels as well: several answers a row, intervals, missing labels.
sample_weight : array-like of float, shape (n_samples,), or None
    Weights of the rows, finite and non-negative. None for ones.
X_val, y_val, sample_weight_val : array-like or None
    Another spelling of one evaluation set, by which early stopping works inside a pipeline.
groups : array-like, shape (n_samples,), or None
    Rows of one group stay together where ``validation_fraction`` holds rows out.
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
    Columns of categories: those of a category type, or a mask, numbers or names of columns. None: there are none.
    A split parts the categories of a column in two sets. They are known by value, text or numbers, at most 254 and
    ``max_bins`` a column. Values that are missing, or that the training did not have, go one way at each split.
    What as many categories gain by chance is taken off a split's gain, so that those that mean nothing split
    little.
min_samples_category : int
    A category with fewer rows in a node goes where the missing values go.
n_iter_no_change : int
    Early stopping ends the training after so many trees without a lower validation loss.
tol : float
    Smallest decrease of the validation loss that counts.
eval_set : (X, y) pair, list of such pairs, or None
    Evaluated after each tree; early stopping looks at the last one.
eval_sample_weight : list of array-like or None
    Weights of each evaluation set.
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
    Labels sorted as NumPy sorts them, which is the order of the columns of ``predict_proba``.
ordered_classes_ : ndarray, shape (n_classes,)
    Labels from the lowest class to the highest.
n_classes_ : int
    Number of classes.
thresholds_ : ndarray of float64, shape (n_classes - 1,)
    Those of the iteration that predictions use. Where they move with x, their mean over the training rows, which
    need not increase.
proportional_ : bool
    Whether one score moves all thresholds alike.
n_iter_ : int
    Iterations that predictions use: with early stopping those up to the best one.
training_loss_ : ndarray of float64, shape (n_iterations + 1,)
    Weighted mean loss of the training rows after 0, 1, ... iterations; NaN where it is not known.
threshold_history_ : ndarray of float64, shape (n_iterations + 1, n_classes - 1)
    Thresholds that belong to the score after 0, 1, ... iterations.
ax_ : matplotlib.axes.Axes
    Where the picture is.
figure_ : matplotlib.figure.Figure
    That of the axes.
round_search_ : RoundSearch or None
    What "auto" has found: ``n_iter``, the number of rounds; ``settings``, such as the size of the trees; ``losses``
    of the rows held out after 0, 1, ... rounds; ``n_held_out``, their number; ``tried``, all settings with the loss
    of each. None where nothing was searched; a loaded model has none.
linear_ : LinearPart or None
    The linear score that the trees start from: ``scores(X)``, and ``contributions(X)`` of each feature, which add
    up to it, of rows as ``predict`` takes them. None where there is none.
random_effects_ : RandomEffects, dict of these, or None
    With ``random_intercept``: ``groups``, their ``effects`` and ``standard_errors``, and the ``variance`` between
    groups; ``to_frame()`` returns a table of them. Of several columns, by the number of each.
kappa_rule_ : KappaRule or None
    With ``decision_rule="kappa"``: its ``shares`` of the classes, ``weights`` and ``kappa``, which the rule needs.
expected_kappa_ : float
    With ``decision_rule="kappa"``: the kappa to expect of new rows, measured on rows that no tree was grown on; too
    high where few rows of an evaluation set also ended the training. NaN where labels and decisions are all of one
    class. Not with ``kappa_rows="training"``.
n_features_in_ : int
    Number of features of the training.
is_categorical_ : ndarray of bool, shape (n_features,)
    Which features are categories.
feature_names_in_ : ndarray of object, shape (n_features,)
    Names of the features; there where those of the training had names, all of them strings.
diagnostics_ : dict of str to int
    How often something other than the plain step was taken: thresholds repaired, steps halved, values clipped; see
    :class:`ordinal_objectives.threshold_solver.Diagnostics`. "n_without_split": the trees that have no split.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, overload

Thing = TypeVar("Thing", bound=Callable[..., Any])


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
def documented(thing: Thing) -> Thing: ...
@overload
def documented(*, like: Callable[..., object]) -> Callable[[Thing], Thing]: ...
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
