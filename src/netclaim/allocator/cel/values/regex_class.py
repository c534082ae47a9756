"""The parts of a regular expression that are one character: escapes and classes like `[a-f]`."""

import re
from typing import Final

POSIX: Final = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7F",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1F\x7F",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-\~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
SPACE: Final = r"\t\n\f\r "  # RE2's \s: without the vertical tab
# In groups, since RE2 lets them be repeated and Python does not; an empty text has a \B in RE2.
ANCHORS: Final = {"A": r"(?:\A)", "z": r"(?:\Z)", "b": r"(?:\b)", "B": r"(?:(?!\b))"}
OUTSIDE: Final = {"s": f"[{SPACE}]", "S": f"[^{SPACE}]", **ANCHORS}
SAME: Final = frozenset("dDwW")
CONTROL: Final = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
NUMBER: Final = re.compile(r"x([0-9A-Fa-f]{2})|x\{([0-9A-Fa-f]+)\}|(0[0-7]{0,2}|[1-7][0-7]{1,2})")
NAMED: Final = re.compile(r"\[:(\^?)(\w+):\]")


class RegexError(ValueError):
    """A pattern that RE2 would refuse."""


class UnsupportedRegexError(RegexError):
    """A pattern that RE2 accepts and that we cannot run."""


def read_escape(text: str, position: int) -> tuple[str, int]:
    """Read what a backslash begins; return it for Python, and where it ends."""
    letter = text[position + 1 : position + 2]
    if letter in OUTSIDE:
        return OUTSIDE[letter], position + 2
    if letter and letter in SAME:
        return f"\\{letter}", position + 2
    if letter == "Q":
        end = text.find(r"\E", position)
        literal = text[position + 2 : end if end >= 0 else None]
        return re.escape(literal), end + 2 if end >= 0 else len(text)
    character, end = _character(text, position)
    return re.escape(character), end


def _character(text: str, position: int) -> tuple[str, int]:
    """Read an escape that stands for one character."""
    letter = text[position + 1 : position + 2]
    if letter in CONTROL:
        return CONTROL[letter], position + 2
    match = NUMBER.match(text, position + 1)
    if match is not None:
        code = int(match[3], 8) if match[3] else int(match[1] or match[2], 16)
        if code > 0x10FFFF:  # beyond Unicode
            raise RegexError(f"invalid regular expression {text!r}: no such character")
        return chr(code), match.end()
    if letter in ("p", "P"):
        raise UnsupportedRegexError(f"netclaim does not support Unicode classes, as in {text!r}")
    if not letter or not letter.isascii() or letter.isalnum():
        raise RegexError(f"invalid regular expression {text!r}: unknown escape \\{letter}")
    return letter, position + 2


class ClassReader:
    """Reads a class from its `[` to its `]`."""

    def __init__(self, text: str, position: int) -> None:
        self._text = text
        self._position = position + 1
        self._out = ["["]

    def read(self) -> tuple[str, int]:
        """Return the class for Python, and where it ends."""
        if self._peek() == "^":
            self._out.append("^")
            self._position += 1
        first = True
        while first or self._peek() != "]":
            if not self._peek():
                raise RegexError(f"invalid regular expression {self._text!r}: missing ']'")
            self._item()
            first = False
        return "".join([*self._out, "]"]), self._position + 1

    def _peek(self, ahead: int = 0) -> str:
        return self._text[self._position + ahead : self._position + ahead + 1]

    def _item(self) -> None:
        named = NAMED.match(self._text, self._position)
        if named is not None:
            self._named(named)
            return
        if self._peek() == "\\" and (self._peek(1) in SAME or self._peek(1) in ("s", "S")):
            self._out.append(SPACE if self._peek(1) == "s" else f"\\{self._peek(1)}")
            self._position += 2
            return
        low = self._single()
        if self._peek() == "-" and self._peek(1) not in ("]", ""):
            self._position += 1
            high = self._single()
            if high < low:
                raise RegexError(f"invalid regular expression {self._text!r}: range out of order")
            self._out.append(f"{re.escape(low)}-{re.escape(high)}")
        else:
            self._out.append(re.escape(low))

    def _single(self) -> str:
        if self._peek() == "\\":
            character, self._position = _character(self._text, self._position)
            return character
        self._position += 1
        return self._text[self._position - 1]

    def _named(self, match: re.Match[str]) -> None:
        if match[2] not in POSIX or match[1]:
            raise RegexError(f"invalid regular expression {self._text!r}: unknown {match[0]}")
        self._out.append(POSIX[match[2]])
        self._position = match.end()
