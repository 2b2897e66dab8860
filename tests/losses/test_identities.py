"""By which names losses and links are known: their own if they are built in, and otherwise those of their types."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from ordinal_objectives import AllThreshold, _core
from ordinal_objectives.links import LINKS, Cloglog, Logit, get_link, register_link
from ordinal_objectives.losses import LOSSES, get_loss, register_loss
from own_losses import Rising, Scaled, Steep


def test_every_kernel_has_its_loss_and_link():
    """The codes come from C++, by the names that its lists hold."""
    assert {name: kind().code for name, kind in LOSSES.items()} == _core.loss_codes
    assert {name: link.code for name, link in LINKS.items()} == _core.link_codes
    assert LINKS[_core.lane_link] == Logit()


@pytest.mark.parametrize("thing", [*(kind("probit") for kind in LOSSES.values()), *LINKS.values()], ids=repr)
def test_built_in_ones_go_by_their_names(thing):
    assert thing.is_built_in
    assert thing.identity == thing.name
    assert thing.code is not None


class Silent(AllThreshold):
    """Nothing changed, nothing said."""


@pytest.mark.parametrize(
    ("thing", "identity", "text"),
    [
        (Rising(), "own_losses.Rising", "Rising(link='logit')"),
        (Scaled(), "own_losses.Scaled(times=2.0)", "Scaled(link='logit', times=2.0)"),
        (Steep(3.0), "own_losses.Steep(steepness=3.0)", "Steep(steepness=3.0)"),
        (Silent(), f"{__name__}.Silent", "Silent(link='logit')"),
        (AllThreshold(Steep()), "all_threshold", "AllThreshold(link='own_losses.Steep(steepness=2.0)')"),
    ],
    ids=repr,
)
def test_others_go_by_their_types_and_attributes(thing, identity, text):
    assert (thing.identity, repr(thing)) == (identity, text)
    assert getattr(thing, "codes", thing.code) is None
    assert pickle.loads(pickle.dumps(thing)) == thing


def test_equal_are_those_of_one_type_link_and_attributes():
    assert Scaled() == Scaled()
    assert len({Scaled(), Scaled(), Scaled(times=3.0), Scaled("probit"), AllThreshold(), Silent()}) == 5
    assert Scaled() != AllThreshold() != Silent()
    assert AllThreshold(Steep(2.0)) == AllThreshold(Steep(2.0)) != AllThreshold(Steep(3.0))


def test_a_name_finds_what_is_in_use_or_registered():
    for identity in ("own_losses.Steep(steepness=7.0)", "own_losses.Scaled(times=7.0)"):
        with pytest.raises(ValueError, match="is not part of this package: import it and call"):
            get_link(identity) if "Steep" in identity else get_loss(identity)
    link, loss = Steep(7.0), Scaled("probit", 7.0)
    register_link(link)
    register_loss(loss)
    assert get_link(link.identity) == link
    assert get_loss(loss.identity, "probit") == loss
    with pytest.raises(ValueError, match=r"'own_losses.Scaled\(times=7.0\)' with link 'logit' is not part of"):
        get_loss(loss.identity)
    used = get_loss(Scaled(times=8.0))
    assert get_loss("own_losses.Scaled(times=8.0)") is used


def test_a_loss_brings_its_link():
    register_loss(Scaled(Steep(9.0)))
    assert get_loss("own_losses.Scaled(times=2.0)", "own_losses.Steep(steepness=9.0)").link == Steep(9.0)


class Bare(Rising):
    """No name: every other class has one of its own or of its base."""

    name = None


class Linkless(Rising):
    def __init__(self):
        pass


class NoMirror(Steep):
    mirror = None


@pytest.mark.parametrize(
    ("look_up", "thing", "message"),
    [
        (get_loss, Bare(), "Bare.name must be a str; got None"),
        (get_loss, Linkless(), "Linkless.link must be a Link; got None"),
        (get_link, NoMirror(), "NoMirror.mirror must be a str; got None"),
    ],
)
def test_what_a_class_lacks_is_named(look_up, thing, message):
    with pytest.raises(TypeError, match=message):
        look_up(thing)


class Lopsided(Cloglog):
    """Its mirror would be that of another link."""


class Unknown(Logit):
    name, mirror = "unknown", "nowhere"


class Mirrored(Logit):
    name, mirror = "mirrored", "cloglog"

    @property
    def mirror_link(self):
        return Unknown()


@pytest.mark.parametrize("link", [Lopsided(), Unknown()], ids=repr)
def test_a_link_without_its_mirror_is_refused(link):
    with pytest.raises(ValueError, match=r"is not symmetric, and mirror='\w+' is no built-in link whose mirror it is"):
        AllThreshold(link)


def test_a_link_says_which_its_mirror_is():
    assert AllThreshold(Mirrored()).link.complement(np.array([1.0])) == Unknown().inverse(np.array([-1.0]))


class Changed(AllThreshold):
    """Formulas of its own: what its base said of others does not hold."""

    def _row_derivatives(self, f, y, thresholds):
        return super()._row_derivatives(f, y, thresholds)


class ChangedMargins(AllThreshold):
    def _of_margins(self, x, y):
        return super()._of_margins(x, y)


class Insists(Changed):
    takes_shifts = True

    def _row_derivatives(self, f, y, thresholds):
        return super()._row_derivatives(f, y, thresholds)

    def _majorized(self, f, y, thresholds):
        return AllThreshold._majorized(self, f, y, thresholds)

    def _majorizes(self, link):
        return True


class Sharper(Logit):
    """Formulas of its own: the bound and the derivatives of its base do not hold."""

    def lower(self, x):
        return super().lower(x)


class SharperAndBounded(Sharper):
    curvature_bound, highest_order = 0.3, 4

    def lower(self, x):
        return super().lower(x)

    def higher(self, x):
        return Logit.higher(self, x)


def test_bounds_and_higher_derivatives_are_not_inherited_beside_other_formulas():
    assert (Sharper().curvature_bound, Sharper().highest_order) == (None, 2)
    assert (SharperAndBounded().curvature_bound, SharperAndBounded().highest_order) == (0.3, 4)
    assert not AllThreshold(Sharper()).supports("majorized")
    assert AllThreshold(SharperAndBounded()).highest_order == 4
    assert Changed().highest_order == 2
    assert Silent().highest_order == 4


@pytest.mark.parametrize(
    ("loss", "shifts", "majorized"),
    [
        (Rising(), False, False),
        (Scaled(), True, True),
        (Silent(), True, True),
        (Changed(), False, False),
        (ChangedMargins(), True, False),
        (Insists(), True, True),
    ],
    ids=repr,
)
def test_shifts_and_majorisers_are_not_inherited_beside_other_formulas(loss, shifts, majorized):
    assert (loss.takes_shifts, loss.supports("majorized")) == (shifts, majorized)
    assert loss.supports("exact")
    if not majorized:
        with pytest.raises(ValueError, match=r"'majorized' does not exist for loss '.*allowed: hessian='exact'$"):
            loss.check_hessian("majorized")


def test_two_that_differ_in_private_attributes_alone_are_refused():
    class Tempered(Steep):
        def __init__(self, power):
            super().__init__(3.0)
            self._power, self._cache = np.array([power]), object()

    register_link(Tempered(1.0))
    register_link(Tempered(1.0))
    with pytest.raises(
        ValueError, match=r"link .*Tempered.* is in use with _power=array\(\[1.\]\); got array\(\[2.\]\)"
    ):
        register_link(Tempered(2.0))
