"""Sentences with a test in test_words_evidence.py stand on the pages: those of the README and of a default.

To change such a sentence: change the docstring of its test, and what the test asks, with it.
"""

from __future__ import annotations

from pathlib import Path

from claims.report.accuracy_report import PAGES
from claims.report.words import checked, sentences


def test_tested_sentences_stand_on_a_page():
    tested = {*checked(Path(__file__).with_name("test_words_evidence.py"))}
    assert len(tested) > 6
    assert tested <= {sentence for page in PAGES for sentence in sentences(page.read_text(encoding="utf-8"))}
