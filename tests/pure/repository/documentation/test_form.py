"""Every page is wrapped alike, and every link between pages leads somewhere."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[4]
PAGES: Final = sorted(
    path.relative_to(ROOT)
    for pattern in ("*.md", "docs/**/*.md", "changelog.d/*.md", ".github/**/*.md")
    for path in ROOT.glob(pattern)
)
COLUMNS: Final = 100
FENCE: Final = re.compile(r"\s*(`{3,}|~{3,})")
NOT_PROSE: Final = re.compile(r"\s*\||\s*<!--|#|    ")  # tables, comments, headings, code
LINK: Final = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
EMPTY_HEADER: Final = re.compile(r"\|[\s|]*\|")
RULE: Final = re.compile(r"\|[-:|\s]+\|")
HEADING: Final = re.compile(r"#+ (.+)")


def lines_outside_code(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their numbers, without front matter and fenced code."""
    lines = text.splitlines()
    start = lines.index("---", 1) + 1 if lines[:1] == ["---"] else 0
    fence = ""
    for number, line in enumerate(lines[start:], start + 1):
        mark = FENCE.match(line)
        if fence:
            fence = "" if mark and mark[1].startswith(fence) else fence
        elif mark:
            fence = mark[1]
        else:
            yield number, line


def long_lines(text: str) -> list[int]:
    """Numbers of prose lines over the limit that a space would let one break."""
    return [
        number
        for number, line in lines_outside_code(text)
        if len(line) > COLUMNS and not NOT_PROSE.match(line) and " " in line.strip()[:COLUMNS]
    ]


def anchors(text: str) -> set[str]:
    """What links may point at in a page, by the rule that code hosts share."""
    headings = (HEADING.fullmatch(line) for _, line in lines_outside_code(text))
    titles = (match[1].replace("`", "") for match in headings if match)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_tables_have_headers(page: Path) -> None:
    """Every table says above its columns what is in them; a screen reader reads that out."""
    lines = dict(lines_outside_code((ROOT / page).read_text()))
    empty = [
        number
        for number, line in lines.items()
        if EMPTY_HEADER.fullmatch(line) and RULE.fullmatch(lines.get(number + 1, ""))
    ]
    assert empty == []


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_prose_is_wrapped(page: Path) -> None:
    """No line of prose is longer than 100 columns, tables and code excepted."""
    assert long_lines((ROOT / page).read_text()) == []


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_links_lead_somewhere(page: Path) -> None:
    """A link to another page of the repository, or to a heading, finds it."""
    text = (ROOT / page).read_text()
    prose = "\n".join(line for _, line in lines_outside_code(text))
    for target in LINK.findall(prose):
        if "://" in target or target.startswith("mailto:"):
            continue
        path, _, anchor = target.partition("#")
        there = (ROOT / page).parent / path if path else ROOT / page
        assert there.exists(), target
        assert not anchor or anchor in anchors(there.read_text()), target


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("x " * 51, [1]),
        ("| " + "x " * 51, []),
        ("```\n" + "x " * 51 + "\n```", []),
        ("---\ntitle: " + "x " * 51 + "\n---\n" + "y " * 51, [4]),
        ("[x](" + "x" * 100 + ")", []),
        ("- " + "x " * 51, [1]),
    ],
)
def test_what_counts_as_prose(text: str, found: list[int]) -> None:
    """Paragraphs and list items count; tables, code, front matter and unbreakable words do not."""
    assert long_lines(text) == found
