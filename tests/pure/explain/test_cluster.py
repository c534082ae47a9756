"""What `netclaim explain` reads from a cluster, and how it ends when it may not."""

import asyncio
from typing import Any

import pytest

from netclaim.explain.answer import answer_all
from netclaim.explain.mistakes import find_mistakes
from netclaim.explain.subject import choose
from netclaim.explain.world import read_world
from netclaim.kube import Cluster, ForbiddenError, StoredSecrets
from netclaim.manifests.versions.conversion import from_v1
from netclaim.survey.cluster import read_cluster
from tests.pure.explain.test_pools import POOL
from tests.support.explain_objects import (
    ATTRIBUTES,
    DRIVER,
    claim,
    device_class,
    link,
    links,
    node,
    pod,
)
from tests.support.kube.stub import Reply, StubServer, serve_stub, status

DRA = "/apis/resource.k8s.io/v1beta1"
PATHS = (
    "/api/v1/nodes",
    f"{DRA}/resourceslices",
    f"{DRA}/deviceclasses",
    f"{DRA}/resourceclaims",
    f"{DRA}/namespaces/default/resourceclaimtemplates",
    "/api/v1/namespaces/default/pods",
)

RULES = tuple(
    f"/apis/resource.k8s.io/{one}/devicetaintrules" for one in ("v1", "v1beta2", "v1alpha3")
)

OURS = "/apis/cni.networking.x-k8s.io/v1alpha1"

NO_POOLS = Reply(status(404, "NotFound"), 404)
NO_RULES = Reply(status(404, "NotFound", "no rules here"), 404)


def script(
    server: StubServer,
    *objects: dict[str, Any],
    paths: tuple[str, ...] = PATHS,
    rules: tuple[Reply, ...] = (NO_RULES, NO_RULES, NO_RULES),
    pools: Reply = NO_POOLS,
) -> None:
    """Serve objects as a cluster of an older version lists them: without their kinds."""
    server.on("GET", "/apis/resource.k8s.io", Reply({"versions": [{"version": "v1beta1"}]}))
    plurals = {"Node": 0, "ResourceSlice": 1, "DeviceClass": 2, "ResourceClaim": 3, "Pod": 5}
    lists: list[list[dict[str, Any]]] = [[] for _ in PATHS]
    for one in objects:
        kind = one["kind"]
        old = from_v1(one, kind, "v1beta1") if kind not in ("Node", "Pod") else one
        bare = {key: old[key] for key in old if key not in ("apiVersion", "kind")}
        lists[plurals[kind]].append(bare)
    for path, reply in zip(RULES, rules, strict=False):
        server.on("GET", path, reply)
    server.on("GET", f"{OURS}/addresspools", pools)
    for path, items in zip(paths, lists, strict=True):
        server.on("GET", path, Reply({"metadata": {"resourceVersion": "1"}, "items": items}))


async def test_a_cluster_of_an_older_version() -> None:
    """Everything that decides is listed, claims of all namespaces, and explained as v1."""
    wanted = claim("nic", f'{ATTRIBUTES}.name == "eth1"')
    async with serve_stub() as server:
        script(
            server,
            node("one"),
            links("one", link("eth0"), link("eth1")),
            device_class(),
            wanted,
            pod("p", net="nic"),
        )
        found = await read_cluster(Cluster(server.url, StoredSecrets()), "default")
        assert {seen.method for seen in server.seen} == {"GET"}
    world = read_world(found)
    (answer,) = answer_all(world, choose(world, "", "default", among=lambda _: True))
    assert answer.summary == "pod default/p: fits on one (eth1)"


