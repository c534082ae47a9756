"""The page of one person, over HTTP.

    /TOKEN/                 the page            /TOKEN/page/NAME     what it loads
    /TOKEN/stream           all pieces, then what changes, as server-sent events
    /TOKEN/object?key=KEY   one object in full
    /TOKEN/why?key=KEY      why a pod or a claim waits

`shared` has the same for many people.
"""

import asyncio

from aiohttp import web

from netclaim.ui.access import refusal
from netclaim.ui.answers import Answers, Events, Page, text
from netclaim.ui.engine import Engine


class Handler:
    """Answers requests; `seen` is set when the first browser follows the changes."""

    def __init__(self, engine: Engine, events: Events, token: str) -> None:
        self._answers = Answers(engine, events)
        self._page = Page()
        self._token = token

    @property
    def seen(self) -> asyncio.Event:
        return self._answers.seen

    async def handle(self, request: web.Request) -> web.StreamResponse:
        token, _, path = request.path.removeprefix("/").partition("/")
        refused = refusal(request.method, request.host, token, self._token)
        if refused is not None:
            return text(*refused)
        if not path:
            return self._page.file()
        if path.startswith("page/"):
            return self._page.file(path.removeprefix("page/"))
        return await self._answers.answer(request, path)


def application(handler: Handler) -> web.Application:
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler.handle)
    return app
