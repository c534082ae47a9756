"""What was probably meant: hints for typos in device selectors.

Promise: a hint is given only where something similar exists: an attribute, a domain or a value of
this very device. Limit: it reads the author's text by patterns, so that an unusual way to write a
path gets no hint; what is false and why was found out before, by evaluation.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Final, TypeAlias

from netclaim.allocator.cel.trace import Clause, Reading
from netclaim.manifests.near import near

# device.attributes["domain"].name, or ["name"], or only the domain
ANY_PATH: Final = re.compile(
    r"""device\.(?P<kind>attributes|capacity)\[\??(?P<q>['"])(?P<domain>.*?)(?P=q)\]"""
    r"""(?:\.\??(?P<name>\w+)|\[\??(?P<r>['"])(?P<key>.*?)(?P=r)\])?"""
)
PATH: Final = re.compile(f"{ANY_PATH.pattern}$")
LITERAL: Final = re.compile(r""""((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'""")
FIELDS: Final = ("driver", "attributes", "capacity", "allowMultipleAllocations")
SIMILAR: Final = 0.6  # as difflib's own measure of a close match
NUMBER: Final = re.compile(r"-?\d+")
BOOLEANS: Final = ("true", "false")
READ: Final = "\0"  # stands for what a clause reads
CONSTANT: Final = rf"""(?:"[^"\\]*"|'[^'\\]*'|{NUMBER.pattern}|true|false)"""
COMPARISON: Final = re.compile(
    rf"\(*\s*(?:{READ}\s*(?:[=!<>]=|[<>])\s*(?P<right>{CONSTANT})"
    rf"|(?P<left>{CONSTANT})\s*(?:[=!<>]=|[<>])\s*{READ})\s*\)*"
)

ABSENT: Final = "optional.none()"  # what an optional path reads where there is nothing

View: TypeAlias = Mapping[str, Any]  # a device as selectors see it


@dataclass(frozen=True, slots=True)
class Known:
    """The texts that any device has; one of them in a selector is not a typo."""

    exact: frozenset[str]
    plain: frozenset[str]  # without white space, in lower case

    @classmethod
    def of(cls, values: Iterable[str]) -> "Known":
        exact = frozenset(values)
        return cls(exact, frozenset(map(_plain, exact)))


def hints(clause: Clause, view: View, known: Known) -> Iterator[str]:
    """Yield what the author of a clause may have meant; `known` are the values of all devices."""
    for reading in clause.readings:
        if reading.missing or reading.value == ABSENT:
            yield from _name_hint(reading.text, view)
    if clause.outcome == "error" and not clause.readings:
        yield from _has(clause.text, view)
        yield from _name_hint(clause.text, view)
    for reading in clause.readings:
        for literal in _literals(clause):
            yield from _value_hint(literal, reading, view, known)
        yield from _type_hint(clause, reading)


def field_hint(undefined: str) -> str:
    """Return which field was probably meant by one that no device has."""
    close = near(undefined, FIELDS)
    return f'did you mean "{close}"?' if close else ""


def closeness(clause: Clause) -> float:
    """Return how near a false comparison is to being true, from 0 to almost 1."""
    best = 0.0
    for literal in _literals(clause):
        for reading in clause.readings:
            value = _text(reading.value)
            if value is None and literal == reading.value:
                best = 1.0  # a number in quotes
            elif value is not None and value != literal:
                best = max(best, _ratio(literal, value))
    return min(best, 0.99)


def mentions(clause: Clause, values: Iterable[str]) -> bool:
    """Whether a clause compares with one of some texts."""
    return not frozenset(_literals(clause)).isdisjoint(values)


def shorten(clause: Clause) -> str:
    """Return a clause with only the last part of each path, unless a path leads nowhere."""
    if clause.outcome == "error":
        return clause.text
    return last_names(clause.text)


def last_names(text: str) -> str:
    """Return an expression with only the last part of each path that has one."""
    return ANY_PATH.sub(lambda path: path["name"] or path["key"] or path[0], text)


def say_reading(reading: Reading) -> str:
    """Return what was read, by the last part of its name."""
    if reading.missing:
        return reading.missing
    path = PATH.search(reading.text)
    if path and not path["name"] and not path["key"]:
        keys = ", ".join(sorted(_keys(reading.value))) or f"no {path['kind']}"
        return f"in {path['domain']!r} it has {keys}"
    if reading.value == ABSENT:
        return f"the device has no {_last_name(reading)}"
    return f"{_last_name(reading)} is {reading.value}"


def _name_hint(text: str, view: View) -> Iterator[str]:
    path = PATH.search(text)
    if path is None:
        return
    name = path["name"] or path["key"] or ""
    domains: Mapping[str, Mapping[str, Any]] = view[path["kind"]]
    if path["domain"] in domains:
        close = near(name, domains[path["domain"]])
        if close:
            yield f'did you mean "{close}"?'
        return
    holders = [domain for domain, names in domains.items() if name in names]
    close = near(path["domain"], holders) or (holders[0] if len(holders) == 1 else "")
    if close:
        yield f'did you mean device.{path["kind"]}["{close}"].{name}?'
    else:
        close = near(path["domain"], domains)
        inner = near(name, domains[close]) if close else ""
        if inner:
            yield f'did you mean device.{path["kind"]}["{close}"].{inner}?'


def _has(text: str, view: View) -> Iterator[str]:
    """Say what there is where a path finds nothing."""
    path = PATH.search(text)
    names = view[path["kind"]].get(path["domain"]) if path else None
    if names:
        yield f"the device has {', '.join(sorted(names))}"


def _value_hint(literal: str, reading: Reading, view: View, known: Known) -> Iterator[str]:
    if reading.missing or literal in known.exact:
        return
    value = _text(reading.value)
    if reading.value == "{}":
        yield from _name_hint(f'{reading.text}["{literal}"]', view)
    elif reading.value.startswith("{"):
        close = near(literal, _keys(reading.value))
        if close and close != literal:
            yield f'did you mean "{close}"?'
    elif value is None:
        return  # of another type
    elif _plain(literal) == _plain(value):
        yield _difference(literal, value)
    elif _plain(literal) not in known.plain and _similar(literal, value):
        yield f'did you mean "{value}"?'


def _type_hint(clause: Clause, reading: Reading) -> Iterator[str]:
    """Say what to write where a value is compared with a constant of another type."""
    found = COMPARISON.fullmatch(clause.text.replace(reading.text, READ))
    if found is None or reading.missing:
        return
    constant = found["left"] or found["right"]
    name, quoted, inner = _last_name(reading), constant[0] in "\"'", constant.strip("\"'").strip()
    if NUMBER.fullmatch(reading.value) and quoted:
        what = f"{inner} without quotes" if NUMBER.fullmatch(inner) else "a number without quotes"
        yield f"{name} is a number; write {what}"
    elif reading.value in BOOLEANS and quoted:
        what = inner if inner in BOOLEANS else "true or false"
        yield f"{name} is true or false; write {what} without quotes"
    elif _text(reading.value) is not None and not quoted:
        yield f'{name} is a string; write "{constant}" in quotes'


def _last_name(reading: Reading) -> str:
    path = PATH.search(reading.text)
    named = (path["name"] or path["key"]) if path else ""
    return named or reading.text.rpartition(".")[2]


def _difference(literal: str, value: str) -> str:
    if literal.casefold() == value.casefold():
        return "they differ only in upper and lower case"
    if "".join(literal.split()) == "".join(value.split()):
        return "they differ only in white space"
    return "they differ only in white space, and in upper and lower case"


def _literals(clause: Clause) -> Sequence[str]:
    """Return the texts that a clause compares with, not those within the paths it reads."""
    rest = clause.text
    for reading in sorted(clause.readings, key=lambda one: -len(one.text)):
        rest = rest.replace(reading.text, "")
    return [one[0] or one[1] for one in LITERAL.findall(rest)]


def _keys(value: str) -> list[str]:
    """Return the keys of a map in CEL's notation, whose values may be more than JSON."""
    return re.findall(r'[{ ]"([^"]+)": ', value)


def _text(value: str) -> str | None:
    if not value.startswith('"'):
        return None
    read: str = json.loads(value)
    return read


def _plain(text: str) -> str:
    return "".join(text.split()).casefold()


def _similar(one: str, other: str) -> bool:
    """Whether one may be a typo of the other; eth1 is not a typo of eth0."""
    letters = [re.sub(r"\d", "", _plain(text)) for text in (one, other)]
    return letters[0] != letters[1] and _ratio(one, other) >= SIMILAR


def _ratio(one: str, other: str) -> float:
    return SequenceMatcher(None, one.casefold(), other.casefold(), autojunk=False).ratio()
