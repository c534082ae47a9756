"""Spans for an OpenTelemetry collector, by OTLP over HTTP. Imported only where traces are wanted.

Which collector, how much is sampled, which headers and certificates: the standard OTEL_* variables
of the environment say so, and OpenTelemetry's own packages read them. Promise: sending happens in a
thread; a collector that is slow or away costs spans, never a pod. What OpenTelemetry complains of
is logged as `traces.failed`, once a minute at most.
"""

import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

import structlog
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator

from netclaim import __version__

log = structlog.get_logger()

COMPLAINTS_S: Final = 60.0  # a collector that is away is complained of at every batch

_TRACE_ID: ContextVar[int] = ContextVar("netclaim_trace_id")


class _ClaimIds(RandomIdGenerator):
    """Gives a trace the id of its claim."""

    def generate_trace_id(self) -> int:
        return _TRACE_ID.get()


class OtelTracer:
    """Makes spans and sends them. `close` may take seconds, so call it in a thread."""

    def __init__(self, driver: str, node: str, environ: Mapping[str, str]) -> None:
        named = "OTEL_SERVICE_NAME" in environ or "service.name=" in environ.get(
            "OTEL_RESOURCE_ATTRIBUTES", ""
        )
        about = {
            **({} if named else {SERVICE_NAME: "netclaim"}),
            SERVICE_VERSION: __version__,
            "k8s.node.name": node,
            "netclaim.driver": driver,
        }
        self._complaints = _Complaints()
        logging.getLogger("opentelemetry").addHandler(self._complaints)
        logging.getLogger("opentelemetry").propagate = False
        self._provider = TracerProvider(
            resource=Resource.create(about), id_generator=_ClaimIds(), shutdown_on_exit=False
        )
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        self._tracer = self._provider.get_tracer("netclaim", __version__)

    @contextmanager
    def span(self, name: str, trace_id: str, attributes: Mapping[str, str]) -> Iterator[None]:
        if not trace_id:
            if not trace.get_current_span().get_span_context().is_valid:
                yield  # for no claim: nobody would find it
                return
            with self._tracer.start_as_current_span(name, attributes=attributes):
                yield
            return
        token = _TRACE_ID.set(int(trace_id, 16))
        try:
            with self._tracer.start_as_current_span(name, context=Context(), attributes=attributes):
                yield
        finally:
            _TRACE_ID.reset(token)

    def close(self) -> None:
        self._provider.shutdown()
        logging.getLogger("opentelemetry").removeHandler(self._complaints)


class _Complaints(logging.Handler):
    """Passes on what OpenTelemetry logs as events of our own, now and then."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._next_s = 0.0

    def emit(self, record: logging.LogRecord) -> None:
        if time.monotonic() >= self._next_s:
            self._next_s = time.monotonic() + COMPLAINTS_S
            log.warning("traces.failed", error=record.getMessage())
