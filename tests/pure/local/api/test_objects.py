"""Objects on the embedded API server, through netclaim's own client."""

import pytest

from netclaim.kube import (
    PODS,
    AlreadyExistsError,
    ConflictError,
    NotFoundError,
    Resource,
    Selection,
    dra_resource,
)
from netclaim.model.claims.claim import JsonObject
from netclaim.schema.kinds import NAMESPACE, POD
from netclaim.schema.refusal import RefusedError
from tests.support.local.parts import new_verbs, serving

CLAIMS = dra_resource("ResourceClaim", "v1")
SLICES = dra_resource("ResourceSlice", "v1")


def claim(name: str = "x", **meta: object) -> JsonObject:
    """A claim for one device."""
    request = {"name": "a", "exactly": {"deviceClassName": "c"}}
    return {
        "metadata": {"name": name, "namespace": "default", **meta},
        "spec": {"devices": {"requests": [request]}},
    }


def pod(name: str = "p") -> JsonObject:
    """A pod."""
    spec = {"containers": [{"name": "c", "image": "i"}]}
    return {"metadata": {"name": name, "namespace": "default"}, "spec": spec}


async def test_created_object_is_complete() -> None:
    """A created object has what the server adds: identity, version, time, defaults."""
    async with serving(new_verbs()) as client:
        made = await client.create(CLAIMS, claim())
        assert made["apiVersion"] == "resource.k8s.io/v1"
        assert made["kind"] == "ResourceClaim"
        assert {"uid", "resourceVersion", "creationTimestamp"} <= made["metadata"].keys()
        (request,) = made["spec"]["devices"]["requests"]
        assert request["exactly"]["allocationMode"] == "ExactCount"
        assert request["exactly"]["count"] == 1
        assert await client.get(CLAIMS, "x", namespace="default") == made
        with pytest.raises(AlreadyExistsError):
            await client.create(CLAIMS, claim())


async def test_generated_names_differ() -> None:
    """A name can be left to the server, which begins it as asked."""
    async with serving(new_verbs()) as client:
        body = claim("", generateName="gen-")
        names = {(await client.create(CLAIMS, body))["metadata"]["name"] for _ in range(5)}
        assert len(names) == 5
        assert all(name.startswith("gen-") for name in names)


