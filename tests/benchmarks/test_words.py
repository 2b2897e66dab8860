"""Sentences with a test in test_words_*.py stand on the pages: those that no generated table shows.

To change such a sentence: change the docstring of its test, and what the test asks, with it.
"""

from __future__ import annotations

from pathlib import Path

from claims.report.accuracy_report import PAGES
from claims.report.words import checked, sentences


def test_tested_sentences_stand_on_a_page():
    tested = {sentence for file in Path(__file__).parent.glob("test_words_*.py") for sentence in checked(file)}
    assert len(tested) > 20
    assert tested <= {sentence for page in PAGES for sentence in sentences(page.read_text(encoding="utf-8"))}


def test_sentences_of_a_page():
    page = "- **Evidence**: A\n  [link](there). It has 40 rows.\n\nOurs is as good."
    assert sentences(page) == ["A link.", "It has 40 rows.", "Ours is as good."]
