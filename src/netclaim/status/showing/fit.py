"""Make a table fit a terminal: which columns are shown, and which are folded.

Promise: on a terminal that is wide enough, everything is shown as it is. Where it is not, columns
that can be folded are folded first, then the least important ones are left out; the others are
folded only if they alone do not fit. A column that is empty in every row is left out. No I/O.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

T = TypeVar("T")

GAP: Final = 3  # characters between two columns
EDGES: Final = 2  # and before the first and after the last, on a terminal
EMPTY: Final = "-"


@dataclass(frozen=True, slots=True)
class Column(Generic[T]):
    """A column: the smallest `rank` is left out first, and 0 never is.

    `folds_to` is how narrow it can become by folding; 0 means that it cannot. `wide` columns are
    for `-o wide`; `optional` ones are left out where they are empty.
    """

    title: str
    cell: Callable[[T], str]
    rank: int = 0
    folds_to: int = 0
    wide: bool = False
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Fitted:
    """A table as it can be shown; `wraps` are the titles of the columns to fold, empty for all."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    wraps: tuple[str, ...] = ()


def fit(
    columns: Sequence[Column[T]], values: Sequence[T], width: int | None, *, wide: bool = False
) -> Fitted:
    """Choose the columns of a table; without a width, all of them."""
    chosen = [one for one in columns if wide or not one.wide]
    cells = {one.title: [one.cell(value) or EMPTY for value in values] for one in chosen}
    chosen = [one for one in chosen if not one.optional or set(cells[one.title]) - {EMPTY}]
    if width is not None:
        while _least(chosen, cells) > width and any(one.rank for one in chosen):
            worst = min((one.rank, -at) for at, one in enumerate(chosen) if one.rank)
            del chosen[-worst[1]]
    header = tuple(one.title for one in chosen)
    rows = tuple(zip(*(cells[title] for title in header), strict=True))
    alone = width is not None and _least(chosen, cells) > width
    wraps = () if alone else tuple(one.title for one in chosen if one.folds_to)
    return Fitted(header, rows, wraps)


def _least(columns: Sequence[Column[T]], cells: dict[str, list[str]]) -> int:
    """Return how many characters a table needs when all that can be folded is."""
    needed = 0
    for one in columns:
        natural = max((len(cell) for cell in (one.title, *cells[one.title])), default=0)
        folded = max(one.folds_to, len(one.title)) if one.folds_to else natural
        needed += min(natural, folded)
    return needed + GAP * (len(columns) - 1) + EDGES
