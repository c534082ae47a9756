"""Names of links on a command line, or patterns of them."""

import re
from collections.abc import Iterable
from typing import Final

from netclaim.errors import RequestError

__all__ = ["link_patterns"]

OPTION: Final = "--shared-link"
PATTERN: Final = re.compile(r"[^\s/:%,]+")  # what a link's name may hold, but for the comma


def link_patterns(values: Iterable[str]) -> tuple[str, ...]:
    """The values, each of which could be for some link."""
    patterns = tuple(values)
    for each in patterns:
        if not PATTERN.fullmatch(each):
            raise RequestError(
                f"{each!r} is not the name of a link, such as eth1 or ens*; give the option once "
                f"for each link",
                path=(OPTION,),
            )
    return patterns
