"""A small API server on loopback that answers from a script and remembers what it was asked.

It knows nothing of Kubernetes: each test says what comes back, so that it can also say what no
real server would, such as half a line. Watches are scripted apart from lists of the same path.
"""

import asyncio
import ssl
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec
from aiohttp import web

from netclaim.kube import Client, Cluster, Credentials, Identity, StoredSecrets, Trust, connect

__all__ = ["Reply", "Seen", "Stream", "StubServer", "client_of", "event", "serve_stub", "status"]


TURNS = 50  # of the event loop, in which a client reads a chunk before the next one is sent


@dataclass(frozen=True)
class Reply:
    """An answer that ends: JSON, or bytes as they are."""

    body: Any = field(default_factory=dict)
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Stream:
    """An answer in chunks, which then ends, is cut off, or goes silent until the server stops."""

    chunks: Sequence[bytes] = ()
    then: Literal["end", "cut", "hold"] = "hold"
    headers: Mapping[str, str] = field(default_factory=dict)
    status: int = 200


@dataclass(frozen=True)
class Seen:
    """A request as it arrived."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes
    peer: Any  # the client's certificate, if it showed one

    @property
    def json(self) -> Any:
        """The body, decoded."""
        return msgspec.json.decode(self.body)


class StubServer:
    """The script, and the record."""

    def __init__(self) -> None:
        self.url = ""
        self.seen: list[Seen] = []
        self.hung_up = asyncio.Event()  # a client left a stream that was held open
        self.stopping = asyncio.Event()
        self._script: dict[tuple[str, str], deque[Reply | Stream]] = {}

    def on(self, method: str, path: str, *answers: Reply | Stream) -> None:
        """Answer the next requests so, in order; method WATCH is a GET with `watch=true`."""
        self._script.setdefault((method, path), deque()).extend(answers)

    def asked(self, method: str) -> list[Seen]:
        """Return the requests of one method so far, watches apart."""
        return [seen for seen in self.seen if _method(seen.method, seen.query) == method]

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer one request from the script."""
        transport = request.transport
        peer = transport.get_extra_info("peercert") if transport is not None else None
        self.seen.append(
            Seen(
                request.method,
                request.raw_path.partition("?")[0],
                dict(request.query),
                request.headers,
                await request.read(),
                peer,
            )
        )
        answers = self._script.get((_method(request.method, request.query), request.path))
        if not answers:
            return web.Response(status=500, text=f"nothing scripted for {request.path_qs}")
        answer = answers.popleft()
        return await (
            self._reply(answer) if isinstance(answer, Reply) else self._stream(request, answer)
        )

    async def _reply(self, answer: Reply) -> web.Response:
        body = answer.body
        content = body if isinstance(body, bytes) else msgspec.json.encode(body)
        return web.Response(status=answer.status, body=content, headers=answer.headers)

    async def _stream(self, request: web.Request, answer: Stream) -> web.StreamResponse:
        response = web.StreamResponse(status=answer.status, headers=answer.headers)
        await response.prepare(request)
        try:
            for chunk in answer.chunks:
                await response.write(chunk)
                for _ in range(TURNS):
                    await asyncio.sleep(0)
            if answer.then == "hold":
                await self.stopping.wait()
        except asyncio.CancelledError:
            self.hung_up.set()
            raise
        if answer.then == "cut" and request.transport is not None:
            request.transport.close()
        return response


def _method(method: str, query: Mapping[str, str]) -> str:
    return "WATCH" if query.get("watch") == "true" else method


@asynccontextmanager
async def serve_stub(context: ssl.SSLContext | None = None) -> AsyncIterator[StubServer]:
    """Run a stub on a free port of loopback."""
    stub = StubServer()
    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", stub.handle)
    runner = web.AppRunner(app, handler_cancellation=True, access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
        await site.start()
        scheme = "https" if context else "http"
        stub.url = f"{scheme}://127.0.0.1:{runner.addresses[0][1]}"
        yield stub
    finally:
        stub.stopping.set()
        await runner.cleanup()


@asynccontextmanager
async def client_of(
    stub: StubServer, *, credentials: Credentials | None = None, trust: Trust | None = None
) -> AsyncIterator[Client]:
    """Lend a client of the stub."""
    cluster = Cluster(
        server=stub.url, credentials=credentials or StoredSecrets(), trust=trust or Trust()
    )
    async with connect(cluster) as client:
        yield client


def event(kind: str, version: str, name: str = "", **fields: Any) -> bytes:
    """Return one line of a watch."""
    meta = {"name": name, "resourceVersion": version} if name else {"resourceVersion": version}
    return msgspec.json.encode({"type": kind, "object": {"metadata": meta, **fields}}) + b"\n"


def status(code: int, reason: str = "", message: str = "", **details: Any) -> dict[str, Any]:
    """Return a Status as the API server writes it."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "code": code,
        "reason": reason,
        "message": message,
        "details": details,
    }


class Changing:
    """Credentials that are another token after each renewal."""

    def __init__(self, *tokens: str) -> None:
        self._tokens = deque(tokens)

    async def identity(self) -> Identity:
        """Return the current token."""
        return Identity(token=self._tokens[0])

    async def renew(self) -> bool:
        """Go on to the next token, if there is one."""
        if len(self._tokens) > 1:
            self._tokens.popleft()
            return True
        return False
