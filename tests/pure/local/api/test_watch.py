"""Watching the embedded API server, by netclaim's own reflector and by hand."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager

import msgspec
import pytest

from netclaim.kube import (
    Added,
    Client,
    Cluster,
    Deleted,
    GoneError,
    Modified,
    Reflector,
    Selection,
    StoredSecrets,
    Synced,
    UnreachableError,
    connect,
    dra_resource,
)
from netclaim.kube.errors import Status, error_of_status
from netclaim.local.api import Store, serve_api
from netclaim.model.claims.claim import JsonObject
from tests.pure.local.api.test_objects import claim
from tests.support.local.parts import new_verbs, serving

CLAIMS = dra_resource("ResourceClaim", "v1")


@asynccontextmanager
async def watching(
    client: Client, selection: Selection, version: str, timeout_s: float = 60
) -> AsyncIterator[AsyncIterator[JsonObject]]:
    """The events of a watch, one by one."""

    async def events() -> AsyncIterator[JsonObject]:
        async for lines in stream:
            for line in lines:
                yield msgspec.json.decode(line)

    async with client.watch(
        selection, resource_version=version, timeout_s=timeout_s, idle_s=60
    ) as stream:
        yield events()


async def test_reflector_follows() -> None:
    """A reflector sees what is there and then each change, in order."""
    async with serving(new_verbs()) as client:
        await client.create(CLAIMS, claim("x"))
        reflector = Reflector(client, Selection(CLAIMS))
        async with aclosing(reflector.changes()) as changes:
            first = await anext(changes)
            assert isinstance(first, Synced)
            assert len(first.objects) == 1
            made = await client.create(CLAIMS, claim("y"))
            assert await anext(changes) == Added(made)
            label = {"metadata": {"labels": {"a": "b"}}}
            await client.patch(CLAIMS, "y", label, namespace="default")
            changed = await client.get(CLAIMS, "y", namespace="default")
            assert await anext(changes) == Modified(changed)
            await client.delete(CLAIMS, "x", namespace="default")
            gone = await anext(changes)
            assert isinstance(gone, Deleted)
            assert gone.object["metadata"]["name"] == "x"
        assert set(reflector.store) == {("default", "y")}


async def test_object_may_enter_and_leave_a_selection() -> None:
    """An object that begins to match is added, one that ceases to is deleted."""
    async with serving(new_verbs()) as client:
        made = await client.create(CLAIMS, claim("x"))
        version = made["metadata"]["resourceVersion"]
        async with watching(client, Selection(CLAIMS, labels="a=b"), version) as events:
            for value in ("b", "c", None):
                label = {"metadata": {"labels": {"a": value}}}
                await client.patch(CLAIMS, "x", label, namespace="default")
            assert (await anext(events))["type"] == "ADDED"
            assert (await anext(events))["type"] == "DELETED"
            await client.create(CLAIMS, claim("y", labels={"a": "b"}))
            last = await anext(events)
            assert (last["type"], last["object"]["metadata"]["name"]) == ("ADDED", "y")


async def test_watch_goes_on_from_a_version() -> None:
    """Changes between a list and its watch are told."""
    async with serving(new_verbs()) as client:
        listing = await client.list(Selection(CLAIMS))
        await client.create(CLAIMS, claim("x"))
        async with watching(client, Selection(CLAIMS), listing.resource_version) as events:
            assert (await anext(events))["object"]["metadata"]["name"] == "x"


async def test_version_that_is_forgotten_is_gone() -> None:
    """A watch from before the server's memory ends with 410."""
    async with serving(new_verbs(store=Store(remembered=2))) as client:
        for number in range(4):
            await client.create(CLAIMS, claim(f"x{number}"))
        async with watching(client, Selection(CLAIMS), "1") as events:
            event = await anext(events)
        assert event["type"] == "ERROR"
        status = msgspec.convert(event["object"], Status)
        assert isinstance(error_of_status(status), GoneError)


async def test_quiet_watch_ends_with_a_bookmark() -> None:
    """When its time is over, a watch says how far it had come, though it had nothing to tell."""
    verbs = new_verbs("other")
    async with serving(verbs) as client:
        await client.create(CLAIMS, claim("y", namespace="other"))
        async with watching(client, Selection(CLAIMS, "default"), "1", timeout_s=1) as events:
            found = [event async for event in events]
        assert [event["type"] for event in found] == ["BOOKMARK"]
        assert found[0]["object"]["metadata"]["resourceVersion"] == str(verbs.store.revision)


async def test_server_ends_with_watches_open() -> None:
    """Stopping the server cuts those who watch; it does not wait for them."""
    async with AsyncExitStack() as clients:
        async with serve_api(new_verbs(), "127.0.0.1") as url:
            cluster = Cluster(server=url, credentials=StoredSecrets())
            client = await clients.enter_async_context(connect(cluster))
            events = await clients.enter_async_context(watching(client, Selection(CLAIMS), ""))
            await client.create(CLAIMS, claim("x"))
            assert (await anext(events))["type"] == "ADDED"
        with pytest.raises(UnreachableError):
            await anext(events)
