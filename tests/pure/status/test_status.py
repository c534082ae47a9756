"""What a status says of objects: states, users, capacity, problems."""

from typing import Any

import pytest

from netclaim.errors import RequestError
from netclaim.model.api.own_kinds.pod_network import PodNetwork
from netclaim.network.pod_network import class_of
from netclaim.schema.annotated import NOT_CLAIMED, TEMPLATE
from netclaim.status.compose import compose
from netclaim.status.scope import VIEWS, Scope, narrow, scope_of
from netclaim.status.values import Status
from tests.support.status_objects import (
    DRIVER,
    claim,
    device_class,
    link,
    links,
    pod,
    ready_node,
)


def status(*objects: dict[str, Any], **options: Any) -> Status:
    """What is shown of objects."""
    return compose(objects, frozenset({DRIVER}), **options)


def problems(*objects: dict[str, Any], **options: Any) -> list[str]:
    """The problems of objects, each as a line."""
    found = status(*objects, **options).problems
    return [f"{one.severity}: {one.about}: {one.message}" for one in found]


def slice_of(name: str, *devices: dict[str, Any], generation: int, slices: int) -> dict[str, Any]:
    """One of several slices of node one."""
    made = links("one", *devices)
    made["metadata"]["name"] = name
    made["spec"]["pool"] |= {"generation": generation, "resourceSliceCount": slices}
    return made


def test_states_of_devices() -> None:
    """A device is free, used, shared or tainted, and unavailable while its pool is not complete."""
    taint = {"key": "k", "value": "v", "effect": "NoSchedule"}
    note = {"key": "k", "effect": "None"}
    whole = links(
        "one",
        link("free", taints=[note]),
        link("used"),
        link("shared", allowMultipleAllocations=True),
        link("idle", allowMultipleAllocations=True),
        link("tainted", taints=[taint]),
        link("watched"),
    )
    part = links("two", link("late"), slices=2)
    users = (claim("a", "used"), claim("b", "shared"), claim("w", "watched", adminAccess=True))
    found = {one.name: one.state for one in status(whole, part, *users).devices}
    assert found == {
        "free": "free",
        "used": "used",
        "shared": "shared",
        "idle": "free",
        "tainted": "tainted",
        "watched": "free",
        "late": "unavailable",
    }


def test_only_the_newest_generation_counts() -> None:
    """Slices of an older generation hold no devices; that they are there is worth a warning."""
    old = slice_of("old", link("gone"), generation=1, slices=1)
    new = slice_of("new", link("eth0"), generation=2, slices=1)
    assert [one.name for one in status(old, new).devices] == ["eth0"]
    (said,) = problems(old, new)
    assert said.startswith(f"warning: pool {DRIVER}/one: has 1 slice of an older generation")


def test_an_incomplete_pool() -> None:
    """A pool that lacks slices is an error: nothing of it can be allocated."""
    (said,) = problems(slice_of("a", link("eth0"), generation=3, slices=2))
    assert said.startswith(f"error: pool {DRIVER}/one: incomplete: 1 of 2 slices of generation 3;")


def test_capacity_is_summed() -> None:
    """What the claims of a device consume is added up in the notation of the last one."""
    shared = link("eth0", allowMultipleAllocations=True, capacity={"bandwidth": {"value": "10G"}})
    first = claim("a", "eth0", shareID="1", consumedCapacity={"bandwidth": "1500M"})
    second = claim("b", "eth0", shareID="2", consumedCapacity={"bandwidth": "2G"})
    (device,) = status(links("one", shared), first, second).devices
    (capacity,) = device.capacity
    assert (capacity.name, capacity.used, capacity.total) == ("bandwidth", "3500M", "10G")
    assert [use.share_id for use in device.used_by] == ["1", "2"]


