"""Claims are followed without being kept, whatever happens to the watch."""

import asyncio
import json
import random
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest
import pytest_asyncio

from netclaim.kube import Client, ForbiddenError, Pace, Selection, dra_resource
from netclaim.kube.claim_watch import REFUSALS_MAX, follow_claims
from tests.support.kube.stub import Reply, Stream, StubServer, client_of, event, serve_stub, status

CLAIMS = Selection(dra_resource("ResourceClaim", "v1"))
PATH = "/apis/resource.k8s.io/v1/resourceclaims"
WORD = b'"bindingConditions"'


def told(kind: str, version: str, name: str, *, waits: bool = True) -> bytes:
    """An event of a claim, with conditions or without."""
    result = {"bindingConditions": ["Passed"]} if waits else {"device": "eth1"}
    return event(kind, version, name, status={"results": [result]})


FORBIDDEN = Reply(status(403, "Forbidden", "may not watch claims"), status=403)


class Rig:
    """A stub server, and claims that are followed there without pauses."""

    def __init__(self, stub: StubServer, client: Client) -> None:
        self.stub = stub
        self.client = client
        self.opened = 0

    async def first(self, count: int) -> list[str]:
        """The names of the first so many claims."""
        found = follow_claims(self.client, CLAIMS, WORD, opened=self._open, pace=self._pace())
        got: list[str] = []
        async with aclosing(found) as claims:
            async for each in claims:
                got.append(json.loads(each.decode(errors="replace"))["metadata"]["name"])
                if len(got) == count:
                    break
        return got

    def versions(self) -> list[str]:
        """Where each watch began."""
        return [seen.query["resourceVersion"] for seen in self.stub.asked("WATCH")]

    def _open(self) -> None:
        self.opened += 1

    def _pace(self) -> Pace:
        async def pause(_: float) -> None:
            await asyncio.sleep(0)

        return Pace(sleep=pause, chance=random.Random(1))


@pytest_asyncio.fixture
async def rig() -> AsyncIterator[Rig]:
    """A server, and a client that follows its claims."""
    async with serve_stub() as stub, client_of(stub) as client:
        yield Rig(stub, client)


async def test_only_claims_that_wait_are_yielded(rig: Rig) -> None:
    """What is there at the start, and what changes; the rest, and what goes, is passed over."""
    lines = [
        told("ADDED", "5", "a"),
        told("ADDED", "6", "b", waits=False),
        told("DELETED", "7", "a"),
        event("BOOKMARK", "8"),
        told("MODIFIED", "9", "b"),
    ]
    rig.stub.on("WATCH", PATH, Stream(lines))
    assert await rig.first(2) == ["a", "b"]
    assert (rig.versions(), rig.opened) == (["0"], 1)


@pytest.mark.parametrize("parameters", [b"[" * 2000 + b"]" * 2000, rb'"\ud800"'])
async def test_a_claim_that_cannot_be_read_is_passed_over(rig: Rig, parameters: bytes) -> None:
    """It does not hide the claims of others, whether it has conditions or not."""
    poisoned = [
        told("ADDED", version, "poison", waits=waits).replace(
            b'"status"', b'"x":%s,"status"' % parameters
        )
        for version, waits in (("5", True), ("6", False))
    ]
    rig.stub.on("WATCH", PATH, Stream([*poisoned, told("ADDED", "7", "a")]))
    assert all(parameters in line for line in poisoned)
    assert await rig.first(1) == ["a"]
    assert rig.versions() == ["0"]


@pytest.mark.parametrize("parameters", [b"[" * 2000 + b"]" * 2000, rb'"\ud800"', b'"\xff"'])
async def test_a_claim_without_its_parameters_is_yielded(rig: Rig, parameters: bytes) -> None:
    """Its author gets a verdict, and the watch goes on after it, not before."""
    poisoned = told("ADDED", "5", "poison").replace(
        b'"status"', b'"spec":{"parameters":%s},"status"' % parameters
    )
    rig.stub.on("WATCH", PATH, Stream([poisoned], "end"), Stream([told("ADDED", "7", "a")]))
    assert await rig.first(2) == ["poison", "a"]
    assert rig.versions() == ["0", "5"]


async def test_a_watch_that_ends_goes_on_where_it_was(rig: Rig) -> None:
    """Also after an event that was passed over."""
    ended = Stream([told("ADDED", "5", "a"), told("ADDED", "6", "b", waits=False)], "end")
    rig.stub.on("WATCH", PATH, ended, Stream([], "cut"), Stream([told("ADDED", "7", "c")]))
    assert await rig.first(2) == ["a", "c"]
    assert rig.versions() == ["0", "6", "6"]


async def test_a_version_that_is_too_old_begins_anew(rig: Rig) -> None:
    """All claims that wait are then yielded again."""
    expired = Stream([b'{"type":"ERROR","object":{"code":410,"reason":"Expired"}}\n'])
    rig.stub.on("WATCH", PATH, Stream([told("ADDED", "5", "a")], "end"), expired)
    rig.stub.on("WATCH", PATH, Stream([told("ADDED", "9", "a")]))
    assert await rig.first(2) == ["a", "a"]
    assert rig.versions() == ["0", "5", "0"]


async def test_a_server_that_forbids_it_says_so_at_once(rig: Rig) -> None:
    """Nobody waits for a right that is not there."""
    rig.stub.on("WATCH", PATH, FORBIDDEN)
    with pytest.raises(ForbiddenError, match="may not watch claims"):
        await rig.first(1)
    assert rig.opened == 0


async def test_a_right_that_goes_is_waited_for_a_little(rig: Rig) -> None:
    """A server that is just starting refuses everybody."""
    rig.stub.on("WATCH", PATH, Stream([told("ADDED", "5", "a")], "end"))
    rig.stub.on("WATCH", PATH, *[FORBIDDEN] * (REFUSALS_MAX - 1))
    rig.stub.on("WATCH", PATH, Stream([told("ADDED", "6", "b")], "end"))
    rig.stub.on("WATCH", PATH, *[FORBIDDEN] * REFUSALS_MAX)
    with pytest.raises(ForbiddenError):
        await rig.first(3)
    assert rig.opened == 2
