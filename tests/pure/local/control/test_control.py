"""The embedded control plane: replicas, claims, scheduling, releasing."""

from typing import Any

import pytest

from netclaim.local.api import Verbs
from netclaim.local.control import PARTS
from netclaim.model.claims.claim import JsonObject
from netclaim.schema.kinds import (
    CLAIM,
    CLASS,
    DEPLOYMENT,
    EVENT,
    NODE,
    POD,
    REPLICA_SET,
    SLICE,
    TEMPLATE,
)
from tests.support.local.parts import new_verbs

DRIVER = "d.example.com"


def settle(verbs: Verbs) -> None:
    """Let every part work until none has anything to do."""
    for _ in range(50):
        before = verbs.store.revision
        for part in PARTS:
            part(verbs)
        if verbs.store.revision == before:
            return
    raise AssertionError("the control plane does not come to rest")


def make(verbs: Verbs, kind: Any, name: str, spec: Any, **meta: Any) -> JsonObject:
    """Make an object."""
    head = {"apiVersion": kind.addresses[0].api_version, "kind": kind.name}
    return verbs.create(
        kind, {**head, "metadata": {"name": name, **meta}, "spec": spec}, manager="test"
    )


def claim_spec(link: str = "") -> JsonObject:
    """A claim for one device, of a name if given."""
    selector = f'device.attributes["{DRIVER}"].name == "{link}"'
    selectors = {"selectors": [{"cel": {"expression": selector}}]} if link else {}
    return {
        "devices": {"requests": [{"name": "a", "exactly": {"deviceClassName": "c", **selectors}}]}
    }


def pod_spec(**claim: str) -> JsonObject:
    """A pod with at most one claim."""
    claims = {"resourceClaims": [{"name": "net", **claim}]} if claim else {}
    return {"containers": [{"name": "c", "image": "i"}], **claims}


def deployment_spec(replicas: int, **claim: str) -> JsonObject:
    """A deployment."""
    return {
        "replicas": replicas,
        "selector": {"matchLabels": {"app": "x"}},
        "template": {"metadata": {"labels": {"app": "x"}}, "spec": pod_spec(**claim)},
    }


def pods(verbs: Verbs) -> list[JsonObject]:
    """All pods."""
    return list(verbs.list(POD))


def condition(pod: JsonObject) -> str:
    """Why a pod has no node."""
    return str(pod["status"]["conditions"][0]["message"])


@pytest.fixture
def verbs() -> Verbs:
    """Two nodes: one with eth0, two with eth0 and eth1; and a class for both."""
    verbs = new_verbs()
    make(
        verbs, CLASS, "c", {"selectors": [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}]}
    )
    for node, links in (("one", ["eth0"]), ("two", ["eth0", "eth1"])):
        make(verbs, NODE, node, {}, labels={"kubernetes.io/hostname": node})
        devices = [{"name": link, "attributes": {"name": {"string": link}}} for link in links]
        pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": devices}
        make(verbs, SLICE, f"s-{node}", spec)
    return verbs


def test_deployment_has_as_many_pods_as_it_wants(verbs: Verbs) -> None:
    """Pods are made and deleted until there are as many as wanted, named after their set."""
    made = make(verbs, DEPLOYMENT, "web", deployment_spec(3))
    settle(verbs)
    (replica_set,) = verbs.list(REPLICA_SET)
    names = [pod["metadata"]["name"] for pod in pods(verbs)]
    assert len(names) == 3
    assert all(name.startswith(f"{replica_set['metadata']['name']}-") for name in names)
    now = verbs.get(DEPLOYMENT, "web", "default")
    verbs.replace(DEPLOYMENT, {**now, "spec": {**now["spec"], "replicas": 1}}, now, manager="t")
    settle(verbs)
    ending = [pod for pod in pods(verbs) if "deletionTimestamp" in pod["metadata"]]
    assert len(ending) == 2  # they have nodes, whose kubelets let them go
    assert made["metadata"]["uid"] in str(replica_set["metadata"]["ownerReferences"])


def test_new_template_takes_the_place_of_the_old(verbs: Verbs) -> None:
    """A changed template gets a set of its own, and the old one's pods go."""
    make(verbs, DEPLOYMENT, "web", deployment_spec(1))
    settle(verbs)
    (old,) = verbs.list(REPLICA_SET)
    now = verbs.get(DEPLOYMENT, "web", "default")
    spec = deployment_spec(1)
    spec["template"]["spec"]["containers"][0]["image"] = "j"
    verbs.replace(DEPLOYMENT, {**now, "spec": spec}, now, manager="t")
    settle(verbs)
    wanted = {
        found["metadata"]["name"]: found["spec"]["replicas"] for found in verbs.list(REPLICA_SET)
    }
    assert len(wanted) == 2
    assert wanted[old["metadata"]["name"]] == 0


