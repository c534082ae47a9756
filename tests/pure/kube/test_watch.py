"""The reflector: what it promises when watches break in every way they can."""

import asyncio
import itertools
import random
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest
import pytest_asyncio
from structlog.testing import capture_logs

from netclaim.kube import (
    Added,
    Change,
    Client,
    Deleted,
    Modified,
    NotFoundError,
    Pace,
    Reflector,
    Selection,
    Synced,
    TooManyRequestsError,
    dra_resource,
)
from netclaim.model.claims.unreadable import why_unreadable
from tests.support.kube.stub import (
    Reply,
    Stream,
    StubServer,
    client_of,
    event,
    serve_stub,
    status,
)

SLICES = Selection(dra_resource("ResourceSlice", "v1"), fields="spec.driver=d", labels="a=b")
UNREADABLE = "kube.unreadable"
# What the API server passes on of what somebody wrote.
POISON = (b"[" * 2000 + b"]" * 2000, rb'{"a":"\ud800x"}', b'{"a":"\xff"}', b'{"a":1e999}')
PATH = "/apis/resource.k8s.io/v1/resourceslices"


def listing(version: str, *names: str) -> Reply:
    """Return a list of objects, each of version 1."""
    items = [{"metadata": {"name": name, "resourceVersion": "1"}} for name in names]
    return Reply({"metadata": {"resourceVersion": version}, "items": items})


def told(change: Change) -> tuple[str, Any]:
    """Return a change as its kind and the names it tells of."""
    if isinstance(change, Synced):
        return "Synced", [found["metadata"]["name"] for found in change.objects]
    return type(change).__name__, change.object["metadata"]["name"]


class Rig:
    """A reflector of the stub whose pauses are written down instead of waited for."""

    def __init__(self, stub: StubServer, client: Client) -> None:
        self.stub = stub
        self.pauses: list[float] = []
        self.pace = Pace(sleep=self._pause, chance=random.Random(1))
        self.client = client
        self.reflector = Reflector(client, SLICES, pace=self.pace)

    async def _pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        await asyncio.sleep(0)

    async def first(self, count: int) -> list[tuple[str, Any]]:
        """Return the first so many changes."""
        got = []
        async with aclosing(self.reflector.changes()) as changes:
            async for change in changes:
                got.append(told(change))
                if len(got) == count:
                    break
        return got

    def resumed_from(self) -> list[str]:
        """Return the version that each watch so far started at."""
        return [seen.query["resourceVersion"] for seen in self.stub.asked("WATCH")]


@pytest_asyncio.fixture
async def rig() -> AsyncIterator[Rig]:
    """A server, a client and a reflector."""
    async with serve_stub() as stub, client_of(stub) as client:
        yield Rig(stub, client)


async def test_a_list_then_its_changes(rig: Rig) -> None:
    """The stream begins with all there is and goes on with each change; the store follows."""
    rig.stub.on("GET", PATH, listing("5", "a", "b"))
    lines = [
        event("ADDED", "6", "c"),
        event("MODIFIED", "7", "a", spec={"x": 1}),
        event("DELETED", "8", "b"),
    ]
    rig.stub.on("WATCH", PATH, Stream(lines))
    assert await rig.first(4) == [
        ("Synced", ["a", "b"]),
        ("Added", "c"),
        ("Modified", "a"),
        ("Deleted", "b"),
    ]
    assert set(rig.reflector.store) == {("", "a"), ("", "c")}
    assert rig.reflector.store["", "a"]["spec"] == {"x": 1}
    (watch,) = rig.stub.asked("WATCH")
    assert watch.query["resourceVersion"] == "5"
    assert watch.query["allowWatchBookmarks"] == "true"
    assert watch.query["fieldSelector"] == "spec.driver=d"
    assert watch.query["labelSelector"] == "a=b"
    assert 300 <= int(watch.query["timeoutSeconds"]) <= 450
    assert rig.pauses == []