async def test_unchanged_write_keeps_the_version() -> None:
    """A write that changes nothing is no change; one that does is a new version."""
    async with serving(new_verbs()) as client:
        made = await client.create(CLAIMS, claim())
        again = await client.update(CLAIMS, made)
        assert again["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
        label = {"metadata": {"labels": {"a": "b"}}}
        await client.patch(CLAIMS, "x", label, namespace="default")
        labelled = await client.get(CLAIMS, "x", namespace="default")
        assert labelled["metadata"]["resourceVersion"] != made["metadata"]["resourceVersion"]
        with pytest.raises(ConflictError):
            await client.update(CLAIMS, made)


async def test_generation_counts_changes_of_the_spec() -> None:
    """Labels leave a slice's generation alone; its devices do not."""
    body: JsonObject = {
        "metadata": {"name": "s"},
        "spec": {
            "driver": "d.example.com",
            "nodeName": "n",
            "pool": {"name": "n", "generation": 1, "resourceSliceCount": 1},
        },
    }
    async with serving(new_verbs()) as client:
        made = await client.create(SLICES, body)
        assert made["metadata"]["generation"] == 1
        await client.patch(SLICES, "s", {"metadata": {"labels": {"a": "b"}}})
        labelled = await client.get(SLICES, "s")
        assert labelled["metadata"]["generation"] == 1
        await client.patch(SLICES, "s", {"spec": {"devices": [{"name": "a"}]}})
        changed = await client.get(SLICES, "s")
        assert changed["metadata"]["generation"] == 2


async def test_status_has_a_door_of_its_own() -> None:
    """A status cannot be set with the object, nor the object with its status."""
    allocation: JsonObject = {"devices": {"results": []}}
    async with serving(new_verbs()) as client:
        made = await client.create(CLAIMS, {**claim(), "status": {"allocation": allocation}})
        assert made["status"] == {}
        body = {**made, "metadata": {**made["metadata"], "labels": {"a": "b"}}}
        body["status"] = {"allocation": allocation}
        written = await client.update(CLAIMS, body, subresource="status")
        assert written["status"] == {"allocation": allocation}
        assert "labels" not in written["metadata"]


async def test_pages_are_one_state() -> None:
    """A list in pages is whole; if the cluster changes meanwhile it begins anew."""
    verbs = new_verbs()
    async with serving(verbs) as client:
        for number in range(5):
            await client.create(CLAIMS, claim(f"x{number}"))
        listing = await client.list(Selection(CLAIMS), page=2)
        assert [found["metadata"]["name"] for found in listing.items] == [
            f"x{number}" for number in range(5)
        ]
        assert listing.resource_version == str(verbs.store.revision)


async def test_namespaces_are_apart() -> None:
    """A list of one namespace holds nothing of another; without one it holds all."""
    async with serving(new_verbs("other")) as client:
        await client.create(CLAIMS, claim())
        await client.create(CLAIMS, claim("y", namespace="other"))
        own = await client.list(Selection(CLAIMS, "other"))
        assert [found["metadata"]["name"] for found in own.items] == ["y"]
        assert len((await client.list(Selection(CLAIMS))).items) == 2


async def test_pod_on_a_node_has_time_to_end() -> None:
    """A pod without a node is gone at once; one with a node waits for its kubelet."""
    verbs = new_verbs()
    async with serving(verbs) as client:
        await client.create(PODS, pod("free"))
        await client.delete(PODS, "free", namespace="default")
        with pytest.raises(NotFoundError):
            await client.get(PODS, "free", namespace="default")
        bound = verbs.bind(await client.create(PODS, pod("bound")), "n")
        await client.delete(PODS, "bound", namespace="default")
        marked = await client.get(PODS, "bound", namespace="default")
        assert marked["metadata"]["deletionGracePeriodSeconds"] == 30
        with pytest.raises(RefusedError):
            verbs.delete(POD, "bound", "default", uid="another", asked_grace_s=0)
        verbs.delete(POD, "bound", "default", uid=bound["metadata"]["uid"], asked_grace_s=0)
        with pytest.raises(NotFoundError):
            await client.get(PODS, "bound", namespace="default")


async def test_discovery_leads_to_every_kind() -> None:
    """What discovery lists can be listed."""
    async with serving(new_verbs()) as client:
        groups = await client.get_path("/apis")
        versions = [v["groupVersion"] for group in groups["groups"] for v in group["versions"]]
        assert "resource.k8s.io/v1beta1" in versions
        for path in ("/api/v1", *(f"/apis/{version}" for version in versions)):
            found = await client.get_path(path)
            group, _, version = found["groupVersion"].rpartition("/")
            plain = [kind for kind in found["resources"] if "/" not in kind["name"]]
            for kind in plain:
                resource = Resource(
                    group, version, kind["name"], kind["kind"], namespaced=kind["namespaced"]
                )
                assert (await client.list(Selection(resource))).resource_version


async def test_dry_run_of_create() -> None:
    """A dry run gives back the object as it would be stored, and stores nothing."""
    async with serving(new_verbs()) as client:
        shown = await client.create(CLAIMS, claim("x"), dry_run=True)
        assert shown["spec"]["devices"]["requests"][0]["exactly"]["count"] == 1
        assert (await client.list(Selection(CLAIMS))).items == ()
        with pytest.raises(NotFoundError):
            await client.get(CLAIMS, "x", namespace="default")


def test_a_namespace_has_its_name_as_a_label() -> None:
    """Every namespace can be selected by name, whatever labels its author gave it."""
    verbs = new_verbs()
    body = {"metadata": {"name": "team-a", "labels": {"kubernetes.io/metadata.name": "other"}}}
    made = verbs.create(NAMESPACE, body, manager="kubectl")
    assert made["metadata"]["labels"] == {"kubernetes.io/metadata.name": "team-a"}
