"""Findings for people and for programs.

For people: a line for each check, then the problems with what to do, the gravest last, where the
eye is when the command has ended; then one line that sums up. Promise: the same findings in both.
"""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from netclaim import __version__
from netclaim.doctor.finding import Outcome, Result
from netclaim.screen import Screen
from netclaim.screen.printable import one_line

__all__ = ["as_json", "show", "summary"]

GOOD: Final = {Outcome.ERROR: False}  # what is well is not to draw the eye
GRAVEST_LAST: Final = (Outcome.WARNING, Outcome.ERROR)
WORDS: Final = {
    Outcome.ERROR: ("error", "errors"),
    Outcome.WARNING: ("warning", "warnings"),
    Outcome.OK: ("ok", "ok"),
    Outcome.UNKNOWN: ("unknown", "unknown"),
    Outcome.SKIPPED: ("skipped", "skipped"),
}


def show(
    looked_at: Sequence[str], results: Sequence[Result], screen: Screen, *, verbose: bool
) -> None:
    """Show what was found; with `verbose` also why each check matters."""
    screen.line(f"looked at {' and '.join(looked_at)}")
    width = max(len(each.id) for each in results)
    scope = ""
    for each in results:
        if each.scope != scope:
            scope = each.scope
            screen.title(scope)
        outcome = each.finding.outcome
        line = f"{outcome:<8} {each.id:<{width}}  {one_line(each.finding.found)}"
        screen.line(line, good=GOOD.get(outcome))
        if verbose:
            _explain(each, screen)
    problems = [
        each for outcome in GRAVEST_LAST for each in results if each.finding.outcome is outcome
    ]
    if problems and not verbose:
        screen.title("what to do")
        for each in problems:
            screen.line(
                f"{each.finding.outcome}: {each.id}: {one_line(each.finding.found)}",
                good=GOOD.get(each.finding.outcome),
            )
            _explain(each, screen)
    screen.line("")
    errors = any(each.finding.outcome is Outcome.ERROR for each in results)
    screen.line(summary(results), good=not errors)


def _explain(each: Result, screen: Screen) -> None:
    screen.line(f"    why: {each.why}")
    if each.finding.remedy:
        screen.line(f"    do:  {each.finding.remedy}")


def summary(results: Sequence[Result]) -> str:
    """Count the outcomes in words."""
    counts = Counter(each.finding.outcome for each in results)
    parts = [
        f"{counts[outcome]} {one if counts[outcome] == 1 else several}"
        for outcome, (one, several) in WORDS.items()
        if counts[outcome] or outcome in GRAVEST_LAST
    ]
    return f"{len(results)} checks: {', '.join(parts)}"


def as_json(looked_at: Sequence[str], results: Sequence[Result]) -> str:
    """Return everything as one JSON object."""
    checks: list[dict[str, Any]] = [
        {
            "id": each.id,
            "scope": each.scope,
            "title": each.title,
            "outcome": str(each.finding.outcome),
            "found": each.finding.found,
            "why": each.why,
            "remedy": each.finding.remedy,
            "seconds": each.seconds,
        }
        for each in results
    ]
    counts = Counter(each.finding.outcome for each in results)
    found = {
        "netclaim": __version__,
        "lookedAt": list(looked_at),
        "checks": checks,
        "summary": {str(outcome): counts[outcome] for outcome in Outcome},
    }
    return json.dumps(found, indent=2)