async def test_rules_of_a_cluster() -> None:
    """A DeviceTaintRule keeps claims from a device, and is named; some may not see the rules."""
    objects = (links("one", link("eth0")), device_class(), claim("nic"))
    taint = {"key": "example.com/repair", "effect": "NoSchedule"}
    spec = {"deviceSelector": {"pool": "one"}, "taint": taint}
    rules = Reply({"items": [{"metadata": {"name": "off"}, "spec": spec}]})
    async with serve_stub() as server:
        script(server, *objects, rules=(NO_RULES, rules))
        found = await read_cluster(Cluster(server.url, StoredSecrets()), "default")
        script(server, *objects, rules=(Reply(status(403, "Forbidden", "not yours"), 403),))
        unseen = await read_cluster(Cluster(server.url, StoredSecrets()), "default")
    (answer,) = answer_all(read_world(found), choose(read_world(found), "", "", among=bool))
    assert answer.nearest is not None
    assert answer.nearest.why == (
        "taint example.com/repair:NoSchedule by DeviceTaintRule off is not tolerated",
    )
    (answer,) = answer_all(read_world(unseen), choose(read_world(unseen), "", "", among=bool))
    assert answer.outcome == "fits"


async def test_all_namespaces_of_a_cluster() -> None:
    """Without a namespace, pods of all of them are listed and explained."""
    here, there = pod("p", net="nic"), pod("q", net="nic")
    here["metadata"]["namespace"], there["metadata"]["namespace"] = "a", "b"
    paths = tuple(path.replace("/namespaces/default", "") for path in PATHS)
    async with serve_stub() as server:
        script(server, links("one", link("eth0")), device_class(), here, there, paths=paths)
        found = await read_cluster(Cluster(server.url, StoredSecrets()), "")
    world = read_world(found)
    answers = answer_all(world, choose(world, "", "", among=lambda _: True))
    assert [answer.subject.title for answer in answers] == ["pod a/p", "pod b/q"]


async def test_mistakes_of_a_cluster() -> None:
    """What has no file goes by its name: a pod is told of its claim's mistakes and its class's."""
    wanted, nics = claim("nic"), device_class()
    wanted["spec"]["devices"]["config"][0]["opaque"]["parameters"]["interface"] = "a/b"
    wrong = {"opaque": {"driver": DRIVER, "parameters": {"interfac": "net1"}}}
    nics["spec"]["config"] = [wrong]
    async with serve_stub() as server:
        script(server, links("one", link("eth0")), nics, wanted, pod("p", net="nic"))
        found = await read_cluster(Cluster(server.url, StoredSecrets()), "default")
    world = read_world(found)
    (lines,) = find_mistakes(found, choose(world, "p", "default", among=lambda _: True)).values()
    assert [line.partition(".interfac")[0] for line in lines] == [
        "DeviceClass nics: error: spec.config[0].opaque.parameters",
        "ResourceClaim default/nic: error: spec.devices.config[0].opaque.parameters",
    ]


async def test_pools_of_a_cluster() -> None:
    """Leases are listed if there are pools; who may not list them sees how full a pool is."""
    async with serve_stub() as server:
        pools = Reply({"items": [{key: POOL[key] for key in ("metadata", "spec", "status")}]})
        script(server, links("one", link("eth0")), pools=pools)
        lease = {"metadata": {"name": "media.10.1.0.7"}, "spec": {}}
        server.on("GET", f"{OURS}/addressleases", Reply({"items": [lease]}))
        found = await read_cluster(Cluster(server.url, StoredSecrets()), "default")
        script(server, links("one", link("eth0")), pools=pools)
        server.on("GET", f"{OURS}/addressleases", Reply(status(403, "Forbidden"), 403))
        unseen = await read_cluster(Cluster(server.url, StoredSecrets()), "default")
    kinds = ["AddressPool", "AddressLease"]
    assert [one.kind for one in found if one.kind in kinds] == kinds
    assert [one.kind for one in unseen if one.kind in kinds] == kinds[:1]


async def test_a_list_that_is_forbidden() -> None:
    """A list that the user may not see is the error of the API server."""
    async with serve_stub() as server:
        server.on("GET", "/apis/resource.k8s.io", Reply({"versions": [{"version": "v1beta1"}]}))
        for path in PATHS[1:]:
            server.on("GET", path, Reply({"items": []}))
        server.on("GET", PATHS[0], Reply(status(403, "Forbidden", "no nodes for you"), 403))
        with pytest.raises(ExceptionGroup) as caught:
            await asyncio.wait_for(
                read_cluster(Cluster(server.url, StoredSecrets()), "default"), timeout=30
            )
    assert caught.group_contains(ForbiddenError, match="no nodes for you")
