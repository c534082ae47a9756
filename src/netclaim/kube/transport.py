"""Requests to one API server: identity, TLS, deadlines, and every failure as a NetclaimError.

Promise: after a refused token the credentials are read again and the request is sent once more;
nothing else is retried, since only the caller knows its budget. A body is complete or the call
fails. Limit: no redirects (a token must not follow one) and no proxy from the environment.
"""

import asyncio
import os
import socket
import ssl
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

import aiohttp

from netclaim.kube.access.cluster import Cluster
from netclaim.kube.access.credentials import Identity
from netclaim.kube.access.tls import tls_context
from netclaim.kube.errors import UnreachableError, error_of_reply
from netclaim.kube.lines import LineSplitter
from netclaim.kube.observe import NO_ANSWER, Answered, Observe, describe, unobserved

# The server itself gives up after 60 s (--request-timeout); a node's driver has to know sooner,
# with time left in kubelet's 45 s to try again.
ANSWER_S = 20.0
CALL_TIMEOUT = aiohttp.ClientTimeout(total=ANSWER_S, sock_connect=5)
ERROR_MAX = 64 << 10  # a Status is a few KiB; a proxy's error page may be anything
# A peer that vanished silently is noticed after 30 + 3 * 10 s, whatever the watch waits for.
KEEPALIVE = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 30),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 10),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3),
)


@dataclass(frozen=True, slots=True)
class _Request:
    """A request without its credentials, which may change between two tries."""

    method: str
    path: str
    query: Mapping[str, str]
    content: bytes
    media_type: str
    timeout: aiohttp.ClientTimeout
    watch: bool = False


@dataclass(slots=True)
class _Seen:
    """What is known so far about how a request ends."""

    code: str = NO_ANSWER


class Transport:
    """Sends requests to one cluster through one session."""

    def __init__(
        self, cluster: Cluster, session: aiohttp.ClientSession, observe: Observe = unobserved
    ) -> None:
        """`observe` is called for each request when it is over."""
        self._cluster = cluster
        self._session = session
        self._observe = observe
        self._tls: tuple[Identity, ssl.SSLContext] | None = None

    async def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        content: bytes = b"",
        media_type: str = "",
    ) -> bytes:
        """Send one request and return the body of its success."""
        request = _Request(method, path, query or {}, content, media_type, CALL_TIMEOUT)
        with self._observed(request) as seen:
            async with await self._answer(request, seen) as response:
                with _translated(self._cluster.server):
                    return await response.read()

    async def header(self, path: str, name: str) -> str:
        """Return a header of a GET's success; empty if there is none of that name."""
        request = _Request("GET", path, {}, b"", "", CALL_TIMEOUT)
        with self._observed(request) as seen:
            async with await self._answer(request, seen) as response:
                return response.headers.get(name, "")

    @asynccontextmanager
    async def stream(
        self, path: str, *, query: Mapping[str, str], idle_s: float
    ) -> AsyncIterator["LineStream"]:
        """Open a GET that does not end by itself; silence of `idle_s` counts as a dead peer."""
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=5, sock_read=idle_s)
        request = _Request("GET", path, query, b"", "", timeout, watch=True)
        with self._observed(request) as seen, _translated(self._cluster.server):
            async with asyncio.timeout(ANSWER_S):
                response = await self._answer(request, seen)
        async with response:
            _keep_alive(response)
            yield LineStream(response, self._cluster.server)

    @contextmanager
    def _observed(self, request: _Request) -> Iterator[_Seen]:
        """Report how the request ended when the block is over."""
        seen, started_s = _Seen(), time.monotonic()
        try:
            yield seen
        finally:
            verb, resource = describe(request.method, request.path, watch=request.watch)
            self._observe(Answered(verb, resource, seen.code, time.monotonic() - started_s))

    async def _answer(self, request: _Request, seen: _Seen) -> aiohttp.ClientResponse:
        """Send; once more if the token was refused and may be renewed; raises any refusal."""
        with _translated(self._cluster.server):
            response = await self._send(request)
            if response.status == 401 and await self._cluster.credentials.renew():
                response.release()
                response = await self._send(request)
            seen.code = str(response.status)
            if response.status < 400:
                return response
            async with response:
                refusal = await _beginning(response)
        raise error_of_reply(response.status, response.headers, refusal)

    async def _send(self, request: _Request) -> aiohttp.ClientResponse:
        identity = await self._cluster.credentials.identity()
        headers = {"Accept": "application/json"}
        if identity.token:
            headers["Authorization"] = f"Bearer {identity.token}"
        if request.content:
            headers["Content-Type"] = request.media_type
        return await self._session.request(
            request.method,
            self._cluster.server + request.path,
            params=request.query,
            data=request.content or None,
            headers=headers,
            timeout=request.timeout,
            allow_redirects=False,
            ssl=self._context(identity),
            server_hostname=self._cluster.trust.server_name or None,
            proxy=self._cluster.proxy or None,
        )

    def _context(self, identity: Identity) -> ssl.SSLContext | bool:
        """Return the context of these credentials; a new certificate means new connections."""
        if not self._cluster.server.startswith("https:"):
            return True
        pair = Identity(certificate=identity.certificate, key=identity.key)
        if self._tls is None or self._tls[0] != pair:
            self._tls = (pair, tls_context(self._cluster.trust, pair))
        return self._tls[1]


