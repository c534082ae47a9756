"""Numbers, and tables of them."""

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Row", "percentile", "print_table"]


class Row(NamedTuple):
    """One measure: what, how much, and what it should be."""

    what: str
    value: str
    goal: str = ""


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which `share` of all lie, by the nearest rank."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def print_table(title: str, rows: Sequence[Row]) -> None:
    """Print rows in columns."""
    head = Row(title, "measured", "goal")
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(3)]
    print()
    for row in (head, Row(*("-" * width for width in widths)), *rows):
        print(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        )
