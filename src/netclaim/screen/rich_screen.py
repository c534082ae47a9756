"""The screen of a terminal, by rich."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.control import Control
from rich.padding import Padding
from rich.segment import ControlType
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from netclaim.plain_text import one_line, printable

COLOURS = {None: "", True: "green", False: "red"}
STATES = {
    "Running": "green",
    "Ready": "green",
    "Pending": "yellow",
    "Error": "red",
    "NotReady": "red",
    "Waiting": "yellow",
    "Reserved": "yellow",
    "tainted": "red",
    "unavailable": "red",
    "UP": "green",
    "DOWN": "dim",
}


class RichScreen:
    """Output for a terminal, with colours and tables."""

    def __init__(self, stream: TextIO, console: Console | None = None) -> None:
        self._console = console or Console(file=stream, highlight=False)

    def title(self, text: str) -> None:
        self._console.print()
        self._console.rule(Text(one_line(text), style="bold cyan"), align="left", style="cyan")

    def command(self, text: str) -> None:
        self._console.print(Text(f"$ {printable(text)}", style="bold"))

    @property
    def width(self) -> int:
        return self._console.width

    def table(
        self, header: Sequence[str], rows: Sequence[Sequence[str]], *, wraps: Collection[str] = ()
    ) -> None:
        table = Table(box=SIMPLE_HEAD, header_style="bold", pad_edge=False)
        for name in header:
            table.add_column(name, overflow="fold", no_wrap=bool(wraps) and name not in wraps)
        for row in rows:
            table.add_row(*(Text(one_line(cell), style=STATES.get(cell, "")) for cell in row))
        self._console.print(table)

    def block(self, text: str, language: str = "") -> None:
        text = printable(text)
        shown: Syntax | Text = (
            Syntax(text, language, background_color="default", word_wrap=True)
            if language
            else Text(text)
        )
        self._console.print(Padding(shown, (0, 0, 0, 2)))

    def line(self, text: str, *, good: bool | None = None) -> None:
        self._console.print(Text(one_line(text), style=COLOURS[good]))

    @contextmanager
    def working(self, text: str) -> Iterator[None]:
        """Show a line until it is done; no spinner, because its thread and forks do not mix."""
        self._console.print(Text(f"{one_line(text)} …", style="dim"), end="\r")
        try:
            yield
        finally:
            self._console.control(Control((ControlType.ERASE_IN_LINE, 2)))