def shared_link(**consumed: str) -> Status:
    """A link as our driver publishes it, of which a claim consumes this."""
    one_or_all = {"default": "1", "validValues": ["1", "32"]}
    any_amount = {"default": "0", "validRange": {"min": "0", "step": "1M"}}
    whole = {"default": "100u", "validValues": ["100u", "2"]}
    amounts = {
        "attachments": {"value": "32", "requestPolicy": one_or_all},
        "bandwidth": {"value": "10G", "requestPolicy": any_amount},
        "wholeLink": {"value": "2", "requestPolicy": whole},
    }
    eth0 = link("eth0", allowMultipleAllocations=True, capacity=amounts)
    return status(links("one", eth0), claim("a", "eth0", shareID="1", consumedCapacity=consumed))


@pytest.mark.parametrize(
    ("consumed", "state", "used"),
    [
        ({"attachments": "1", "bandwidth": "0", "wholeLink": "100u"}, "shared", ("1", "0")),
        ({"attachments": "1", "bandwidth": "10G", "wholeLink": "100u"}, "shared", ("1", "10G")),
        ({"attachments": "1", "bandwidth": "0", "wholeLink": "2"}, "used", ("32", "10G")),
        ({"attachments": "32", "bandwidth": "0", "wholeLink": "100u"}, "used", ("32", "10G")),
    ],
)
def test_a_link_that_a_claim_has_alone(
    consumed: dict[str, str], state: str, used: tuple[str, str]
) -> None:
    """All of it is in use, however the claim asked for that; reserved bandwidth is not all."""
    (device,) = shared_link(**consumed).devices
    assert device.state == state
    assert tuple(one.used for one in device.capacity[:2]) == used


def test_a_device_for_one_claim_is_used_completely() -> None:
    """The memory of a GPU that a claim has is in use, although the claim consumes none of it."""
    card = link("gpu0", capacity={"memory": {"value": "80Gi"}})
    for users, used in (((claim("a", "gpu0"),), "80Gi"), ((), "0")):
        (device,) = status(links("one", card), *users).devices
        assert device.capacity[0].used == used


def test_claims_of_other_drivers_are_mentioned() -> None:
    """Who looks for a claim of a GPU learns how to see it."""
    other = claim("gpu", "gpu0")
    other["status"]["allocation"]["devices"]["results"][0]["driver"] = "gpu.example.com"
    found = status(links("one", link("eth0")), claim("a", "eth0"), other)
    assert found.notes == ("1 claim of gpu.example.com not shown; --all-drivers shows it",)
    everything = status(links("one", link("eth0")), claim("a", "eth0"), other, every_driver=True)
    assert everything.notes == ()


@pytest.mark.parametrize(
    ("made", "state"),
    [
        (claim("c"), "Pending"),
        (claim("c", "eth0"), "Allocated"),
        (claim("c", "eth0", pods=("p",)), "Reserved"),
        (claim("c", "eth0", pods=("p",), ready=True), "Ready"),
        (claim("c", "eth0", pods=("p",), ready=False, message="no"), "NotReady"),
    ],
)
def test_states_of_claims(made: dict[str, Any], state: str) -> None:
    """A claim's state is how far it has come, and what its driver says."""
    (found,) = status(links("one", link("eth0")), made).claims
    assert found.state == state
    assert found.message == ("no" if state == "NotReady" else "")


def test_a_pod_with_its_interface() -> None:
    """A pod that has what it claims is Ready, with the interface that the driver reports."""
    held = claim("c", "eth0", pods=("p",), ready=True, ips=("10.0.0.2/24",))
    (found,) = status(links("one", link("eth0")), held, pod("p", "c", on="one")).pods
    (interface,) = found.interfaces
    assert (found.state, found.waiting) == ("Ready", "")
    assert (interface.name, interface.ips, interface.claim) == ("net1", ("10.0.0.2/24",), "c")


