"""A claim's way through the driver as one trace, where somebody collects traces; else nothing.

    prepare ── attach ── report ── detach ── unprepare      each a span of the claim's trace
                 └ macvlan ADD, tuning ADD, …               what is done for it, below

Promise: every process that works on a claim, on any node, before or after a restart, gives the
trace the same id without having to pass it on: it is a hash of the claim's UID. Log lines carry it
as `trace_id`, also where nobody collects traces. Without a tracer a span costs less than a
microsecond. Traces are wanted where the environment names a collector, by OpenTelemetry's own
variables; where it does not, nothing of OpenTelemetry is imported, and where traces cannot be sent,
a line in the log says what to change, and the driver works without them.
Limit: a claim that pods use one after the other has one trace for all of them.
"""

import asyncio
import hashlib
import os
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Protocol

import structlog

if TYPE_CHECKING:
    from netclaim.framework.telemetry.otel import OtelTracer

log = structlog.get_logger()

KEPT: Final = 1024  # claims of a busy node; a hash takes a microsecond
ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
PROTOCOLS: Final = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
HTTP: Final = "http/protobuf"
END_S: Final = 3.0  # for the last spans; by default kubelet gives a pod 30 s to end


class Tracer(Protocol):
    def span(
        self, name: str, trace_id: str, attributes: Mapping[str, str]
    ) -> AbstractContextManager[None]:
        """Make the block a span below the current one or, with an id, the first of its trace."""
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
    return _TRACER.get()


def span(name: str, **attributes: str) -> AbstractContextManager[None]:
    """Make the block a span below the current one, if there is a tracer."""
    tracer = _TRACER.get()
    return _NOTHING if tracer is None else tracer.span(name, "", attributes)


@contextmanager
def tracing(tracer: Tracer | None) -> Iterator[None]:
    """Make spans of what the block does, and of all tasks that it starts."""
    token = _TRACER.set(tracer)
    try:
        yield
    finally:
        _TRACER.reset(token)


@asynccontextmanager
async def traced(
    driver: str, node: str, environ: Mapping[str, str] = os.environ
) -> AsyncIterator[None]:
    """Send traces of what the block does, if they are wanted."""
    tracer = _tracer(driver, node, environ) if _is_wanted(environ) else None
    if tracer is None:
        yield
        return
    try:
        with tracing(tracer):
            yield
    finally:
        # A daemon: with a collector that does not answer, OpenTelemetry takes ten seconds and more.
        closing = threading.Thread(target=tracer.close, name="traces", daemon=True)
        closing.start()
        await asyncio.to_thread(closing.join, END_S)


def _is_wanted(environ: Mapping[str, str]) -> bool:
    disabled = environ.get("OTEL_SDK_DISABLED", "").lower() == "true"
    exported = environ.get("OTEL_TRACES_EXPORTER", "otlp") == "otlp"
    return exported and not disabled and any(environ.get(name) for name in ENDPOINTS)


def _tracer(driver: str, node: str, environ: Mapping[str, str]) -> "OtelTracer | None":
    protocol = next((environ[name] for name in PROTOCOLS if environ.get(name)), HTTP)
    if protocol != HTTP:
        hint = f"set OTEL_EXPORTER_OTLP_PROTOCOL to {HTTP}, and the endpoint to that port, as 4318"
        log.warning("traces.disabled", error=f"protocol {protocol} is not supported", hint=hint)
        return None
    try:
        from netclaim.framework.telemetry.otel import OtelTracer  # noqa: PLC0415 (costs 20 MB)
    except ImportError as error:
        hint = 'install the extra: pip install "netclaim[otel]"'
        log.warning("traces.disabled", error=f"OpenTelemetry is not installed: {error}", hint=hint)
        return None
    tracer = OtelTracer(driver, node, environ)
    log.info("traces.enabled")
    return tracer
