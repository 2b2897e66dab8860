"""Goes through every public entry point of the estimators and of the hosts' modules, each in its own forked process.

The parent has trained with two threads, so a library that asks OpenMP for two hangs in the child. Run as a script, in
a folder to write to, it prints the entry points that do not end as they should, with what happened, and ends with 1 if
there are any.
"""

from __future__ import annotations

import copy
import inspect
import os
import pickle
import signal
import sys
import traceback
import warnings
from functools import partial

import lightgbm
import numpy as np
import xgboost
from sklearn.base import clone

import ordinal_objectives
from ordinal_objectives.adapters import lgbm as olgbm, xgb as oxgb
from ordinal_objectives.adapters.xgb.outputs import CONTRIBUTIONS, is_at_least

OUTPUTS = ("HistGradientBoostingMultiOutputClassifier", "HistGradientBoostingMultiOutputRegressor")
# A record, and what needs connected workers.
_ELSEWHERE = {"ThresholdRecord", "network_params"}
# They change or describe parameters alone.
OF_PARAMETERS = {"get_params", "set_params", "get_metadata_routing"}
SECONDS = 15


def public(kind):
    """Return the public names of a class that this package's classes define."""
    names = (name for name in dir(kind) if not name.startswith("_"))
    owner = {name: next(base for base in kind.__mro__ if name in vars(base)) for name in names}
    return sorted(name for name, base in owner.items() if base.__module__.startswith("ordinal_objectives"))


def of_estimator(name, model, X, y):
    """Return name -> function for everything that a fitted estimator does; what is not named here takes X."""
    kind, path = type(model), f"{name}.model"
    model.save_model(path)
    written = pickle.dumps(model)
    special = {
        "fit": lambda: clone(model).fit(X, y),
        "rounds_of_copies": getattr(model, "rounds_of_copies", None),
        "encode_labels": lambda: model.encode_labels(y),
        "predict_at_least": lambda: model.predict_at_least(X, model.classes_[-1]),
        "score": lambda: model.score(X, y),
        "refit_thresholds": lambda: model.refit_thresholds(X[:50], y[:50]).predict(X[:5]),
        "with_groups": lambda: with_more_groups(kind, X, y),
        "save_model": lambda: model.save_model(f"{path} again"),
        "load_model": lambda: kind().load_model(path),
    }
    entries = {
        "pickle": lambda: pickle.dumps(model),
        "unpickle": lambda: pickle.loads(written).predict(X[:5]),
        "deepcopy": lambda: copy.deepcopy(model).predict(X[:5]),
        "copy": lambda: copy.copy(model).predict(X[:5]),
        "score": lambda: model.score(X, y),
    }
    further = {"xgb_model", "init_model"} & set(inspect.signature(kind.fit).parameters)
    if further:
        entries["fit further"] = lambda: clone(model).fit(X, y, **dict.fromkeys(further, model))
    names = [name for name in public(kind) if name not in OF_PARAMETERS and not name.endswith("_request")]
    names = [name for name in names if hasattr(model, name)]
    return entries | {name: special.get(name) or partial(enter, model, name, X) for name in names}


def with_more_groups(kind, X, y):
    """Train with half of the groups, learn the others, and predict all."""
    X = np.column_stack([X, np.arange(len(y)) % 10])
    known = X[:, -1] < 5
    options = {"loss": "cumulative_link", "threshold_update": "newton", "random_intercept": X.shape[1] - 1, "n_jobs": 2}
    return kind(**options).fit(X[known], y[known]).with_groups(X[~known], y[~known]).predict(X)


def enter(model, name, X):
    """Read a property, or call a method with the rows, or with nothing where it takes nothing."""
    found = getattr(model, name)
    return found if not callable(found) else found(X) if inspect.signature(found).parameters else found()


def estimators(X, y):
    """Return name -> fitted estimator, a proportional one and one with shifts of each kind."""
    asked = {"n_estimators": 6, "n_jobs": 2}
    found = {}
    for proportional in (True, False):
        words = "proportional" if proportional else "shifts"
        found[f"XGBOrdinalClassifier {words}"] = ordinal_objectives.XGBOrdinalClassifier(
            **asked, proportional=proportional, validation_fraction=0.2, early_stopping_rounds=3, random_state=0
        ).fit(X, y)
        found[f"LGBMOrdinalClassifier {words}"] = ordinal_objectives.LGBMOrdinalClassifier(
            **asked, proportional=proportional
        ).fit(X, y)
    found["XGBOrdinalClassifier host"] = ordinal_objectives.XGBOrdinalClassifier(
        **asked, proportional=False, shift_method="host"
    ).fit(X, y)
    engine = {"max_iter": 6, "n_jobs": 2}
    found["HistGradientBoostingOrdinalClassifier"] = ordinal_objectives.HistGradientBoostingOrdinalClassifier(
        **engine
    ).fit(X, y)
    members = [
        ("ordinal", ordinal_objectives.XGBOrdinalClassifier(**asked)),
        ("multiclass", xgboost.XGBClassifier(**asked)),
    ]
    found["OrdinalEnsembleClassifier"] = ordinal_objectives.OrdinalEnsembleClassifier(members, n_bags=1).fit(X, y)
    for name in OUTPUTS:
        found[name] = getattr(ordinal_objectives, name)(**engine).fit(X, y)
    return found


