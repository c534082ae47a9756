"""Whether a driver is to come back, as the API server's answers say."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from netclaim.chained import AGAIN, OK, Answer, Listing
from netclaim.cli.asking import NoDriverError
from netclaim.cli.commands.driver_retire import (
    LOOKS_UNTIL_ASKED,
    make_sure,
    reason_to_retire,
    wait_for_pods,
)
from netclaim.kube import Client, ForbiddenError, UnreachableError
from tests.support.kube.stub import Reply, StubServer, client_of, serve_stub, status

DAEMON_SET = "/apis/apps/v1/namespaces/netclaim-system/daemonsets/netclaim"
NODE = "/api/v1/nodes/node-1"


@pytest_asyncio.fixture
async def stub() -> AsyncIterator[StubServer]:
    """A server that answers from a script."""
    async with serve_stub() as server:
        yield server


@pytest_asyncio.fixture
async def client(stub: StubServer) -> AsyncIterator[Client]:
    """A client of it."""
    async with client_of(stub) as made:
        yield made


def refused(code: int, reason: str) -> Reply:
    """An answer that is no success."""
    return Reply(status(code, reason), code)


async def reason(client: Client) -> str:
    """What the API server's answer means."""
    return await reason_to_retire(client, "node-1", "netclaim-system/netclaim")


async def test_daemon_set_is_there(stub: StubServer, client: Client) -> None:
    """An update, an eviction, a deleted pod: the driver comes back."""
    stub.on("GET", DAEMON_SET, Reply({"metadata": {"name": "netclaim"}}))
    assert await reason(client) == ""


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (refused(404, "NotFound"), "was deleted"),
        (Reply({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}), "is being deleted"),
    ],
)
async def test_daemon_set_goes(stub: StubServer, client: Client, reply: Reply, said: str) -> None:
    """It is gone, or waits for its pods to go first."""
    stub.on("GET", DAEMON_SET, reply)
    assert said in await reason(client)


async def sure(stub: StubServer) -> tuple[str, list[float]]:
    """What is believed in the end, and how long it took."""
    paused: list[float] = []

    async def ask() -> str:
        async with client_of(stub) as fresh:
            return await reason(fresh)

    async def pause(pause_s: float) -> None:
        paused.append(pause_s)

    return await make_sure(ask, pause=pause), paused


async def test_account_is_gone(stub: StubServer) -> None:
    """An uninstall deletes the account, whose tokens are worthless from then on."""
    stub.on("GET", DAEMON_SET, *[refused(401, "Unauthorized")] * 8)
    why, paused = await sure(stub)
    assert "service account" in why
    assert paused == [2, 4, 6]


async def test_token_is_refused_for_a_moment(stub: StubServer) -> None:
    """An API server that starts refuses everybody: that does not keep the next driver away."""
    there = Reply({"metadata": {"name": "netclaim"}})
    stub.on("GET", DAEMON_SET, *[refused(401, "Unauthorized")] * 2, there)
    why, paused = await sure(stub)
    assert why == ""
    assert paused == [2, 4]


async def test_roles_are_gone(stub: StubServer, client: Client) -> None:
    """A driver that may not even read its own node has lost all roles."""
    stub.on("GET", DAEMON_SET, refused(403, "Forbidden"))
    stub.on("GET", NODE, refused(403, "Forbidden"))
    assert "roles were deleted" in await reason(client)


async def test_one_right_is_missing(stub: StubServer, client: Client) -> None:
    """Somebody who grants the rights by hand forgot this one: nobody can say."""
    stub.on("GET", DAEMON_SET, refused(403, "Forbidden"))
    stub.on("GET", NODE, Reply({"metadata": {"name": "node-1"}}))
    with pytest.raises(ForbiddenError):
        await reason(client)


async def test_no_answer(stub: StubServer, client: Client) -> None:
    """An API server that is away says nothing about the driver."""
    stub.url = "http://127.0.0.1:9"
    async with client_of(stub) as nobody:
        with pytest.raises(UnreachableError):
            await reason(nobody)


HELD = Listing(("claim default/red",))


def test_daemon_set_is_there_after_all() -> None:
    """A refusal that was of the moment keeps a node waiting for a minute, not for a day."""
    asked: list[int] = []
    looks: list[None] = []

    def came_back() -> bool:
        asked.append(len(looks))
        return len(asked) == 2

    wait_for_pods(lambda: HELD, came_back=came_back, pause=lambda: looks.append(None))
    assert asked == [LOOKS_UNTIL_ASKED, 2 * LOOKS_UNTIL_ASKED]


@pytest.mark.parametrize("last", [OK, AGAIN, NoDriverError("no driver")])
def test_nothing_is_left_to_wait_for(last: Answer | NoDriverError) -> None:
    """Everything is released, another process works, or there is no driver."""
    answers: list[Answer | NoDriverError] = [HELD, HELD, last]

    def ask() -> Answer:
        answer = answers.pop(0)
        if isinstance(answer, NoDriverError):
            raise answer
        return answer

    wait_for_pods(ask, came_back=lambda: False, pause=lambda: None)
    assert answers == []
