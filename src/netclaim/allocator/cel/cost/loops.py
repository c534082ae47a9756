"""What a macro costs beside its condition and its result.

cel-go writes a macro out as a loop that reads and writes what it gathers; these are the costs of
that. An empty list to begin with costs something only in an estimate.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from netclaim.allocator.cel.cost.calls import LIST, MAP
from netclaim.allocator.cel.syntax.ast import FoldKind


@dataclass(frozen=True, slots=True)
class Loop:
    """The costs of a macro."""

    begin: int  # of what it gathers in
    end: int  # of what it has gathered
    each: int  # for each element
    taken: int = 0  # for each that it takes


LOOPS: Final[Mapping[FoldKind, Loop]] = {
    "all": Loop(0, 1, 3),
    "exists": Loop(0, 1, 4),
    "exists_one": Loop(0, 2, 0, 2),
    "filter": Loop(LIST, 1, 0, LIST + 3),
    "map": Loop(LIST, 1, 0, LIST + 2),
    "transformList": Loop(LIST, 1, 0, LIST + 2),
    "transformMap": Loop(MAP, 1, 0, 3),
    "transformMapEntry": Loop(MAP, 1, 0, 2),
}
DECIDING: Final = frozenset({"all", "exists"})  # the first element that decides ends them
COUNTING: Final = DECIDING | {"exists_one"}  # their result is a bool
