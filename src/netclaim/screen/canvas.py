"""A terminal that is painted again and again, in place.

Promise: a picture that is higher than the terminal is cut, and says so; one that is repeated does
not flicker. What was on the terminal before is there again at the end, followed by the last
picture. Only for terminals.
"""

import io
import os
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self, TextIO

from rich.console import Console

from netclaim.screen.rich_screen import RichScreen
from netclaim.screen.screen import Screen

# Control sequences of xterm, which every terminal of this century has.
OTHER_PAGE: Final = "\x1b[?1049h\x1b[?25l"
FIRST_PAGE: Final = "\x1b[?1049l\x1b[?25h"
HOME, REST_OF_LINE, REST_OF_PAGE = "\x1b[H", "\x1b[K", "\x1b[J"


class Canvas:
    """A page of its own on a terminal."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._draw: Callable[[Screen], None] | None = None

    def __enter__(self) -> Self:
        self._stream.write(OTHER_PAGE)
        self._stream.flush()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stream.write(FIRST_PAGE)
        if self._draw is not None:
            self._draw(RichScreen(self._stream))
        self._stream.flush()

    def paint(self, draw: Callable[[Screen], None]) -> None:
        """Paint a picture over the one before."""
        self._draw = draw
        self.again()

    def again(self) -> None:
        """Paint the same picture again, because the terminal has another size."""
        if self._draw is None:
            return
        columns, height = os.get_terminal_size(self._stream.fileno())
        lines = self._rendered(self._draw, columns)
        if len(lines) > height:
            rest = len(lines) - height + 1
            lines = [*lines[: height - 1], f"… {rest} more lines"]
        text = f"{REST_OF_LINE}\r\n".join(lines)
        self._stream.write(f"{HOME}{text}{REST_OF_LINE}{REST_OF_PAGE}")
        self._stream.flush()

    @staticmethod
    def _rendered(draw: Callable[[Screen], None], columns: int) -> list[str]:
        buffer = io.StringIO()
        console = Console(file=buffer, force_terminal=True, width=columns, highlight=False)
        draw(RichScreen(buffer, console))
        return buffer.getvalue().splitlines()