@pytest.mark.parametrize("then", ["end", "cut"])
async def test_a_watch_that_ends_is_resumed(rig: Rig, then: Any) -> None:
    """After an end, clean or not, the next watch starts at the last event's version, no list."""
    rig.stub.on("GET", PATH, listing("5"))
    rig.stub.on("WATCH", PATH, Stream([event("ADDED", "6", "a")], then))
    rig.stub.on("WATCH", PATH, Stream([event("ADDED", "7", "b")]))
    assert await rig.first(3) == [("Synced", []), ("Added", "a"), ("Added", "b")]
    assert rig.resumed_from() == ["5", "6"]
    assert len(rig.stub.asked("GET")) == 1


async def test_a_bookmark_moves_the_version(rig: Rig) -> None:
    """A bookmark is not told to the consumer, and the next watch starts at its version."""
    rig.stub.on("GET", PATH, listing("5"))
    rig.stub.on("WATCH", PATH, Stream([event("BOOKMARK", "90")], "end"))
    rig.stub.on("WATCH", PATH, Stream([event("ADDED", "91", "a")]))
    assert await rig.first(2) == [("Synced", []), ("Added", "a")]
    assert rig.resumed_from() == ["5", "90"]


@pytest.mark.parametrize("early", [True, False], ids=["as the answer", "as an event"])
async def test_a_version_too_old_means_a_new_list(rig: Rig, early: bool) -> None:
    """A 410, as the watch's answer or as its event, brings a new list and a new Synced."""
    gone = status(410, "Expired", "too old resource version")
    line = b'{"type":"ERROR","object":{"code":410,"reason":"Expired"}}\n'
    rig.stub.on("GET", PATH, listing("5", "a"), listing("50", "b"))
    rig.stub.on("WATCH", PATH, Reply(gone, status=410) if early else Stream([line]))
    rig.stub.on("WATCH", PATH, Stream([event("DELETED", "51", "b")]))
    assert await rig.first(3) == [("Synced", ["a"]), ("Synced", ["b"]), ("Deleted", "b")]
    assert rig.resumed_from() == ["5", "50"]


async def test_events_in_pieces(rig: Rig) -> None:
    """Events that arrive split, joined or larger than 64 KiB come out whole and in order."""
    large = event("ADDED", "6", "a", spec={"filler": "x" * (200 << 10)})
    rest = event("ADDED", "7", "b") + event("ADDED", "8", "c")
    stream = large + rest
    cuts = [0, 10, 70_000, len(large) - 1, len(large) + 5, len(stream)]
    chunks = [stream[start:stop] for start, stop in itertools.pairwise(cuts)]
    rig.stub.on("GET", PATH, listing("5"))
    rig.stub.on("WATCH", PATH, Stream(chunks))
    assert await rig.first(4) == [
        ("Synced", []),
        ("Added", "a"),
        ("Added", "b"),
        ("Added", "c"),
    ]
    assert len(rig.reflector.store["", "a"]["spec"]["filler"]) == 200 << 10


async def test_half_an_event_is_dropped_with_its_watch(rig: Rig) -> None:
    """A watch cut within an event loses nothing: the event comes whole with the next watch."""
    line = event("ADDED", "7", "b")
    rig.stub.on("GET", PATH, listing("5"))
    rig.stub.on("WATCH", PATH, Stream([event("ADDED", "6", "a") + line[:20]], "cut"))
    rig.stub.on("WATCH", PATH, Stream([line]))
    assert await rig.first(3) == [("Synced", []), ("Added", "a"), ("Added", "b")]
    assert rig.resumed_from() == ["5", "6"]


async def test_an_event_told_twice_is_told_once(rig: Rig) -> None:
    """An event that a resumed watch repeats changes nothing and is not told again."""
    lines = [event("ADDED", "6", "a"), event("ADDED", "6", "a"), event("DELETED", "7", "x")]
    rig.stub.on("GET", PATH, listing("5"))
    rig.stub.on("WATCH", PATH, Stream([*lines, event("ADDED", "8", "b")]))
    assert await rig.first(3) == [("Synced", []), ("Added", "a"), ("Added", "b")]