def test_each_pod_of_a_shared_claim_has_its_own_interface() -> None:
    """Where the driver lists the pods of a claim, each pod is shown with what is its own."""
    own = [
        {"name": name, "uid": f"uid-{name}", "interfaceName": "net1", "ips": [ip]}
        for name, ip in (("p", "10.0.0.2/24"), ("q", "10.0.0.3/24"))
    ]
    held = claim("c", "eth0", pods=("p", "q"), ready=True, ips=("10.0.0.2/24",), data={"pods": own})
    found = status(
        links("one", link("eth0")), held, pod("p", "c", on="one"), pod("q", "c", on="one")
    )
    assert [one.interfaces[0].ips for one in found.pods] == [("10.0.0.2/24",), ("10.0.0.3/24",)]
    (device,) = found.claims[0].devices
    assert [(one.pod, *one.ips) for one in device.pods] == [
        ("p", "10.0.0.2/24"),
        ("q", "10.0.0.3/24"),
    ]


PREEMPTION = (
    "0/1 nodes are available: 1 cannot allocate all claims. still not schedulable,"
    " preemption: 0/1 nodes are available."
)


@pytest.mark.parametrize(
    ("held", "user", "said"),
    [
        (
            claim("c"),
            pod("p", "c", phase="Pending", why=PREEMPTION),
            "error: pod default/p: waits: 0/1 nodes are available: 1 cannot allocate all claims.",
        ),
        (
            claim("c"),
            pod("p", "c", phase="Pending"),
            "error: pod default/p: waits: claim c is not allocated",
        ),
        (
            claim("other", "eth0", ready=True),
            pod("p", "c", phase="Pending"),
            "error: pod default/p: waits: claim c does not exist",
        ),
        (
            claim("other", "eth0", ready=True),
            pod("p", template="t", phase="Pending"),
            "error: pod default/p: waits: claim for made is not made yet from template t",
        ),
        (
            claim("c", "eth0", pods=("p",)),
            pod("p", "c", on="one", phase="Pending"),
            "warning: pod default/p: waits: the driver on one has not reported eth0 yet",
        ),
        (
            claim("c", "eth0", pods=("p",), ready=False, message="no address"),
            pod("p", "c", on="one", phase="Pending"),
            "error: pod default/p: waits: no address",
        ),
        (
            claim("c", "eth0", pods=("p",), ready=False, message="no address"),
            pod("p", "c", on="one"),
            "error: pod default/p: runs without its interface: no address",
        ),
        (
            claim("c", "eth0", pods=("p",)),
            pod("p", "c", on="one"),
            "warning: pod default/p: runs, but the driver on one has not reported eth0 yet",
        ),
        (
            claim("c", "eth0", ready=False, message="no address"),
            pod("ended", "c", on="one", phase="Succeeded"),
            "error: claim default/c: not ready: no address",
        ),
        (
            claim("c", "eth9", pods=("p",), ready=False, message="lost"),
            pod("p", "c", on="one"),
            "error: claim default/c: device one/eth9 is allocated, but no longer published",
        ),
    ],
)
def test_problems_of_pods_and_claims(held: dict[str, Any], user: dict[str, Any], said: str) -> None:
    """What a pod waits for is said once, with the original words, and what to do."""
    assert said in problems(links("one", link("eth0")), held, user)


def test_a_link_in_a_pod_is_not_missed() -> None:
    """A link that was moved into its pod is no longer published, which is as it should be."""
    held = claim("c", "eth9", pods=("p",), ready=True, ips=("10.0.0.2/24",))
    assert problems(links("one", link("eth0")), held, pod("p", "c", on="one")) == []


def test_a_pod_without_a_device_is_to_be_explained() -> None:
    """The hint is a command that can be typed as it is."""
    found = status(claim("c"), pod("p", "c", phase="Pending")).problems
    assert [one.hint for one in found] == ["netclaim explain pod/p -n default"]


def test_problems_of_devices() -> None:
    """Taints, and two claims on one device, are found."""
    taint = {"key": "k", "value": "v", "effect": "NoExecute"}
    published = links("one", link("eth0"), link("eth1", taints=[taint]))
    assert problems(published, claim("a", "eth0"), claim("b", "eth0")) == [
        "error: device one/eth0: allocated to several claims: default/a and default/b",
        "warning: device one/eth1: tainted: k=v:NoExecute",
    ]