def of_xgboost(X, y):
    """Return name -> function for the module of XGBoost."""
    rows = xgboost.DMatrix(X, y, nthread=1)
    params = {"nthread": 2, "max_depth": 3}
    booster = oxgb.train(params, rows, 6, n_classes=4)
    objective = oxgb.OrdinalObjective(n_classes=4)
    bare = xgboost.train(params | {"base_score": 0.0, "disable_default_eval_metric": 1}, rows, 6, obj=objective)
    objective.attach(bare, rows)
    entries = {
        "train": lambda: oxgb.train(params, rows, 6, evals=[(rows, "rows")], verbose_eval=False),
        "train further": lambda: oxgb.train(params, rows, 6, xgb_model=booster),
        "cv": lambda: oxgb.cv(params, rows, 6),
        "predict": lambda: oxgb.predict(booster, rows),
        "predict_proba": lambda: oxgb.predict_proba(booster, rows, (0, 3)),
        "threshold_record": lambda: oxgb.threshold_record(booster),
        "kept_rounds": lambda: oxgb.kept_rounds(booster),
        "margin_contributions": lambda: oxgb.margin_contributions(booster, rows),
        "OrdinalObjective": lambda: objective.predict(bare, rows),
        "OrdinalObjective.attach": lambda: objective.attach(bare, rows),
    }
    if is_at_least(CONTRIBUTIONS):
        shifted = oxgb.train(params, rows, 6, proportional=False, shift_method="host")
        entries["margin_contributions host"] = lambda: oxgb.margin_contributions(shifted, rows)
    return entries


def of_lightgbm(X, y):
    """Return name -> function for the module of LightGBM."""
    params = {"num_threads": 2, "num_leaves": 4, "verbosity": -1}
    data = partial(lightgbm.Dataset, X, y, free_raw_data=False)
    booster = olgbm.train(params, data(), 6, n_classes=4)
    olgbm.save_model(booster, "booster")
    return {
        "train": lambda: olgbm.train(params, data(), 6, valid_sets=[data()]),
        "train further": lambda: olgbm.train(params, data(), 6, init_model=booster),
        "cv": lambda: olgbm.cv(params, data(), 6),
        "predict": lambda: olgbm.predict(booster, X),
        "predict_proba": lambda: olgbm.predict_proba(booster, X, 3),
        "threshold_record": lambda: olgbm.threshold_record(booster),
        "save_model": lambda: olgbm.save_model(booster, "booster2"),
        "load_model": lambda: olgbm.load_model("booster"),
        "OrdinalObjective": lambda: olgbm.OrdinalObjective().predict(booster, X),
    }


def in_child(entry):
    """Go through an entry point in a forked process; return "ok" or what happened."""
    child = os.fork()
    if not child:
        signal.alarm(SECONDS)
        try:
            result = entry()
            if inspect.isgenerator(result):
                list(result)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return {0: "ok", -signal.SIGALRM: "hangs"}.get(code, f"ends with {code}")


def all_doors(X, y):
    """Return name -> function for all of them."""
    entries = {
        f"{name}.{entry}": go
        for name, model in estimators(X, y).items()
        for entry, go in of_estimator(name, model, X, y).items()
    }
    for host, found, module in (("xgb", of_xgboost(X, y), oxgb), ("lgbm", of_lightgbm(X, y), olgbm)):
        named = {name for name in module.__all__ if callable(getattr(module, name))} - _ELSEWHERE
        missing = named - {entry.split()[0] for entry in found}
        assert not missing, f"entry points of {host} that are not tried: {missing}"
        entries |= {f"{host}.{entry}": go for entry, go in found.items()}
    return entries


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # Python 3.12 and newer warn of every fork of a process with threads
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    found = {name: in_child(go) for name, go in all_doors(X, np.digitize(X[:, 0], [-1.0, 0.0, 1.0])).items()}
    print(*(f"{name} {what}" for name, what in found.items() if what != "ok"), sep="\n")
    sys.exit(set(found.values()) != {"ok"})