async def test_a_silent_connection_is_given_up(rig: Rig) -> None:
    """A watch without a byte for longer than the server would keep it is dropped and resumed."""
    rig.stub.on("GET", PATH, listing("5"))
    rig.stub.on("WATCH", PATH, Stream([event("BOOKMARK", "6")]))
    rig.stub.on("WATCH", PATH, Stream([event("ADDED", "7", "a")], "end"))
    hasty = Pace(watch_s=0.02, grace_s=0.02, sleep=rig.pace.sleep)
    rig.reflector = Reflector(rig.client, SLICES, pace=hasty)
    assert await rig.first(2) == [("Synced", []), ("Added", "a")]
    assert rig.resumed_from()[-1] == "6"
    await rig.stub.hung_up.wait()


async def test_pauses_grow_and_start_over(rig: Rig) -> None:
    """Failures in a row wait longer and longer up to a limit; an event starts that over."""
    fault = Reply(status(500), status=500)
    rig.stub.on("GET", PATH, *[fault] * 8, listing("5"))
    rig.stub.on("WATCH", PATH, Stream([event("ADDED", "6", "a")], "end"), fault)
    rig.stub.on("WATCH", PATH, Stream([event("ADDED", "7", "b")]))
    await rig.first(3)
    *growing, after_event = rig.pauses
    bounds = [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0]
    assert all(high / 2 <= pause <= high for pause, high in zip(growing, bounds, strict=True))
    assert after_event <= 0.8


async def test_the_server_may_ask_for_a_longer_pause(rig: Rig) -> None:
    """Retry-After is a floor under the pause; meanwhile the fault says why the store is behind."""
    busy = Reply(status(429), status=429, headers={"Retry-After": "17"})
    rig.stub.on("GET", PATH, busy, listing("5"))
    faults = []

    async def pause(seconds: float) -> None:
        faults.append((seconds, rig.reflector.fault))

    rig.reflector = Reflector(rig.client, SLICES, pace=Pace(sleep=pause))
    await rig.first(1)
    ((waited, fault),) = faults
    assert waited == 17
    assert isinstance(fault, TooManyRequestsError)


async def test_a_watch_that_never_begins_is_no_loop(rig: Rig) -> None:
    """Watches that end without an event are failures with pauses, and after five a new list."""
    rig.stub.on("GET", PATH, listing("5"), listing("6"))
    rig.stub.on("WATCH", PATH, *[Stream([], "end")] * 5)
    rig.stub.on("WATCH", PATH, Stream([event("ADDED", "7", "a")]))
    assert await rig.first(3) == [("Synced", []), ("Synced", []), ("Added", "a")]
    assert rig.resumed_from() == ["5"] * 5 + ["6"]
    assert len(rig.pauses) == 5


async def test_garbage_means_a_new_list(rig: Rig) -> None:
    """A line that is no event ends the thread: what was missed is unknown, so list."""
    rig.stub.on("GET", PATH, listing("5"), listing("6", "a"))
    rig.stub.on("WATCH", PATH, Stream([b"<html>\n"]))
    assert await rig.first(2) == [("Synced", []), ("Synced", ["a"])]


@pytest.mark.parametrize("poison", POISON)
async def test_an_object_that_cannot_be_read_stops_nothing(rig: Rig, poison: bytes) -> None:
    """It is left out of the list and of the changes; the watch goes on after its version."""
    one = b'{"metadata":{"name":"%s","resourceVersion":"%s"},"x":%s}'
    page = b'{"metadata":{"resourceVersion":"5"},"items":[%s,%s]}'
    items = (one % (b"bad", b"1", poison), one % (b"a", b"1", b"1"))
    rig.stub.on("GET", PATH, Reply(page % items))
    bad = b'{"type":"ADDED","object":%s}\n' % (one % (b"worse", b"6", poison))
    rig.stub.on("WATCH", PATH, Stream([bad], "end"), Stream([event("ADDED", "7", "b")]))
    with capture_logs() as logs:
        assert await rig.first(2) == [("Synced", ["a"]), ("Added", "b")]
    assert rig.resumed_from() == ["5", "6"]
    told_of = [log["objects"][0].partition(":")[0] for log in logs if log["event"] == UNREADABLE]
    assert told_of == ["bad", "worse"]