def test_template_becomes_a_claim_of_the_pod(verbs: Verbs) -> None:
    """A pod's claim is made from its template, owned by the pod and named in its status."""
    make(verbs, TEMPLATE, "t", {"metadata": {"labels": {"l": "1"}}, "spec": claim_spec()})
    made = make(verbs, POD, "p", pod_spec(resourceClaimTemplateName="t"))
    settle(verbs)
    (claim,) = verbs.list(CLAIM)
    meta = claim["metadata"]
    assert meta["name"].startswith("p-net-")
    assert meta["annotations"] == {"resource.kubernetes.io/pod-claim-name": "net"}
    assert meta["labels"] == {"l": "1"}
    assert meta["ownerReferences"][0]["uid"] == made["metadata"]["uid"]
    (entry,) = pods(verbs)[0]["status"]["resourceClaimStatuses"]
    assert entry == {"name": "net", "resourceClaimName": meta["name"]}


def test_pod_goes_where_its_device_is(verbs: Verbs) -> None:
    """The claim is allocated, reserved and protected, and the pod gets the device's node."""
    make(verbs, CLAIM, "x", claim_spec("eth1"))
    made = make(verbs, POD, "p", pod_spec(resourceClaimName="x"))
    settle(verbs)
    assert pods(verbs)[0]["spec"]["nodeName"] == "two"
    claim = verbs.get(CLAIM, "x", "default")
    (result,) = claim["status"]["allocation"]["devices"]["results"]
    assert (result["pool"], result["device"]) == ("two", "eth1")
    assert claim["status"]["reservedFor"][0]["uid"] == made["metadata"]["uid"]
    assert claim["metadata"]["finalizers"] == ["resource.kubernetes.io/delete-protection"]


def test_second_pod_shares_a_claim(verbs: Verbs) -> None:
    """A claim that is allocated draws the next pod to its node and is reserved for both."""
    make(verbs, CLAIM, "x", claim_spec("eth1"))
    for name in ("p", "q"):
        make(verbs, POD, name, pod_spec(resourceClaimName="x"))
    settle(verbs)
    assert {pod["spec"]["nodeName"] for pod in pods(verbs)} == {"two"}
    reserved = verbs.get(CLAIM, "x", "default")["status"]["reservedFor"]
    assert [user["name"] for user in reserved] == ["p", "q"]


def test_pods_without_claims_are_spread(verbs: Verbs) -> None:
    """Pods that fit everywhere go where the fewest are; a nodeSelector narrows that."""
    make(verbs, DEPLOYMENT, "web", deployment_spec(4))
    settle(verbs)
    assert sorted(pod["spec"]["nodeName"] for pod in pods(verbs)) == ["one", "one", "two", "two"]
    chosen = {**pod_spec(), "nodeSelector": {"kubernetes.io/hostname": "one"}}
    make(verbs, POD, "p", chosen)
    settle(verbs)
    assert verbs.get(POD, "p", "default")["spec"]["nodeName"] == "one"


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        (pod_spec(resourceClaimName="nope"), 'resourceclaim "nope" not found'),
        (
            pod_spec(resourceClaimName="x"),
            '"eth9"` is false: one (eth0: "eth0"), two (eth0: "eth0", eth1: "eth1")',
        ),
        (pod_spec(resourceClaimName="y"), "device class gone does not exist"),
        (
            {**pod_spec(), "nodeSelector": {"a": "b"}},
            "nodeSelector does not match: label a is missing, wanted b (one, two)",
        ),
    ],
)
def test_pod_that_fits_nowhere_is_told_why(verbs: Verbs, spec: JsonObject, why: str) -> None:
    """A pod without a node has the reason in its status, and one event about it."""
    make(verbs, CLAIM, "x", claim_spec("eth9"))
    lost = claim_spec()
    lost["devices"]["requests"][0]["exactly"]["deviceClassName"] = "gone"
    make(verbs, CLAIM, "y", lost)
    make(verbs, POD, "p", spec)
    settle(verbs)
    settle(verbs)
    assert why in condition(pods(verbs)[0])
    told = [e for e in verbs.list(EVENT) if e["reason"] == "FailedScheduling"]
    assert len(told) == 1


