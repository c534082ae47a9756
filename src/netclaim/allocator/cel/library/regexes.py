"""Regular expressions in CEL: matches(), find(), findAll()."""

from typing import Final

from netclaim.allocator.cel.errors import EvaluationError
from netclaim.allocator.cel.library.function import overload
from netclaim.allocator.cel.values.regex import RegexError, compile_regex

PATTERN_ARGUMENT: Final = frozenset({"matches", "find", "findAll"})  # a literal one is checked


def _matches(text: str, pattern: str) -> bool:
    try:
        return compile_regex(pattern).search(text) is not None
    except RegexError as error:
        raise EvaluationError(str(error)) from error


def _find_all(text: str, pattern: str, count: int = -1) -> list[str]:
    try:
        matches = list(compile_regex(pattern).finditer(text))
    except RegexError as error:
        raise EvaluationError(str(error)) from error
    ends = [-1, *(match.end() for match in matches)]
    # Go leaves out what is empty right behind another match.
    found = [m[0] for m, end in zip(matches, ends, strict=False) if m[0] or m.start() != end]
    return found if count < 0 else found[:count]


def _find(text: str, pattern: str) -> str:
    return next(iter(_find_all(text, pattern, 1)), "")


OVERLOADS: Final = (
    overload("matches", "(string, string) -> bool", _matches),
    overload("matches", "string.(string) -> bool", _matches),
    overload("find", "string.(string) -> string", _find),
    overload("findAll", "string.(string) -> list(string)", _find_all),
    overload("findAll", "string.(string, int) -> list(string)", _find_all),
)
