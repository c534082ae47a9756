"""Which version of resource.k8s.io is spoken with a cluster."""

from typing import Any

import pytest

from netclaim.kube import NotServedError, negotiate
from tests.support.kube.stub import Reply, client_of, serve_stub, status


async def negotiated(*versions: str) -> str:
    """Negotiate with a server of these versions."""
    group: Any = {"kind": "APIGroup", "versions": [{"version": version} for version in versions]}
    async with serve_stub() as stub, client_of(stub) as client:
        stub.on("GET", "/apis/resource.k8s.io", Reply(group))
        return await negotiate(client)


@pytest.mark.parametrize(
    ("served", "spoken"),
    [
        (["v1", "v1beta2", "v1beta1"], "v1"),
        (["v1alpha3", "v1beta1", "v1beta2"], "v1beta2"),
        (["v1beta1"], "v1beta1"),
    ],
)
async def test_the_best_version(served: list[str], spoken: str) -> None:
    """The newest stable version wins, whatever order the server lists them in."""
    assert await negotiated(*served) == spoken


async def test_only_versions_that_do_not_do() -> None:
    """A cluster with only v1alpha3 is told what to switch on, and what it has."""
    with pytest.raises(NotServedError, match=r"serves only v1alpha3: .*--runtime-config"):
        await negotiated("v1alpha3")


async def test_no_such_group() -> None:
    """A cluster without the API group is told which gate and which flag it needs."""
    async with serve_stub() as stub, client_of(stub) as client:
        stub.on("GET", "/apis/resource.k8s.io", Reply(status(404), status=404))
        with pytest.raises(NotServedError, match=r"DynamicResourceAllocation=true.*v1beta1=true"):
            await negotiate(client)
