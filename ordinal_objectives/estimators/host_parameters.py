"""Constructor parameters that go to the host library: by its own names, and by no others."""

from __future__ import annotations

import difflib
import inspect
import numbers
from collections.abc import Mapping
from typing import Any, ClassVar

from ordinal_objectives.threads import library_n_threads
from ordinal_objectives.utils.seeds import drawn_seed

# What both classifiers' constructors take and the host's ``train`` does not.
ORDINAL_PARAMETERS = frozenset(
    {
        "class_weight",
        "classes",
        "cost_matrix",
        "decision_rule",
        "hessian",
        "importance_type",
        "kappa_rows",
        "kappa_weights",
        "linear",
        "linear_l2",
        "link",
        "loss",
        "max_shifts",
        "n_estimators",
        "progress",
        "proportional",
        "shift_l2",
        "shift_penalty",
        "threshold_update",
        "training_cost",
        "validation_fraction",
    }
)


class HostParameters:
    """Mixin of estimators that take all parameters of their host library, also those not in the constructor.

    A subclass says which names the host's ``train`` spells otherwise (``_native``), which of its own never
    go there (``_own``), which names belong to another library and what it calls them (``_dialect``), and
    which cannot be set beside an ordinal loss and why (``_refused``). ``_known`` lists the names of the host
    that the constructor does not spell out; ``_host_checks_names`` says that it warns of others itself.
    """

    _native: ClassVar[Mapping[str, str]] = {}
    _own: ClassVar[frozenset[str]] = frozenset()
    _dialect: ClassVar[Mapping[str, str]] = {}
    _refused: ClassVar[Mapping[str, str]] = {}
    _known: ClassVar[frozenset[str] | None] = None
    _host_checks_names: ClassVar[bool] = False
    _host_params: dict[str, Any]

    def _keep_host_params(self, host_params: dict[str, Any]) -> None:
        """Store what the constructor does not name, unless the name is foreign or impossible here."""
        for name, value in host_params.items():
            if name in self._dialect:
                raise TypeError(
                    f"{type(self).__name__} has no {name!r}: here it is {self._dialect[name]!r}; got {name}={value!r}"
                )
            if name in self._refused:
                raise TypeError(f"{type(self).__name__} takes no {name!r}: {self._refused[name]}; got {name}={value!r}")
        self._host_params = dict(host_params)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, those passed on to the host library included.

        Parameters
        ----------
        deep : bool, default=True
            Whether to return those of estimators among them as well.
        """
        return {**super().get_params(deep=deep), **self._host_params}  # type: ignore[misc]

    def set_params(self, **params: Any) -> Any:
        """Set parameters; names unknown to the constructor go to the host library.

        Parameters
        ----------
        **params
            Values by name.
        """
        own = set(self._get_param_names())  # type: ignore[attr-defined]
        self._keep_host_params({**self._host_params, **{k: v for k, v in params.items() if k not in own}})
        return super().set_params(**{k: v for k, v in params.items() if k in own})  # type: ignore[misc]

    def _refuse_unknown(self) -> None:
        """Raise TypeError for a name that is not the host's, or resembles one where the host warns of unknown names."""
        if self._known is None:
            return
        own = set(self._get_param_names())  # type: ignore[attr-defined]
        for name in self._host_params:
            if name in self._known:
                continue
            near = difflib.get_close_matches(
                name, self._known | own | set(self._dialect), n=1, cutoff=0.8 if self._host_checks_names else 0.6
            )
            if near or not self._host_checks_names:
                hint = f"; did you mean {self._dialect.get(near[0], near[0])!r}?" if near else ""
                raise TypeError(f"{type(self).__name__} has no parameter {name!r}{hint}")

    @classmethod
    def _default(cls, name: str) -> Any:
        """Return the value of a parameter that nobody set."""
        return inspect.signature(cls).parameters[name].default

    def _resolved_params(self) -> dict[str, Any]:
        """Return the parameters, by one name each."""
        return self.get_params(deep=False)

    def _native_params(self) -> dict[str, Any]:
        """Return the parameters of the host's ``train``; those left at None are left to the host."""
        self._refuse_unknown()
        given = {
            name: value
            for name, value in self._resolved_params().items()
            if value is not None and name not in self._own
        }
        seed = given.get("random_state")
        if seed is not None and not isinstance(seed, numbers.Integral):
            given["random_state"] = drawn_seed(seed)
        threads = library_n_threads(given.pop("n_jobs", None))
        if threads is not None:
            given["n_jobs"] = threads
        return {self._native.get(name, name): value for name, value in given.items()}
