"""Where commands show what they do: tables and colour on a terminal, plain text in a pipe.

Promise: the words are the same in both, and lines in a pipe are not wrapped. Text of others cannot
control the terminal (see `plain_text`).
"""

import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol, TextIO

from netclaim.plain_text import one_line, printable


class Screen(Protocol):
    """Where a command shows what it does."""

    @property
    def width(self) -> int | None:
        """How many characters a line can have; None in a pipe, where nothing is too long."""
        ...

    def title(self, text: str) -> None:
        """Begin a new part."""
        ...

    def command(self, text: str) -> None:
        """Show what one would type on a real cluster to see what follows."""
        ...

    def table(
        self, header: Sequence[str], rows: Sequence[Sequence[str]], *, wraps: Collection[str] = ()
    ) -> None:
        """Show rows under a header.

        Where there is no room, only the columns in `wraps` are folded, or all of them if it is
        empty.
        """
        ...

    def block(self, text: str, language: str = "") -> None:
        """Show a text as it is: YAML, or what a program prints."""
        ...

    def line(self, text: str, *, good: bool | None = None) -> None:
        """Show a sentence, on one line: good news, bad news, or neither."""
        ...

    def working(self, text: str) -> AbstractContextManager[None]:
        """Show that something takes a moment."""
        ...


def screen_for(stream: TextIO) -> Screen:
    """Return the screen that suits where output goes."""
    if not stream.isatty():
        return PlainScreen(stream)
    # Rich takes a fifth of a second to import: only for those who see it.
    from netclaim.screen.rich_screen import RichScreen  # noqa: PLC0415

    return RichScreen(stream)


class PlainScreen:
    """A screen in a pipe or a file."""

    width = None

    def __init__(self, stream: TextIO = sys.stdout) -> None:
        self._stream = stream

    def title(self, text: str) -> None:
        self._write("", f"# {one_line(text)}")

    def command(self, text: str) -> None:
        self._write("", f"$ {text}")

    def table(
        self,
        header: Sequence[str],
        rows: Sequence[Sequence[str]],
        *,
        wraps: Collection[str] = (),  # noqa: ARG002 - nothing is folded
    ) -> None:
        """Show columns as wide as their widest cell, as kubectl prints them."""
        lines = [tuple(header), *(tuple(map(one_line, row)) for row in rows)]
        widths = [max(len(cell) for cell in column) for column in zip(*lines, strict=True)]
        for line in lines:
            cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
            self._write("   ".join(cells).rstrip())

    def block(self, text: str, language: str = "") -> None:  # noqa: ARG002 - plain in any language
        self._write(text.rstrip("\n"))

    def line(self, text: str, *, good: bool | None = None) -> None:  # noqa: ARG002 - no colour
        self._write(one_line(text))

    @contextmanager
    def working(self, text: str) -> Iterator[None]:  # noqa: ARG002 - nobody watches
        yield

    def _write(self, *lines: str) -> None:
        for line in lines:
            self._stream.write(f"{printable(line)}\n")
        self._stream.flush()
