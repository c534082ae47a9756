"""Functions on strings: CEL's own and cel-go's extension in the version Kubernetes has (2).

Positions count characters. Limit: `format` is missing.
"""

import string
from collections.abc import Callable
from typing import Final

from netclaim.allocator.cel.errors import EvaluationError
from netclaim.allocator.cel.library.function import overload

LOWER: Final = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
UPPER: Final = str.maketrans(string.ascii_lowercase, string.ascii_uppercase)
SPACE: Final = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)
QUOTED: Final = str.maketrans(
    {
        "\a": r"\a",
        "\b": r"\b",
        "\f": r"\f",
        "\n": r"\n",
        "\r": r"\r",
        "\t": r"\t",
        "\v": r"\v",
        "\\": r"\\",
        '"': r"\"",
    }
)


def _out_of_range(position: int) -> EvaluationError:
    return EvaluationError(f"index out of range: {position}")


def _char_at(text: str, position: int) -> str:
    if not 0 <= position <= len(text):
        raise _out_of_range(position)
    return text[position : position + 1]


def _index_of(text: str, part: str, offset: int = 0) -> int:
    if not part:
        return offset
    if offset < 0:
        raise _out_of_range(offset)
    return text.find(part, offset)


def _last_index_of(text: str, part: str) -> int:
    return text.rfind(part)


def _last_index_before(text: str, part: str, offset: int) -> int:
    if not part:
        return offset
    if offset < 0:
        raise _out_of_range(offset)
    if offset >= len(text):
        return -1
    return text.rfind(part, 0, offset + len(part))


def _substring(text: str, start: int) -> str:
    if not 0 <= start <= len(text):
        raise _out_of_range(start)
    return text[start:]


def _substring_range(text: str, start: int, end: int) -> str:
    if start > end:
        raise EvaluationError(f"invalid substring range. start: {start}, end: {end}")
    for position in (start, end):
        if not 0 <= position <= len(text):
            raise _out_of_range(position)
    return text[start:end]


def _split(text: str, separator: str, count: int = -1) -> list[str]:
    """Split into at most `count` parts; a negative count is no limit."""
    if count == 0:
        return []
    if not separator:
        cut = count - 1 if 0 < count <= len(text) else len(text)
        return [*text[:cut], text[cut:]] if cut < len(text) else list(text)
    return text.split(separator, count - 1 if count > 0 else -1)


def _join(parts: list[str], separator: str = "") -> str:
    for part in parts:
        if type(part) is not str:
            raise EvaluationError(f"join: invalid input: {part}")
    return separator.join(parts)


MEMBERS: Final[tuple[tuple[str, str, Callable[..., object]], ...]] = (
    ("contains", "string.(string) -> bool", lambda text, part: part in text),
    ("endsWith", "string.(string) -> bool", str.endswith),
    ("startsWith", "string.(string) -> bool", str.startswith),
    ("charAt", "string.(int) -> string", _char_at),
    ("indexOf", "string.(string) -> int", _index_of),
    ("indexOf", "string.(string, int) -> int", _index_of),
    ("lastIndexOf", "string.(string) -> int", _last_index_of),
    ("lastIndexOf", "string.(string, int) -> int", _last_index_before),
    ("lowerAscii", "string.() -> string", lambda text: text.translate(LOWER)),
    ("upperAscii", "string.() -> string", lambda text: text.translate(UPPER)),
    ("replace", "string.(string, string) -> string", str.replace),
    ("replace", "string.(string, string, int) -> string", str.replace),
    ("split", "string.(string) -> list(string)", _split),
    ("split", "string.(string, int) -> list(string)", _split),
    ("substring", "string.(int) -> string", _substring),
    ("substring", "string.(int, int) -> string", _substring_range),
    ("trim", "string.() -> string", lambda text: text.strip(SPACE)),
    ("join", "list(string).() -> string", _join),
    ("join", "list(string).(string) -> string", _join),
)

OVERLOADS: Final = (
    *(overload(name, signature, run) for name, signature, run in MEMBERS),
    overload("strings.quote", "(string) -> string", lambda text: f'"{text.translate(QUOTED)}"'),
)
