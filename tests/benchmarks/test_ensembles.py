"""The runs of plain calls and ensembles: which there are, and that the default of the tables is the library's."""

import pytest

from claims.accuracy import ensembles, plain_call, same_settings, tree_sizes
from lib.set_ratios import GROUPS, SHARES, rows_of
from ordinal_objectives.estimators.ensemble_members import default_members

OTHERS = ("evaluation", "confirmation")
# Name, methods, partitions, and of some methods fewer of them, by group.
EXPERIMENTS = {
    ("sizes", "sizes"): (tree_sizes.NAME, [SHARES, *tree_sizes.METHODS], tree_sizes.SEEDS, {}),
    ("few rows", "few"): (tree_sizes.NAME, [SHARES, tree_sizes.SMOOTHED, *tree_sizes.FEW], tree_sizes.SEEDS, {}),
    ("plain call", "design"): (plain_call.NAME, plain_call.METHODS, plain_call.SEEDS, plain_call.PARTITIONS["design"]),
    ("same settings", "evaluation"): (same_settings.NAME, same_settings.METHODS, same_settings.SEEDS, {}),
    ("ensembles", "design"): (ensembles.NAME, ensembles.METHODS, ensembles.SEEDS, {}),
    **{
        ("plain call", group): (plain_call.NAME, plain_call.SHIPPED, plain_call.SEEDS, plain_call.PARTITIONS[group])
        for group in OTHERS
    },
    **{("ensembles", group): (ensembles.NAME, ensembles.SHIPPED, ensembles.SEEDS, {}) for group in OTHERS},
}


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=" ".join)
def test_every_method_ran_on_every_set(experiment):
    _, group = experiment
    name, methods, seeds, fewer = EXPERIMENTS[experiment]
    rows = rows_of(name, group)
    found = [(row["data"], int(row["seed"]), row["method"]) for row in rows]
    assert set(found) == {
        (data, seed, one)
        for data in GROUPS[group]
        for seed in range(seeds[group])
        for one in methods
        if seed < fewer.get(one, seeds[group])
    }
    assert len(found) == len(set(found))
    # They take at most 255 categories, and 254.
    failed = {(row["data"], row["method"]) for row in rows if row["failure"]}
    assert all(data == "movielens100k" and ("Hist" in one or "native" in one) for data, one in failed)
    assert group == "confirmation" or not failed


def test_the_default_is_the_librarys():
    members, options = ensembles.ENSEMBLES[ensembles.DEFAULT]
    assert options == {"n_bags": 2}
    for (_, one), (_, there) in zip(members, default_members(), strict=True):
        given, expected = one.get_params() | {"n_jobs": None}, there.get_params()
        assert type(one) is type(there)
        assert {key: value for key, value in given.items() if key != "missing"} == {
            key: value for key, value in expected.items() if key != "missing"
        }
