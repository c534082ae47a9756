r"""JSON that somebody else wrote: read whole, or taken apart where that fails. No I/O.

The API server passes a driver's parameters on as they were written, with what Python cannot read:
half of a surrogate pair (`"\ud800"`), a byte that is not UTF-8, lists within lists by the thousand.
Promise: `read_json` raises ValueError, whatever the text; finding parts takes time that grows with
the text, and no stack. Limit: parts are found by quotes, brackets and commas; what
is no JSON at all may come apart anywhere.
"""

import re
from collections.abc import Callable, Collection, Iterator
from typing import Any, Final

import msgspec

# How deep text may be nested. Python follows a thousand calls, and a walk takes several for each
# level; the deepest configuration in use has eight.
LEVELS_MAX: Final = 100
UNREADABLE: Final = (ValueError, RecursionError)  # what decoders raise, msgspec's and json's
OPENING: Final = b"[{"
TOO_DEEP: Final = "it is nested too deeply"

_STRING: Final = rb'"(?:[^"\\]++|\\.)*+"'
_KEY: Final = re.compile(rb"(" + _STRING + rb")\s*+:\s*+", re.DOTALL)
_GAP: Final = re.compile(rb"[\s,]*+")
_SCALAR: Final = re.compile(_STRING + rb"|[^\s,\[\]{}]++", re.DOTALL)
# Up to where brackets open or close, over strings and everything else in between.
_BRACKETS: Final = re.compile(rb'(?:[^"\[\]{}]++|' + _STRING + rb")*+([\[{]++|[\]}]++)", re.DOTALL)


def read_json(text: str | bytes) -> Any:
    """Decode JSON text that is nested at most LEVELS_MAX deep; ValueError says what is wrong."""
    try:
        encoded = text.encode() if isinstance(text, str) else text
        if _is_deep(encoded):
            raise RecursionError  # before the decoder, which would follow it for longer
        return msgspec.json.decode(encoded)
    except UNREADABLE as error:
        raise ValueError(fault_of(error)) from error


def fault_of(error: Exception) -> str:
    """Say what a decoder could not read, without quoting it."""
    if isinstance(error, RecursionError):
        return TOO_DEEP
    if isinstance(error, UnicodeError):
        return "it is not UTF-8"
    return str(error)


def members(text: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the keys of an object and the text of their values; ValueError where it breaks off."""
    at = _inside(text, b"{")
    while text[at : at + 1] != b"}":
        key, begin = _key(text, at)
        at = _end(text, begin)
        yield key, text[begin:at]
        at = _skip(text, at)


def elements(text: bytes) -> Iterator[bytes]:
    """Yield the text of a list's elements; ValueError where it breaks off."""
    at = _inside(text, b"[")
    while text[at : at + 1] != b"]":
        end = _end(text, at)
        yield text[at:end]
        at = _skip(text, end)


def read_around(
    text: bytes, free: Collection[str], stand_in: Callable[[str], Any], *, levels: int
) -> Any:
    """Decode JSON except for what cannot be read below the keys `free`: that is replaced.

    These keys are looked for in the outer `levels`. `stand_in` gets what is wrong. ValueError or
    RecursionError if something else cannot be read.
    """
    reader = _AroundReader(text, free, stand_in)
    found, end = reader.read(_skip(text, 0), levels)
    if _skip(text, end) != len(text):
        raise ValueError("something follows its end")
    return found


class _AroundReader:
    """Goes through a text once; each method returns a value and where it ends."""

    def __init__(self, text: bytes, free: Collection[str], stand_in: Callable[[str], Any]) -> None:
        self._text = text
        self._free = free
        self._stand_in = stand_in

    def read(self, at: int, levels: int) -> tuple[Any, int]:
        opening = self._text[at : at + 1]
        if levels and opening == b"{":
            return self._object(at, levels - 1)
        if levels and opening == b"[":
            return self._list(at, levels - 1)
        end = _end(self._text, at)
        return msgspec.json.decode(self._text[at:end]), end

    def _object(self, at: int, levels: int) -> tuple[dict[str, Any], int]:
        found: dict[str, Any] = {}
        at = _skip(self._text, at + 1)
        while self._text[at : at + 1] != b"}":
            key, at = _key(self._text, at)
            found[key], at = self._read_free(at) if key in self._free else self.read(at, levels)
            at = _skip(self._text, at)
        return found, at + 1

    def _list(self, at: int, levels: int) -> tuple[list[Any], int]:
        found: list[Any] = []
        at = _skip(self._text, at + 1)
        while self._text[at : at + 1] != b"]":
            each, at = self.read(at, levels)
            found.append(each)
            at = _skip(self._text, at)
        return found, at + 1

    def _read_free(self, at: int) -> tuple[Any, int]:
        end = _end(self._text, at)
        try:
            return msgspec.json.decode(self._text[at:end]), end
        except UNREADABLE as error:
            return self._stand_in(fault_of(error)), end


def _key(text: bytes, at: int) -> tuple[str, int]:
    """Return the key that is here, and where its value begins."""
    found = _KEY.match(text, at)
    if found is None:
        raise ValueError("it is not an object")
    return msgspec.json.decode(found[1], type=str), found.end()


def _inside(text: bytes, bracket: bytes) -> int:
    at = _skip(text, 0)
    if text[at : at + 1] != bracket:
        raise ValueError(f"it does not begin with {bracket.decode()}")
    return _skip(text, at + 1)


def _skip(text: bytes, at: int) -> int:
    gap = _GAP.match(text, at)
    assert gap is not None  # it may be empty
    return gap.end()


def _end(text: bytes, at: int) -> int:
    """Where the value that begins here ends."""
    if scalar := _SCALAR.match(text, at):
        return scalar.end()
    if text[at : at + 1] not in {b"[", b"{"}:
        raise ValueError("it lacks a value")
    level = 0
    while brackets := _BRACKETS.match(text, at):
        begin, at = brackets.span(1)
        if text[begin] in OPENING:
            level += at - begin
        elif level > at - begin:
            level -= at - begin
        else:
            return begin + level  # of `]]]` perhaps not all belong to it
    raise ValueError("it ends too early")


def _is_deep(text: bytes) -> bool:
    at = level = 0
    while brackets := _BRACKETS.match(text, at):
        begin, at = brackets.span(1)
        level += at - begin if text[begin] in OPENING else begin - at
        if level > LEVELS_MAX:
            return True
    return False
