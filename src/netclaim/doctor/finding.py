"""What a check is, and what it finds. No I/O.

A check looks at one thing and returns one finding. Promise: a finding that is not `ok` says what to
do about it. `unknown` means that the check could not look, `skipped` that there is nothing to look
at here; neither is a problem.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Generic, Literal, TypeAlias, TypeVar

S = TypeVar("S")

Scope: TypeAlias = Literal["cluster", "node"]
SECONDS: Final = 30.0  # for a check; single calls have shorter limits, 20 s to the API server


class Outcome(StrEnum):
    """How a check ended."""

    OK = "ok"
    WARNING = "warning"  # works, or only some claims are affected
    ERROR = "error"  # claims fail, or something is not protected
    UNKNOWN = "unknown"  # it could not be looked at
    SKIPPED = "skipped"  # there is nothing to look at


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found, and what to do about it, in a line each."""

    outcome: Outcome
    found: str
    remedy: str = ""  # a command or a line of configuration; empty if there is nothing to do


@dataclass(frozen=True, slots=True)
class Check(Generic[S]):
    """One thing to look at."""

    id: str
    title: str
    why: str  # why it matters
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
    return Finding(Outcome.OK, found)


def warning(found: str, remedy: str) -> Finding:
    return Finding(Outcome.WARNING, found, remedy)


def error(found: str, remedy: str) -> Finding:
    return Finding(Outcome.ERROR, found, remedy)


def unknown(found: str, remedy: str = "") -> Finding:
    return Finding(Outcome.UNKNOWN, found, remedy)


def skipped(found: str) -> Finding:
    return Finding(Outcome.SKIPPED, found)
