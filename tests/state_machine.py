"""Any call of a classifier after any other, over tables, labels, losses, updates and what else can be combined.

A run is one model, with some calls in random order. After each call the answers must be those of a model: probabilities
are in order and sum to 1, decisions follow the rule, a copy answers as the original. A call that is refused, by an
error of the package's own, must leave the model as it was.
"""

from __future__ import annotations

import copy
import os
import pickle
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import lightgbm
import numpy as np
import xgboost
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)
from sklearn.base import clone

from makers import watching
from ordinal_objectives import (
    OrdinalDistributionRegressor,
    decide,
    inspection,
)
from ordinal_objectives.export import to_onnx
from served import answers as graph_answers, far_from_ties
from state_tables import LABELS, ORDINAL, SOFT, TABLES, TRAINERS, Rows, Trainer

# What NumPy and Python say where the package has not looked.
_UNNAMED = (
    "operands could not", "NoneType", "unsupported operand", "out of bounds", "has no attribute", "not subscriptable",
    "not iterable", "unexpected keyword", "positional argument", "could not broadcast", "shape mismatch", "concatenate",
)  # fmt: skip
REFUSALS: Counter[str] = Counter()
CALLS: Counter[str] = Counter()
# The libraries below name wrong values of their own parameters themselves.
_HOSTS = (lightgbm.basic.LightGBMError, xgboost.core.XGBoostError)
_REFUSES = (ValueError, TypeError, NotImplementedError, *_HOSTS)


def is_named(error: BaseException) -> bool:
    """Tell whether an error was raised by the package or scikit-learn, with a message for its user."""
    if isinstance(error, _HOSTS):
        return True
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    by_whom = frame.f_globals["__name__"].split(".")[0]
    return by_whom in ("ordinal_objectives", "sklearn") and not any(part in str(error) for part in _UNNAMED)


