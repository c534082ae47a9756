"""What a driver does with the API: v1 on our side, the served version on the wire."""

import threading
from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import UTC, datetime

import pytest
import pytest_asyncio

from netclaim.kube import Added, DraApi, Event, InvalidError, NotFoundError, Synced, dra
from netclaim.kube.dra import READ_AT_ONCE
from netclaim.kube.errors import MalformedReplyError
from netclaim.model.claims.claim import Claim, ClaimError
from netclaim.model.claims.claim_text import claim_from_text
from tests.support.kube.stub import Reply, Stream, StubServer, client_of, event, serve_stub, status

BETA = "/apis/resource.k8s.io/v1beta1"
CLAIM = f"{BETA}/namespaces/blue/resourceclaims/nic"
NOW = datetime(2026, 11, 15, 12, 30, 1, 250000, tzinfo=UTC)


@pytest_asyncio.fixture
async def stub() -> AsyncIterator[StubServer]:
    """A server of v1beta1."""
    async with serve_stub() as server:
        server.on("GET", "/apis/resource.k8s.io", Reply({"versions": [{"version": "v1beta1"}]}))
        yield server


@pytest_asyncio.fixture
async def api(stub: StubServer) -> AsyncIterator[DraApi]:
    """The API, negotiated with it."""
    async with client_of(stub) as client:
        made = await DraApi.negotiated(client)
        stub.seen.clear()
        yield made


def claim_json(**config: object) -> dict[str, object]:
    """A claim of a v1beta1 server."""
    flat = {"name": "r", "deviceClassName": "c"}
    meta = {"name": "nic", "namespace": "blue", "uid": "uid-1"}
    return {"metadata": meta, "spec": {"devices": {"requests": [flat]}}, **config}


async def test_a_claim_of_any_version(stub: StubServer, api: DraApi) -> None:
    """Of a claim of a v1beta1 server comes what a driver needs."""
    stub.on("GET", CLAIM, Reply(claim_json()))
    claim = await api.get_claim("blue", "nic")
    assert (claim.uid, claim.requests, claim.allocated) == ("uid-1", ("r",), False)


async def test_a_long_claim_is_read_in_a_thread(
    stub: StubServer, api: DraApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tenant can make it as long as the API server allows; a short one is not worth a thread."""
    threads: list[int] = []

    def read(text: bytes, driver: str) -> Claim:
        threads.append(threading.get_ident())
        return claim_from_text(text, driver)

    monkeypatch.setattr(dra, "claim_from_text", read)
    stub.on("GET", CLAIM, Reply(claim_json()), Reply(claim_json(status={"x": " " * READ_AT_ONCE})))
    short, long = [await api.get_claim("blue", "nic") for _ in range(2)]
    assert short == long
    assert [each == threading.get_ident() for each in threads] == [True, False]


async def test_an_answer_that_is_no_claim(stub: StubServer, api: DraApi) -> None:
    """What is no JSON is the server's fault; what is no claim, the object's."""
    stub.on("GET", CLAIM, Reply(b"{"), Reply({"metadata": {}}))
    with pytest.raises(MalformedReplyError, match="not an object"):
        await api.get_claim("blue", "nic")
    with pytest.raises(ClaimError, match="name"):
        await api.get_claim("blue", "nic")


async def test_the_answer_to_a_report_is_not_read(stub: StubServer, api: DraApi) -> None:
    """It repeats a claim that may be large, and nobody wants to see it."""
    stub.on("PATCH", f"{CLAIM}/status", Reply(b"[" * 2000))
    await api.apply_claim_devices("blue", "nic", "uid-1", [], field_manager="m")
    assert len(stub.seen) == 1


async def test_a_status_is_applied_to_one_claim(stub: StubServer, api: DraApi) -> None:
    """Device statuses are applied by force, in the served version, to the claim of that UID."""
    stub.on("PATCH", f"{CLAIM}/status", Reply({"status": {}}))
    devices = [{"driver": "d", "pool": "p", "device": "eth1"}]
    await api.apply_claim_devices("blue", "nic", "uid-1", devices, field_manager="d.node-a")
    (seen,) = stub.seen
    assert seen.query == {"fieldManager": "d.node-a", "force": "true"}
    assert seen.json == {
        "apiVersion": "resource.k8s.io/v1beta1",
        "kind": "ResourceClaim",
        "metadata": {"name": "nic", "namespace": "blue", "uid": "uid-1"},
        "status": {"devices": devices},
    }


async def test_a_claim_that_was_replaced(stub: StubServer, api: DraApi) -> None:
    """A claim of the same name and another UID, which the server calls invalid, is not found."""
    cause = {"reason": "FieldValueInvalid", "field": "metadata.uid", "message": "immutable"}
    other = {"reason": "FieldValueInvalid", "field": "status.devices[0]", "message": "unknown"}
    stub.on(
        "PATCH",
        f"{CLAIM}/status",
        Reply(status(422, "Invalid", causes=[cause]), status=422),
        Reply(status(422, "Invalid", causes=[other]), status=422),
    )
    with pytest.raises(NotFoundError, match="blue/nic with UID old was replaced"):
        await api.apply_claim_devices("blue", "nic", "old", [], field_manager="m")
    with pytest.raises(InvalidError):
        await api.apply_claim_devices("blue", "nic", "old", [], field_manager="m")


async def test_slices_of_a_driver_and_node(stub: StubServer, api: DraApi) -> None:
    """Slices are listed and watched by driver and node, and come in v1's form."""
    item = {
        "metadata": {"name": "s", "resourceVersion": "1"},
        "spec": {"devices": [{"name": "eth1", "basic": {"attributes": {}}}]},
    }
    listing = Reply({"metadata": {"resourceVersion": "4"}, "items": [item]})
    stub.on("GET", f"{BETA}/resourceslices", listing)
    stub.on("WATCH", f"{BETA}/resourceslices", Stream([event("ADDED", "5", "t", spec={})]))
    async with aclosing(api.watch_slices("d", "node-a").changes()) as changes:
        synced, added = [await anext(changes) for _ in range(2)]
    assert isinstance(synced, Synced)
    (found,) = synced.objects
    assert found["spec"]["devices"] == [{"name": "eth1", "attributes": {}}]
    assert stub.seen[0].query["fieldSelector"] == "spec.driver=d,spec.nodeName=node-a"
    assert isinstance(added, Added)
    assert added.object["apiVersion"] == "resource.k8s.io/v1"
    assert stub.asked("WATCH")[0].query["fieldSelector"] == "spec.driver=d,spec.nodeName=node-a"


async def test_slices_are_written_in_the_served_version(stub: StubServer, api: DraApi) -> None:
    """A slice goes out and comes back in the server's version; the caller sees v1 only."""
    wanted = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "s"},
        "spec": {"devices": [{"name": "eth1", "capacity": {"vfs": {"value": "8"}}}]},
    }
    stored = {
        "spec": {"devices": [{"name": "eth1", "basic": {"capacity": {"vfs": {"value": "8"}}}}]}
    }
    stub.on("POST", f"{BETA}/resourceslices", Reply(stored))
    stub.on("PUT", f"{BETA}/resourceslices/s", Reply(stored))
    created = await api.create_slice(wanted)
    updated = await api.update_slice(wanted)
    assert created["spec"] == updated["spec"] == wanted["spec"]
    assert all(seen.json["spec"] == stored["spec"] for seen in stub.seen)
    assert all(seen.json["apiVersion"] == "resource.k8s.io/v1beta1" for seen in stub.seen)


