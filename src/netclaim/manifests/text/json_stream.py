"""JSON as a manifest: objects one after the other, and an escape that YAML does not share.

No I/O. JSON is YAML except for two things that people meet: tools put objects behind each other
without a separator, and a character beyond 16 bits may be escaped as two halves.
Promise: the parts joined are the text, and each part keeps its lines. Limit: keys of at most 1024
characters, as in YAML.
"""

import json
import re
from typing import Final

NEXT: Final = re.compile(r"[ \t\r\n]*")  # what JSON allows between values
# An escaped backslash is matched as well, so that the `u` behind it is not taken for an escape.
HALVES: Final = re.compile(r"\\\\|\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})", re.IGNORECASE)


def json_parts(text: str) -> tuple[str, ...]:
    """Cut a stream of JSON objects into them, each with the space behind it.

    Anything else is one part, unchanged.
    """
    decoder = json.JSONDecoder()
    parts: list[str] = []
    start, place = 0, _skip(text, 0)
    while place < len(text):
        if text[place] != "{":
            return (text,)
        try:
            _, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):  # YAML that begins alike, or nested too deep
            return (text,)
        place = _skip(text, place)
        parts.append(text[start:place])
        start = place
    return tuple(parts) or (text,)


def as_yaml(text: str) -> str:
    """Return JSON with characters escaped as in YAML, on the same lines; other text unchanged."""
    if not any(match[1] for match in HALVES.finditer(text)) or not _is_json(text):
        return text
    return HALVES.sub(_joined, text)


def _skip(text: str, place: int) -> int:
    found = NEXT.match(text, place)
    return found.end() if found is not None else place


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _joined(match: re.Match[str]) -> str:
    if not match[1]:
        return match[0]
    high, low = int(match[1], 16), int(match[2], 16)
    return f"\\U{0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00):08x}"
