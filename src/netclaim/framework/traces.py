"""One claim's way through the driver as a trace, if somebody collects traces; else nothing.

placeholder
"""

from contextlib import nullcontext, AbstractContextManager


def span(name: str, **attributes: str) -> AbstractContextManager[None]:
    return nullcontext()
