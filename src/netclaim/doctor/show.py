"""Findings for people and for programs.

People see a line for each check; then the problems with what to do, the gravest last, because that
is where the eye is when the command has ended; then one line that sums up. Programs get JSON.
Promise: both have the same findings.
"""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from netclaim import __version__
from netclaim.doctor.finding import Outcome, Result
from netclaim.plain_text import one_line
from netclaim.screen import Screen

GOOD: Final = {Outcome.ERROR: False}  # only errors have a colour, so that they draw the eye
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
    counts = Counter(each.finding.outcome for each in results)
    parts = [
        f"{counts[outcome]} {one if counts[outcome] == 1 else several}"
        for outcome, (one, several) in WORDS.items()
        if counts[outcome] or outcome in GRAVEST_LAST
    ]
    return f"{len(results)} checks: {', '.join(parts)}"


def as_json(looked_at: Sequence[str], results: Sequence[Result]) -> str:
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
