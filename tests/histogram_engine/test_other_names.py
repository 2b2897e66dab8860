"""The page that compares parameters with LightGBM's, and the parameters of scikit-learn's classifier."""

from __future__ import annotations

import inspect
from pathlib import Path

import lightgbm
from lightgbm.basic import _ConfigAliases
from sklearn.ensemble import HistGradientBoostingClassifier

from ordinal_objectives import HistGradientBoostingOrdinalClassifier

OURS = set(inspect.signature(HistGradientBoostingOrdinalClassifier).parameters) - {"other_params"}
OF_WRAPPER = set(inspect.signature(lightgbm.LGBMClassifier).parameters) - {"kwargs"}
THEIRS = set(_ConfigAliases._get_all_param_aliases()) | OF_WRAPPER
PAGE = Path(__file__).parents[2] / "docs" / "parity.md"


def test_all_of_scikit_learns_parameters_have_their_name_here():
    assert set(inspect.signature(HistGradientBoostingClassifier).parameters) <= OURS


def test_the_page_has_every_parameter_and_names_those_that_are_here():
    found = {}
    for row in PAGE.read_text().splitlines():
        if row.startswith("| LightGBM |"):
            _, _, name, here, _ = (cell.strip() for cell in row.split("|"))
            found[name.strip("`")] = here
    assert found.keys() >= THEIRS
    for name, here in found.items():
        assert (here == "the same") == (name in OURS), name
        assert not here.startswith("`") or here.split("`")[1].split()[0] in OURS, name
