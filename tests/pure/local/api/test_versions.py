"""One object in every version of resource.k8s.io that the embedded server serves."""

import pytest

from netclaim.kube import EVENTS, DraApi, Event, Resource, Selection, dra_resource, negotiate
from netclaim.manifests.versions.conversion import Version, from_v1, to_v1
from netclaim.model.claims.claim import JsonObject
from tests.pure.local.api.test_objects import claim
from tests.support.kube.slices import slices_of
from tests.support.local.parts import new_verbs, serving

SERVED: tuple[Version, ...] = ("v1", "v1beta2", "v1beta1")
SLICE: JsonObject = {
    "metadata": {"name": "s"},
    "spec": {
        "driver": "d.example.com",
        "nodeName": "n",
        "pool": {"name": "n", "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": "eth1", "attributes": {"name": {"string": "eth1"}}}],
    },
}


async def test_newest_version_is_negotiated() -> None:
    """A client that asks finds v1."""
    async with serving(new_verbs()) as client:
        assert await negotiate(client) == "v1"


@pytest.mark.parametrize("written", SERVED)
@pytest.mark.parametrize("read", SERVED)
async def test_claim_is_the_same_in_all(written: Version, read: Version) -> None:
    """A claim written in one version is read in another as its conversion."""
    body = from_v1(claim(), "ResourceClaim", written)
    async with serving(new_verbs()) as client:
        made = await client.create(dra_resource("ResourceClaim", written), body)
        found = await client.get(dra_resource("ResourceClaim", read), "x", namespace="default")
        assert found == from_v1(to_v1(made, "ResourceClaim", written), "ResourceClaim", read)


@pytest.mark.parametrize("version", SERVED)
async def test_driver_publishes_in_any_version(version: Version) -> None:
    """A driver that speaks an older version publishes, changes and deletes slices as any other."""
    async with serving(new_verbs()) as client:
        api = DraApi(client, version)
        made = await api.create_slice(SLICE)
        assert made["spec"]["devices"] == SLICE["spec"]["devices"]
        made["spec"]["devices"] = [{"name": "eth2"}]
        changed = await api.update_slice(made)
        assert await slices_of(api, "d.example.com", "n") == (changed,)
        assert await slices_of(api, "d.example.com", "m") == ()
        meta = changed["metadata"]
        await api.delete_slice("s", uid=meta["uid"], resource_version=meta["resourceVersion"])
        assert await slices_of(api, "d.example.com", "n") == ()


async def test_event_has_two_names() -> None:
    """An event of events.k8s.io is read through the core group in its older words."""
    regarding = {"kind": "Pod", "namespace": "default", "name": "p", "uid": "u"}
    event = Event(regarding, reason="Tried", note="in vain", action="Try", type="Warning")
    core = Resource("", "v1", "events", "Event", namespaced=True)
    async with serving(new_verbs()) as client:
        api = await DraApi.negotiated(client)
        await api.create_event(event, controller="d.example.com", instance="n")
        (found,) = (await client.list(Selection(core, fields="involvedObject.name=p"))).items
        assert (found["message"], found["reportingComponent"]) == ("in vain", "d.example.com")
        (again,) = (await client.list(Selection(EVENTS, fields="regarding.name=p"))).items
        assert again["note"] == "in vain"
