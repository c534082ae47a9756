"""The garbage collector, for commands that read much and end soon."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Switch the garbage collector off: everything that is read stays, and it would scan it often.

    That takes a third of the time for a cluster of thousands of nodes.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
