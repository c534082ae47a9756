"""Every page can be found: decisions by their numbers, the others by a link."""

import re
from pathlib import Path
from typing import Final

from tests.pure.repository.documentation.test_form import LINK
from tests.support.doc_pages import DOCS, ROOT

DECISIONS: Final = sorted((DOCS / "decisions").glob("[0-9]*.md"))


def test_decisions_are_numbered_in_a_row() -> None:
    """No two decisions have the same number, and none is left out."""
    numbers = [int(page.name[:4]) for page in DECISIONS]
    assert numbers == list(range(1, len(DECISIONS) + 1))


def test_decisions_open_with_their_numbers() -> None:
    """The heading of a decision has the number of its file."""
    opened = {page.name: re.match(r"# (\d+)\. ", page.read_text()) for page in DECISIONS}
    wrong = [name for name, found in opened.items() if not found or int(found[1]) != int(name[:4])]
    assert wrong == []


def test_decisions_are_cited_by_their_numbers() -> None:
    """Where a link to a decision shows a number, it is that of the page that it leads to."""
    for page in pages():
        for shown, number in re.findall(
            r"\[[Dd]ecision\s+(\d+)\]\([^)]*?(\d{4})-[\w-]+\.md", page.read_text()
        ):
            assert int(shown) == int(number), page.relative_to(ROOT)


def test_every_page_is_reached() -> None:
    """A page links to each page of docs/; the site opens with the index, and lists decisions."""
    reached = {
        (page.parent / target.partition("#")[0]).resolve()
        for page in pages()
        for target in LINK.findall(page.read_text())
        if "://" not in target and (page.parent / target.partition("#")[0]) != page
    }
    lost = set(DOCS.rglob("*.md")) - reached - {*DECISIONS, DOCS / "index.md"}
    assert [page.relative_to(ROOT) for page in sorted(lost)] == []


def pages() -> list[Path]:
    """The pages that a reader comes to first, and those of docs/."""
    return [*ROOT.glob("*.md"), *(ROOT / "charts").rglob("*.md"), *DOCS.rglob("*.md")]
