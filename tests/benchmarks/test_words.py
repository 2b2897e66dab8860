"""Every sentence of a page's verdicts has a test in test_words_*.py, or is listed here as one that claims nothing.

To change a sentence: change the docstring of its test, and what the test asks, with it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from claims.report.accuracy_report import PAGES, ROOT
from claims.report.words import VERDICTS, checked, sentences

NO_CLAIM = (
    (
        "The classes rise with each of a few features, or lie in three clouds, and some hundred rows are too "
        "few for trees to find that."
    ),
    "`balance_scale`: a difference of two products.",
    "`car`: a rule without noise.",
    "So the thesis's pruning and adaptive step are there, and are not the default.",
    "The seconds are those of runs beside other work.",
    'Then set `decision_rule="mode"`, and try plain multiclass beside it.',
    "With thousands of rows multiclass can learn the order by itself.",
    "The comparison has ogboost and XGBOrdinal at the same depth, rounds and learning rate.",
    "Is it worth it? has all tables, and says when a plain method is as good.",
)
TESTED = [sentence for file in sorted(Path(__file__).parent.glob("test_words_*.py")) for sentence in checked(file)]


def test_every_sentence_has_a_test():
    said = [sentence for page in PAGES for sentence in sentences(page.read_text(encoding="utf-8"))]
    assert len(said) > 80
    assert set(said) - set(TESTED) - set(NO_CLAIM) == set(), "sentences that nothing checks"
    assert set(TESTED) | set(NO_CLAIM) <= set(said), "tests of sentences that stand on no page"
    assert not set(TESTED) & set(NO_CLAIM)


def test_a_new_sentence_is_found():
    page = (ROOT / "docs" / "evidence.md").read_text(encoding="utf-8")
    assert "Ours is twice as good." not in sentences(page)
    assert "Ours is twice as good." in sentences(page.replace("In words. ", "In words. Ours is twice as good. "))
    assert "It has 40 rows." in sentences("- **Evidence**: A\n  [link](there). It has 40 rows.\n\nNot this one.")
    assert "Not this one." not in sentences("- **Evidence**: A\n  [link](there). It has 40 rows.\n\nNot this one.")


@pytest.mark.parametrize("start", VERDICTS)
def test_paragraphs_are_there(start):
    assert any(f"\n{start}" in page.read_text(encoding="utf-8") for page in PAGES)
