"""Why a device does not fit, in words, and how far it is from fitting.

Promise: the words name the selector by its place in the manifest, the clause as its author wrote
it, the value that it found, and what was probably meant. A smaller distance is a nearer miss; it is
0 if the device fits.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from netclaim.allocator import (
    Claim,
    Device,
    Held,
    NoAnswer,
    NotHere,
    NotSelected,
    Part,
    Reason,
    Shortage,
    Slice,
    Tainted,
)
from netclaim.allocator.cel import CelError
from netclaim.allocator.cel.trace import Clause
from netclaim.allocator.search.match import OwnedSelector
from netclaim.explain.hints import (
    Known,
    closeness,
    field_hint,
    hints,
    last_names,
    mentions,
    say_reading,
    shorten,
)
from netclaim.manifests.objects import ObjectKey
from netclaim.screen.words import NAMES_SHOWN

# What each obstacle adds to the distance; a false clause adds 1, less what it is near to being true
PARTS_SHOWN: Final = 2  # claims that have the rest, in a column
TAKEN: Final = 0.001  # everything else about the device is right; nearer than any typo
OTHER_CLASS: Final = 3.0  # not what the claim is about: another driver's device, as a rule
OTHER_NODE: Final = 3.0
MENTIONED: Final = (
    0.5  # less: the clause names a value that the device has, under another name perhaps
)


@dataclass(frozen=True, slots=True)
class Missed:
    """A condition in the same words for every device that misses it, and what this one has."""

    condition: str
    found: str


@dataclass(frozen=True, slots=True)
class Wording:
    """Says why devices do not fit; knows who uses the claims, and every value of any device."""

    users: Mapping[ObjectKey, tuple[str, ...]]
    known: Known

    def say(self, reason: Reason, device: Device) -> str:
        match reason:
            case NotSelected(selector=selector, clauses=clauses):
                said = "; ".join(self._clause(clause, device) for clause in clauses)
                return f"{place(selector)} is false: {said or selector.expression}"
            case NoAnswer(selector=selector, error=error, clauses=clauses, undefined=undefined):
                said = "; ".join(self._clause(clause, device) for clause in clauses)
                hint = field_hint(undefined)
                return f"{place(selector)} has no value: {said or _joined((error, hint))}"
            case Held(claim=claim):
                return f"{reason}{self.users_of(claim)}"
            case Shortage(parts=parts):
                return reason.said(_first(self._parts(parts), NAMES_SHOWN))
        return str(reason)

    def say_short(self, reason: Reason) -> str:
        """Say the same for a column of a table: without hints, and paths by their last parts."""
        if isinstance(reason, Shortage):
            return reason.said(_first(map(str, reason.parts), PARTS_SHOWN))
        if not isinstance(reason, NotSelected | NoAnswer):
            return str(reason)
        unexplained = reason.error if isinstance(reason, NoAnswer) else "is false"
        said = "; ".join(map(_short, reason.clauses)) or unexplained
        owner = "class " if reason.selector.of_class else ""
        return f"{owner}selectors[{reason.selector.number}]: {said}"

    def missed(self, reason: Reason, device: Device) -> Iterator[Missed]:
        """Yield the conditions that a reason is about."""
        match reason:
            case (
                NotSelected(selector=selector, clauses=clauses)
                | NoAnswer(selector=selector, clauses=clauses)
            ):
                whose = f"{selector.owner}: " if selector.of_class else ""
                for clause in clauses:
                    read = [say_reading(reading) for reading in clause.readings]
                    found = _joined(read or (clause.error,))
                    yield Missed(f"{whose}{last_names(clause.text)}", found)
                if not clauses:
                    yield Missed(f"{whose}{last_names(selector.expression)}", str(reason))
            case Held():
                yield Missed("not taken", self.say(reason, device))
            case Tainted():
                yield Missed("no taint that keeps it away", str(reason))
            case NotHere():
                yield Missed("usable from the node", str(reason))
            case Shortage(need=need):
                what = need.partition(":")[0].partition(" ")[2]  # a capacity or a counter
                yield Missed(f"enough {what} left", self.say(reason, device))
            case _:
                yield Missed("large enough", str(reason))

    def _parts(self, parts: Iterable[Part]) -> Iterator[str]:
        """Say who has what, beginning with the claim that has most."""
        for part in sorted(parts, key=lambda part: part.amount, reverse=True):
            yield part.said(self.users_of(part.claim) if part.claim is not None else "")

    def users_of(self, claim: Claim) -> str:
        """Say for whom a claim is reserved; an empty text if for nobody."""
        users = self.users.get(ObjectKey("ResourceClaim", claim.namespace, claim.name), ())
        shown = " and ".join(_first(users, NAMES_SHOWN))
        return f", which {shown} use{'s' * (len(users) == 1)}" if users else ""

    def _clause(self, clause: Clause, device: Device) -> str:
        read = [say_reading(reading) for reading in clause.readings]
        if clause.outcome == "error" and not any(one.missing for one in clause.readings):
            read.append(clause.error)
        view: Any = device.view
        meant = () if isinstance(view, CelError) else hints(clause, view, self.known)
        said = _joined((*read, *dict.fromkeys(meant)))
        return f"{clause.text} - {said}" if said else clause.text


def known_values(slices: Iterable[Slice]) -> Known:
    """Return the texts of all devices."""
    return Known.of(value for one in slices for value in _values(one))


def distance(reasons: Iterable[Reason], device: Device) -> float:
    """Return how far a device is from fitting."""
    return sum(_weight(reason, device) for reason in reasons)


def place(selector: OwnedSelector) -> str:
    """Say where a selector stands, as a path in the manifest."""
    return f"selectors[{selector.number}] of {selector.owner}"


def _weight(reason: Reason, device: Device) -> float:
    match reason:
        case NotSelected(selector=selector) if selector.of_class:
            return OTHER_CLASS
        case NotSelected(clauses=clauses):
            return sum(1 - closeness(clause) for clause in clauses) or 1.0
        case NoAnswer(clauses=clauses):
            values = [str(value) for _, value in device.attributes.values()]
            meant = MENTIONED * sum(mentions(clause, values) for clause in clauses)
            return (len(clauses) or 1) - meant
        case Held() | Tainted() | Shortage():
            return TAKEN
        case NotHere():
            return OTHER_NODE
    return 1.0


def _short(clause: Clause) -> str:
    """Say what became of a clause and, where that is short, what it found."""
    verdict = "has no value" if clause.outcome == "error" else f"is {clause.outcome}"
    read = [
        say_reading(reading)
        for reading in clause.readings
        if not reading.missing and not reading.value.startswith("{")
    ]
    return f"{shorten(clause)} {verdict}" + (f" ({', '.join(read)})" if read else "")


def _first(parts: Iterable[str], most: int) -> list[str]:
    """Return the first parts, and the number of the others: thousands can share a device."""
    found = list(parts)
    more = len(found) - most
    return [*found[:most], *([f"{more} more"] if more > 0 else ())]


def _values(one: Slice) -> Iterator[str]:
    yield one.pool.driver
    for device in one.devices:
        yield from (value for _, value in device.attributes.values() if isinstance(value, str))


def _joined(parts: Iterable[str]) -> str:
    return "; ".join(part for part in parts if part)