@contextmanager
def quiet() -> Iterator[None]:
    """Silence warnings to users; those of NumPy are errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        yield


def said_by(model: Any, X: Any) -> dict[str, np.ndarray]:
    """Return all that a fitted model answers of some rows."""
    if isinstance(model, OrdinalDistributionRegressor):
        found = {"predict": model.predict(X), "cdf": model.predict_cdf(X, np.linspace(-4, 4, 9))}
        return found | {"quantile": model.predict_quantile(X, [0.1, 0.5, 0.9])}
    methods = ("predict", "predict_proba", "predict_proba_ordered", "predict_raw", "predict_set")
    return {name: getattr(model, name)(X) for name in methods if hasattr(model, name)}


def public(model: Any) -> dict[str, Any]:
    """Return the parameters and fitted attributes of a model, as far as they can be compared."""
    found = {f"parameter {name}": repr(value) for name, value in model.get_params(deep=False).items()}
    for name in dir(type(model)) + list(vars(model)):
        if name.endswith("_") and not name.startswith("_"):
            try:
                value = getattr(model, name)
            except (AttributeError, ValueError):  # not fitted, or not with these parameters
                continue
            if name == "diagnostics_":
                found[name] = dict(value)
            if isinstance(value, np.ndarray | str | int | float | bool | type(None)):
                found[name] = copy.deepcopy(value)
    return found


def assert_same(found: dict[str, Any], expected: dict[str, Any], *left_out: str) -> None:
    assert found.keys() == expected.keys(), f"attributes: {found.keys() ^ expected.keys()}"
    for name, value in expected.items():
        if name not in left_out:
            np.testing.assert_equal(found[name], value, err_msg=name)


class Machine(RuleBasedStateMachine):
    """A model of one trainer; subclasses name it."""

    trainer: ClassVar[str]

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.model: Any = None
        self.done: list[str] = []

    def teardown(self) -> None:
        self.folder.cleanup()

    @property
    def kind(self) -> Trainer:
        return TRAINERS[self.trainer]

    @initialize(data=st.data())
    def made(self, data: st.DataObject) -> None:
        self.n_classes = data.draw(st.integers(2, 6), "classes")
        n_rows, missing = data.draw(st.integers(30, 60), "rows"), data.draw(st.booleans(), "missing values")
        self.seed = data.draw(st.integers(0, 9), "seed")
        self.rows = Rows.drawn(n_rows, self.n_classes, missing, self.seed)
        self.new = Rows.drawn(12, self.n_classes, missing, self.seed + 100)
        tables = [name for name in TABLES if name != "blocks" or self.trainer == "engine"]
        self.table = data.draw(st.sampled_from(tables), "table")
        soft = self.trainer in ("engine", "xgboost", "lightgbm")
        labels = [name for name in LABELS if soft or name not in SOFT] if self.trainer in ORDINAL else ["codes"]
        self.labels = data.draw(st.sampled_from(labels), "labels")
        self.weighted = data.draw(st.booleans(), "weights")
        names = data.draw(st.lists(st.sampled_from(list(self.kind.options)), max_size=4, unique=True), "options")
        self.options = {name: data.draw(st.sampled_from(self.kind.options[name]), name) for name in names}
        with quiet():
            self.model = self.make()
        self.fitted: Rows | None = None
        self.adapted = self.watched = False
        if not self.train("fit", self.rows):  # it would be refused again
            self.options, self.table = {}, "float64"
            self.labels = "codes" if self.labels in SOFT else self.labels
            self.model = self.make()
            assert self.train("fit", self.rows)

    def make(self, **others: Any) -> Any:
        options = self.options | others
        if options.get("cost_matrix") is not None:
            options["cost_matrix"] = self.costs()
        return self.kind.make(classes=LABELS[self.labels][1](self.n_classes), **options)

    def costs(self) -> np.ndarray:
        return np.square(np.subtract.outer(np.arange(self.n_classes), np.arange(self.n_classes))) + 0.0

    def X(self, rows: Rows) -> Any:
        return TABLES[self.table](rows)

    def y(self, rows: Rows) -> Any:
        if self.trainer == "several outputs":
            return np.column_stack([rows.codes > 0, rows.town % 2]).astype(int)
        if self.trainer == "numbers":
            return rows.codes + np.nan_to_num(rows.X[:, 1]) / 4
        return LABELS[self.labels][0](rows.codes, self.n_classes)

    def given(self, rows: Rows) -> dict[str, Any]:
        weighs = self.weighted and self.trainer != "prediction sets"
        return {"sample_weight": 0.5 + rows.town} if weighs else {}

    def seen(self) -> dict[str, Any]:
        with quiet():
            return public(self.model) | (said_by(self.model, self.X(self.new)) if self.fitted is not None else {})

    def attempt(self, name: str, action: Callable[[], Any], *, keeps: bool = True) -> Any:
        """Return what a call returns, None if it is refused; it changes nothing then, and never if it ``keeps``."""
        CALLS[name] += 1
        self.done.append(name)
        before = self.seen()
        try:
            with quiet():
                found = action()
        except _REFUSES as error:
            named = is_named(error) or name == "fit with an unknown parameter"  # Python names it
            if not named:
                raise AssertionError(f"{name}: {type(error).__name__}: {error}") from error
            REFUSALS[f"{self.trainer}: {name}: {str(error)[:60]}"] += 1
            found = None
            keeps = True
        except KeyboardInterrupt as error:
            if str(error) != "on purpose":
                raise
            found, keeps = None, True
        if keeps:
            assert_same(self.seen(), before)
        return found

    def train(self, name: str, rows: Rows, model: Any = None, **given: Any) -> bool:
        model = self.model if model is None else model
        found = self.attempt(
            name, lambda: model.fit(self.X(rows), self.y(rows), **self.given(rows), **given), keeps=False
        )
        if found is not None:
            assert found is model
            self.fitted, self.adapted, self.watched = rows, False, not given.keys().isdisjoint({"eval_set", "X_val"})
        return found is not None

    is_fitted = precondition(lambda self: self.fitted is not None)
    goes_on = precondition(lambda self: self.fitted is not None and self.kind.goes_on)

    @rule(part=st.sampled_from([1.0, 1.0, 0.8]))
    def fit(self, part: float) -> None:
        rows = self.rows.part(slice(0, int(part * len(self.rows.codes))))
        self.train("fit", rows)

    @rule(how=st.sampled_from(["too few labels", "an unknown parameter", "one class", "infinite labels", "no columns"]))
    def fail(self, how: str) -> None:
        X, y = self.X(self.rows), self.y(self.rows)
        if self.table == "blocks":
            return

        def action() -> None:
            if how == "too few labels":
                self.model.fit(X, y[:5])
            elif how == "an unknown parameter":
                self.model.fit(X, y, no_such_thing=3)
            elif how == "one class":
                self.model.fit(X, self.y(self.rows._replace(codes=0 * self.rows.codes, town=0 * self.rows.town)))
            elif how == "infinite labels":
                self.model.fit(X, np.full(len(self.rows.codes), np.inf))
            else:
                self.model.fit(np.zeros((len(self.rows.codes), 0)), y)
            if how != "one class":
                raise AssertionError(f"{how}: not refused")
            self.fitted, self.adapted, self.watched = self.rows, False, False

        self.attempt(f"fit with {how}", action, keeps=how != "one class")

    @precondition(lambda self: self.kind.callback is not None)
    @rule(after=st.integers(1, 2))
    def interrupt(self, after: int) -> None:
        assert self.kind.callback is not None
        left = [after]

        def stop(model: Any) -> None:
            left[0] -= 1
            if not left[0]:
                raise KeyboardInterrupt("on purpose")

        given = self.kind.callback(stop)
        if self.trainer != "xgboost":
            self.train("an interrupted fit", self.rows, **given)
            return
        self.model.set_params(callbacks=given["callbacks"])
        self.train("an interrupted fit", self.rows)
        self.model.set_params(callbacks=None)

    @goes_on
    @rule(file=st.booleans())
    def go_on(self, file: bool) -> None:
        """Continue the training: the thresholds of its first rounds stay."""
        if self.kind.goes_on == "warm_start":
            params = self.model.get_params()
            more = params[self.kind.rounds]
            self.model.set_params(warm_start=True, **({} if more == "auto" else {self.kind.rounds: more + 2}))
            self.train("go on", self.rows)
            self.model.set_params(warm_start=False)
            self.watched = True  # the first part may have had other rows
            return
        first: Any = copy.deepcopy(self.model)
        before = np.array(first.threshold_history_)
        if file:
            first = self.path("first")
            if self.attempt("save", lambda: self.model.save_model(first) or True) is None:
                return
        watched = self.watched or len(self.fitted.codes) < len(self.rows.codes)
        if self.train("go on", self.rows, **{self.kind.goes_on: first}):
            np.testing.assert_array_equal(self.model.threshold_history_[: len(before) - 1], before[:-1])
            self.watched = watched

    @precondition(lambda self: self.kind.stops_early)
    @rule()
    def stop_early(self) -> None:
        self.model.set_params(**self.kind.stops_early)
        self.train("stop early", self.rows, **watching(self.model, self.X(self.new), self.y(self.new)))
        fresh = self.make().get_params()
        self.model.set_params(**{name: fresh[name] for name in self.kind.stops_early})

    @precondition(lambda self: self.trainer in ("engine", "several outputs"))
    @rule()
    def checkpoint(self) -> None:
        """Save the model of each round in a callback: it answers as the stage of that round."""
        seen = []

        def save(iteration: int, evals: Any) -> None:
            path = self.path(f"round {len(seen)}")
            self.model.save_model(path)
            seen.append((path, self.model.predict_proba(self.X(self.new))))

        if self.train("fit with checkpoints", self.rows, callback=save):
            for path, expected in seen:
                with quiet():
                    loaded = type(self.model)().load_model(path)
                    found = loaded.predict_proba(self.X(self.new))
                np.testing.assert_array_equal(found, expected)

    @is_fitted
    @rule(rows=st.lists(st.integers(0, 11), min_size=1, max_size=4))
    def predict(self, rows: list[int]) -> None:
        """Some rows alone are answered as among the others."""
        alone = self.attempt("predict", lambda: said_by(self.model, self.X(self.new.part(rows))))
        together = self.attempt("predict", lambda: said_by(self.model, self.X(self.new)))
        if alone is not None and together is not None:
            for name, value in together.items():
                np.testing.assert_allclose(alone[name], value[rows], rtol=1e-9, atol=1e-12) if value.dtype.kind in (
                    "f"
                ) else np.testing.assert_array_equal(alone[name], value[rows])

    @is_fitted
    @rule()
    def stage(self) -> None:
        """Stages are models too, and the last one is the model."""
        if not hasattr(self.model, "staged_predict_proba"):
            return
        X = self.X(self.new)
        stages = self.attempt("stage", lambda: list(self.model.staged_predict_proba(X)))
        labels = self.attempt("stage", lambda: list(self.model.staged_predict(X)))
        if stages and labels:
            assert len(stages) == len(labels)
            for proba in stages:
                self.check_proba(proba)
            np.testing.assert_allclose(stages[-1], self.model.predict_proba(X), atol=1e-6)

    def path(self, name: str) -> str:
        return os.path.join(self.folder.name, name)

    @is_fitted
    @rule(onto=st.sampled_from(["new", "itself", "other"]))
    def save(self, onto: str) -> None:
        """A loaded model is the model, and can be saved again."""
        if not hasattr(self.model, "save_model"):
            return
        path, again = self.path("model.json"), self.path("again.json")
        if self.attempt("save", lambda: self.model.save_model(path) or True) is None:
            return
        with quiet():
            other = self.make() if onto == "other" else type(self.model)()
            other = self.model if onto == "itself" else other
            before = self.seen()
            other.load_model(path)
            # of the machine, and what belongs to fit
            machine = [f"parameter {name}" for name in ("n_jobs", "verbosity", "verbose", "callbacks", "device")]
            lists = [name for name in before if name.startswith("parameter ")]  # arrays are lists
            found = public(other) | said_by(other, self.X(self.new))
            for name in machine + lists:
                found.pop(name, None), before.pop(name, None)
            unsaved = self.unsaved(before, found)
            assert_same(found, before, *unsaved)
            other.save_model(again)
            assert Path(again).read_bytes() == Path(path).read_bytes() or self.trainer in ("ensemble", "catboost")
            if onto != "new":
                self.watched = True
            self.model = other

    def unsaved(self, before: dict[str, Any], found: dict[str, Any]) -> list[str]:
        """Return the attributes that a file does not hold."""
        names = {
            "evals_result_", "round_search_", "best_score_", "best_iteration_", "classes_weights_", "oob_loss_",
            "oob_decision_function_", "n_rounds_", "members_",
        }  # fmt: skip
        for name in names:
            before.pop(name, None), found.pop(name, None)
        return []

    @is_fitted
    @rule(how=st.sampled_from(["pickle", "copy", "deepcopy", "clone"]))
    def copied(self, how: str) -> None:
        """A copy answers as the original, which does not notice what happens to it."""
        if how == "clone":
            other = self.attempt("clone", lambda: clone(self.model))
            assert {k: repr(v) for k, v in other.get_params(deep=False).items()} == {
                k: repr(v) for k, v in self.model.get_params(deep=False).items()
            }
            self.attempt("fit of a clone", lambda: other.fit(self.X(self.new), self.y(self.new)))
            return
        how_to: dict[str, Callable[[Any], Any]] = {"copy": copy.copy, "deepcopy": copy.deepcopy}
        function = how_to.get(how, lambda model: pickle.loads(pickle.dumps(model)))
        other = self.attempt(how, lambda: function(self.model))
        if other is None:
            return
        with quiet():
            assert_same(public(other) | said_by(other, self.X(self.new)), self.seen())
        self.attempt("fit of a copy", lambda: other.fit(self.X(self.new), self.y(self.new)))
        if how != "copy":
            self.attempt("load into a copy", lambda: self.model.set_params() and None)

    @rule(
        change=st.sampled_from(
            [
                *({"decision_rule": one, "cost_matrix": None} for one in ("mode", "median", "mean")),
                {"cost_matrix": "squares", "decision_rule": "median"},
                {"learning_rate": 0.7},
                {"n_jobs": 2},
                {"loss": "no such loss"},
                {"classes": [3, 1]},
            ]
        )
    )
    def set_parameter(self, change: dict[str, Any]) -> None:
        """A parameter that is set counts from the next fit on, but for those of decisions."""
        params = self.model.get_params()
        if not change.keys() <= params.keys():
            return
        if change.get("cost_matrix") == "squares":
            change = change | {"cost_matrix": self.costs()}
        before = self.seen()
        self.model.set_params(**change)
        if "cost_matrix" in change:
            with quiet():
                try:
                    self.model.predict(self.X(self.new))
                except ValueError as error:  # a rule that this training excludes, or none is fitted
                    if self.fitted is not None and not is_named(error):
                        raise
                    self.model.set_params(**{name: params[name] for name in change})
            return
        found = self.seen()
        for name in change:
            found.pop(f"parameter {name}", None), before.pop(f"parameter {name}", None)
        assert_same(found, before)
        if change.keys() & {"loss", "classes"}:
            self.train(f"fit with {change}", self.rows)
            self.model.set_params(**{name: params[name] for name in change})

    @is_fitted
    @rule(floats=st.sampled_from(["float32", "float64"]))
    def export(self, floats: str) -> None:
        """The graph of ONNX answers as the model."""
        X = self.X(self.new)
        graph = self.attempt("export", lambda: to_onnx(self.model, X, floats=floats))
        if graph is None or self.table not in (
            "float64",
            "float32",
            "Fortran's order",
            "pandas",
            "pandas with categories",
        ):
            return
        if self.trainer not in ORDINAL:
            return
        labels, found = graph_answers(graph, X, floats)
        expected = self.model.predict_proba(X)
        np.testing.assert_allclose(found, expected, atol=1e-5)
        if not hasattr(self.model, "cuts_"):
            far = far_from_ties(self.model, self.model.predict_proba_ordered(X), 1e-5)
            assert (labels[far] == self.model.predict(X)[far]).all()

    @is_fitted
    @rule(
        how=st.sampled_from(
            ["summary", "shap_values", "feature_effect", "partial_probabilities", "threshold_importances"]
        )
    )
    def explain(self, how: str) -> None:
        X = self.X(self.new)
        given: dict[str, tuple[Any, ...]] = {"feature_effect": (X, 0), "partial_probabilities": (X, 0), "summary": ()}
        found = self.attempt(how, lambda: getattr(inspection, how)(self.model, *given.get(how, (X,))))
        if found is None:
            return
        if how == "shap_values" and hasattr(self.model, "predict_raw"):
            total = found.values.sum(axis=1) + found.base_values
            assert np.isfinite(total).all()
        if how == "summary":
            assert str(found)

    @is_fitted
    @rule()
    def adapt(self) -> None:
        """Thresholds for other rows, in a copy."""
        if hasattr(self.model, "refit_thresholds"):
            X, y = self.X(self.new), self.y(self.new)
            other = self.attempt("refit_thresholds", lambda: self.model.refit_thresholds(X, y))
            if other is not None:
                with quiet():
                    self.check_answers(other)
                self.model, self.adapted = other, True

    @is_fitted
    @rule()
    def replay(self) -> None:
        """The recorded training loss is that of the stages on the training rows."""
        silent = self.adapted or self.watched or self.labels in SOFT or "training_loss_" not in public(self.model)
        options = self.options
        if silent or {"class_weight", "random_intercept", "validation_fraction", "early_stopping"} & options.keys():
            return
        if options.get("boosting_type") in ("rf", "dart") or options.get("booster") == "dart":
            return
        assert self.fitted is not None
        X, weight = self.X(self.fitted), self.given(self.fitted).get("sample_weight")
        stages = self.attempt("replay", lambda: list(self.model.staged_scores(X)))
        if stages is None:
            return
        loss, recorded = self.model.trained_spec().loss, self.model.training_loss_
        for t, (scores, thresholds) in enumerate(stages, len(recorded) - len(stages)):
            if scores.ndim == 1:
                values = loss.value(scores, self.fitted.codes, thresholds)
            else:
                values = loss.margin_derivatives(thresholds - scores, self.fitted.codes, "exact").value
            np.testing.assert_allclose(np.average(values, weights=weight), recorded[t], rtol=1e-4, err_msg=f"round {t}")

    def check_proba(self, proba: np.ndarray) -> None:
        if self.trainer == "several outputs":
            return
        assert np.isfinite(proba).all()
        assert (proba >= 0).all()
        np.testing.assert_allclose(proba.sum(axis=1), 1.0, atol=1e-9)

    def check_answers(self, model: Any) -> None:
        said = said_by(model, self.X(self.new))
        if self.trainer == "numbers":
            assert (np.diff(said["cdf"], axis=1) >= -1e-12).all()
            assert (np.diff(said["quantile"], axis=1) >= 0).all()
            assert np.isfinite(said["predict"]).all()
            return
        if self.trainer == "several outputs":
            assert np.isfinite(said["predict_raw"]).all()
            return
        proba = said["predict_proba_ordered"]
        assert proba.shape == (12, len(model.ordered_classes_))
        self.check_proba(proba)
        place = [model.ordered_classes_.tolist().index(label) for label in model.classes_]
        np.testing.assert_array_equal(said["predict_proba"], proba[:, place])
        at_least = model.predict_at_least(self.X(self.new), model.ordered_classes_[-1])
        np.testing.assert_allclose(at_least, proba[:, -1], atol=1e-12)
        if self.trainer == "tuned":
            return
        rule = getattr(model, "decision_rule", "median")
        codes = decide(proba, rule, cost_matrix=getattr(model, "cost_matrix", None))
        np.testing.assert_array_equal(said["predict"], model.ordered_classes_[codes])

    @invariant()
    def answers(self) -> None:
        if self.model is not None and self.fitted is not None:
            with quiet():
                self.check_answers(self.model)


MACHINES: dict[str, type[Machine]] = {
    name: type(f"{name.title().replace(' ', '')}Machine", (Machine,), {"trainer": name}) for name in TRAINERS
}
