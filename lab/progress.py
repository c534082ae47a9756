"""Progress of long work: a live line on a terminal, plain lines in a pipe.

It shows what is being done, how far it is and how long it has taken. One background thread draws
it, so that the seconds move even while the work blocks; the work itself never waits for it.
"""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

__all__ = ["Progress", "Step"]

REDRAW_S = 0.2  # smooth to the eye
PLAIN_LINE_S = 20.0  # in a pipe: a sign of life often enough that no one thinks it hangs
BAR_WIDTH = 24


class Step:
    """One piece of work under way; its worker reports the progress."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.detail = ""
        self.done = 0
        self.total = 0
        self.started = time.monotonic()

    def advance(self, done: int, total: int, detail: str = "") -> None:
        """Report how much of how much is done; `detail` names what is under way."""
        self.done, self.total, self.detail = done, total, detail

    def waits_for(self, detail: str) -> None:
        """Report what the step is waiting for."""
        self.detail = detail

    @property
    def elapsed_s(self) -> float:
        """Seconds since the step began."""
        return time.monotonic() - self.started

    def line(self) -> str:
        """Return title, bar, count, seconds and detail, as far as they are known."""
        parts = [self.title]
        if self.total:
            filled = min(BAR_WIDTH, BAR_WIDTH * self.done // self.total)
            parts.append(f"[{'#' * filled}{'.' * (BAR_WIDTH - filled)}] {self.done}/{self.total}")
        parts.append(f"{self.elapsed_s:.0f} s")
        if self.detail:
            parts.append(self.detail)
        return "  ".join(parts)


class Progress:
    """Shows steps one after the other on `out`, by default standard error."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out if out is not None else sys.stderr
        self._live = self._out.isatty()

    @contextmanager
    def step(self, title: str) -> Iterator[Step]:
        """Show `title` while the block runs, and how long it took when it is done."""
        step = Step(title)
        stop = threading.Event()
        painter = threading.Thread(target=self._paint, args=(step, stop), daemon=True)
        painter.start()
        try:
            yield step
        except BaseException:
            self._finish(stop, painter, f"{title}: failed after {step.elapsed_s:.1f} s")
            raise
        self._finish(stop, painter, f"{title}: {step.elapsed_s:.1f} s")

    def note(self, text: str) -> None:
        """Show one line."""
        print(text, file=self._out, flush=True)

    def _paint(self, step: Step, stop: threading.Event) -> None:
        while not stop.wait(REDRAW_S if self._live else PLAIN_LINE_S):
            if self._live:
                print(f"\r\x1b[K{step.line()[:118]}", end="", file=self._out, flush=True)
            else:
                self.note(step.line())

    def _finish(self, stop: threading.Event, painter: threading.Thread, text: str) -> None:
        stop.set()
        painter.join()
        self.note(f"\r\x1b[K{text}" if self._live else text)