async def test_an_object_that_can_be_read_no_more_is_gone(rig: Rig) -> None:
    """A new list would not have it either; one that nobody knew goes without a word."""
    rig.stub.on("GET", PATH, listing("5", "a", "b"))
    lines = [
        event(kind, version, name).replace(b'"metadata"', b'"x":"\xff","metadata"')
        for kind, version, name in (
            ("MODIFIED", "6", "a"),
            ("DELETED", "7", "b"),
            ("ADDED", "8", "c"),
        )
    ]
    rig.stub.on("WATCH", PATH, Stream([*lines, event("ADDED", "9", "d")]))
    expected = [("Synced", ["a", "b"]), ("Deleted", "a"), ("Deleted", "b"), ("Added", "d")]
    assert await rig.first(4) == expected


@pytest.mark.parametrize("poison", POISON)
async def test_parameters_that_cannot_be_read_are_replaced(rig: Rig, poison: bytes) -> None:
    """Their object is as good as any other: nobody can hide one, or hold up those of others."""
    one = b'{"metadata":{"name":"%s","resourceVersion":"6"},"opaque":{"parameters":%s}}'
    page = b'{"metadata":{"resourceVersion":"5"},"items":[%s]}' % (one % (b"a", poison))
    rig.stub.on("GET", PATH, Reply(page))
    line = b'{"type":"ADDED","object":%s}\n' % (one % (b"b", poison))
    rig.stub.on("WATCH", PATH, Stream([line]))
    assert await rig.first(2) == [("Synced", ["a"]), ("Added", "b")]
    for found in rig.reflector.store.values():
        assert why_unreadable(found["opaque"]["parameters"])


async def test_an_event_without_a_version_means_one_new_list(rig: Rig) -> None:
    """What it was about is unknown; the list after it has a pause before it, and goes on."""
    rig.stub.on("GET", PATH, listing("5"), listing("8", "a"))
    rig.stub.on("WATCH", PATH, Stream([b'{"type":"ADDED","object":{"metadata":"\xff"}}\n']))
    rig.stub.on("WATCH", PATH, Stream([event("ADDED", "9", "b")]))
    expected = [("Synced", []), ("Synced", ["a"]), ("Added", "b")]
    assert await rig.first(3) == expected
    assert len(rig.pauses) == 1


async def test_an_api_that_is_gone_ends_the_stream(rig: Rig) -> None:
    """A 404 is raised: the version is served no more, and waiting does not bring it back."""
    rig.stub.on("GET", PATH, Reply(status(404, "NotFound"), status=404))
    with pytest.raises(NotFoundError):
        await rig.first(1)
    assert rig.pauses == []


async def test_cancelling_hangs_up(rig: Rig) -> None:
    """A cancelled consumer closes its watch, as the server notices."""
    rig.stub.on("GET", PATH, listing("5"))
    rig.stub.on("WATCH", PATH, Stream([event("ADDED", "6", "a")]))
    arrived = asyncio.Event()

    async def consume() -> None:
        async for change in rig.reflector.changes():
            if isinstance(change, Added):
                arrived.set()

    async with asyncio.TaskGroup() as group:
        task = group.create_task(consume())
        await arrived.wait()
        task.cancel()
    await rig.stub.hung_up.wait()


async def test_a_second_stream_begins_anew(rig: Rig) -> None:
    """Asking again for changes begins with Synced, so a restarted consumer misses nothing."""
    rig.stub.on("GET", PATH, listing("5", "a"), listing("6", "b"))
    rig.stub.on("WATCH", PATH, Stream(), Stream())
    assert await rig.first(1) == [("Synced", ["a"])]
    assert await rig.first(1) == [("Synced", ["b"])]


async def test_objects_are_converted_on_the_way_in(rig: Rig) -> None:
    """Listed and watched objects alike pass through the conversion, into store and stream."""
    rig.stub.on("GET", PATH, listing("5", "a"))
    rig.stub.on("WATCH", PATH, Stream([event("MODIFIED", "6", "a"), event("DELETED", "7", "a")]))
    reflector = Reflector(rig.client, SLICES, convert=lambda found: {**found, "seen": True})
    async with aclosing(reflector.changes()) as changes:
        synced, modified, deleted = [await anext(changes) for _ in range(3)]
    assert isinstance(synced, Synced)
    assert isinstance(modified, Modified)
    assert isinstance(deleted, Deleted)
    assert [synced.objects[0]["seen"], modified.object["seen"], deleted.object["seen"]] == [
        True,
        True,
        True,
    ]
