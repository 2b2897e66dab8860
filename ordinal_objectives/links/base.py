"""Base class of links: G, its derivatives, and the negative log probabilities computed from it.

References
----------
.. [1] J. de Leeuw and K. Lange, "Sharp quadratic majorization in one dimension", CSDA 53 (2009), 2471-2484.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import ClassVar

import numpy as np

from ordinal_objectives import _core
from ordinal_objectives.aliases import FloatArray
from ordinal_objectives.registry import Named
from ordinal_objectives.utils import validation

LINKS: dict[str, Link] = {}


@dataclass(frozen=True)
class IntervalTerms:
    """``l(a, b) = -log[G(b) - G(a)]`` and its derivatives, each an array of the shape of a and b.

    The derivatives along the common shift (a + t, b + t) are computed directly: as differences of larger terms they
    would lose all digits between close thresholds. The others are sums of them.

    Attributes
    ----------
    value : ndarray of float64
        l(a, b).
    d_lower, d_upper : ndarray of float64
        dl/da and dl/db.
    d_shift : ndarray of float64
        dl/da + dl/db.
    d_lower_shift, d_upper_shift : ndarray of float64
        d2l/da2 + d2l/dadb and d2l/db2 + d2l/dadb.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives.links import Logit
    >>> terms = Logit().interval(np.array([-1.0]), np.array([1.0]))  # -log P(-1 < x <= 1)
    >>> terms.value.round(3)
    array([0.772])
    """

    value: FloatArray
    d_lower: FloatArray
    d_upper: FloatArray
    d_shift: FloatArray
    d_lower_shift: FloatArray
    d_upper_shift: FloatArray

    @property
    def d_cross(self) -> FloatArray:
        """d2l/dadb = (dl/da)(dl/db), because G(b) - G(a) has no mixed derivative."""
        return self.d_lower * self.d_upper

    @property
    def d_lower2(self) -> FloatArray:
        """d2l/da2."""
        return self.d_lower_shift - self.d_cross

    @property
    def d_upper2(self) -> FloatArray:
        """d2l/db2."""
        return self.d_upper_shift - self.d_cross


class Link(Named, ABC):
    """An inverse link G, an increasing map of the real line onto (0, 1), with its derivatives.

    All methods work elementwise on float64 arrays. Two of the same type with the same public attributes are equal.

    Attributes
    ----------
    name, mirror : str
        Own name, and the name of the link m with G_m(x) = 1 - G(-x).
    symmetric : bool
        Whether the link is its own mirror.
    curvature_bound : float or None
        Largest second derivative of -log G; None where there is none.
    curvature_floor : float
        Magnitude of the most negative second derivative e of -log G, 0 where -log G is convex. With
        max(e, floor) on the diagonal and -e off it, ``|e|`` never exceeds the diagonal, so that the joint
        matrix of leaves and thresholds stays positive semidefinite.
    argument_limit : float
        Larger arguments are clipped to it, because double precision ends (exp(700) is about 1e304).
    highest_order : int
        Of the derivatives of -log G: 2, or 4 with :meth:`higher`.

    Notes
    -----
    See docs/how_to/add_a_link.md for a link of one's own.

    Examples
    --------
    >>> from ordinal_objectives.links import LINKS
    >>> sorted(LINKS)
    ['cauchit', 'cloglog', 'logit', 'loglog', 'probit']
    >>> link = LINKS["cloglog"]
    >>> link.mirror, link.symmetric
    ('loglog', False)
    """

    needs: ClassVar[Mapping[str, type]] = {"name": str, "mirror": str, "argument_limit": Real}
    _built_in = LINKS
    _codes = _core.link_codes
    mirror: ClassVar[str]
    highest_order: ClassVar[int] = 2
    curvature_bound: ClassVar[float | None] = None
    curvature_floor: ClassVar[float] = 0.0
    argument_limit: ClassVar[float] = float("inf")

    def __init_subclass__(cls, **options: object) -> None:
        """Remove what a class that overrides formulas must define again: majorisers and higher derivatives."""
        super().__init_subclass__(**options)
        own = vars(cls).keys()
        if "lower" in own and not own & {"curvature_bound", "sharp_curvature"}:
            cls.curvature_bound = None
        if "lower" in own and "higher" not in own:
            cls.highest_order = 2

    @property
    def symmetric(self) -> bool:
        """Whether G(-x) = 1 - G(x)."""
        return self.mirror == self.name

    @property
    def mirror_link(self) -> Link:
        """The link m with G_m(x) = 1 - G(-x).

        Raises
        ------
        ValueError
            If the link is not symmetric, and is not the mirror of the built-in link that it names.
        """
        if self.symmetric:
            return self
        found = LINKS.get(self.mirror)
        if found is None or type(LINKS[found.mirror]) is not type(self):
            raise ValueError(
                f"link {self.identity!r} is not symmetric, and mirror={self.mirror!r} is no built-in link whose mirror "
                f"it is: give it the property mirror_link"
            )
        return found

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{key}={value!r}' for key, value in self._parameters().items())})"

    @abstractmethod
    def inverse(self, x: FloatArray) -> FloatArray:
        """G(x)."""

    @abstractmethod
    def log_inverse(self, x: FloatArray) -> FloatArray:
        """Log G(x)."""

    @abstractmethod
    def density(self, x: FloatArray) -> FloatArray:
        """G'(x)."""

    @abstractmethod
    def density_derivative(self, x: FloatArray) -> FloatArray:
        """G''(x)."""

    @abstractmethod
    def lower(self, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """-log G(x) and its first and second derivative: the loss of a label at or below the threshold."""

    @abstractmethod
    def _link(self, p: FloatArray) -> FloatArray:
        """G^-1(p) for p in [0, 1]."""

    def _interval(self, lower: FloatArray, upper: FloatArray) -> IntervalTerms:
        """Interval terms between finite ends; this general form loses digits between close ones."""
        # Subtracted in the tail where both terms are small.
        left = self.inverse(upper) - self.inverse(lower)
        mass = np.where(lower > 0, self.complement(lower) - self.complement(upper), left)
        d_lower, d_upper = self.density(lower) / mass, -self.density(upper) / mass
        d_shift = d_lower + d_upper
        return IntervalTerms(
            value=-np.log(mass),
            d_lower=d_lower,
            d_upper=d_upper,
            d_shift=d_shift,
            d_lower_shift=self.density_derivative(lower) / mass + d_lower * d_shift,
            d_upper_shift=-self.density_derivative(upper) / mass + d_upper * d_shift,
        )

    def higher(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Third and fourth derivative of -log G(x), if `highest_order` is 4."""
        raise NotImplementedError(f"link {self.identity!r} has highest_order={self.highest_order}")

    def complement(self, x: FloatArray) -> FloatArray:
        """1 - G(x), accurate where G(x) is close to 1."""
        return self.mirror_link.inverse(-x)

    def log_complement(self, x: FloatArray) -> FloatArray:
        """Log(1 - G(x))."""
        return self.mirror_link.log_inverse(-x)

    def upper(self, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """-log(1 - G(x)) and its first and second derivative: the loss of a label above the threshold."""
        value, d1, d2 = self.mirror_link.lower(-x)
        return value, -d1, d2

    def link(self, p: FloatArray) -> FloatArray:
        """G^-1(p).

        Parameters
        ----------
        p : ndarray of float64
            Probabilities in [0, 1]; the ends give minus and plus infinity.

        Raises
        ------
        ValueError
            If a value lies outside [0, 1] or is NaN.

        Examples
        --------
        >>> import numpy as np
        >>> from ordinal_objectives.links import get_link
        >>> get_link("logit").link(np.array([0.5, 0.75])).round(4)
        array([0.    , 1.0986])
        """
        p = validation.as_floats(p, name="p")
        outside = ~((p >= 0) & (p <= 1))
        if outside.any():
            raise ValueError(f"p must lie in [0, 1]; got {p[outside].flat[0]}")
        with np.errstate(divide="ignore"):
            return self._link(p)

    def interval(self, lower: FloatArray, upper: FloatArray) -> IntervalTerms:
        """-log[G(upper) - G(lower)] and its derivatives: the loss of a label between two thresholds.

        Parameters
        ----------
        lower, upper : ndarray of float64
            Ends of the interval, of one shape; lower may be -inf and upper inf.

        Raises
        ------
        ValueError
            Unless lower < upper everywhere: an empty interval has no probability.

        Examples
        --------
        >>> import numpy as np
        >>> from ordinal_objectives.links import get_link
        >>> terms = get_link("logit").interval(np.array([-1.0]), np.array([1.0]))
        >>> terms.value.round(4), terms.d_shift.round(4)
        (array([0.7719]), array([0.]))
        """
        lower = np.asarray(lower, dtype=np.float64)
        upper = np.asarray(upper, dtype=np.float64)
        lower, upper = np.broadcast_arrays(lower, upper)
        wrong = ~(lower < upper)
        if wrong.any():
            raise ValueError(
                f"lower must be below upper; got lower={lower[wrong].flat[0]}, upper={upper[wrong].flat[0]}"
            )
        terms = IntervalTerms(*(np.zeros(lower.shape) for _ in range(6)))
        from_below, to_above = np.isneginf(lower), np.isposinf(upper)
        both = ~from_below & ~to_above
        if both.any():
            inner = self._interval(lower[both], upper[both])
            for name, whole in vars(terms).items():
                whole[both] = getattr(inner, name)
        only = from_below & ~to_above
        terms.value[only], terms.d_upper[only], terms.d_upper_shift[only] = self.lower(upper[only])
        only = to_above & ~from_below
        terms.value[only], terms.d_lower[only], terms.d_lower_shift[only] = self.upper(lower[only])
        ends = ~both
        terms.d_shift[ends] = terms.d_lower[ends] + terms.d_upper[ends]
        return terms

    def sharp_curvature(self, d: FloatArray) -> FloatArray:
        """Curvature c(d) of a parabola through (d, -log G(d)) that lies nowhere below -log G.

        The logit has the sharpest one (de Leeuw and Lange, 2009); elsewhere it is the constant `curvature_bound`.

        Raises
        ------
        ValueError
            For a link whose curvature is unbounded.

        Examples
        --------
        >>> import numpy as np
        >>> from ordinal_objectives.links import get_link
        >>> get_link("logit").sharp_curvature(np.array([0.0, 4.0])).round(4)
        array([0.25  , 0.1205])
        """
        if self.curvature_bound is None:
            allowed = ", ".join(repr(n) for n, link in LINKS.items() if link.curvature_bound is not None)
            raise ValueError(f"link {self.name!r} has no quadratic majoriser; links that have one: {allowed}")
        return np.full(np.shape(d), self.curvature_bound)

    def check_answers(self, x: FloatArray) -> None:
        """Check what the formulas return, at some points, and that they do not change the arrays that they are given.

        Raises
        ------
        TypeError, ValueError
            If a result has another type or shape; the message names it.
        """
        owner = f"link {self.identity!r}"
        for formula in (self.inverse, self.log_inverse):
            validation.call_read_only(owner, formula, x)
        terms = validation.call_read_only(owner, self.lower, x)
        for name, array in zip(("value", "first derivative", "second derivative"), terms, strict=True):
            validation.check_answer(f"the {name} of lower of {owner}", array, x.shape)
        low, high = (validation.call_read_only(owner, self._link, np.array(p)) for p in ([0.25, 0.25], [0.5, 0.75]))
        inner = validation.call_read_only(owner, self._interval, low, high)
        for name, array in vars(inner).items():
            validation.check_answer(f"{name} of _interval of {owner}", array, low.shape)