def test_problems_of_nodes() -> None:
    """A node that is Ready and publishes nothing is named, and one that is not and has claims."""
    nodes = (ready_node("one", "False"), ready_node("two"), ready_node("three", "False"))
    assert problems(links("one", link("eth0")), claim("a", "eth0"), *nodes) == [
        "warning: node one: not Ready, with claims on it",
        f"warning: node two: no devices of {DRIVER} are published",
    ]


def test_a_driver_that_publishes_nothing() -> None:
    """A class without a device to select is an error; a cluster without either is not."""
    assert problems(device_class(), ready_node("one")) == [
        f"error: driver {DRIVER}: publishes no devices, but class nics selects them"
    ]
    assert problems(ready_node("one")) == []
    assert status(ready_node("one")).drivers == ()
    assert status(ready_node("one")).notes == (f"there are no devices of {DRIVER}",)
    gpus = links("one", link("gpu0"))
    gpus["spec"]["driver"] = "gpu.example.com"
    (note,) = status(ready_node("one"), gpus).notes
    assert note.endswith("; --all-drivers shows those of gpu.example.com")


def driver_pod(node: str, *, ready: bool = True, waiting: str = "", gone: str = "") -> Any:
    """A pod of the driver, as the chart makes it."""
    env = [{"name": "NETCLAIM_DRIVER_NAME", "value": DRIVER}]
    state = {"waiting": {"reason": waiting}} if waiting else {"running": {}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"netclaim-{node}",
            "namespace": "netclaim-system",
            "labels": {"app.kubernetes.io/name": "netclaim"},
            "deletionTimestamp": gone or None,
        },
        "spec": {"nodeName": node, "containers": [{"name": "driver", "env": env}]},
        "status": {
            "conditions": [{"type": "Ready", "status": str(ready)}],
            "containerStatuses": [{"state": state, "restartCount": 3 * bool(waiting)}],
        },
    }


PUBLISHED = (links("one", link("eth1")), links("two", link("eth1")))


def test_free_links_of_a_driver_that_crashes() -> None:
    """Its slices stay, so somebody has to say that they are worth nothing."""
    crashed = driver_pod("two", ready=False, waiting="CrashLoopBackOff")
    (said,) = problems(*PUBLISHED, driver_pod("one"), crashed)
    assert said.startswith(f"error: driver {DRIVER}: not ready on two (CrashLoopBackOff): pods")
    assert problems(PUBLISHED[0], driver_pod("one"), crashed) == [said]
    (problem,) = status(*PUBLISHED, crashed).problems
    assert problem.hint == "kubectl logs netclaim-two -n netclaim-system --previous"
    for scope in (Scope("links"), Scope("nodes"), Scope("links", ("eth1",))):
        assert narrow(status(*PUBLISHED, crashed), scope).problems == (problem,)


def test_free_links_of_a_driver_that_leaves() -> None:
    """Nothing new is prepared by it, unless another one is there already."""
    leaving = driver_pod("two", gone="2026-11-18T03:00:00Z")
    assert problems(*PUBLISHED, driver_pod("one"), leaving) == [
        f"warning: driver {DRIVER}: being uninstalled on two: no more claims are prepared there"
    ]
    assert problems(*PUBLISHED, leaving, driver_pod("one"), driver_pod("two")) == []


def test_drivers_that_are_no_problem() -> None:
    """One without links is starting; one that is not seen, or of another name, is no matter."""
    other = driver_pod("two", ready=False)
    other["spec"]["containers"][0]["env"][0]["value"] = "other.example.com"
    assert problems(*PUBLISHED, driver_pod("three", ready=False), other) == []


