"""Reading the tables of our own pages, for tests that compare them with the code."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

__all__ = ["DOCS", "ROOT", "code", "section", "table"]

ROOT: Final = Path(__file__).parents[2]
DOCS: Final = ROOT / "docs"
CELL: Final = re.compile(r"(?<!\\)\|")


def section(page: str, heading: str) -> str:
    """The text under a heading, up to the next one of its rank or above."""
    text = (DOCS / page).read_text()
    found = re.search(rf"^(#+) {re.escape(heading)}$", text, re.MULTILINE)
    assert found is not None, f"{page} has no heading {heading!r}"
    rest = text[found.end() :]
    end = re.search(rf"^#{{1,{len(found[1])}}} ", rest, re.MULTILINE)
    return rest[: end.start()] if end else rest


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
