"""An OpenTelemetry collector for tests, as far as OTLP over HTTP goes."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

__all__ = ["Collector", "attributes"]


@dataclass
class Collector:
    """Keeps the spans that it gets, with the resource that they are of."""

    spans: list[tuple[Mapping[str, str], Span]] = field(default_factory=list)
    came: asyncio.Event = field(default_factory=asyncio.Event)
    port: int = 0

    async def export(self, request: web.Request) -> web.Response:
        """Take spans."""
        body = ExportTraceServiceRequest.FromString(await request.read())
        for group in body.resource_spans:
            about = attributes(group.resource)
            self.spans += [(about, span) for each in group.scope_spans for span in each.spans]
        self.came.set()
        return web.Response(content_type="application/x-protobuf")

    async def wait_for(self, *names: str) -> list[tuple[Mapping[str, str], Span]]:
        """All spans, once there are some of these names."""
        while not set(names) <= {span.name for _, span in self.spans}:
            self.came.clear()
            await self.came.wait()
        return self.spans

    @asynccontextmanager
    async def serving(self, host: str, port: int = 0) -> AsyncIterator[None]:
        """Listen while the block runs."""
        application = web.Application()
        application.router.add_post("/v1/traces", self.export)
        runner = web.AppRunner(application, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, host, port).start()
        self.port = runner.addresses[0][1]
        try:
            yield
        finally:
            await runner.cleanup()


def attributes(of: Any) -> Mapping[str, str]:
    """The attributes of a span or a resource."""
    return {each.key: each.value.string_value for each in of.attributes}
