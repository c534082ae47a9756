"""Answers on a screen, or as JSON for tools.

Promise: the summary comes first, then the nearest miss, the mistakes and every device, in the same
words in both forms. Limit: a screen shows at most `LINES_MAX` devices of a subject; JSON has them
all.
"""

import json
from collections.abc import Sequence
from typing import Any, Final

from netclaim.explain.answer import Answer
from netclaim.explain.lines import Line
from netclaim.screen import Screen
from netclaim.screen.words import counted

LINES_MAX: Final = 40  # of devices: about a screen; the nearest ones come first


def show(
    answers: Sequence[Answer], strays: Sequence[str], screen: Screen, *, details: bool
) -> None:
    """Show the answers, `details` also for what fits; then the mistakes that belong to none."""
    for several in _alike(answers):
        answer = several[0]
        missed = answer.outcome not in ("fits", "allocated")
        screen.line(f"{_titles(several)}: {answer.said}", good=not missed)
        if answer.nearest is not None:
            screen.line(f"nearest: {answer.nearest.title}: {'; '.join(answer.nearest.why)}")
        for mistake in answer.mistakes:
            screen.line(mistake, good=False)
        for pool in answer.pools:
            screen.line(pool)
        if answer.lines and (missed or details):
            _table(answer.lines, screen)
    for mistake in strays:
        screen.line(mistake, good=False)


def _alike(answers: Sequence[Answer]) -> list[list[Answer]]:
    """Put pods together that have the same answer, as the replicas of a workload have."""
    groups: dict[tuple[object, ...], list[Answer]] = {}
    for number, one in enumerate(answers):
        key = one.subject.key
        shown = tuple((line.node, line.device, line.short, line.but) for line in one.lines)
        same = (key.namespace, one.outcome, one.said, shown, one.mistakes, one.pools)
        groups.setdefault(same if key.kind == "Pod" else (number,), []).append(one)
    return list(groups.values())


def _titles(several: Sequence[Answer]) -> str:
    first, *others = (one.subject.title for one in several)
    if not others:
        return first
    return f"{first} and {counted(len(others), 'pod')} like it"


def _table(lines: Sequence[Line], screen: Screen) -> None:
    screen.line("")
    drivers = {line.device.driver for line in lines if line.device}
    requests: dict[tuple[str, str, str], dict[str, None]] = {}  # with the same said of a device
    for line in lines:
        row = (line.node, _device(line, several=len(drivers) > 1), _why(line))
        requests.setdefault(row, {})[line.request] = None
    rows = [
        (node, device, ", ".join(filter(None, asked)), why)
        for (node, device, why), asked in requests.items()
    ]
    screen.table(("NODE", "DEVICE", "REQUEST", "WHY"), rows[:LINES_MAX])
    if len(rows) > LINES_MAX:
        screen.line(f"{len(rows) - LINES_MAX} more lines are not shown; use -o json to see all")
    screen.line("")


def _device(line: Line, *, several: bool) -> str:
    if line.device is None:
        return "-"
    return f"{line.device.driver}/{line.device.device}" if several else line.device.device


def _why(line: Line) -> str:
    return "; ".join(line.short) or "; ".join((line.but or "fits", *line.takes))


def as_json(answers: Sequence[Answer], strays: Sequence[str]) -> str:
    """Return the answers as JSON, and the mistakes that belong to none."""
    shown = {"answers": [_answer(one) for one in answers], "mistakes": list(strays)}
    return json.dumps(shown, indent=2)


def _answer(answer: Answer) -> dict[str, Any]:
    nearest = answer.nearest
    return {
        "kind": answer.subject.key.kind,
        "namespace": answer.subject.key.namespace,
        "name": answer.subject.key.name,
        "outcome": answer.outcome,
        "summary": answer.summary,
        "mistakes": list(answer.mistakes),
        "pools": list(answer.pools),
        "nearest": _line(nearest) if nearest is not None else None,
        "devices": [_line(line) for line in answer.lines if line.device],
        "nodes": [
            {"node": line.node, "why": list(line.why)} for line in answer.lines if not line.device
        ],
    }


def _line(line: Line) -> dict[str, Any]:
    device = line.device
    return {
        "node": line.node,
        "driver": device.driver if device else "",
        "pool": device.pool if device else "",
        "device": device.device if device else "",
        "claim": line.claim,
        "request": line.request,
        "fits": line.fits,
        "why": list(line.why or filter(None, (line.but,))),
        "takes": list(line.takes),
    }
