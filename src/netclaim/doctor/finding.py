"""What a check is, and what it finds. No I/O.

A check looks at one thing and returns one finding. Promise: a finding that is not `ok` says what to
do about it. `unknown` means that the check could not look, `skipped` that there is nothing to look
at here; neither is a problem.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Generic, Literal, TypeAlias, TypeVar

__all__ = [
    "Check",
    "Finding",
    "Outcome",
    "Result",
    "Scope",
    "check",
    "counted",
    "error",
    "listed",
    "ok",
    "skipped",
    "unknown",
    "warning",
]

S = TypeVar("S")

Scope: TypeAlias = Literal["cluster", "node"]
SECONDS: Final = 30.0  # of a check; calls have shorter limits: 20 s for the API server's
NAMES_SHOWN: Final = 5  # of objects that have the same problem: enough to know them by


class Outcome(StrEnum):
    """How a check ended."""

    OK = "ok"
    WARNING = "warning"  # works, or only some claims are affected
    ERROR = "error"  # claims fail, or something is not protected
    UNKNOWN = "unknown"  # it could not be looked at
    SKIPPED = "skipped"  # there is nothing to look at


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found; a line each."""

    outcome: Outcome
    found: str
    remedy: str = ""  # a command or a line of configuration; empty if there is nothing to do


@dataclass(frozen=True, slots=True)
class Check(Generic[S]):
    """One thing to look at."""

    id: str
    title: str
    why: str  # it matters
    look: Callable[[S], Awaitable[Finding]]
    seconds: float = SECONDS


@dataclass(frozen=True, slots=True)
class Result:
    """A check that has ended."""

    scope: Scope
    id: str
    title: str
    why: str
    finding: Finding
    seconds: float

    @property
    def is_problem(self) -> bool:
        """Whether somebody has to act."""
        return self.finding.outcome in (Outcome.WARNING, Outcome.ERROR)


def check(
    id: str,  # noqa: A002 - what the option and the page call it
    title: str,
    *,
    why: str,
    seconds: float = SECONDS,
) -> Callable[[Callable[[S], Awaitable[Finding]]], Check[S]]:
    """Declare a function to be a check."""

    def declare(look: Callable[[S], Awaitable[Finding]]) -> Check[S]:
        return Check(id, title, why, look, seconds)

    return declare


def ok(found: str) -> Finding:
    """It is as it should be."""
    return Finding(Outcome.OK, found)


def warning(found: str, remedy: str) -> Finding:
    """It works, or only some claims are affected."""
    return Finding(Outcome.WARNING, found, remedy)


def error(found: str, remedy: str) -> Finding:
    """Claims fail because of it, or something is not protected."""
    return Finding(Outcome.ERROR, found, remedy)


def unknown(found: str, remedy: str = "") -> Finding:
    """It could not be looked at."""
    return Finding(Outcome.UNKNOWN, found, remedy)


def skipped(found: str) -> Finding:
    """There is nothing to look at."""
    return Finding(Outcome.SKIPPED, found)


def listed(names: Sequence[str]) -> str:
    """Return some names in words, and how many more there are."""
    shown = ", ".join(names[:NAMES_SHOWN])
    more = len(names) - NAMES_SHOWN
    return f"{shown} and {more} more" if more > 0 else shown


def counted(number: int, what: str) -> str:
    """Return how many there are, in words."""
    return f"{number} {what}{'' if number == 1 else 's'}"
