"""A claim's way through the driver as one trace, where somebody collects traces; else nothing.

    prepare ── attach ── report ── detach ── unprepare      each a span of the claim's trace
                 └ macvlan ADD, tuning ADD, …               what is done for it, below

Promise: every process that works on a claim, on any node, before or after a restart, gives the
trace the same id without having to pass it on: it is a hash of the claim's UID. Log lines carry it
as `trace_id`, also where nobody collects traces. Without a tracer a span costs less than a
microsecond. Limit: a claim that pods use one after the other has one trace for all of them.
"""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import lru_cache
from typing import Final, Protocol

__all__ = ["Tracer", "current_tracer", "span", "trace_id_of", "tracing"]

KEPT: Final = 1024  # claims of a busy node; a hash takes a microsecond


class Tracer(Protocol):
    """Whoever makes spans of what is done."""

    def span(
        self, name: str, trace_id: str, attributes: Mapping[str, str]
    ) -> AbstractContextManager[None]:
        """Make the block a span: below the one around it, or with an id the first of its trace."""
        ...


_TRACER: ContextVar[Tracer | None] = ContextVar("netclaim_tracer", default=None)
_NOTHING: Final = nullcontext()


@lru_cache(maxsize=KEPT)
def trace_id_of(claim_uid: str) -> str:
    """Return the id of a claim's trace: 32 hexadecimal digits.

    A hash, since samplers go by the last digits, of which a UID has some that never change.
    """
    return hashlib.sha256(claim_uid.encode()).hexdigest()[:32]


def current_tracer() -> Tracer | None:
    """Return who makes spans here; None if nobody does."""
    return _TRACER.get()


def span(name: str, **attributes: str) -> AbstractContextManager[None]:
    """Make the block a span below the one around it, if there is a tracer."""
    tracer = _TRACER.get()
    return _NOTHING if tracer is None else tracer.span(name, "", attributes)


@contextmanager
def tracing(tracer: Tracer | None) -> Iterator[None]:
    """Have spans made of what the block does, and of all tasks that it starts."""
    token = _TRACER.set(tracer)
    try:
        yield
    finally:
        _TRACER.reset(token)
