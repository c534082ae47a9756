"""Health and metrics over HTTP, for kubelet's probes and for Prometheus.

    /healthz    503 when a restart might help: an event loop hangs or a part has ended
    /readyz     503 with what is missing or does not work for now
    /metrics    all metrics, in Prometheus' text format

Promise: a scrape holds up no event loop, since its text is made in a thread, one at a time. Without
a token (`http_access`) only the node itself is answered, on a loopback address or a Unix socket; an
address of the network is served beside the loopback one. A port that another process has does not
keep the driver from its work: two processes of a driver share a node's port during an update, and
several drivers have the same default. The port is retried until it is free. No other process shares
the Unix socket, so probes of this one use it.
Limit: an address that was set and cannot be listened on for another reason is an error.
"""

import asyncio
import errno
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import structlog
from aiohttp import web

from netclaim.errors import HostError, RequestError
from netclaim.framework.process.http_access import HttpAccess
from netclaim.framework.settings.fields import HTTP_ADDRESS, is_loopback, local_address
from netclaim.framework.tools.clock import Clock
from netclaim.framework.tools.supervise import Backoff
from netclaim.tasks import TaskScope

log = structlog.get_logger()

SHUTDOWN_S: Final = 1.0  # probes and scrapes are short; a stop does not wait for idle connections
# For a port that is taken. Another instance has it until it has ended, which takes it 20 s as a
# rule; a probe fails for good after three times ten seconds.
BUSY: Final = Backoff(first_s=0.5, max_s=5.0)
BUSY_WARNED_S: Final = 60.0  # longer than an update takes: somebody else has the port
CERTIFICATE_LOOK_S: Final = 60.0  # a new certificate is there weeks before the old one ends
ANYWHERE: Final = ("", "0.0.0.0", "[::]")  # noqa: S104 (compared with, not bound to)


class Exposition(Protocol):
    """All metrics of a process, in Prometheus' text format; called in a thread."""

    def exposition(self) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Place:
    """Where to serve: HOST:PORT, a certificate for it, and a Unix socket; each may be empty."""

    address: str = ""
    certificate: str = ""
    key: str = ""
    socket: str = ""


@asynccontextmanager
async def http_serving(
    place: Place,
    metrics: Exposition,
    not_ready: Callable[[], str],
    *,
    unhealthy: Callable[[], str],
    refresh: Callable[[], None],
    access: HttpAccess,
    clock: Clock,
) -> AsyncIterator[None]:
    """Serve while the block runs. `not_ready` says what is still missing; nothing means ready.

    `unhealthy` says why the process should be restarted. `refresh` brings the metrics in line with
    the state of the process. The default address need not be one that this node has.
    """
    application = _application(metrics, not_ready, unhealthy, refresh, access)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=SHUTDOWN_S)
    await runner.setup()
    try:
        if place.socket:
            await _listen_at(runner, place.socket)
        async with AsyncExitStack() as stack:
            if place.address:
                await _listen_everywhere(runner, place, stack, clock)
            yield
    finally:
        await runner.cleanup()


async def _listen_at(runner: web.AppRunner, path: str) -> None:
    """Listen on a socket; one that an earlier process left is replaced."""
    try:
        await web.UnixSite(runner, path).start()
    except OSError as error:
        raise HostError(f"cannot listen on {path}: {error.strerror}") from error


async def _listen_everywhere(
    runner: web.AppRunner, place: Place, stack: AsyncExitStack, clock: Clock
) -> None:
    """Listen on the address, and on a loopback one unless the address includes it."""
    host, colon, port = place.address.rpartition(":")
    if not colon or not port.isdecimal():
        raise RequestError(f"{place.address!r} is not an address such as {HTTP_ADDRESS}")
    tasks = await stack.enter_async_context(TaskScope())
    tls = None if is_loopback(host) else certificate_of(place, tasks, clock)
    asked_for = place.address != HTTP_ADDRESS
    await _listen_on(runner, place.address, tls, tasks, asked_for=asked_for, clock=clock)
    if not is_loopback(host) and host not in ANYWHERE:
        local = local_address(place.address)
        await _listen_on(runner, local, None, tasks, asked_for=False, clock=clock)


