r"""Regular expressions as Kubernetes has them, by RE2 itself.

Promise: time is linear in the text, whatever the pattern is. What Go's `regexp` refuses is refused;
RE2 has one thing more, `\C` (a single byte), which is refused here.
"""

import functools
import re
from collections.abc import Iterator
from typing import Final, Protocol, cast

import re2

__all__ = ["Regex", "RegexError", "compile_regex"]

TOKEN: Final = re.compile(r"\\Q.*?(?:\\E|\Z)|\\.|.", re.DOTALL)
SINGLE_BYTE: Final = r"\C"


class RegexError(ValueError):
    """A pattern that RE2 refuses; its text says why."""


class Match(Protocol):
    """Where a pattern matched."""

    def __getitem__(self, group: int) -> str:
        """Return the text of a group; 0 is all of it."""

    def start(self) -> int:
        """Return where the match begins."""

    def end(self) -> int:
        """Return where the match ends."""


class Regex(Protocol):
    """A compiled pattern."""

    def search(self, text: str) -> Match | None:
        """Find the first match."""

    def finditer(self, text: str) -> Iterator[Match]:
        """Find the matches, which do not overlap."""


def _options() -> re2.Options:
    options = re2.Options()
    options.log_errors = False  # they would go to stderr, beside the error that is raised
    return options


OPTIONS: Final = _options()


@functools.lru_cache(maxsize=256)  # more patterns than a cluster's selectors have
def compile_regex(pattern: str) -> Regex:
    """Compile a pattern; a RegexError says why it is refused."""
    if any(token[0] == SINGLE_BYTE for token in TOKEN.finditer(pattern)):
        raise _refused(pattern, f"invalid escape sequence: {SINGLE_BYTE}")
    try:
        return cast("Regex", re2.compile(pattern, OPTIONS))
    except re2.error as error:
        raise _refused(pattern, error.args[0].decode(errors="replace")) from error
    except UnicodeEncodeError as error:
        raise _refused(pattern, "half of a surrogate pair") from error


def _refused(pattern: str, reason: str) -> RegexError:
    return RegexError(f"invalid regular expression {pattern!r}: {reason}")
