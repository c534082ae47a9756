"""Importing without an optional library of a library."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def absent(name: str) -> Iterator[None]:
    """Have a library seem not to be installed for what is imported inside the block.

    What is loaded already stays. Python raises ModuleNotFoundError for a name whose module is None.
    """
    if name in sys.modules:
        yield
        return
    sys.modules[name] = None  # type: ignore[assignment] # as the import system has it
    try:
        yield
    finally:
        del sys.modules[name]