def certificate_of(place: Place, tasks: TaskScope, clock: Clock) -> ssl.SSLContext | None:
    """The certificate, read again whenever its file has changed."""
    if not place.certificate:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(place.certificate, place.key or None)
    except OSError as error:  # also what ssl raises
        raise HostError(f"cannot use the certificate {place.certificate}: {error}") from error
    tasks.start(_keep_current(context, place, clock))
    return context


async def _keep_current(context: ssl.SSLContext, place: Place, clock: Clock) -> None:
    known = b""
    while True:
        try:
            found = await asyncio.to_thread(Path(place.certificate).read_bytes)
            if found != known:
                context.load_cert_chain(place.certificate, place.key or None)
                known = found
        except OSError as error:  # the old one is used on; the next look may find both files whole
            log.warning("http.certificate", file=place.certificate, error=str(error))
        await clock.sleep(CERTIFICATE_LOOK_S)


async def _listen_on(
    runner: web.AppRunner,
    address: str,
    tls: ssl.SSLContext | None,
    tasks: TaskScope,
    *,
    asked_for: bool,
    clock: Clock,
) -> None:
    host, _, port = address.rpartition(":")

    async def listen() -> None:
        await web.TCPSite(runner, host.strip("[]") or None, int(port), ssl_context=tls).start()
        log.info("http.listening", address=address, scheme="https" if tls else "http")

    try:
        await listen()
    except OSError as error:
        if asked_for and error.errno != errno.EADDRINUSE:
            raise HostError(f"cannot listen on {address}: {error}") from error
        log.info(
            "http.busy", address=address, error=error.strerror, hint="retried until it is free"
        )
        tasks.start(_until_free(listen, address, clock))


async def _until_free(listen: Callable[[], Awaitable[None]], address: str, clock: Clock) -> None:
    since_s, warned = clock.monotonic(), False
    for delay_s in BUSY.delays(clock):
        await clock.sleep(delay_s)
        try:
            await listen()
        except OSError as error:
            if not warned and clock.monotonic() - since_s >= BUSY_WARNED_S:
                warned = True
                log.warning(
                    "http.still_busy",
                    address=address,
                    error=error.strerror,
                    hint="another program has the port; --http-address sets another one",
                )
        else:
            return


def _application(
    metrics: Exposition,
    not_ready: Callable[[], str],
    unhealthy: Callable[[], str],
    refresh: Callable[[], None],
    access: HttpAccess,
) -> web.Application:
    async def healthz(_request: web.Request) -> web.Response:
        return _answer(unhealthy())

    async def readyz(_request: web.Request) -> web.Response:
        return _answer(not_ready())

    scraping = asyncio.Lock()

    async def exposition(_request: web.Request) -> web.Response:
        headers = {"Content-Type": "text/plain; version=0.0.4; charset=utf-8"}
        async with scraping:  # a disk that does not answer keeps one thread, not all of them
            refresh()
            body = await asyncio.to_thread(metrics.exposition)
        return web.Response(body=body, headers=headers)

    @web.middleware
    async def guarded(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        if not _is_of_this_node(request):
            authorization = request.headers.get("Authorization", "")
            refusal = await access.refusal(authorization, request.path, request.remote or "")
            if refusal is not None:
                return web.Response(text=f"{refusal.text}\n", status=refusal.status)
        return await handler(request)

    application = web.Application(middlewares=[guarded])
    application.router.add_get("/healthz", healthz)
    application.router.add_get("/readyz", readyz)
    application.router.add_get("/metrics", exposition)
    return application


def _is_of_this_node(request: web.Request) -> bool:
    """Whether a request came by a Unix socket, or from a loopback address to one.

    Where kube-proxy routes loopback addresses, a neighbour can send to one, but not from one.
    """
    transport = request.transport
    ends = [transport.get_extra_info(end) for end in ("sockname", "peername")] if transport else []
    if ends and isinstance(ends[0], str):
        return True
    return bool(ends) and all(isinstance(end, tuple) and is_loopback(end[0]) for end in ends)


def _answer(missing: str) -> web.Response:
    return web.Response(text=f"{missing or 'ok'}\n", status=503 if missing else 200)
