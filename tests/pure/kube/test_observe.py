"""A request is counted by its verb and resource, however it ends."""

import pytest

from netclaim.kube import (
    NODES,
    Answered,
    Cluster,
    ForbiddenError,
    Selection,
    StoredSecrets,
    Trust,
    UnreachableError,
    connect,
)
from netclaim.kube.observe import describe
from tests.support.kube.stub import Reply, Stream, serve_stub, status


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "/api/v1/nodes/a", ("get", "nodes")),
        ("GET", "/api/v1/namespaces/a", ("get", "namespaces")),
        ("GET", "/api/v1/namespaces/a/pods/b", ("get", "pods")),
        ("GET", "/apis/resource.k8s.io/v1/resourceslices", ("list", "resourceslices")),
        ("POST", "/apis/events.k8s.io/v1/namespaces/a/events", ("create", "events")),
        (
            "PATCH",
            "/apis/resource.k8s.io/v1/namespaces/a/resourceclaims/b/status",
            ("patch", "resourceclaims/status"),
        ),
        ("PUT", "/apis/resource.k8s.io/v1/resourceslices/a", ("update", "resourceslices")),
        ("DELETE", "/apis/resource.k8s.io/v1/resourceslices/a", ("delete", "resourceslices")),
        ("GET", "/apis/resource.k8s.io", ("get", "other")),
        ("GET", "/version", ("get", "other")),
        ("GET", "/api/v1/namespaces/a/secrets/b", ("get", "other")),
        ("BREW", "/api/v1/nodes/a", ("get", "nodes")),
    ],
)
def test_what_a_request_is(method: str, path: str, expected: tuple[str, str]) -> None:
    """Names of objects are left out, and what is not known is `other`."""
    assert describe(method, path) == expected


def test_a_watch_is_one() -> None:
    """A list that goes on is a watch."""
    path = "/apis/resource.k8s.io/v1/resourceslices"
    assert describe("GET", path, watch=True) == ("watch", "resourceslices")


async def test_every_request_is_told() -> None:
    """A success, a refusal, a watch and silence are each told once, with how they ended."""
    told: list[Answered] = []
    async with serve_stub() as stub:
        stub.on("GET", "/api/v1/nodes/a", Reply({}))
        stub.on("GET", "/api/v1/nodes/b", Reply(status(403, "Forbidden"), status=403))
        stub.on("WATCH", "/api/v1/nodes", Stream())
        cluster = Cluster(server=stub.url, credentials=StoredSecrets(), trust=Trust())
        async with connect(cluster, told.append) as client:
            await client.get(NODES, "a")
            with pytest.raises(ForbiddenError):
                await client.get(NODES, "b")
            watch = client.watch(Selection(NODES), resource_version="1", timeout_s=60, idle_s=60)
            async with watch:
                assert len(told) == 3, "a watch is told when it begins"
    async with connect(cluster, told.append) as client:
        with pytest.raises(UnreachableError):
            await client.get(NODES, "a")
    assert [(each.verb, each.resource, each.code) for each in told] == [
        ("get", "nodes", "200"),
        ("get", "nodes", "403"),
        ("watch", "nodes", "200"),
        ("get", "nodes", "none"),
    ]
    assert all(each.took_s > 0 for each in told)
