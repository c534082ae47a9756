"""What each viewer sees: an engine for each token, as long as somebody looks at it.

Promise: a request to the API server has exactly the token of the person who looks, and what one
token has read is shown to nobody with another. A token is asked about anew whenever a page is
opened and every minute, and the API server decides; when it refuses a token, its pages end. Tokens
are kept in memory only, under their hash. Limit: `VIEWERS_MAX` views at a time, since each has a
copy of what it may see; `VIEWS_EACH` of one token, which has a view for each namespace that it asks
for; and of each address, only so many tokens are asked about as `ASKED` allows.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import ClassVar, Final, TypeAlias

from netclaim.errors import NetclaimError, PeerError
from netclaim.framework.tools.clock import Clock
from netclaim.framework.tools.rates import Buckets, Rate
from netclaim.kube import Client, Cluster, StoredSecrets, UnauthorizedError, connect
from netclaim.survey.follow import Moment
from netclaim.tasks import TaskScope
from netclaim.ui.answers import Answers
from netclaim.ui.engine import Engine
from netclaim.ui.sources import NO_NETWORKS, Live
from netclaim.ui.view import Question

VIEWERS_MAX: Final = 24  # of 1,000 nodes and 10,000 claims each takes about 300 MB
VIEWS_EACH: Final = 3  # so that nobody can take all of them
# For each address, of tokens that have no view yet; people behind one proxy share an address.
ASKED: Final = Rate(burst=20, per_s=1)
AT_ONCE: Final = 4  # such questions under way
LINGER_S: Final = 30.0  # a page that is loaded again, or whose connection was cut, finds its view
ASK_AGAIN_S: Final = 60.0  # how long a token that is not valid any more shows what changes
KNOWN: Final = "/version"  # answered to everybody whom the API server knows
NOT_ALL: Final = (
    "What others have is not visible to you: a link that looks free may be taken, and bars show"
    " only what you may list."
)


class CrowdedError(PeerError):
    """As many people look as there is room for."""

    status: ClassVar = 503  # of HTTP


class HurriedError(CrowdedError):
    """One token has as many views, or one address asks about as many tokens, as is allowed."""

    status: ClassVar = 429


_Key: TypeAlias = tuple[bytes, str]  # the hash of a token, and the namespace that it asks for


@dataclass
class _Viewer:
    """One token's view."""

    whose: bytes  # the hash of the token
    client: Client
    answers: Answers
    users: int = 0
    ending: asyncio.TimerHandle | None = None
    task: asyncio.Task[None] | None = field(default=None, repr=False)


class Viewers:
    def __init__(
        self, cluster: Cluster, question: Question, tasks: TaskScope, clock: Clock
    ) -> None:
        """Of `cluster` only the server and how to verify it are used."""
        self._cluster = cluster
        self._question = question
        self._tasks = tasks
        self._viewers: dict[_Key, _Viewer] = {}
        self._beginning = asyncio.Lock()
        self._asking = asyncio.Semaphore(AT_ONCE)
        self._asked = Buckets(ASKED, clock)

    @asynccontextmanager
    async def lend(self, token: str, namespace: str, peer: str) -> AsyncIterator[Answers]:
        """Lend what a token sees; UnauthorizedError if the API server does not know it.

        `namespace` is listed if the token may not list all of them. `peer` is who asks.
        """
        whose = hashlib.sha256(token.encode()).digest()
        key = (whose, namespace)
        cluster = replace(self._cluster, credentials=StoredSecrets(token=token.encode()))
        if (known := self._viewers.get(key)) is not None:
            await known.client.get_path(KNOWN)
        else:
            await self._introduce(cluster, peer)
        async with self._beginning:
            viewer = self._viewers.get(key) or await self._begin(key, cluster)
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

    async def _introduce(self, cluster: Cluster, peer: str) -> None:
        """Ask the API server about a token that nobody looks with yet."""
        if self._asked.level(peer) < 1:
            raise HurriedError("too many tokens from this address; try again in a minute")
        self._asked.take(peer)
        async with self._asking, connect(cluster) as client:
            await client.get_path(KNOWN)

    async def _begin(self, key: _Key, cluster: Cluster) -> _Viewer:
        own = [one for one in self._viewers.values() if one.whose == key[0]]
        if len(own) >= VIEWS_EACH and not await _ended(own):
            raise HurriedError(f"this token has {VIEWS_EACH} views already; close one of them")
        if len(self._viewers) >= VIEWERS_MAX and not await _ended(self._viewers.values()):
            raise CrowdedError(f"there are {VIEWERS_MAX} views already; try again later")
        begun: asyncio.Future[_Viewer] = asyncio.get_running_loop().create_future()
        task = self._tasks.start(self._look(key, cluster, begun))
        viewer = await begun
        viewer.task = task
        return viewer

    async def _look(self, key: _Key, cluster: Cluster, begun: asyncio.Future[_Viewer]) -> None:
        """Follow the cluster with a token until nobody looks, or the token is refused."""
        engine = Engine(self._question)
        try:
            async with connect(cluster) as client:
                source = Live(client, key[1])
                viewer = _Viewer(key[0], client, Answers(engine, source))
                self._viewers[key] = viewer
                begun.set_result(viewer)
                try:
                    async with asyncio.TaskGroup() as group:
                        group.create_task(engine.run())
                        group.create_task(_follow(source, engine))
                        group.create_task(_ask_again(client))
                finally:
                    del self._viewers[key]  # before its client is closed
        except* NetclaimError:
            pass  # the page asks again, and gets the reason then
        finally:
            await engine.end()


async def _ended(viewers: Iterable[_Viewer]) -> bool:
    """End a view that nobody looks at any more, to make room; whether there was one."""
    for viewer in viewers:
        if not viewer.users and viewer.task is not None:
            viewer.task.cancel()
            await asyncio.wait([viewer.task])
            return True
    return False


async def _follow(source: Live, engine: Engine) -> None:
    def show(moment: Moment, notes: Iterable[str]) -> None:
        limited = tuple(notes)
        hidden = any(not note.startswith(NO_NETWORKS) for note in limited)
        engine.see(moment, (NOT_ALL, *limited) if hidden else limited)

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
