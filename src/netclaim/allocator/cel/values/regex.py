r"""Regular expressions in RE2's dialect, for Python's engine.

Promise: what RE2 refuses is refused (look-around, backreferences, possessive repeats), and where
the two would read the same text differently (`$`, `\s`, flags in the middle, named classes) the
pattern is rewritten to mean what it means in RE2. Limit: Unicode classes (`\pL`) and the ungreedy
flag are refused, too; ignoring case works for ASCII letters only; a hostile pattern can be slow.
"""

import functools
import re
from typing import Final

from netclaim.allocator.cel.values.regex_class import (
    ClassReader,
    RegexError,
    UnsupportedRegexError,
    read_escape,
)

__all__ = ["RegexError", "UnsupportedRegexError", "compile_regex"]

REPEAT_MAX: Final = 1000  # RE2's own limit
REPEAT: Final = re.compile(r"\{([0-9]+)(?:,([0-9]*))?\}")
GROUP: Final = re.compile(
    r"\((?:\?(?:P?<(?P<name>[A-Za-z0-9_]+)>|(?P<flags>[imsU-]*)(?P<end>[:)])))?"
)


@functools.lru_cache(maxsize=256)  # more patterns than a cluster's selectors have
def compile_regex(pattern: str) -> re.Pattern[str]:
    """Compile a pattern; a RegexError says why RE2 refuses it."""
    try:
        return re.compile(_Translation(pattern).run(), re.ASCII)
    except re.error as error:
        raise RegexError(f"invalid regular expression {pattern!r}: {error}") from error


class _Translation:
    """A pattern being translated for Python; each group has the list of flags set inside it."""

    def __init__(self, pattern: str) -> None:
        self._text = pattern
        self._position = 0
        self._out: list[str] = []
        self._groups: list[list[str]] = [[]]
        self._multiline = [False]

    def run(self) -> str:
        while self._position < len(self._text):
            self._step(self._text[self._position])
        if len(self._groups) > 1:
            raise self._error("unterminated group")
        self._close_flags()
        return "".join(self._out)

    def _error(self, reason: str) -> RegexError:
        return RegexError(f"invalid regular expression {self._text!r}: {reason}")

    def _step(self, character: str) -> None:
        if character == "(":
            self._open()
        elif character == ")":
            self._close()
        elif character == "[":
            text, self._position = ClassReader(self._text, self._position).read()
            self._out.append(text)
        elif character == "\\":
            text, self._position = read_escape(self._text, self._position)
            self._out.append(text)
        elif character in "*+?" or character == "{":
            self._repeat()
        else:
            self._plain(character)

    def _plain(self, character: str) -> None:
        self._position += 1
        if character == "|":
            self._close_flags()
            self._out.append("|")
            self._out.extend(f"(?{flags}:" for flags in self._groups[-1])
        elif character == "$":
            self._out.append("(?:$)" if self._multiline[-1] else r"(?:\Z)")
        elif character == "^":
            self._out.append("(?:^)")  # in a group, so that it may be repeated, as in RE2
        else:
            self._out.append(character if character == "." else re.escape(character))

    def _open(self) -> None:
        match = GROUP.match(self._text, self._position)
        if match is None or (self._text[match.end() :].startswith("?") and match[0] == "("):
            raise self._error("a group syntax that RE2 does not have")
        self._position = match.end()
        flags = match["flags"] or ""
        if "U" in flags:
            raise UnsupportedRegexError(f"netclaim does not support the flag U: {self._text!r}")
        if match["end"] == ")":
            self._out.append(f"(?{flags}:")
            self._groups[-1].append(flags)
            self._multiline[-1] = self._flagged(flags)
            return
        self._out.append("(" if match["name"] else match[0])  # nobody asks for groups by name
        self._groups.append([])
        self._multiline.append(self._flagged(flags))

    def _flagged(self, flags: str) -> bool:
        on, _, off = flags.partition("-")
        return ("m" in on or self._multiline[-1]) and "m" not in off

    def _close(self) -> None:
        if len(self._groups) == 1:
            raise self._error("unmatched ')'")
        self._close_flags()
        self._groups.pop()
        self._multiline.pop()
        self._out.append(")")
        self._position += 1

    def _close_flags(self) -> None:
        self._out.extend(")" for _ in self._groups[-1])

    def _repeat(self) -> None:
        match = REPEAT.match(self._text, self._position)
        if self._text[self._position] == "{" and match is None:
            self._out.append(r"\{")  # RE2 takes it literally
            self._position += 1
            return
        operator = match[0] if match is not None else self._text[self._position]
        if match is not None and max(int(n) for n in match.groups() if n) > REPEAT_MAX:
            raise self._error(f"repeat count above {REPEAT_MAX}")
        self._position += len(operator)
        if self._text[self._position : self._position + 1] == "?":
            operator += "?"
            self._position += 1
        rest = self._text[self._position : self._position + 1]
        if rest in ("*", "+", "?") or REPEAT.match(self._text, self._position):
            raise self._error("repeated repeat operator")
        self._out.append(operator)
