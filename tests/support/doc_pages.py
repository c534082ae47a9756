"""Comparing the tables of our own pages with the code: reading them, and naming what they lack."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import dropwhile, takewhile
from pathlib import Path
from typing import Final

__all__ = ["DOCS", "ROOT", "code", "same_names", "section", "table"]

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
    lines = dropwhile(lambda line: not line.startswith("|"), section(page, heading).splitlines())
    head, _, *rows = map(_cells, takewhile(lambda line: line.startswith("|"), lines))
    return [dict(zip(head, row, strict=True)) for row in rows]


def same_names(listed: Iterable[str], there: Iterable[str], *, place: str) -> None:
    """See that a list has exactly what there is; a failure says what to write where."""
    has, wants = set(listed), set(there)
    assert not (new := sorted(wants - has)), f"add {', '.join(new)} to {place}"
    assert not (gone := sorted(has - wants)), f"remove {', '.join(gone)} from {place}"


def code(cell: str) -> str:
    """What a cell has between its backquotes."""
    return cell.strip("`")


def _cells(line: str) -> Sequence[str]:
    return [cell.strip().replace("\\|", "|") for cell in CELL.split(line.strip())[1:-1]]
