"""Why a pod waits, as `netclaim explain` answers it, for a picture: devices by conditions.

Each device is a row, each condition that some device misses a column; the rows are in the order of
how far off they are. Promise: it is the answer of `netclaim explain` for the same objects. No I/O.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from netclaim.explain.answer import Answer, answer_all
from netclaim.explain.lines import NO_DEVICE, Line
from netclaim.explain.subject import Subject, choose
from netclaim.plain_text import sentence
from netclaim.ui.picture import link_key
from netclaim.ui.view import View

ROWS_MAX: Final = 60  # a few screens; the nearest ones come first
COLUMNS_MAX: Final = 12  # conditions that most devices miss; the others are counted as one
DECIDE: Final = frozenset({"nodes", "resourceslices", "deviceclasses"})  # about what fits
WORDS: Final = {"pod": "pod", "claim": "claim"}


class Row(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """A device for a request, and what it misses: the number of a condition with what was found."""

    node: str
    device: str
    link: str
    claim: str
    request: str
    fits: bool
    distance: float
    missed: tuple[tuple[int, str], ...] = ()
    but: str = ""
    takes: tuple[str, ...] = ()


class Reasons(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """The answer; `more` devices are further off than those in rows."""

    summary: str
    outcome: str
    nearest: str = ""
    conditions: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    more: int = 0
    nodes: tuple[tuple[str, str], ...] = ()
    more_nodes: int = 0


def reasons_of(view: View, key: str) -> Reasons | None:
    """Return why a pod or a claim waits; None if the key names neither."""
    kind, _, rest = key.partition("/")
    namespace, slash, name = rest.partition("/")
    if kind not in WORDS or not slash:
        return None
    subjects = choose(view.world, f"{WORDS[kind]}/{name}", namespace, among=lambda _: True)
    hidden = sorted(view.unlisted & DECIDE)
    if hidden and any(_is_open(one) for one in subjects):
        said = f"you may not list {', '.join(hidden)}, which decide about it"
        return Reasons(summary=f"why it waits cannot be seen here: {said}", outcome="unknown")
    answer = answer_all(view.world, subjects)[0]
    lines = sorted((one for one in answer.lines if one.device), key=lambda one: one.distance)
    nodes = [one for one in answer.lines if one.device is None]
    shown = lines[:ROWS_MAX]
    conditions = _conditions(shown)
    return Reasons(
        summary=sentence(answer.summary),
        outcome=answer.outcome,
        nearest=_nearest(answer),
        conditions=conditions,
        rows=tuple(_row(line, conditions) for line in shown),
        more=len(lines) - len(shown),
        nodes=tuple((one.node, sentence("; ".join(one.why))) for one in nodes[:ROWS_MAX]),
        more_nodes=max(0, len(nodes) - ROWS_MAX),
    )


def _is_open(subject: Subject) -> bool:
    """Whether something has to be allocated, and nothing that it names is missing."""
    claims = (*subject.claims, *subject.made)
    return not subject.lacks and any(claim.allocation is None for claim in claims)


def _nearest(answer: Answer) -> str:
    if answer.nearest is None:
        return ""
    return sentence(f"{answer.nearest.title}: {'; '.join(answer.nearest.why)}")


def _conditions(lines: Iterable[Line]) -> tuple[str, ...]:
    """Return the conditions in the order in which they were met."""
    found = dict.fromkeys(one.condition for line in lines for one in line.missed)
    return tuple(map(sentence, list(found)[:COLUMNS_MAX]))


def _row(line: Line, conditions: Sequence[str]) -> Row:
    device = line.device
    places = {text: number for number, text in enumerate(conditions)}
    missed: dict[int, str] = {}
    for one in line.missed:
        number = places.get(sentence(one.condition), len(conditions))
        missed.setdefault(number, sentence(one.found))
    return Row(
        node=line.node,
        device=device.device if device else "",
        link=link_key(device.driver, device.pool, device.device) if device else "",
        claim=line.claim,
        request=line.request,
        fits=line.fits,
        distance=line.distance if line.distance != NO_DEVICE else -1,
        missed=tuple(missed.items()),
        but=sentence(line.but),
        takes=tuple(map(sentence, line.takes)),
    )
