"""Reading the tables of our own pages, for tests that compare them with the code."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

__all__ = ["DOCS", "ROOT", "code", "section", "table"]

ROOT: Final = Path(__file__).parents[2]
DOCS: Final = ROOT / "docs"
HEADING: Final = re.compile(r"(#+) (.+)")
CELL: Final = re.compile(r"(?<!\\)\|")


def section(page: str, heading: str) -> str:
    """The text under a heading, up to the next one of its rank or above."""
    found: list[str] = []
    rank, fenced = 0, False
    for line in (DOCS / page).read_text().splitlines(keepends=True):
        fenced ^= line.startswith("```")
        mark = None if fenced else HEADING.fullmatch(line.rstrip())
        if mark and rank and len(mark[1]) <= rank:
            break
        if rank:
            found.append(line)
        elif mark and mark[2] == heading:
            rank = len(mark[1])
    assert rank, f"{page} has no heading {heading!r}"
    return "".join(found)


def table(page: str, heading: str) -> list[Mapping[str, str]]:
    """The rows of the first table under a heading, by column."""
    lines = [line for line in section(page, heading).splitlines() if line.startswith("|")]
    head, _, *rows = (_cells(line) for line in lines)
    return [dict(zip(head, row, strict=True)) for row in rows]


def code(cell: str) -> str:
    """What a cell has between its backquotes."""
    return cell.strip("`")


def _cells(line: str) -> Sequence[str]:
    return [cell.strip().replace("\\|", "|") for cell in CELL.split(line.strip())[1:-1]]
