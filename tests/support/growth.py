"""How work grows with what a tenant decides: in steps of the interpreter, not in seconds.

    assert_linear(lambda n: partial(read, text_of(n)), 64)     twice as much takes twice as long
    assert_flat(lambda n: partial(book, claim, beside(n)), 64)  however many others there are

Promise: the same work has the same number of steps, on every machine and however busy it is. Limit:
what one instruction does in C, such as copying a list, is one step; of work in other threads
nothing is counted, which is what the tests of event loops want, unless `everywhere` is asked for:
then that of threads that the work starts is.
"""

import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

# Of twice the work: exactly linear is 2, quadratic is 4. Tables that grow are copied now and then.
LINEAR_MAX: Final = 2.5
FLAT_MAX: Final = 1.25


def steps(work: Callable[[], object], *, everywhere: bool = False) -> int:
    """Return how many instructions of Python a call executes in this thread."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        count += event == "opcode"
        return trace

    before, before_there = sys.gettrace(), threading.gettrace()
    sys.settrace(trace)
    if everywhere:
        threading.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
        threading.settrace(before_there)
    return count


def assert_linear(
    work_of: Callable[[int], Callable[[], object]], n: int, *, everywhere: bool = False
) -> None:
    """Have work for n, 2n and 4n counted: what the second half adds is twice that of the first."""
    for _ in range(2):  # the first time fills caches
        one, two, four = (steps(work_of(size), everywhere=everywhere) for size in (n, 2 * n, 4 * n))
    grown, again = two - one, four - two
    assert grown > 0, f"{one} steps for {n}, {two} for {2 * n}: the work does not grow at all"
    assert again <= LINEAR_MAX * grown, (
        f"{one} steps for {n}, {two} for {2 * n} and {four} for {4 * n}: more than linear"
    )


def assert_flat(work_of: Callable[[int], Callable[[], object]], n: int) -> None:
    """Have work for n and 4n counted, and see that it is the same."""
    for _ in range(2):
        one, four = (steps(work_of(size)) for size in (n, 4 * n))
    assert four <= FLAT_MAX * one, f"{one} steps for {n} and {four} for {4 * n}: it grows"
