"""The API client against the real API server, in every version that it serves."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from lab.cluster import Lab
from lab.kubectl import Kubectl
from netclaim.kube import DraApi, NotFoundError, connect, load_cluster
from netclaim.manifests.versions.migration import migrate
from tests.cluster.site.drivers import EXAMPLES
from tests.support.kube.slices import slices_of

DRIVER = "client.test.netclaim.dev"
MANIFESTS = sorted((EXAMPLES / "manifests").glob("*.yaml"))
VERSIONS = ("v1", "v1beta2", "v1beta1")


def a_slice(name: str, devices: int) -> dict[str, Any]:
    """A slice of our own form with many devices."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": name},
        "spec": {
            "driver": DRIVER,
            "nodeName": "kind-worker",
            "pool": {"name": "kind-worker", "generation": 1, "resourceSliceCount": 1},
            "devices": [
                {"name": f"d{n}", "attributes": {"index": {"int": n}, "name": {"string": f"d{n}"}}}
                for n in range(devices)
            ],
        },
    }


@pytest.mark.parametrize("version", VERSIONS)
async def test_slice_lives_in_every_version(lab: Lab, version: Any) -> None:
    """A slice written in any version is read back the same, updated, and deleted."""
    async with connect(load_cluster(str(lab.state.kubeconfig))) as client:
        api = DraApi(client, version)
        made = await api.create_slice(a_slice(f"client-{version}", 128))
        try:
            assert made["spec"]["devices"] == a_slice("", 128)["spec"]["devices"]
            made["spec"]["devices"] = made["spec"]["devices"][:3]
            changed = await api.update_slice(made)
            (found,) = await slices_of(api, DRIVER, "kind-worker")
            assert found["spec"] == changed["spec"]
            assert len(found["spec"]["devices"]) == 3
        finally:
            meta = (await slices_of(api, DRIVER, "kind-worker"))[0]["metadata"]
            await api.delete_slice(
                meta["name"], uid=meta["uid"], resource_version=meta["resourceVersion"]
            )
        assert await slices_of(api, DRIVER, "kind-worker") == ()
        with pytest.raises(NotFoundError):
            await api.delete_slice(
                meta["name"], uid=meta["uid"], resource_version=meta["resourceVersion"]
            )


async def test_newest_version_is_chosen(lab: Lab) -> None:
    """Of what the server offers, v1 is taken."""
    async with connect(load_cluster(str(lab.state.kubeconfig))) as client:
        assert (await DraApi.negotiated(client)).version == "v1"


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "file", sorted((EXAMPLES / "manifests").glob("*.yaml")), ids=lambda p: p.stem
)
def test_server_accepts_what_upgrade_writes(admin: Kubectl, file: Path, version: Any) -> None:
    """Every manifest of the seeds, converted to every served version, passes strict validation."""
    label = "resource.kubernetes.io/admin-access"
    admin("label", "namespace", "default", f"{label}=true", "--overwrite")
    try:
        for document in yaml.safe_load_all(file.read_text()):
            converted = migrate(document, version).object
            assert converted is not None
            if document["apiVersion"].startswith("resource.k8s.io/"):
                assert converted["apiVersion"] == f"resource.k8s.io/{version}"
            admin("create", "--dry-run=server", "--validate=strict", "--filename=-",
                  stdin=json.dumps(converted))  # fmt: skip
    finally:
        admin("label", "namespace", "default", f"{label}-")