def test_other_drivers() -> None:
    """Devices, claims and pods of other drivers are shown on request only."""
    gpus = links("one", link("gpu0"))
    gpus["spec"]["driver"] = "gpu.example.com"
    gpu_class = device_class("gpus")
    gpu_class["spec"]["selectors"][0]["cel"]["expression"] = 'device.driver == "gpu.example.com"'
    pending = claim("wish")
    pending["spec"]["devices"]["requests"][0]["exactly"]["deviceClassName"] = "gpus"
    held = claim("g", "gpu0", driver="gpu.example.com", pods=("p",))
    there = (gpus, gpu_class, pending, held, pod("p", "g", on="one"))
    ours = status(links("one", link("eth0")), *there)
    assert [one.name for one in ours.devices] == ["eth0"]
    assert (ours.claims, ours.pods) == ((), ())
    every = status(links("one", link("eth0")), *there, every_driver=True)
    assert {one.name for one in every.drivers} == {DRIVER, "gpu.example.com"}
    assert [one.name for one in every.claims] == ["g", "wish"]
    # A driver that reports nothing is not waited for.
    assert [one.state for one in every.pods] == ["Ready"]


def test_an_object_that_cannot_be_read_is_named() -> None:
    """One broken object does not hide the others; null means nothing."""
    broken = links("two", link("eth0"))
    broken["spec"]["pool"] = "text"
    empty = {**claim("c"), "status": {"devices": None, "reservedFor": None}}
    found = status(links("one", link("eth0")), broken, empty)
    assert [one.node for one in found.devices] == ["one"]
    assert [one.state for one in found.claims] == ["Pending"]
    (note,) = found.notes
    assert note.startswith("ResourceSlice slice-two cannot be read: ")


@pytest.mark.parametrize(
    ("words", "scope"),
    [
        ((), Scope()),
        (("pods",), Scope("pods")),
        (("devices",), Scope("links")),
        (("po", "a", "b"), Scope("pods", ("a", "b"))),
        (("pod/a", "pod/b"), Scope("pods", ("a", "b"))),
        (("resourceclaims.resource.k8s.io", "a"), Scope("claims", ("a",))),
        (("link/one/eth0",), Scope("links", ("one/eth0",))),
    ],
)
def test_what_can_be_asked_for(words: tuple[str, ...], scope: Scope) -> None:
    """Views and names are written as for kubectl."""
    assert scope_of(words) == scope


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("podz",), 'podz: unknown view "podz"; did you mean "pod"?'),
        (
            ("xyz",),
            f'xyz: unknown view "xyz"; write {", ".join(VIEWS)} or KIND/NAME',
        ),
        (("pod/a", "b"), "b: write KIND/NAME, for example pod/web"),
        (("pod/",), "pod/: write KIND/NAME, for example pod/web"),
        (("pod/a", "node/b"), "node/b: names of one kind only, and pod/a is given too"),
    ],
)
def test_what_cannot_be_asked_for(words: tuple[str, ...], said: str) -> None:
    """Anything else is one line that says what to write."""
    with pytest.raises(RequestError) as caught:
        scope_of(words)
    assert str(caught.value) == said


EVERYTHING = (
    links("one", link("eth0"), link("eth1")),
    links("two", link("eth0"), slices=2),
    claim("a", "eth1", pods=("p",), ready=True, ips=("10.0.0.2/24",)),
    claim("b"),
    pod("p", "a", on="one"),
    pod("q", "b", phase="Pending"),
    ready_node("one"),
    ready_node("two"),
)


@pytest.mark.parametrize(
    ("scope", "names"),
    [
        (Scope("nodes", ("one",)), ["one", "eth0", "eth1", "a", "p"]),
        (Scope("claims", ("a",)), ["eth1", "a", "p"]),
        (Scope("pods", ("p",)), ["eth1", "a", "p"]),
        (Scope("links", ("one/eth1",)), ["eth1", "a"]),
        (Scope("links", ("eth0",)), ["eth0", "eth0"]),
        (Scope("claims"), ["a", "b"]),
        (Scope("pods", namespace="other"), []),
    ],
)
def test_a_name_brings_what_is_around_it(scope: Scope, names: list[str]) -> None:
    """A node comes with its links, claims and pods; a claim with its device and its pod."""
    found = narrow(status(*EVERYTHING), scope)
    every = (*found.nodes, *found.devices, *found.claims, *found.pods)
    assert [one.name for one in every] == names  # type: ignore[attr-defined]