class LineStream:
    """The lines of an endless answer, in batches as they arrive."""

    def __init__(self, response: aiohttp.ClientResponse, server: str) -> None:
        self._chunks = response.content.iter_any()
        self._server = server
        self._splitter = LineSplitter()

    def __aiter__(self) -> "LineStream":
        return self

    async def __anext__(self) -> list[bytes]:
        """Return the lines that the next chunk completes, which may be none."""
        with _translated(self._server):
            chunk = await anext(self._chunks)
        return self._splitter.feed(chunk)


@contextmanager
def _translated(server: str) -> Iterator[None]:
    """Raise the errors of aiohttp and the socket as UnreachableError."""
    try:
        yield
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        said = f"cannot reach the API server at {server}: {_said(error)}"
        raise UnreachableError(said) from error


async def _beginning(response: aiohttp.ClientResponse) -> bytes:
    """Read a body to its end, or as much of it as is looked at; one read may return less."""
    content = bytearray()
    async for chunk in response.content.iter_any():
        content += chunk
        if len(content) >= ERROR_MAX:
            break
    return bytes(content[:ERROR_MAX])


def _said(error: Exception) -> str:
    """Describe in one line an error that aiohttp describes with its own objects."""
    match error:
        case TimeoutError():
            return "no answer in time"
        case aiohttp.ClientConnectorCertificateError(certificate_error=fault):
            return f"its certificate is not valid: {getattr(fault, 'verify_message', fault)}"
        case aiohttp.ClientProxyConnectionError():
            return f"the proxy {error.host}:{error.port}: {_reason(error.os_error)}"
        case aiohttp.ClientConnectorError(os_error=fault):
            return _reason(fault)
        case aiohttp.ServerDisconnectedError() | aiohttp.ClientPayloadError():
            return "the connection was closed before the answer was complete"
    return str(error) or type(error).__name__


def _reason(fault: OSError) -> str:
    """Return why there is no connection; several addresses may have failed in several ways."""
    if isinstance(fault, ssl.SSLError):  # its numbers are not the system's
        return f"TLS: {(fault.reason or str(fault)).lower().replace('_', ' ')}"
    if fault.errno is not None and fault.errno > 0:  # below 0 are those of name resolution
        return os.strerror(fault.errno)
    if isinstance(fault, ConnectionError) and not str(fault):  # asyncio's own, while TLS begins
        return "the connection was closed"
    return fault.strerror or str(fault) or type(fault).__name__


def _keep_alive(response: aiohttp.ClientResponse) -> None:
    """Have the kernel check whether the peer still exists."""
    connection = response.connection
    transport = connection.transport if connection is not None else None
    peer = transport.get_extra_info("socket") if transport is not None else None
    if peer is None:  # the answer is already complete and the connection back in its pool
        return
    for level, option, value in KEEPALIVE:
        peer.setsockopt(level, option, value)
