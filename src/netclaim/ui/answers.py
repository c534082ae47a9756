"""What is answered about one engine: the stream of changes, and the questions.

Promise: only files that are part of the package are served, from memory. Limit: `STREAMS_MAX`
browsers at a time, and one answer to why at a time.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from importlib.resources import files
from typing import Final, Protocol

import msgspec
from aiohttp import web

from netclaim.errors import NetclaimError
from netclaim.plain_text import sentence
from netclaim.ui.access import HEADERS
from netclaim.ui.detail import Detail, detail_of
from netclaim.ui.engine import EndedError, Engine
from netclaim.ui.reasons import Reasons, reasons_of
from netclaim.ui.view import View, changes

STREAMS_MAX: Final = 16  # windows of one person, and of a few who look over their shoulder
KEY_MAX: Final = 1024  # characters; a name in Kubernetes has at most 253
BEAT_S: Final = 15.0  # how soon a browser that is gone is noticed, and the page that we are
FIRST: Final = "index.html"
PLAIN: Final = b'<html lang="en">'
ASKS: Final = b'<html lang="en" data-access="token">'
TYPES: Final = {
    ".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml",
}  # fmt: skip


class Events(Protocol):
    """Where the events of an object come from."""

    async def events(self, kind: str, namespace: str, name: str) -> list[dict[str, object]]:
        """Return the events about an object, as the API has them."""


class Answers:
    """Answers requests; `seen` is set when the first browser follows the changes."""

    def __init__(self, engine: Engine, events: Events) -> None:
        self._engine = engine
        self._events = events
        self._streams = 0
        self._asking = asyncio.Lock()
        self.seen = asyncio.Event()

    async def answer(self, request: web.Request, path: str) -> web.StreamResponse:
        """Answer what is not a file of the page."""
        match path:
            case "stream":
                return await self._stream(request)
            case "object" | "why":
                return await self._answer(path, request.query.get("key", ""))
        return text(404, "there is no such page")

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        if self._streams >= STREAMS_MAX:
            return text(503, f"{STREAMS_MAX} windows are open already; close one")
        self._streams += 1
        response = web.StreamResponse(headers={**HEADERS, "Content-Type": "text/event-stream"})
        try:
            await response.prepare(request)
            if request.method == "GET":
                with suppress(ConnectionError, EndedError):  # the browser is gone, or the engine
                    await self._send_changes(response)
        finally:
            self._streams -= 1
        return response

    async def _send_changes(self, response: web.StreamResponse) -> None:
        self.seen.set()
        known: Mapping[str, bytes] = {}
        number, event = 0, b"all"
        while True:
            try:
                async with asyncio.timeout(BEAT_S):
                    view = await self._engine.next(number)
            except TimeoutError:
                await response.write(b"event: beat\ndata:\n\n")
                continue
            said = changes(known, view.pieces)
            if said:
                await response.write(b"event: " + event + b"\ndata: " + said + b"\n\n")
            known, number, event = view.pieces, view.number, b"some"

    async def _answer(self, about: str, key: str) -> web.Response:
        view = self._engine.view
        if view is None or len(key) > KEY_MAX:
            return text(404, "there is no such object")
        try:
            found = await (self._why(view, key) if about == "why" else self._detail(view, key))
        except NetclaimError as error:
            return text(409, sentence(str(error)))
        if found is None:
            return text(404, "it does not exist any more")
        return web.Response(
            body=msgspec.json.encode(found), content_type="application/json", headers=HEADERS
        )

    async def _why(self, view: View, key: str) -> Reasons | None:
        async with self._asking:
            return await asyncio.to_thread(reasons_of, view, key)

    async def _detail(self, view: View, key: str) -> Detail | None:
        return await detail_of(view, key, self._events.events)


class Page:
    """The files of the page; `asks` makes it ask for a token before anything else."""

    def __init__(self, *, asks: bool = False) -> None:
        folder = files("netclaim.ui") / "page"
        names = [one.name for one in folder.iterdir() if one.name.endswith(tuple(TYPES))]
        self._files = {name: (folder / name).read_bytes() for name in names}
        if asks:
            self._files[FIRST] = self._files[FIRST].replace(PLAIN, ASKS)

    def file(self, name: str = FIRST) -> web.Response:
        """Return a file of the page."""
        found = self._files.get(name)
        if found is None:
            return text(404, "there is no such page")
        kind = TYPES[name[name.rindex(".") :]]
        return web.Response(body=found, content_type=kind, charset="utf-8", headers=HEADERS)


def text(status: int, line: str) -> web.Response:
    """Return an answer of a line."""
    return web.Response(status=status, text=f"{line}\n", headers=HEADERS)
