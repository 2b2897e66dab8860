"""The site's pages as one list for language models, llms.txt (llmstxt.org)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence


def below(page: str, children: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield a page and what its lists of pages lead to, in their order.

    >>> list(below("guide", {"guide": ["labels", "data"], "labels": ["codes"]}))
    ['guide', 'labels', 'codes', 'data']
    """
    yield page
    for child in children.get(page, ()):
        yield from below(child, children)


def llms_text(
    name: str,
    summary: str,
    children: Mapping[str, Sequence[str]],
    titles: Mapping[str, str],
    first_words: Mapping[str, str],
    root: str = "index",
) -> str:
    """Return a section for each page that ``root`` lists, with a link to it and to each page below.

    >>> text = llms_text("boosting", "Of trees.", {"index": ["a"]}, {"a": "Part A"}, {"a": "What A is."})
    >>> print(text, end="")
    # boosting
    <BLANKLINE>
    > Of trees.
    <BLANKLINE>
    ## Part A
    <BLANKLINE>
    - [Part A](a.html): What A is.
    """
    lines = [f"# {name}", "", f"> {summary}"]
    for part in children[root]:
        lines += ["", f"## {titles[part]}", ""]
        for page in below(part, children):
            note = f": {first_words[page]}" if first_words.get(page) else ""
            lines.append(f"- [{titles[page]}]({page}.html){note}")
    return "\n".join(lines) + "\n"
