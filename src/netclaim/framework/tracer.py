"""Whether traces are wanted, and the tracer that makes them.

They are wanted where the environment names a collector, by OpenTelemetry's own variables. Promise:
where it does not, nothing of OpenTelemetry is imported. Where it does and traces cannot be sent, a
line in the log says what to change, and the driver works without.
"""

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

import structlog

from netclaim.framework.traces import tracing

if TYPE_CHECKING:
    from netclaim.framework.otel import OtelTracer

__all__ = ["traced"]

log = structlog.get_logger()

ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
PROTOCOLS: Final = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
HTTP: Final = "http/protobuf"
END_S: Final = 3.0  # for the last spans; kubelet gives a pod 30 s to end


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
        from netclaim.framework.otel import OtelTracer  # noqa: PLC0415 (costs 20 MB)
    except ImportError as error:
        hint = 'install the extra: pip install "netclaim[otel]"'
        log.warning("traces.disabled", error=f"OpenTelemetry is not installed: {error}", hint=hint)
        return None
    tracer = OtelTracer(driver, node, environ)
    log.info("traces.enabled")
    return tracer
