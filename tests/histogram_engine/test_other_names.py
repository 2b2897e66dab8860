"""The table of parameters beside scikit-learn's and LightGBM's."""

from __future__ import annotations

import inspect
from pathlib import Path

import lightgbm
import pytest
from lightgbm.basic import _ConfigAliases
from sklearn.ensemble import HistGradientBoostingClassifier

from ordinal_objectives import HistGradientBoostingOrdinalClassifier
from ordinal_objectives.histogram_engine.parameters import DIALECT, REFUSED

OURS = set(inspect.signature(HistGradientBoostingOrdinalClassifier).parameters) - {"other_params"}
OF_WRAPPER = set(inspect.signature(lightgbm.LGBMClassifier).parameters) - {"kwargs"}
OF_LIGHTGBM = sorted(set(_ConfigAliases._get_all_param_aliases()) | OF_WRAPPER)
OF_SKLEARN = sorted(inspect.signature(HistGradientBoostingClassifier).parameters)
PAGE = Path(__file__).parents[2] / "docs" / "parity.md"


def verdict(name: str) -> str:
    """Return what a parameter of another library is here, in Markdown."""
    if name in OURS:
        return "the same"
    return f"`{DIALECT[name]}`" if name in DIALECT else f"none: {REFUSED[name]}"


def parity_table() -> str:
    """Return all parameters of both libraries as a table in Markdown; those of LightGBM without their aliases."""
    theirs = list(inspect.signature(HistGradientBoostingClassifier).parameters)
    both = [("scikit-learn", name) for name in theirs] + [("LightGBM", name) for name in OF_LIGHTGBM]
    lines = ["| library | parameter | here |", "|---|---|---|"]
    return "\n".join([*lines, *(f"| {library} | `{name}` | {verdict(name)} |" for library, name in both)])


@pytest.mark.parametrize("name", sorted({*OF_LIGHTGBM, *OF_SKLEARN, "enable_categorical"}))  # the last is XGBoost's
def test_every_parameter_is_here_or_is_refused_with_what_helps(name):
    if name in OURS:
        assert verdict(name) == "the same"
        return
    with pytest.raises(TypeError, match="here it is" if name in DIALECT else "takes no") as raised:
        HistGradientBoostingOrdinalClassifier(**{name: 1})
    assert (DIALECT if name in DIALECT else REFUSED)[name] in str(raised.value)


def test_all_of_scikit_learns_parameters_have_their_name_here():
    assert set(OF_SKLEARN) <= OURS


def test_other_names_are_ours_and_no_name_is_both():
    for name, ours in DIALECT.items():
        assert ours.split()[0] in OURS, name
    assert not DIALECT.keys() & REFUSED.keys()
    assert not OURS & (DIALECT.keys() | REFUSED.keys())


def test_the_page_has_the_table():
    rows = PAGE.read_text().splitlines()
    table = parity_table().splitlines()  # paste what it returns
    assert set(table) <= set(rows)
    # Names of other versions of the libraries may stand there too, with what is true of them.
    for row in rows:
        if row.startswith(("| scikit-learn |", "| LightGBM |")):
            _, _, name, here, _ = (cell.strip() for cell in row.split("|"))
            assert here == verdict(name.strip("`")), row
