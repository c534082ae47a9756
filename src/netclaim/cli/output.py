"""Standard output of the commands: what happens when it cannot be written.

Promise: a reader that leaves early (`| head`) ends the command silently and with the exit code of a
program that the signal ended; a full disk or a closed descriptor is one line on stderr and exit
code 1. Everything printed is flushed before the command's own exit code counts. Limit: this holds
only for what is written to `sys.stdout` itself.
"""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final, NoReturn, TextIO, cast

STDOUT: Final = 1
LOST: Final = 1
READER_LEFT: Final = 141  # 128 and SIGPIPE's number, as a shell reports it


@contextmanager
def guarded_output() -> Iterator[None]:
    """Run a command; ends with SystemExit if its output cannot be written."""
    before, errors = cast("TextIO | None", sys.stdout), cast("TextIO | None", sys.stderr)
    if errors is None:  # print() would use stdout instead
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - kept open
    guarded = _Output(before or _closed_output())
    sys.stdout = cast("TextIO", guarded)
    try:
        try:
            yield
        finally:
            guarded.flush()
    finally:
        sys.stdout = cast("TextIO", before)


class _Output:
    """A text stream that ends the program when it cannot be written."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except OSError as error:
            self._end(error)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError as error:
            self._end(error)

    def _end(self, error: OSError) -> NoReturn:
        """End the program; buffered output is discarded, so that nothing fails again."""
        with suppress(OSError, ValueError):  # a stream that is no file
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)
        if isinstance(error, BrokenPipeError):
            raise SystemExit(READER_LEFT) from error
        closed = error.errno == errno.EBADF
        why = "standard output is closed" if closed else f"standard output: {error.strerror}"
        print(f"netclaim: {why}", file=sys.stderr)
        raise SystemExit(LOST) from error


def _closed_output() -> TextIO:
    """Return a stream that cannot be written, and keep its descriptor from other files."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    if nothing != STDOUT:
        os.dup2(nothing, STDOUT)
        os.close(nothing)
    return open(STDOUT, "w", encoding="utf-8", closefd=False)
