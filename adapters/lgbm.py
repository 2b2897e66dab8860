"""Ordinal boosting inside LightGBM: an objective for ``lightgbm.train`` whose thresholds are learned."""

from __future__ import annotations

import weakref
from os import PathLike
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
from lightgbm.callback import CallbackEnv
from numpy.typing import ArrayLike, NDArray

from ordinal_objectives.adapters.objective import (
    OrdinalObjectiveBase,
    predict_codes,
    predict_from_scores,
)
from ordinal_objectives.adapters.threshold_record import ThresholdRecord
from ordinal_objectives.adapters.training_run import TrainingRun

# LightGBM keeps unknown lines of the parameter section through loading, saving and truncating.
_LINE_START = "[ordinal_thresholds: "
_SECTION_END = "end of parameters"


class OrdinalObjective(OrdinalObjectiveBase):
    """Ordinal objective for :func:`lightgbm.train`: ``params["objective"] = objective``.

    Thresholds are learned inside the call, one Newton step behind the trees. Pass
    ``callbacks=[objective.callback]`` as well, and metrics see the thresholds of their own round, the last
    step is done, and the booster carries its thresholds: :func:`save_model` and :func:`load_model` keep
    them in LightGBM's own text format, and pickling keeps them too.

    LightGBM copies its parameters deeply; a deep copy of this object is the object itself, so that what it
    learned is not lost. Use :func:`copy.copy` or :mod:`pickle` for an independent, untrained copy.

    Parameters
    ----------
    n_classes, loss, link, hessian, threshold_update, thresholds, n_threads
        See :class:`ordinal_objectives.adapters.objective.OrdinalObjectiveBase`.

    Examples
    --------
    >>> import lightgbm, numpy as np
    >>> from ordinal_objectives.adapters import lgbm as olgbm
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=300), [-1.0, 0.0, 1.0])
    >>> objective = olgbm.OrdinalObjective(n_classes=4)
    >>> params = {"objective": objective, "metric": "None", "verbosity": -1, "num_leaves": 4}
    >>> booster = lightgbm.train(params, lightgbm.Dataset(X, y), 20, callbacks=[objective.callback])
    >>> objective.predict_proba(booster, X).shape
    (300, 4)
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.callback = _ThresholdCallback(self)

    def _forget(self) -> None:
        super()._forget()
        # Dataset -> (what its score looked like last, the iteration that was)
        self._seen: weakref.WeakKeyDictionary[Any, tuple[tuple[float, bytes], int]] = weakref.WeakKeyDictionary()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "callback"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.callback = _ThresholdCallback(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> OrdinalObjective:
        return self

    def __call__(self, preds: NDArray[Any], train_data: lightgbm.Dataset) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return gradient and Hessian, float32 (n_samples,) each, as LightGBM asks for them."""
        if preds.ndim != 1:
            raise ValueError(
                "params['num_class'] is not allowed beside an ordinal objective: the score must have shape "
                f"(n_samples,); got {preds.shape}"
            )
        run = self._runs.get(train_data)
        # Scores are all zero before the first tree alone: a new training has begun on this data set.
        if run is None or (len(run.history) > 1 and not preds.any()):
            run = self._begin(preds, train_data)
        return run.gradient(preds, self._iteration(preds, train_data))

    def _begin(self, preds: NDArray[Any], train_data: lightgbm.Dataset) -> TrainingRun:
        if preds.any() and self.thresholds is None and self.continues is None and self.threshold_update == "fixed":
            raise ValueError(
                "the score does not start at zero (init_model or init_score is set), and "
                "threshold_update='fixed' cannot fit thresholds to it: pass thresholds="
            )
        self._seen.pop(train_data, None)
        self.callback.model = None
        return self._new_run(train_data, self.continues)

    def _iteration(self, preds: NDArray[Any], train_data: lightgbm.Dataset) -> int:
        """Count the iterations that changed the score: a round without a split adds no tree."""
        # No product of vectors here: the threads of a BLAS would go on spinning beside LightGBM's.
        looks = (float(preds.sum()), preds[:: len(preds) // 1024 + 1].tobytes())
        last, iteration = self._seen.get(train_data, (looks, self._runs[train_data].first_iteration))
        iteration += looks != last
        self._seen[train_data] = (looks, iteration)
        return iteration

    def metric(self, preds: NDArray[Any], data: lightgbm.Dataset) -> tuple[str, float, bool]:
        """Weighted mean of the loss, for ``feval=``; fresh thresholds if the callback is passed."""
        if data in self._runs:
            self._advance(preds, data)
        run = self.callback.refresh(data) or self._latest_run()
        return self.loss.name, self._mean_loss(preds, data, run), False

    def _advance(self, preds: NDArray[Any], train_data: lightgbm.Dataset) -> TrainingRun:
        run = self._runs[train_data]
        run.advance(preds, self._iteration(preds, train_data))
        return run

    def _label_and_weight(self, matrix: lightgbm.Dataset) -> tuple[Any, Any]:
        label = matrix.get_label()
        if label is None:
            raise ValueError("the data set has no labels; pass label= to lightgbm.Dataset")
        return label, matrix.get_weight()

    def attach(self, booster: lightgbm.Booster, data: Any = None) -> None:
        """Give its thresholds to a booster that was trained without the callback.

        Parameters
        ----------
        booster : lightgbm.Booster
            What the latest training with this objective returned.
        data : array-like or None, default=None
            The training features, to take the last threshold step; None leaves the last tree with the
            thresholds it was grown on.

        Raises
        ------
        ValueError
            If the objective's latest training is not the booster's.
        """
        booster.ordinal_thresholds = self._finished_record(booster, data)

    def _finished_record(self, booster: lightgbm.Booster, data: Any) -> ThresholdRecord:
        run = self._latest_run()
        rounds = booster.current_iteration()
        # The objective last saw the score before the last tree; a round without a split adds none.
        offset = rounds - len(run.history)
        if offset < -1:
            raise ValueError(
                f"booster has {rounds} iterations, but this objective's latest training had at least "
                f"{len(run.history) - 1}; attach the booster that it returned"
            )
        if data is not None:
            run.advance(booster.predict(data, raw_score=True, num_iteration=rounds), len(run.history))
        return self._record_of(run).stretched(rounds, max(0, offset))

    def _record(self, booster: lightgbm.Booster) -> ThresholdRecord:
        return _stored_record(booster) or self._finished_record(booster, None)

    def predict_proba(
        self, booster: lightgbm.Booster, data: Any, num_iteration: int | None = None
    ) -> NDArray[np.float64]:
        """Class probabilities, float64 (n_samples, n_classes); see :func:`predict_proba`."""
        return _proba(booster, self._record(booster), data, num_iteration)

    def predict(
        self,
        booster: lightgbm.Booster,
        data: Any,
        num_iteration: int | None = None,
        *,
        decision_rule: str = "median",
        cost_matrix: ArrayLike | None = None,
    ) -> NDArray[np.intp]:
        """Class codes, (n_samples,); see :func:`predict`."""
        return predict_codes(self.predict_proba(booster, data, num_iteration), decision_rule, cost_matrix)


class _ThresholdCallback:
    """Keeps an objective's thresholds in step with the booster, and gives them to it."""

    order = -1_000_000  # before whatever reads the metrics

    def __init__(self, objective: OrdinalObjective) -> None:
        self._objective = objective
        self.model: Any = None

    def __call__(self, env: CallbackEnv) -> None:
        first = self.model is not env.model
        self.model = env.model
        for booster in self._boosters():
            self._advance(booster)
            # The record shares the lists of the run, so this copies nothing.
            run = self._objective._runs[booster.train_set]
            booster.ordinal_thresholds = self._objective._record_of(run)
        if first and env.evaluation_result_list:
            self._renew_first_metrics(env)

    def _boosters(self) -> list[Any]:
        return getattr(self.model, "boosters", None) or [self.model]

    def _advance(self, booster: Any) -> None:
        # Evaluating the training set is the one public way to its cached score.
        def look(preds: NDArray[Any], data: lightgbm.Dataset) -> tuple[str, float, bool]:
            self._objective._advance(preds, data)
            return "", 0.0, False

        booster.eval_train(look)

    def refresh(self, data: lightgbm.Dataset) -> TrainingRun | None:
        """Learn the thresholds of the round just finished, for the booster that evaluates ``data``."""
        if self.model is None:
            return None
        for booster in self._boosters():
            if data is booster.train_set or any(data is valid for valid in booster.valid_sets):
                self._advance(booster)
                return self._objective._runs[booster.train_set]
        return None

    def _renew_first_metrics(self, env: CallbackEnv) -> None:
        """Replace metrics of the first round, which were computed before a callback could see the booster."""
        metric = self._objective.metric
        name = self._objective.loss.name
        fresh = [
            {result[:2]: result for result in [*booster.eval_train(metric), *booster.eval_valid(metric)]}
            for booster in self._boosters()
        ]
        results = env.evaluation_result_list
        for i, result in enumerate(results):
            key = (result[0], result[1])
            if result[1] == name and all(key in renewed for renewed in fresh):
                values = [renewed[key][2] for renewed in fresh]
                tail = result[3:] if len(fresh) == 1 else (result[3], float(np.std(values)), *result[5:])
                entry = (*key, float(np.mean(values)), *tail)
                results[i] = type(result)(*entry) if hasattr(result, "_fields") else entry


def _stored_record(booster: lightgbm.Booster) -> ThresholdRecord | None:
    record = getattr(booster, "ordinal_thresholds", None)
    if record is None:
        text = booster.model_to_string(num_iteration=1)
        if _LINE_START not in text:
            return None
        record = ThresholdRecord.from_json(_split(text)[1])
    return record


def _split(text: str) -> tuple[str, str]:
    """Return a model text without its line of thresholds, and what that line holds."""
    start = text.index(_LINE_START)
    end = text.index("\n", start)
    return text[:start] + text[end + 1 :], text[start + len(_LINE_START) : end].rstrip().removesuffix("]")


def threshold_record(booster: lightgbm.Booster) -> ThresholdRecord:
    """Return what a booster carries about its thresholds: those of every iteration, losses, settings.

    Raises
    ------
    ValueError
        If the booster carries no thresholds.
    """
    record = _stored_record(booster)
    if record is None:
        raise ValueError(
            "booster carries no ordinal thresholds; train with callbacks=[objective.callback], or call "
            "objective.attach(booster, X) after training, and save with olgbm.save_model"
        )
    return record


def save_model(booster: lightgbm.Booster, filename: str | PathLike[str], num_iteration: int | None = None) -> None:
    """Save a booster with its thresholds in LightGBM's text format.

    Parameters
    ----------
    booster : lightgbm.Booster
        One that carries thresholds.
    filename : path-like
        Where to write. LightGBM's own loader reads the file as well.
    num_iteration : int or None, default=None
        How many iterations to keep; None keeps those up to the best one, or all.

    Raises
    ------
    ValueError
        If the booster carries no thresholds.
    """
    record = threshold_record(booster)
    text = booster.model_to_string(num_iteration=num_iteration)
    if _LINE_START in text:
        text = _split(text)[0]
    line = f"{_LINE_START}{record.to_json()}]\n"
    Path(filename).write_text(text.replace(_SECTION_END, line + _SECTION_END, 1), encoding="utf-8")


def load_model(filename: str | PathLike[str]) -> lightgbm.Booster:
    """Load a booster with its thresholds, as :func:`save_model` wrote it.

    Raises
    ------
    ValueError
        If the file carries no thresholds, or they are damaged.
    """
    text = Path(filename).read_text(encoding="utf-8")
    if _LINE_START not in text:
        raise ValueError(f"{filename} holds no ordinal thresholds; it was not written by olgbm.save_model")
    plain, record = _split(text)
    thresholds = ThresholdRecord.from_json(record)
    booster = lightgbm.Booster(model_str=plain)
    booster.ordinal_thresholds = thresholds
    return booster


def _proba(
    booster: lightgbm.Booster, record: ThresholdRecord, data: Any, num_iteration: int | None
) -> NDArray[np.float64]:
    if num_iteration is None:
        num_iteration = booster.best_iteration
    rounds = booster.current_iteration()
    end = rounds if num_iteration is None or num_iteration <= 0 else min(num_iteration, rounds)
    scores = booster.predict(data, raw_score=True, num_iteration=end)
    return predict_from_scores(record, end, scores)


def predict_proba(booster: lightgbm.Booster, data: Any, num_iteration: int | None = None) -> NDArray[np.float64]:
    """Return class probabilities of a booster that carries its thresholds.

    Parameters
    ----------
    booster : lightgbm.Booster
        Trained with the callback, or loaded by :func:`load_model`.
    data : array-like
        Features, as :meth:`lightgbm.Booster.predict` takes them.
    num_iteration : int or None
        How many iterations to use, with the thresholds that belong to them. None uses those up to the
        best one if early stopping found one, else all.

    Returns
    -------
    ndarray of float64, shape (n_samples, n_classes)

    Raises
    ------
    ValueError
        If the booster carries no thresholds, or none for that iteration.
    """
    return _proba(booster, threshold_record(booster), data, num_iteration)


def predict(
    booster: lightgbm.Booster,
    data: Any,
    num_iteration: int | None = None,
    *,
    decision_rule: str = "median",
    cost_matrix: ArrayLike | None = None,
) -> NDArray[np.intp]:
    """Return class codes, (n_samples,), of a booster that carries its thresholds.

    ``decision_rule`` and ``cost_matrix`` are those of :func:`ordinal_objectives.decision.decide`; the other
    parameters are those of :func:`predict_proba`.
    """
    return predict_codes(predict_proba(booster, data, num_iteration), decision_rule, cost_matrix)
