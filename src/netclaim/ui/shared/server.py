"""The page and the questions for many people, over HTTP or HTTPS.

    /  /page/NAME                     the page and what it loads, which is the same for everybody
    /stream  /object?key=  /why?key=  what the viewer's token sees
    /healthz                          whether the process answers

Promise: nothing about the cluster is answered to a request without a token of its own, in its
`Authorization` header: there is no cookie, so that no other page can have a browser use it. Only
reading is answered.
"""

import base64
import binascii
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import msgspec
from aiohttp import web

from netclaim.errors import HostError, NetclaimError, RequestError
from netclaim.framework.process.http import Place, certificate_of
from netclaim.framework.tools.clock import SystemClock
from netclaim.kube import Cluster, UnauthorizedError
from netclaim.plain_text import sentence
from netclaim.tasks import TaskScope
from netclaim.ui.access import METHODS
from netclaim.ui.answers import Page, text
from netclaim.ui.shared.viewers import CrowdedError, Viewers
from netclaim.ui.view import Question

TOKEN_MAX: Final = 16 << 10  # characters; those of an identity provider with many groups are long
TOKEN: Final = re.compile(r"[A-Za-z0-9._~+/=-]+")
NAMESPACE: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
ACCOUNT: Final = re.compile(r"system:serviceaccount:([^:]+):[^:]+")
BEARER: Final = "bearer"
ASKED: Final = ("stream", "object", "why")
SHUTDOWN_S: Final = 0.1  # streams never end by themselves, so they are cut when the server stops


class SharedHandler:
    def __init__(self, viewers: Viewers) -> None:
        self._viewers = viewers
        self._page = Page(asks=True)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        path = request.path.removeprefix("/")
        if request.method not in METHODS:
            return text(405, "this server only reads")
        if not path:
            return self._page.file()
        if path.startswith("page/"):
            return self._page.file(path.removeprefix("page/"))
        if path == "healthz":
            return text(200, "ok")
        if path not in ASKED:
            return text(404, "there is no such page")
        return await self._of_viewer(request, path)

    async def _of_viewer(self, request: web.Request, path: str) -> web.StreamResponse:
        token = token_of(request.headers.get("Authorization", ""))
        if not token:
            return text(401, "a token of the cluster is needed")
        namespace = request.query.get("namespace", "") or namespace_of(token)
        if namespace and NAMESPACE.fullmatch(namespace) is None:
            return text(400, "that is no name of a namespace")
        try:
            async with self._viewers.lend(token, namespace, request.remote or "") as answers:
                return await answers.answer(request, path)
        except UnauthorizedError:
            return text(401, "the cluster does not accept this token; it may have expired")
        except CrowdedError as error:
            return text(error.status, sentence(str(error)))
        except NetclaimError as error:
            return text(502, sentence(str(error)))


def token_of(authorization: str) -> str:
    """Return the token of a header; empty if there is none that could be one."""
    scheme, _, token = authorization.partition(" ")
    token = token.strip()
    if scheme.lower() != BEARER or len(token) > TOKEN_MAX or TOKEN.fullmatch(token) is None:
        return ""
    return token


def namespace_of(token: str) -> str:
    """Return the namespace of the service account that a token is of, as it says itself.

    Nothing depends on its truth: it is what is asked for with this very token.
    """
    _, _, rest = token.partition(".")
    payload = rest.partition(".")[0]
    try:
        raw = base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4))
        said = msgspec.json.decode(raw, type=dict[str, object])
    except (binascii.Error, ValueError, msgspec.MsgspecError):
        return ""
    found = ACCOUNT.fullmatch(str(said.get("sub", "")))
    return found[1] if found is not None and NAMESPACE.fullmatch(found[1]) else ""


@asynccontextmanager
async def shared_serving(
    cluster: Cluster, question: Question, place: Place
) -> AsyncIterator[tuple[str, int]]:
    """Serve as long as this is lent; gives the address that is listened on."""
    host, colon, port = place.address.rpartition(":")
    if not colon or not port.isdecimal():
        raise RequestError(f"{place.address!r} is not an address such as 0.0.0.0:8080")
    async with TaskScope() as tasks:
        handler = SharedHandler(Viewers(cluster, question, tasks, SystemClock()))
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", handler.handle)
        runner = web.AppRunner(
            app, handler_cancellation=True, access_log=None, shutdown_timeout=SHUTDOWN_S
        )
        await runner.setup()
        try:
            tls = certificate_of(place, tasks, SystemClock())
            site = web.TCPSite(runner, host.strip("[]") or None, int(port), ssl_context=tls)
            try:
                await site.start()
            except OSError as error:
                raise HostError(f"cannot listen on {place.address}: {error.strerror}") from error
            yield runner.addresses[0][:2]
        finally:
            await runner.cleanup()