def test_problems_go_with_what_is_asked_for() -> None:
    """A pod's problem is shown with the pod, a pool's with its node; not with other things."""
    whole = status(*EVERYTHING)
    about = [one.about for one in whole.problems]
    assert about == ["pod default/q", f"pool {DRIVER}/two"]

    def of(scope: Scope) -> list[str]:
        return [one.about for one in narrow(whole, scope).problems]

    assert of(Scope("pods", ("q",))) == about[:1]
    assert of(Scope("pods", ("p",))) == []
    assert of(Scope("nodes", ("two",))) == about[1:]
    assert of(Scope("links")) == about[1:]
    assert of(Scope("claims", namespace="other")) == []


def test_a_name_that_nothing_has() -> None:
    """A name that does not exist is an error that says what does; while watching, it may come."""
    whole = status(*EVERYTHING)
    with pytest.raises(RequestError, match=r'no pod "web"; existing ones: p, q'):
        narrow(whole, Scope("pods", ("web",)))
    with pytest.raises(RequestError, match=r'no claim "z" in namespace x; there are none'):
        narrow(whole, Scope("claims", ("z",), "x"))
    assert narrow(whole, Scope("pods", ("web",)), strict=False).pods == ()


ON_EACH = {"one": "eth1", "two": "eno1"}


def on_network(name: str, node: str, ip: str, kind: str = "macvlan", **also: Any) -> dict[str, Any]:
    """A claim whose pod has an address on a network of its link."""
    made = claim(name, "eth1", pods=(f"pod-{name}",), ready=True)
    made["status"]["allocation"]["devices"]["results"][0]["pool"] = node
    made["status"]["devices"][0]["pool"] = node
    made["status"]["devices"][0]["networkData"] = {"interfaceName": "net1", "ips": [ip]}
    network = {"name": "storage", "plugins": [{"type": kind, **also}]}
    config = {"opaque": {"driver": DRIVER, "parameters": {"config": network}}}
    made["status"]["allocation"]["devices"]["config"] = [config]
    return made


def test_one_address_on_several_nodes() -> None:
    """What host-local of three nodes gave to three pods is an error, which names all of them."""
    nodes = ("one", "two", "three")
    having = [on_network(f"c-{node}", node, "10.10.1.2/24") for node in nodes]
    shown = [links(node, link("eth1")) for node in nodes]
    (said,) = problems(*shown, *having)
    assert said.startswith("error: claim default/c-one: 10.10.1.2 in storage on eth1 is used by 3")
    assert all(f"default/pod-c-{node} ({node})" in said for node in nodes)


def test_one_address_of_the_devices_of_a_network() -> None:
    """Claims of a PodNetwork's own devices say nothing of it; its class and their statuses do."""
    having = []
    for node, name in ON_EACH.items():
        made = on_network(f"c-{node}", node, "10.10.1.2/24")
        del made["status"]["allocation"]["devices"]["config"]
        (device,) = made["status"]["devices"]
        (given,) = made["status"]["allocation"]["devices"]["results"]
        given["device"] = device["device"] = f"media-net-on-{name}"
        device["data"] = {"podNetwork": {"kind": "PodNetwork", "name": "media-net"}}
        having.append(made)
    shown = [links(node, link(f"media-net-on-{name}")) for node, name in ON_EACH.items()]
    network = PodNetwork.read({"metadata": {"name": "media-net"}, "spec": {"type": "macvlan"}})
    (said,) = problems(*shown, *having, class_of(network, DRIVER))
    assert said.startswith("error: claim default/c-one: 10.10.1.2 in media-net is used by 2 pods")


