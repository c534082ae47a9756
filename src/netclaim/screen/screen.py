"""What people see of an embedded cluster: tables and colour on a terminal, plain text in a pipe.

Promise: the same words in both; in a pipe no wrapped lines. What is shown controls no terminal, be
it somebody else's text (see `printable`).
"""

import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol, TextIO

from netclaim.screen.printable import one_line, printable

__all__ = ["PlainScreen", "Screen", "screen_for"]


class Screen(Protocol):
    """Where a command shows what it does."""

    @property
    def width(self) -> int | None:
        """How many characters a line can have; None in a pipe, where nothing is too long."""
        ...

    def title(self, text: str) -> None:
        """A new part begins."""
        ...

    def command(self, text: str) -> None:
        """What one would type on a real cluster to see what follows."""
        ...

    def table(
        self, header: Sequence[str], rows: Sequence[Sequence[str]], *, wraps: Collection[str] = ()
    ) -> None:
        """Rows under a header; where there is no room, only the columns in `wraps` are folded.

        With none in it, all of them are.
        """
        ...

    def block(self, text: str, language: str = "") -> None:
        """Text as it is: YAML, or what a program prints."""
        ...

    def line(self, text: str, *, good: bool | None = None) -> None:
        """A sentence; good or bad news, or neither."""
        ...

    def working(self, text: str) -> AbstractContextManager[None]:
        """Something takes a moment."""
        ...


def screen_for(stream: TextIO) -> Screen:
    """The screen that suits where output goes."""
    if not stream.isatty():
        return PlainScreen(stream)
    # Rich takes a fifth of a second to import: only for those who see it.
    from netclaim.screen.rich_screen import RichScreen  # noqa: PLC0415

    return RichScreen(stream)


class PlainScreen:
    """Plain text."""

    width = None

    def __init__(self, stream: TextIO = sys.stdout) -> None:
        self._stream = stream

    def title(self, text: str) -> None:
        """A line of its own, after an empty one."""
        self._write("", f"# {text}")

    def command(self, text: str) -> None:
        """After a dollar, as in a transcript."""
        self._write("", f"$ {text}")

    def table(
        self,
        header: Sequence[str],
        rows: Sequence[Sequence[str]],
        *,
        wraps: Collection[str] = (),  # noqa: ARG002 - nothing is folded
    ) -> None:
        """Columns as wide as their widest cell, as kubectl prints them."""
        lines = [tuple(header), *(tuple(map(one_line, row)) for row in rows)]
        widths = [max(len(cell) for cell in column) for column in zip(*lines, strict=True)]
        for line in lines:
            cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
            self._write("   ".join(cells).rstrip())

    def block(self, text: str, language: str = "") -> None:  # noqa: ARG002 - plain in any language
        """The text."""
        self._write(text.rstrip("\n"))

    def line(self, text: str, *, good: bool | None = None) -> None:  # noqa: ARG002 - no colour
        """The sentence."""
        self._write(text)

    @contextmanager
    def working(self, text: str) -> Iterator[None]:  # noqa: ARG002 - nobody watches
        """Nothing: a pipe has no patience to lose."""
        yield

    def _write(self, *lines: str) -> None:
        for line in lines:
            self._stream.write(f"{printable(line)}\n")
        self._stream.flush()