def test_taken_device_is_taken(verbs: Verbs) -> None:
    """The second claim for one device waits until the first lets go of it."""
    for name in ("x", "y"):
        make(verbs, CLAIM, name, claim_spec("eth1"))
        make(verbs, POD, f"p-{name}", pod_spec(resourceClaimName=name))
        settle(verbs)
    assert "taken by claim default/x" in condition(verbs.get(POD, "p-y", "default"))
    verbs.delete(POD, "p-x", "default", asked_grace_s=0)
    settle(verbs)
    assert verbs.get(POD, "p-y", "default")["spec"]["nodeName"] == "two"


def test_device_goes_to_one_of_those_who_ask_together(verbs: Verbs) -> None:
    """Of two pods that want the same device in the same moment one gets it."""
    for name in ("x", "y"):
        make(verbs, CLAIM, name, claim_spec("eth1"))
        make(verbs, POD, f"p-{name}", pod_spec(resourceClaimName=name))
    settle(verbs)
    assert [pod["spec"].get("nodeName", "") for pod in pods(verbs)] == ["two", ""]
    assert "taken by claim default/x" in condition(pods(verbs)[1])


def test_gone_pod_gives_everything_back(verbs: Verbs) -> None:
    """When its last pod is gone a claim loses allocation, reports and protection."""
    make(verbs, CLAIM, "x", claim_spec("eth1"))
    make(verbs, POD, "p", pod_spec(resourceClaimName="x"))
    settle(verbs)
    verbs.delete(CLAIM, "x", "default")
    assert "deletionTimestamp" in verbs.get(CLAIM, "x", "default")["metadata"]
    verbs.delete(POD, "p", "default", asked_grace_s=0)
    settle(verbs)
    assert list(verbs.list(CLAIM)) == []  # it was only waiting for its protection to go


def test_claim_of_a_template_goes_with_its_pod(verbs: Verbs) -> None:
    """What was made for a pod is deleted with it; so are pods with their deployment."""
    make(verbs, TEMPLATE, "t", {"spec": claim_spec("eth0")})
    make(verbs, DEPLOYMENT, "web", deployment_spec(2, resourceClaimTemplateName="t"))
    settle(verbs)
    assert len(list(verbs.list(CLAIM))) == 2
    verbs.delete(DEPLOYMENT, "web", "default")
    settle(verbs)
    for pod in pods(verbs):
        assert "deletionTimestamp" in pod["metadata"]
        verbs.delete(POD, pod["metadata"]["name"], "default", asked_grace_s=0)
    settle(verbs)
    assert not [*verbs.list(REPLICA_SET), *verbs.list(POD), *verbs.list(CLAIM)]


def test_extended_resource_is_a_claim_of_its_class(verbs: Verbs) -> None:
    """What a class offers by name is allocated by a claim that the pod's status names."""
    found = verbs.get(CLASS, "c", "")
    offer = {**found, "spec": {**found["spec"], "extendedResourceName": "example.com/nic"}}
    verbs.replace(CLASS, offer, found, manager="t")
    spec = pod_spec()
    spec["containers"][0]["resources"] = {"limits": {"example.com/nic": "2", "cpu": "1"}}
    make(verbs, POD, "p", spec)
    settle(verbs)
    (claim,) = verbs.list(CLAIM)
    (pod,) = pods(verbs)
    assert pod["spec"]["nodeName"] == "two"  # the only one with two devices
    assert len(claim["status"]["allocation"]["devices"]["results"]) == 2
    made = pod["status"]["extendedResourceClaimStatus"]
    assert made["resourceClaimName"] == claim["metadata"]["name"]
    (mapping,) = made["requestMappings"]
    assert mapping == {
        "containerName": "c",
        "resourceName": "example.com/nic",
        "requestName": "container-0-request-0",
    }


def test_name_that_is_nearly_a_claims(verbs: Verbs) -> None:
    """A claim or template that is not there is guessed by its name."""
    make(verbs, CLAIM, "storage", claim_spec())
    make(verbs, POD, "p", pod_spec(resourceClaimName="storgae"))
    settle(verbs)
    why = 'resourceclaim "storgae" not found; did you mean "storage"?'
    assert condition(pods(verbs)[0]) == why


def test_devices_of_another_class_are_not_named(verbs: Verbs) -> None:
    """Where there are devices of the class, those of others say nothing about the request."""
    devices = [{"name": "gpu0"}]
    pool = {"name": "gpus", "generation": 1, "resourceSliceCount": 1}
    other = {"driver": "gpu.example.com", "nodeName": "one", "pool": pool, "devices": devices}
    make(verbs, SLICE, "s-gpu", other)
    make(verbs, CLAIM, "x", claim_spec("eth9"))
    make(verbs, POD, "p", pod_spec(resourceClaimName="x"))
    settle(verbs)
    assert "gpu0" not in condition(pods(verbs)[0])
    assert 'one (eth0: "eth0")' in condition(pods(verbs)[0])
