"""The runs of plain calls and ensembles: which there are, and that the default of the tables is the library's."""

from claims.accuracy import ensembles
from ordinal_objectives.estimators.ensemble_members import default_members


def test_the_default_is_the_librarys():
    members, options = ensembles.ENSEMBLES[ensembles.DEFAULT]
    assert options == {"n_bags": 2}
    for (_, one), (_, there) in zip(members, default_members(), strict=True):
        given, expected = one.get_params() | {"n_jobs": None}, there.get_params()
        assert type(one) is type(there)
        assert {key: value for key, value in given.items() if key != "missing"} == {
            key: value for key, value in expected.items() if key != "missing"
        }
