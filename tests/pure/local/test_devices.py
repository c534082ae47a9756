"""The devices without interfaces that pods got, and what their containers get."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from netclaim.local.api import Store
from netclaim.local.result.devices import with_devices
from netclaim.local.result.given import GivenDevice
from netclaim.local.result.outcome import PodOutcome
from netclaim.model import JsonObject, PreparedDevice
from netclaim.schema.kinds import CLAIM, POD

DRIVER = "gpu.example.com"
OUTCOME = PodOutcome("default", "trainer", "p1", "n", "", "ready")


@dataclass(frozen=True)
class Node:
    """A node's CDI directory, and what its drivers answered."""

    cdi_dir: Path
    answers: tuple[PreparedDevice, ...]

    def given(self, claim_uid: str) -> tuple[PreparedDevice, ...]:
        """Those of the one claim that is prepared."""
        return self.answers if claim_uid == "c1" else ()


@pytest.fixture
def node(tmp_path: Path) -> Node:
    """A node whose driver gave a claim one GPU."""
    edits = {
        "env": ["GPU=0"],
        "deviceNodes": [{"path": "/dev/gpu0", "hostPath": "/dev/gpu0"}],
        "mounts": [{"containerPath": "/about", "hostPath": "/var"}],
        "hooks": [{"hookName": "createRuntime"}],
    }
    spec = {"kind": f"{DRIVER}/claim", "devices": [{"name": "c1-gpu-0", "containerEdits": edits}]}
    (tmp_path / "gpu.json").write_text(json.dumps(spec))
    return Node(tmp_path, (PreparedDevice(("gpu",), "n", "gpu-0", (f"{DRIVER}/claim=c1-gpu-0",)),))


def stored(pod: JsonObject) -> Store:
    """A store with a pod, and a claim that has a GPU and a link."""
    store = Store()
    results = [
        {"request": "gpu/fast", "driver": DRIVER, "pool": "n", "device": "gpu-0"},
        {"request": "nic", "driver": "cni.example.com", "pool": "n", "device": "eth1"},
    ]
    claim = {
        "metadata": {"name": "pair", "namespace": "default", "uid": "c1"},
        "status": {"allocation": {"devices": {"results": results}}},
    }
    store.put(CLAIM, claim)
    store.put(POD, {"metadata": {"name": "trainer", "namespace": "default", "uid": "p1"}, **pod})
    return store


def container(name: str, **claim: str) -> JsonObject:
    """A container that names a claim, or a request of it."""
    return {"name": name, "resources": {"claims": [{"name": "net", **claim}]}}


def devices(store: Store, node: Node) -> tuple[GivenDevice, ...]:
    """What the pod got of the driver."""
    (found,) = with_devices([OUTCOME], store, {"n": (node, node)}, {DRIVER})
    return found.devices


def test_what_containers_get(node: Node) -> None:
    """The edits of the node's CDI file, for the containers that name the request or the claim."""
    containers = [container("a", request="gpu"), container("b", request="nic"), container("c")]
    spec = {
        "resourceClaims": [{"name": "net", "resourceClaimName": "pair"}],
        "containers": [*containers, {"name": "d"}],
    }
    (given,) = devices(stored({"spec": spec}), node)
    assert given == GivenDevice(
        "gpu-0", DRIVER, "gpu", "pair", ("a", "c"), ("GPU=0",), ("/dev/gpu0",), ("/about",)
    )
    assert given.edits == ("env GPU=0", "device /dev/gpu0", "mount /about")


def test_an_extended_resource(node: Node) -> None:
    """The scheduler's claim has no name in the pod; its status says which container has what."""
    mapping = {"containerName": "a", "requestName": "gpu", "resourceName": "example.com/gpu"}
    status = {"resourceClaimName": "pair", "requestMappings": [mapping]}
    pod = {
        "spec": {"containers": [{"name": "a"}]},
        "status": {"extendedResourceClaimStatus": status},
    }
    (given,) = devices(stored(pod), node)
    assert given.containers == ("a",)


def test_a_claim_that_is_not_there_yet(node: Node) -> None:
    """A pod whose claim is still to be made has no devices."""
    spec = {"resourceClaims": [{"name": "net", "resourceClaimTemplateName": "t"}], "containers": []}
    assert devices(stored({"spec": spec}), node) == ()
