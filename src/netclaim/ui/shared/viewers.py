"""What each viewer sees: an engine for each token, as long as somebody looks at it.

Promise: a request to the API server has exactly the token of the person who looks, and what one
token has read is shown to nobody with another. A token is asked about anew whenever a page is
opened and every minute, and the API server decides; when it refuses a token, its pages end. Tokens
are kept in memory only, under their hash. Limit: `VIEWERS_MAX` tokens at a time, since each has a
copy of what it may see.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Final

from netclaim.errors import NetclaimError, PeerError
from netclaim.kube import Client, Cluster, StoredSecrets, UnauthorizedError, connect
from netclaim.survey.follow import Moment
from netclaim.tasks import TaskScope
from netclaim.ui.answers import Answers
from netclaim.ui.engine import Engine
from netclaim.ui.sources import Live
from netclaim.ui.view import Question

VIEWERS_MAX: Final = 24  # of 1,000 nodes and 10,000 claims each takes about 300 MB
LINGER_S: Final = 30.0  # a page that is loaded again, or whose connection was cut, finds its view
ASK_AGAIN_S: Final = 60.0  # how long a token that is not valid any more shows what changes
KNOWN: Final = "/version"  # answered to everybody whom the API server knows
NOT_ALL: Final = (
    "What others have is not visible to you: a link that looks free may be taken, and bars show"
    " only what you may list."
)


class CrowdedError(PeerError):
    """As many people look as there is room for."""


@dataclass
class _Viewer:
    """One token's view."""

    answers: Answers
    users: int = 0
    ending: asyncio.TimerHandle | None = None
    task: asyncio.Task[None] | None = field(default=None, repr=False)


class Viewers:
    def __init__(self, cluster: Cluster, question: Question, tasks: TaskScope) -> None:
        """Of `cluster` only the server and how to verify it are used."""
        self._cluster = cluster
        self._question = question
        self._tasks = tasks
        self._viewers: dict[bytes, _Viewer] = {}
        self._beginning = asyncio.Lock()

    @asynccontextmanager
    async def lend(self, token: str, namespace: str) -> AsyncIterator[Answers]:
        """Lend what a token sees; UnauthorizedError if the API server does not know it.

        `namespace` is listed if the token may not list all of them.
        """
        whose = replace(self._cluster, credentials=StoredSecrets(token=token.encode()))
        async with connect(whose) as client:
            await client.get_path(KNOWN)
        key = hashlib.sha256(f"{token}\0{namespace}".encode()).digest()
        async with self._beginning:
            viewer = self._viewers.get(key) or await self._begin(key, whose, namespace)
            viewer.users += 1
        if viewer.ending is not None:
            viewer.ending.cancel()
        try:
            yield viewer.answers
        finally:
            viewer.users -= 1
            if not viewer.users and viewer.task is not None:
                loop = asyncio.get_running_loop()
                viewer.ending = loop.call_later(LINGER_S, viewer.task.cancel)

    async def _begin(self, key: bytes, whose: Cluster, namespace: str) -> _Viewer:
        if len(self._viewers) >= VIEWERS_MAX:
            raise CrowdedError(f"{VIEWERS_MAX} people look already; try again later")
        begun: asyncio.Future[_Viewer] = asyncio.get_running_loop().create_future()
        task = self._tasks.start(self._look(key, whose, namespace, begun))
        viewer = await begun
        viewer.task = task
        return viewer

    async def _look(
        self, key: bytes, whose: Cluster, namespace: str, begun: asyncio.Future[_Viewer]
    ) -> None:
        """Follow the cluster with a token until nobody looks, or the token is refused."""
        engine = Engine(self._question)
        try:
            async with connect(whose) as client:
                source = Live(client, namespace)
                viewer = _Viewer(Answers(engine, source))
                self._viewers[key] = viewer
                begun.set_result(viewer)
                async with asyncio.TaskGroup() as group:
                    group.create_task(engine.run())
                    group.create_task(_follow(source, engine))
                    group.create_task(_ask_again(client))
        except* NetclaimError:
            pass  # the page asks again, and gets the reason then
        finally:
            self._viewers.pop(key, None)
            await engine.end()


async def _follow(source: Live, engine: Engine) -> None:
    def show(moment: Moment, notes: Iterable[str]) -> None:
        limited = tuple(notes)
        engine.see(moment, (NOT_ALL, *limited) if limited else ())

    await source.run(show)


async def _ask_again(client: Client) -> None:
    """Raise UnauthorizedError as soon as the token is refused."""
    while True:
        await asyncio.sleep(ASK_AGAIN_S)
        try:
            await client.get_path(KNOWN)
        except UnauthorizedError:
            raise
        except NetclaimError:
            continue  # the page says that the API server is away
