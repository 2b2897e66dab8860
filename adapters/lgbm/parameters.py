"""The classifier's parameters by LightGBM's names, and what they are on so many rows."""

from __future__ import annotations

from typing import Any, ClassVar

from ordinal_objectives.adapters.lgbm.parameter_names import DIALECT, KNOWN, NATIVE, REFUSED, resolved
from ordinal_objectives.estimators.held_out import smallest_leaf
from ordinal_objectives.estimators.host_classifier import ORDINAL_PARAMETERS, HostClassifier


class LightGBMParameters(HostClassifier):
    """Base of the classifier: each parameter by any of its names."""

    _native: ClassVar = NATIVE
    _own: ClassVar = ORDINAL_PARAMETERS
    _refused: ClassVar = REFUSED
    _dialect: ClassVar = DIALECT
    _known: ClassVar = KNOWN

    def _by_other_names(self) -> tuple[dict[str, Any], list[str]]:
        """Return what other names of LightGBM say, and in words what is not used; see :func:`.names.resolved`."""
        if not self._host_params:
            return {}, []
        names = [name for name in self._get_param_names() if name in KNOWN]
        own = {name: getattr(self, name) for name in names if getattr(self, name) != self._default(name)}
        return resolved(own, self._host_params)

    def _resolved_params(self) -> dict[str, Any]:
        names = self._get_param_names()
        return {name: getattr(self, name) for name in names} | self._by_other_names()[0]

    def _native_params(self) -> dict[str, Any]:
        return {"feature_pre_filter": False, "verbosity": -1, **super()._native_params()}

    def _prints(self) -> bool:
        """Tell whether LightGBM is asked to say what it does."""
        return bool(self._native_params()["verbosity"] > 0)

    def _params_for(self, n_rows: int) -> dict[str, Any]:
        """Return the parameters of a training on so many rows."""
        params = self._native_params()
        if "min_data_in_leaf" in params:
            params["min_data_in_leaf"] = smallest_leaf(params["min_data_in_leaf"], n_rows)
        of_ours = params.get("bagging_fraction") == self._default("subsample")
        if of_ours and "goss" in (params.get("boosting"), params.get("data_sample_strategy")):
            params["bagging_freq"] = 0  # LightGBM draws rows in one way alone
        return params


def stops_early(callback: Any) -> bool:
    """Tell whether a callback is LightGBM's early stopping, for which it has no public type."""
    return hasattr(callback, "stopping_rounds")
