"""Text of others on a terminal: what would control the terminal is shown instead. No I/O.

Names, messages and attributes come from whoever may write an object: a tenant, or a node whose
driver was taken over. Promise: line breaks and tabs stay, except in a cell of a table, where they
could pass for another row; every other control character, and those that turn the direction of
writing, come out as their codes.
"""

from collections.abc import Mapping
from typing import Final

__all__ = ["one_line", "printable"]

CONTROLS: Final = (*range(0x20), *range(0x7F, 0xA0))  # C0, DEL and C1
DIRECTIONS: Final = (0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
KEPT: Final = "\n\t"
SHOWN: Final[Mapping[int, str]] = {
    **{code: f"\\x{code:02x}" for code in CONTROLS if chr(code) not in KEPT},
    **{code: f"\\u{code:04x}" for code in DIRECTIONS},
}


def printable(text: str) -> str:
    """The text with nothing in it that a terminal obeys; lines end as they do here."""
    if text.isprintable():
        return text
    return text.replace("\r\n", "\n").translate(SHOWN)


def one_line(text: str) -> str:
    """The same, for a cell of a table: on one line."""
    return printable(text).replace("\n", "\\n").replace("\t", "\\t")
