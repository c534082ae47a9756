"""Pools of addresses on a cluster: the chart's rights, and every address used once."""

import json
from typing import Any

import pytest

from lab.cluster import Lab
from lab.helm import CHART_NAMESPACE
from lab.kubectl import Kubectl, KubectlError
from netclaim.model.api.own_kinds.address_pool import CLAIM_LABEL, NAMESPACE_LABEL, POOL_LABEL
from netclaim.model.api.own_kinds.kept_address import KEPT_LABEL
from netclaim.network.devices.pool_device import TAINT
from tests.cluster.site.drivers import addresses, eventually
from tests.cluster.site.node_token import TokenApi
from tests.support.address_pool_cases import LEASES, OWNER, RIGHT, WRONG, lease_of

API = "cni.networking.x-k8s.io/v1alpha1"
LEASES_PATH = f"/apis/{API}/addressleases"
NETWORK = "media"
LINK_ALONE = "link-alone"
KEPT_NETWORK = "kept-media"
HOARDED = "hoarded-media"
REPLICAS = ("recorder-0", "recorder-1")
SIZE = 13  # addresses: a /28 without its gateway, and the two that mean the network itself


@pytest.fixture(scope="module")
def lab(chart_lab: Lab) -> Lab:
    """The lab with the chart, in place of the one that all other tests share."""
    return chart_lab


@pytest.fixture
def user(lab: Lab) -> Kubectl:
    """An admin's kubectl, in the namespace that the pods are in."""
    return lab.kubectl("default")