@pytest.mark.parametrize(
    "other",
    [
        on_network("b", "two", "10.10.1.3/24"),
        on_network("b", "two", "10.10.1.2/24", "bridge"),
        on_network("b", "two", "10.10.1.2/24", "vlan", vlanId=7),
        on_network("b", "two", "10.10.1.2/16"),
    ],
)
def test_addresses_that_may_be_the_same(other: dict[str, Any]) -> None:
    """On a bridge of its node, on another VLAN or in another subnet, an address is another one."""
    shown = [links(node, link("eth1")) for node in ("one", "two")]
    assert problems(*shown, on_network("a", "one", "10.10.1.2/24"), other) == []


def test_a_device_that_is_not_healthy() -> None:
    """A pod that has its interface, on a link that does not work, is worth a warning."""
    held = claim("c", "eth0", pods=("p",), ready=True)
    ill = {"type": "Healthy", "status": "False", "reason": "NoCarrier", "message": "no carrier"}
    held["status"]["devices"][0]["conditions"].append(ill)
    (said,) = problems(links("one", link("eth0")), held)
    assert said == "warning: claim default/c: one/eth0 is not healthy: no carrier"


def test_a_pod_whose_networks_are_not_claimed_yet() -> None:
    """What is not there is no template that somebody forgot."""
    waits = pod("camera", phase="Pending")
    entry = {"name": "annotated-networks", "resourceClaimTemplateName": TEMPLATE}
    waits["spec"]["resourceClaims"] = [entry]
    (problem,) = status(waits).problems
    assert problem.message == f"waits: {NOT_CLAIMED}"
    assert problem.hint.startswith("kubectl describe pod camera")


def test_taints_by_rules() -> None:
    """What an admin's rule taints is tainted, and the rule is named."""
    rule = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceTaintRule",
        "metadata": {"name": "maintenance"},
        "spec": {
            "deviceSelector": {"driver": DRIVER, "pool": "one"},
            "taint": {"key": "example.com/down", "effect": "NoSchedule"},
        },
    }
    shown = (links("one", link("eth0")), links("two", link("eth0")), rule)
    assert [one.state for one in status(*shown).devices] == ["tainted", "free"]
    (said,) = problems(*shown)
    assert said == (
        "warning: device one/eth0: tainted: example.com/down:NoSchedule by DeviceTaintRule"
        " maintenance"
    )


@pytest.mark.parametrize(("used", "told"), [("4G", 0), ("4500M", 1), ("5G", 1)])
def test_a_link_that_is_nearly_full(used: str, told: int) -> None:
    """A link of which a tenth is left, or less, is named before claims have to wait."""
    shared = link("eth0", allowMultipleAllocations=True, capacity={"bandwidth": {"value": "10G"}})
    users = [
        claim(name, "eth0", shareID=name, consumedCapacity={"bandwidth": used}) for name in "ab"
    ]
    found = problems(links("one", shared), *users)
    assert [one for one in found if "nearly full" in one] == found
    assert len(found) == told


@pytest.mark.parametrize("why", ["ErrImagePull", "ImagePullBackOff", "CrashLoopBackOff"])
def test_an_update_that_is_stuck(why: str) -> None:
    """A new pod that does not start is reported though the old one works on."""
    new = driver_pod("two", ready=False, waiting=why)
    new["metadata"]["name"] = "netclaim-new"
    (said,) = problems(*PUBLISHED, driver_pod("one"), driver_pod("two"), new)
    assert said.startswith(f"warning: driver {DRIVER}: its update is stuck on two ({why}):")


def test_an_install_that_is_stuck() -> None:
    """A driver whose image cannot be pulled has published nothing, and is reported all the same."""
    (said,) = problems(ready_node("two"), driver_pod("two", ready=False, waiting="ErrImagePull"))
    assert said.startswith(f"error: driver {DRIVER}: not ready on two (ErrImagePull)")


def test_nodes_show_who_uses_what() -> None:
    """The list of nodes has their links with it, for the column that shows who uses them."""
    held = claim("c", "eth0", pods=("p",), ready=True)
    found = narrow(status(ready_node("one"), links("one", link("eth0")), held), Scope("nodes"))
    assert [one.name for one in found.devices] == ["eth0"]
    assert found.claims == ()