async def test_a_slice_is_deleted_if_it_is_the_same(stub: StubServer, api: DraApi) -> None:
    """Deleting a slice names its UID and version."""
    stub.on("DELETE", f"{BETA}/resourceslices/s", Reply())
    await api.delete_slice("s", uid="u", resource_version="3")
    assert stub.seen[0].json["preconditions"] == {"uid": "u", "resourceVersion": "3"}


async def test_an_event(stub: StubServer, api: DraApi) -> None:
    """An event stands in its object's namespace, cut to what the API server accepts."""
    async with client_of(stub) as client:
        api = DraApi(client, "v1", clock=lambda: NOW)
        stub.on("POST", "/apis/events.k8s.io/v1/namespaces/blue/events", Reply())
        regarding = {"kind": "ResourceClaim", "namespace": "blue", "name": "nic", "uid": "u"}
        happened = Event(regarding, "AttachFailed", "é" * 600, "Attach", "Warning")
        await api.create_event(happened, controller="d", instance="d-node-a")
    body = stub.seen[0].json
    assert body["eventTime"] == "2026-11-15T12:30:01.250000Z"
    assert body["note"] == "é" * 512  # 1024 bytes
    assert body["metadata"]["name"].startswith("nic.")
    assert body["regarding"] == regarding
    assert body["type"] == "Warning"


async def test_an_event_of_a_node_is_in_default(stub: StubServer, api: DraApi) -> None:
    """An event regarding something without a namespace stands in `default`."""
    stub.on("POST", "/apis/events.k8s.io/v1/namespaces/default/events", Reply())
    happened = Event({"kind": "Node", "name": "n"}, "R", "note", "Act")
    await api.create_event(happened, controller="d", instance="i")
    assert stub.seen[0].json["metadata"]["namespace"] == "default"


async def test_where_the_api_servers_are(stub: StubServer, api: DraApi) -> None:
    """The endpoints of the service `kubernetes` are listed, all of them; there may be none."""
    path = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes"
    endpoints = [{"addresses": ["172.18.0.3"]}, {"addresses": ["172.18.0.4", "172.18.0.5"]}, {}]
    stub.on("GET", path, Reply({"endpoints": endpoints}), Reply({"endpoints": None}))
    assert await api.get_server_addresses() == ("172.18.0.3", "172.18.0.4", "172.18.0.5")
    assert await api.get_server_addresses() == ()


async def test_a_node(stub: StubServer, api: DraApi) -> None:
    """A node is read as it is."""
    stub.on("GET", "/api/v1/nodes/node-a", Reply({"metadata": {"uid": "n"}}))
    assert (await api.get_node("node-a"))["metadata"]["uid"] == "n"