def of_kind(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    """An object of our group."""
    return {"apiVersion": API, "kind": kind, "metadata": {"name": name}, "spec": spec}


def deployment(replicas: int, network: str = NETWORK) -> dict[str, Any]:
    """Pods on the network, of which each ends at once when it is deleted."""
    container = {
        "name": "c",
        "image": "docker.io/library/alpine:latest",
        "imagePullPolicy": "IfNotPresent",
        "command": ["sleep", "infinity"],
    }
    claims = [{"name": "net", "resourceClaimTemplateName": network}]
    spec = {
        "containers": [container],
        "resourceClaims": claims,
        "terminationGracePeriodSeconds": 0,
    }
    labels = {"app": "camera"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "camera"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def leased(user: Kubectl) -> dict[str, str]:
    """The claim of each leased address."""
    found = [each["spec"] for each in user.items("addressleases")]
    return {one["address"]: one["claim"]["name"] for one in found if one["pool"] == "small"}


def ready_pods(user: Kubectl) -> list[str]:
    """The names of the pods that are ready and not about to end."""
    return [
        each["metadata"]["name"]
        for each in user.items("pods")
        if "deletionTimestamp" not in each["metadata"]
        and any(
            one["type"] == "Ready" and one["status"] == "True"
            for one in each["status"].get("conditions", ())
        )
    ]


def addresses_of(user: Kubectl, pods: list[str]) -> list[str]:
    """What the pods have, as their own network namespaces say."""
    try:
        found = [address for pod in pods for address in addresses(user, pod, NETWORK)]
    except KubectlError:  # a node is being rebooted, and its containers are gone
        return []
    return sorted(address.partition("/")[0] for address in found)


def unschedulable(user: Kubectl) -> dict[str, str]:
    """The pods that no node is found for, and what the scheduler says of each."""
    return {
        each["metadata"]["name"]: one["message"]
        for each in user.items("pods")
        for one in each["status"].get("conditions", ())
        if one["type"] == "PodScheduled" and one.get("reason") == "Unschedulable"
    }


def linked_alone() -> dict[str, Any]:
    """A user's template for the network, which knows nothing of its pool."""
    request = {"name": "nic", "exactly": {"deviceClassName": NETWORK}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": LINK_ALONE},
        "spec": {"spec": {"devices": {"requests": [request]}}},
    }


def linked_alone_pod() -> dict[str, Any]:
    """A pod with a claim of that template."""
    spec = deployment(1)["spec"]["template"]["spec"]
    claims = [{"name": "net", "resourceClaimTemplateName": LINK_ALONE}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": LINK_ALONE},
        "spec": {**spec, "resourceClaims": claims},
    }


def wait_ready(user: Kubectl, count: int) -> list[str]:
    """Wait until so many pods are ready."""
    return eventually(
        lambda: ready_pods(user), lambda found: len(found) == count, f"{count} pods are ready"
    )


def test_the_api_server_judges_pools_and_leases_as_check_does(lab: Lab, user: Kubectl) -> None:
    """Every rule of the definitions, by the server's own CEL."""
    del lab
    dry = ("create", "--dry-run=server", "-f-")
    for spec in RIGHT:
        user(*dry, stdin=json.dumps(of_kind("AddressPool", "p", spec)))
    for spec, _ in WRONG:
        with pytest.raises(KubectlError, match=r"[Ii]nvalid"):
            user(*dry, stdin=json.dumps(of_kind("AddressPool", "p", spec)))
    for name, domain, address, right in LEASES:
        lease = json.dumps(lease_of(name, domain, address))
        if right:
            user(*dry, stdin=lease)
            continue
        with pytest.raises(KubectlError, match=r"[Ii]nvalid"):
            user(*dry, stdin=lease)


def token_of(lab: Lab, user: Kubectl, node: str) -> TokenApi:
    """The API for a thief of the token of a node's driver."""
    uid = user.get("node", node)["metadata"]["uid"]
    bound = (f"--bound-object-name={node}", f"--bound-object-uid={uid}")
    account = ("netclaim-driver", f"--namespace={CHART_NAMESPACE}")
    token = user("create", "token", *account, "--bound-object-kind=Node", *bound)
    return TokenApi(lab, token.strip(), "v1")


def lease(address: str, node: str, **meta: Any) -> dict[str, Any]:
    """A lease as the driver of a node makes it."""
    made = lease_of(address, "", address)
    made["spec"] |= {"pool": "stolen", "nodeName": node}
    holder = made["spec"]["claim"]
    labels = {
        POOL_LABEL: "stolen",
        CLAIM_LABEL: holder["uid"],
        NAMESPACE_LABEL: holder["namespace"],
    }
    made["metadata"] |= {"labels": labels, **meta}
    return made


def test_a_stolen_token_leases_for_its_own_node_only(lab: Lab, user: Kubectl) -> None:
    """Leases of other nodes are neither made nor renewed nor deleted; nor are obstacles made."""
    stolen = token_of(lab, user, "kind-worker")
    user.apply(lease("10.9.0.1", "kind-worker2"))
    mine, foreign = f"{LEASES_PATH}/10.9.0.2", f"{LEASES_PATH}/10.9.0.1"
    try:
        assert stolen.call("POST", LEASES_PATH, lease("10.9.0.2", "kind-worker")).code == 201
        assert stolen.call("POST", LEASES_PATH, lease("10.9.0.3", "kind-worker2")).code == 403
        assert stolen.call("DELETE", foreign).code == 403
        there = user.get("addresslease", "10.9.0.1")
        there["spec"]["nodeName"] = "kind-worker"
        assert stolen.call("PUT", foreign, there).code == 403
        own = user.get("addresslease", "10.9.0.2")
        own["spec"]["claim"]["uid"] = "another"
        own["metadata"]["labels"][CLAIM_LABEL] = "another"
        assert stolen.call("PUT", mine, own).code == 403
        stuck = lease("10.9.0.4", "kind-worker", finalizers=["example.com/stuck"])
        assert stolen.call("POST", LEASES_PATH, stuck).code == 403
        others = lease("10.9.0.5", "kind-worker")
        others["spec"]["driver"] = "another.example.com"
        assert stolen.call("POST", LEASES_PATH, others).code == 403
        hidden = lease("10.9.0.5", "kind-worker", labels={})
        assert stolen.call("POST", LEASES_PATH, hidden).code == 403
        assert stolen.call("DELETE", mine).code == 200
    finally:
        user("delete", "addresslease", "10.9.0.1", "10.9.0.2", "--ignore-not-found")


def kept(address: str, node: str, *, nobody: bool, replica: str = "db-0") -> dict[str, Any]:
    """A lease that is kept for a replica; `nobody`: no claim has it now."""
    made = lease(address, node)
    made["spec"] |= {"owner": {**OWNER, "replica": replica}, "kept": nobody}
    made["metadata"]["labels"][KEPT_LABEL] = replica
    return made


def taken_over(user: Kubectl, address: str, node: str, **spec: Any) -> dict[str, Any]:
    """What is stored, for another claim on a node."""
    there = user.get("addresslease", address)
    claim = {**there["spec"]["claim"], "name": "next", "uid": "u2"}
    there["spec"] |= {"nodeName": node, "claim": claim, "kept": False, **spec}
    there["metadata"]["labels"] |= {CLAIM_LABEL: there["spec"]["claim"]["uid"]}
    return there


def test_a_stolen_token_takes_over_only_what_nobody_has(lab: Lab, user: Kubectl) -> None:
    """For the replica that it is kept for, in its namespace; what is kept it does not delete."""
    stolen = token_of(lab, user, "kind-worker")
    free, held = "10.9.1.1", "10.9.1.2"
    user.apply(kept(free, "kind-worker2", nobody=True), kept(held, "kind-worker2", nobody=False))
    try:
        for address, spec in (
            (held, {}),
            (free, {"claim": {"namespace": "other", "name": "next", "uid": "u2"}}),
            (free, {"owner": {**OWNER, "replica": "db-1"}}),
        ):
            wanted = taken_over(user, address, "kind-worker", **spec)
            assert stolen.call("PUT", f"{LEASES_PATH}/{address}", wanted).code in (403, 422)
        wanted = taken_over(user, free, "kind-worker")
        for hidden in ({}, {**wanted["metadata"]["labels"], KEPT_LABEL: "another"}):
            other = {**wanted, "metadata": {**wanted["metadata"], "labels": hidden}}
            assert stolen.call("PUT", f"{LEASES_PATH}/{free}", other).code == 403
        assert stolen.call("DELETE", f"{LEASES_PATH}/{free}").code == 403
        assert stolen.call("PUT", f"{LEASES_PATH}/{free}", wanted).code == 200
        assert stolen.call("DELETE", f"{LEASES_PATH}/{free}").code == 403
        new = kept("10.9.1.4", "kind-worker", nobody=False)
        assert stolen.call("POST", LEASES_PATH, new).code == 201
        assert stolen.call("DELETE", f"{LEASES_PATH}/10.9.1.4").code == 200
        new = kept("10.9.1.3", "kind-worker", nobody=True)
        assert stolen.call("POST", LEASES_PATH, new).code == 403
        unlabelled = kept("10.9.1.3", "kind-worker", nobody=False)
        del unlabelled["metadata"]["labels"][KEPT_LABEL]
        assert stolen.call("POST", LEASES_PATH, unlabelled).code == 403
        left = user.get("addresslease", free)
        left["spec"]["kept"] = True
        assert stolen.call("PUT", f"{LEASES_PATH}/{free}", left).code == 200
    finally:
        user("delete", "addresslease", free, held, "--ignore-not-found")


def stateful_set() -> dict[str, Any]:
    """Two replicas on the network."""
    made = deployment(len(REPLICAS), KEPT_NETWORK)
    made |= {"kind": "StatefulSet", "metadata": {"name": "recorder"}}
    labels = {"app": "recorder"}
    made["spec"] |= {"serviceName": "recorder", "selector": {"matchLabels": labels}}
    made["spec"]["template"]["metadata"]["labels"] = labels
    return made


def links_of(user: Kubectl) -> dict[str, str]:
    """MAC and address of each replica, as its own network namespace says."""
    shown = {pod: user("exec", pod, "--", "ip", "addr", "show", KEPT_NETWORK) for pod in REPLICAS}
    words = {pod: text.split() for pod, text in shown.items()}
    return {
        pod: f"{each[each.index('link/ether') + 1]} {each[each.index('inet') + 1]}"
        for pod, each in words.items()
    }


def wait_replicas(user: Kubectl) -> None:
    """Wait until both replicas are ready."""
    eventually(
        lambda: ready_pods(user), lambda found: set(REPLICAS) <= set(found), "replicas are ready"
    )


def node_of(user: Kubectl, pod: str) -> str:
    """The node that a pod is on."""
    name: str = user.get("pod", pod)["spec"]["nodeName"]
    return name


def test_a_pool_is_used_to_its_last_address(lab: Lab, user: Kubectl) -> None:
    """No address is in two pods, with a driver killed and a node rebooted meanwhile.

    A pod more than there are addresses gets no node, and one when an address is free. A claim that
    asks for the link alone, as those of before, has its node; it says itself why its pod waits.
    """
    ranges = [{"cidr": "10.78.0.0/28", "gateway": "10.78.0.1"}]
    ipam = {"type": "netclaim", "pool": "small"}
    network = {"type": "macvlan", "parent": {"name": "eth1"}, "ipam": ipam}
    user.apply(
        of_kind("AddressPool", "small", {"ranges": ranges}),
        of_kind("PodNetwork", NETWORK, network),
        deployment(SIZE),
    )
    system = lab.kubectl(CHART_NAMESPACE)
    driver = system.items("pods", "--selector=app.kubernetes.io/name=netclaim")[0]
    system("delete", "pod", driver["metadata"]["name"], "--force", "--grace-period=0")
    pods = wait_ready(user, SIZE)
    assert addresses_of(user, pods) == sorted(leased(user))
    assert len(leased(user)) == SIZE

    user("scale", "deployment/camera", f"--replicas={SIZE + 1}")
    said = eventually(
        lambda: list(unschedulable(user).values()), lambda found: len(found) == 1, "a pod waits"
    )
    assert "3 cannot allocate all claims" in said[0]
    assert len(ready_pods(user)) == SIZE
    assert len(leased(user)) == SIZE
    user.apply(linked_alone(), linked_alone_pod())
    eventually(
        lambda: json.dumps(user.items("resourceclaims")),
        lambda text: f"the pool small has no free address: all {SIZE} are leased" in text,
        "the claim of a pod that has a node says why it waits",
    )
    user("delete", "pod", LINK_ALONE, "--wait=true")
    user("delete", "pod", pods[0], "--wait=false")
    eventually(
        lambda: ready_pods(user),
        lambda found: bool(set(found) - set(pods)) and len(found) == SIZE,
        "a pod that had no node has one, and an address",
    )
    user("scale", "deployment/camera", f"--replicas={SIZE}")
    wait_ready(user, SIZE)

    lab.reboot("kind-worker2")
    eventually(
        lambda: (addresses_of(user, wait_ready(user, SIZE)), sorted(leased(user))),
        lambda both: both[0] == both[1] and len(set(both[0])) == SIZE,
        "every pod has the address that is leased for it",
    )
    user("delete", "deployment", "camera", "--wait=true")
    eventually(lambda: leased(user), lambda found: found == {}, "no address is leased")


def hoarder(name: str, *classes: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """A pod, and the template of its claim, which asks for a device of each class."""
    tolerated = [{"key": TAINT, "operator": "Exists"}]
    requests = [
        {"name": f"r{number}", "exactly": {"deviceClassName": each, "tolerations": tolerated}}
        for number, each in enumerate(classes)
    ]
    template = linked_alone()
    template["metadata"] = {"name": name}
    template["spec"] = {"spec": {"devices": {"requests": requests}}}
    made = linked_alone_pod()
    made["metadata"] = {"name": name, "labels": {"app": "hoarder"}}
    made["spec"]["resourceClaims"] = [{"name": "net", "resourceClaimTemplateName": name}]
    return template, made


def test_addresses_that_nobody_uses_are_given_back(lab: Lab, user: Kubectl) -> None:
    """A pod whose claim has more of a pool than its interfaces use is evicted, with a link or not.

    Until then no other pod has a node, and then it starts.
    """
    del lab
    ipam = {"type": "netclaim", "pool": "hoarded"}
    network = {"type": "macvlan", "parent": {"name": "eth1"}, "ipam": ipam}
    user.apply(
        of_kind("AddressPool", "hoarded", {"ranges": [{"cidr": "10.77.0.0/29"}]}),
        of_kind("PodNetwork", HOARDED, network),
    )
    share = "addresses.hoarded"
    user.apply(*hoarder("alone", *[share] * 4), *hoarder("beside", HOARDED, *[share] * 2))
    eventually(
        lambda: user.items("events", "--field-selector=reason=ClaimRefused"),
        lambda found: {each["involvedObject"]["name"] for each in found} >= {"alone", "beside"},
        "events say why the pods are evicted",
    )
    user.apply(*hoarder("right", HOARDED, share))
    user.wait("pod/right", "condition=Ready")
    assert [each["metadata"]["name"] for each in user.items("pods", "-lapp=hoarder")] == ["right"]
    user("delete", "pod", "right", "--wait=true")


def test_replicas_come_back_on_another_node_with_their_addresses(lab: Lab, user: Kubectl) -> None:
    """And with their MAC addresses; when the StatefulSet is deleted, they are free."""
    ranges = [{"cidr": "10.79.0.0/24", "gateway": "10.79.0.1"}]
    keep = {"kinds": ["StatefulSet"]}
    ipam = {"type": "netclaim", "pool": "kept"}
    network = {"type": "macvlan", "parent": {"name": "eth1"}, "ipam": ipam}
    user.apply(
        of_kind("AddressPool", "kept", {"ranges": ranges, "keep": keep}),
        of_kind("PodNetwork", KEPT_NETWORK, network),
        stateful_set(),
    )
    wait_replicas(user)
    before = links_of(user)
    for pod in REPLICAS:
        closed = node_of(user, pod)
        user("cordon", closed)
        try:
            user("delete", "pod", pod, "--wait=true")
            wait_replicas(user)
        finally:
            user("uncordon", closed)
        assert node_of(user, pod) != closed
        assert links_of(user) == before
    named = [each["spec"] for each in user.items("addressleases") if each["spec"]["pool"] == "kept"]
    assert sorted(each["owner"]["replica"] for each in named) == list(REPLICAS)
    user("delete", "statefulset", "recorder", "--wait=true")
    eventually(
        lambda: [each for each in user.items("addressleases") if each["spec"]["pool"] == "kept"],
        lambda found: found == [],
        "no address is kept",
    )
