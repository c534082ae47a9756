"""A namespace's labels are read once for all who want them at the same time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from netclaim.framework.kube_api import LABELS_S, Api, KubeNamespaces
from netclaim.framework.testing import FakeClock
from netclaim.kube import ForbiddenError
from tests.support.kube.stub import Reply, StubServer, client_of, serve_stub, status

PATH = "/api/v1/namespaces/red"
RED = {"metadata": {"name": "red", "labels": {"team": "a"}}}
BLUE = {"metadata": {"name": "red", "labels": {"team": "b"}}}


@asynccontextmanager
async def namespaces_on(
    *answers: Reply,
) -> AsyncIterator[tuple[KubeNamespaces, StubServer, FakeClock]]:
    """Namespaces of a server that answers so, one after the other."""
    clock = FakeClock()
    async with serve_stub() as server, client_of(server) as client:
        server.on("GET", "/apis/resource.k8s.io", Reply({"versions": [{"version": "v1"}]}))
        server.on("GET", PATH, *answers)
        yield KubeNamespaces(Api(client), clock), server, clock


def asked(server: StubServer) -> int:
    """How often the namespace was read."""
    return sum(each.path == PATH for each in server.seen)


async def test_a_burst_is_one_request() -> None:
    """All who ask while nobody knows get one answer, which is good for ten seconds."""
    async with namespaces_on(Reply(RED), Reply(BLUE)) as (namespaces, server, clock):
        found = await asyncio.gather(*(namespaces.labels("red") for _ in range(20)))
        assert found == [{"team": "a"}] * 20
        assert asked(server) == 1
        await clock.sleep(LABELS_S)
        assert await namespaces.labels("red") == {"team": "b"}
        assert asked(server) == 2


async def test_fresh_labels_are_not_those_of_a_request_under_way() -> None:
    """A caller that needs them as they are now asks again; the next one has these."""
    async with namespaces_on(Reply(RED), Reply(BLUE)) as (namespaces, server, _):
        assert await namespaces.labels("red") == {"team": "a"}
        assert await namespaces.labels("red", fresh=True) == {"team": "b"}
        assert await namespaces.labels("red") == {"team": "b"}
        assert asked(server) == 2


async def test_a_refusal_is_for_all_who_wait() -> None:
    """They do not ask one after the other; the next one asks again."""
    refusal = Reply(status(403, "Forbidden"), status=403)
    async with namespaces_on(refusal, Reply(RED)) as (namespaces, server, _):
        asking = (namespaces.labels("red") for _ in range(5))
        found = await asyncio.gather(*asking, return_exceptions=True)
        assert [type(each) for each in found] == [ForbiddenError] * 5
        assert asked(server) == 1
        assert await namespaces.labels("red") == {"team": "a"}


async def test_one_who_is_cut_off_leaves_it_to_the_next() -> None:
    """A caller that is cancelled does not take the answer from the others."""
    async with namespaces_on(Reply(RED), Reply(RED)) as (namespaces, _, _):
        first = asyncio.create_task(namespaces.labels("red"))
        second = asyncio.create_task(namespaces.labels("red"))
        await asyncio.sleep(0)
        first.cancel()
        assert await second == {"team": "a"}
        with pytest.raises(asyncio.CancelledError):
            await first
