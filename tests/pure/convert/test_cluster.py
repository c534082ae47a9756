"""A cluster as `netclaim convert --cluster` reads it."""

from typing import Any

import pytest

from netclaim.convert.cluster import DEFINITIONS, RESERVED, WORKLOADS, read_cluster
from netclaim.errors import RequestError
from netclaim.kube import Cluster, Resource, StoredSecrets, Trust
from tests.support.kube.stub import Reply, StubServer, serve_stub, status


def _serve(stub: StubServer, resource: Resource, *items: dict[str, Any]) -> None:
    stub.on("GET", resource.path(), Reply({"metadata": {}, "items": items}))


def _cluster(stub: StubServer) -> Cluster:
    return Cluster(server=stub.url, credentials=StoredSecrets(), trust=Trust())


async def test_what_is_read() -> None:
    """Networks and workloads of all namespaces are read, without what a controller made."""
    made = {"name": "app-7", "namespace": "a", "ownerReferences": [{"name": "app"}]}
    async with serve_stub() as stub:
        _serve(stub, DEFINITIONS, {"metadata": {"name": "media", "namespace": "infra"}})
        _serve(stub, RESERVED, {"metadata": {"name": "10.1.1.0-24", "namespace": "kube-system"}})
        for resource in WORKLOADS:
            own = {"metadata": {"name": resource.plural, "namespace": "a"}}
            _serve(stub, resource, own, {"metadata": made})
        found, unread = await read_cluster(_cluster(stub))
        assert {seen.method for seen in stub.seen} == {"GET"}
    assert not unread
    assert [(one.kind, one.namespace, one.name) for one in found] == [
        ("NetworkAttachmentDefinition", "infra", "media"),
        ("IPPool", "kube-system", "10.1.1.0-24"),
        *((one.kind, "a", one.plural) for one in WORKLOADS),
    ]
    assert all(one.is_known for one in found[2:])


async def test_who_may_not_read_ip_pools() -> None:
    """Everything else is read then, and why something is missing is known."""
    refusal = Reply(status(403, "Forbidden", "ippools is forbidden: ann cannot list it"), 403)
    async with serve_stub() as stub:
        _serve(stub, DEFINITIONS, {"metadata": {"name": "media", "namespace": "infra"}})
        stub.on("GET", RESERVED.path(), refusal)
        for resource in WORKLOADS:
            _serve(stub, resource)
        found, unread = await read_cluster(_cluster(stub))
    assert [one.kind for one in found] == ["NetworkAttachmentDefinition"]
    assert unread == "ippools is forbidden: ann cannot list it"


async def test_a_cluster_without_multus() -> None:
    """A cluster that does not have the networks' kind is refused in one line."""
    missing = Reply(status(404, "NotFound", "the server could not find the resource"), 404)
    async with serve_stub() as stub:
        stub.on("GET", DEFINITIONS.path(), missing)
        stub.on("GET", RESERVED.path(), missing)
        for resource in WORKLOADS:
            _serve(stub, resource)
        with pytest.raises(ExceptionGroup) as refusal:
            await read_cluster(_cluster(stub))
    (error,) = refusal.value.exceptions
    assert isinstance(error, RequestError)
    assert str(error) == ("the cluster has no NetworkAttachmentDefinitions; is Multus installed?")
