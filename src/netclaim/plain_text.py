"""Text of others, for a terminal, a log, an event or a status: nothing in it acts. No I/O.

Names, messages and attributes come from anybody who may write an object: a tenant, a plugin, or a
node whose driver was taken over. Promise: this is the one place that says how such text is shown.
What is not printable comes out as its code: control characters, what turns the direction of
writing, what is invisible or ends a line. What is printable stays as it is.
"""

import re
from typing import Final

KEPT: Final = "\n\t"
LINE_ENDS: Final = re.compile(r"\s*[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]\s*")
# Of JSON text; beyond U+FFFF an escape takes two, which YAML does not have.
UNPRINTED: Final = re.compile(
    "[\x7f-\xa0\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u1680\u180e\u2000-\u200f"
    "\u2028-\u202f\u205f-\u206f\u3000\ud800-\udfff\ufeff\ufff0-\uffff]"
)


def printable(text: str) -> str:
    """Return a text without anything that a terminal obeys; a line ends with a newline alone."""
    if text.isprintable():
        return text
    kept = text.replace("\r\n", "\n")
    return "".join(c if c.isprintable() or c in KEPT else _code(c) for c in kept)


def one_line(text: str) -> str:
    """Return such a text on one line, for a cell of a table: where a line ended can be seen."""
    return printable(text).replace("\n", "\\n").replace("\t", "\\t")


def sentence(text: str) -> str:
    """Return such a text on one line, for a message: where a line ended is a space."""
    if text.isprintable():
        return text
    return one_line(LINE_ENDS.sub(" ", text).strip())


def plain_json(encoded: bytes) -> bytes:
    """Return JSON that says the same by printable characters; YAML reads it alike.

    Go's YAML reader, by which the API server reads what is applied, refuses some characters that
    JSON may have as they are, and takes others for the end of a line.
    """
    text = encoded.decode()
    if text.isprintable():
        return encoded
    return UNPRINTED.sub(lambda found: f"\\u{ord(found[0]):04x}", text).encode()


def _code(character: str) -> str:
    return character.encode("unicode_escape").decode()
