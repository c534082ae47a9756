"""A setting with a value for each link: `32`, or `eth1=10` for links of a name or pattern.

Promise: the first entry that fits a link counts, as written; one without a pattern fits every link.
No I/O; links by their kernel names.
"""

import fnmatch
import re
from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from netclaim.errors import RequestError
from netclaim.model.quantity import NANO, Quantity, QuantityError

PATTERN: Final = re.compile(r"[^\s/:%,=]+")  # what a link's name may hold, but for `,` and `=`
FUNCTIONS_MAX: Final = 0xFFFF  # what the field in a card's own registers can say
FUNCTION_COUNT: Final = re.compile(r"[0-9]{1,5}", re.ASCII)
WHOLE: Final = re.compile(r"[0-9]{1,9}", re.ASCII)
BANDWIDTH_MIN: Final = 10**6  # bits per second: what a share is at least, where there is room
BANDWIDTH_MAX: Final = 10**13  # 10 Tbit/s; above any card, and far below what a quantity holds

EQUAL: Final = "equal"  # the word for a part as large as everybody else's
EQUAL_PART: Final = -1  # the number for it

# What JSON schema can say of the texts: nothing that the readers below accept is outside.
LINK: Final = {"pattern": f"^{PATTERN.pattern}$"}
COUNT: Final = {"pattern": f"^({PATTERN.pattern}=)?0*[1-9][0-9]{{0,3}}$"}
BANDWIDTH: Final = {
    "pattern": f"^({PATTERN.pattern}=)?[+]?[0-9.]+([KMGTP]i|[eE][+-]?[0-9]+|[numkMGTP]?)$"
}
FUNCTIONS: Final = {"pattern": f"^{PATTERN.pattern}=[0-9]{{1,5}}$"}
DEFAULT_BANDWIDTH: Final = {
    "pattern": BANDWIDTH["pattern"].replace("[+]?", f"({EQUAL}|[+]?").removesuffix("$") + ")$"
}


class PerLink(msgspec.Struct, frozen=True):
    """Values by patterns of links' names; an empty pattern is for those that no other names."""

    entries: tuple[tuple[str, int], ...] = ()

    def of(self, link: str) -> int | None:
        """The value for a link; None: the setting says nothing of it."""
        found = (value for pattern, value in self.entries if not pattern or _fits(link, pattern))
        return next(found, None)

    def names(self, link: str) -> bool:
        """Whether the value for a link was given for it by name or pattern."""
        fitting = (p for p, _ in self.entries if not p or _fits(link, p))
        return bool(next(fitting, ""))

    def said(self) -> list[str]:
        """As a user would write it."""
        said = ((pattern, EQUAL if v == EQUAL_PART else str(v)) for pattern, v in self.entries)
        return [f"{pattern}={value}" if pattern else value for pattern, value in said]


def read_counts(most: int, example: str) -> Callable[[Iterable[str]], PerLink]:
    """A reader of numbers from 1 to `most`."""

    def read(values: Iterable[str]) -> PerLink:
        return _read(values, count, example)

    def count(text: str) -> int:
        if not WHOLE.fullmatch(text) or not 1 <= int(text) <= most:
            raise RequestError(f"{text!r} is not a number from 1 to {most}")
        return int(text)

    return read


def read_bandwidths(values: Iterable[str]) -> PerLink:
    """Read bits per second as quantities, such as 10G; 0: the link's bandwidth is not shared."""
    return _read(values, _bandwidth, "eth1=10G")


def read_default_bandwidths(values: Iterable[str]) -> PerLink:
    """Read what a claim has that asks for no bandwidth: a quantity, an equal part, or no limit."""

    def read(text: str) -> int:
        return EQUAL_PART if text == EQUAL else _bandwidth(text)

    return _read(values, read, "eth1=100M")


def read_functions(values: Iterable[str]) -> PerLink:
    """Read how many virtual functions each card is to have; every entry names its cards."""

    def number(text: str) -> int:
        if not FUNCTION_COUNT.fullmatch(text) or int(text) > FUNCTIONS_MAX:
            raise RequestError(f"{text!r} is not a number from 0 to {FUNCTIONS_MAX}")
        return int(text)

    example = "ens1f0=8"
    found = _read(values, number, example)
    if any(not pattern for pattern, _ in found.entries):
        raise RequestError(f"name the cards that it is for, for example {example}")
    return found


def _bandwidth(text: str) -> int:
    try:
        amount = Quantity.parse(text).nanos
    except QuantityError as error:
        raise RequestError(f"{text!r} is not a quantity such as 10G or 500M") from error
    if amount and not BANDWIDTH_MIN * NANO <= amount <= BANDWIDTH_MAX * NANO:
        raise RequestError(f"{text!r} is not between 1M and 10T bits per second; 0 is for none")
    return amount // NANO


def _read(values: Iterable[str], value_of: Callable[[str], int], example: str) -> PerLink:
    entries: list[tuple[str, int]] = []
    for each in values:
        pattern, equals, value = each.rpartition("=")
        if equals and not PATTERN.fullmatch(pattern):
            raise RequestError(
                f"{pattern!r} is not the name of a link, such as eth1 or ens*; write each link "
                f"by itself, for example {example}"
            )
        try:
            entries.append((pattern, value_of(value)))
        except RequestError as error:
            raise RequestError(f"{error}; for example {example}") from error
    return PerLink(tuple(entries))


def _fits(link: str, pattern: str) -> bool:
    return fnmatch.fnmatchcase(link, pattern)
