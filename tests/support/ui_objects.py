"""A cluster for the page: a rack of nodes with links, networks, claims and pods in every state.

`scene` is small and has one of everything, with names as an operator would give them; `crowd` has
as many nodes and claims as are asked for.
"""

from collections.abc import Iterator
from typing import Any, Final

from tests.support.explain_objects import DRIVER, device_class
from tests.support.status_objects import ready_node

API: Final = "resource.k8s.io/v1"
SELECTS: Final = f'device.attributes["{DRIVER}"]'
SHARES: Final = 16


def link(name: str, *, speed: int = 100, shares: int = SHARES, **more: Any) -> dict[str, Any]:
    """A link that claims share, as the network driver publishes it."""
    attributes = {
        "name": {"string": name},
        "ifName": {"string": name},
        "kind": {"string": "device"},
        "speed": {"int": speed * 1000},
        "mtu": {"int": 9000},
    }
    capacity = {
        "attachments": _capacity(str(shares), "1"),
        "bandwidth": _capacity(f"{speed}G", "0"),
        "wholeLink": _capacity("2", "100u"),
    }
    return {
        "name": name,
        "attributes": attributes,
        "allowMultipleAllocations": True,
        "capacity": capacity,
        **more,
    }


def _capacity(value: str, default: str) -> dict[str, Any]:
    return {"value": value, "requestPolicy": {"default": default, "validRange": {"min": "0"}}}


def slice_of(node: str, *devices: dict[str, Any]) -> dict[str, Any]:
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": list(devices)}
    return _object(API, "ResourceSlice", f"slice-{node}", "", spec=spec)


def claim(
    name: str,
    on: str = "",
    *,
    namespace: str = "default",
    network: str = "net",
    gigabits: int = 0,
    pod: str = "",
    ready: bool | None = True,
    message: str = "",
    ip: str = "",
    selector: str = "",
    device_class: str = "nics",
) -> dict[str, Any]:
    """A claim, with a share of `NODE/LINK` if it has one."""
    exactly: dict[str, Any] = {"deviceClassName": device_class}
    if selector:
        exactly["selectors"] = [{"cel": {"expression": selector}}]
    made = _object(
        API,
        "ResourceClaim",
        name,
        namespace,
        spec={"devices": {"requests": [{"name": "nic", "exactly": exactly}]}},
    )
    if not on:
        return made
    node, _, device = on.partition("/")
    place = {"driver": DRIVER, "pool": node, "device": device, "shareID": f"share-{name}"}
    bandwidth = f"{gigabits}G" if gigabits else "0"
    consumed = {"attachments": "1", "bandwidth": bandwidth, "wholeLink": "100u"}
    result = {"request": "nic", **place, "consumedCapacity": consumed}
    config = {"cniVersion": "1.0.0", "name": network, "type": "macvlan"}
    parameters = {"interface": "net1", "config": config}
    opaque = {"source": "FromClaim", "opaque": {"driver": DRIVER, "parameters": parameters}}
    users = [{"resource": "pods", "name": pod, "uid": f"uid-{pod}"}] if pod else []
    made["status"] = {
        "allocation": {"devices": {"results": [result], "config": [opaque]}},
        "reservedFor": users,
    }
    if ready is not None:
        condition = {
            "type": "Ready",
            "status": str(ready),
            "reason": "NetworkReady" if ready else "NetworkNotReady",
            "message": message,
            "lastTransitionTime": "2026-11-17T08:00:00Z",
        }
        made["status"]["devices"] = [
            {
                **place,
                "conditions": [condition],
                "networkData": {
                    "interfaceName": "net1",
                    "ips": [ip] if ip else [],
                    "hardwareAddress": "02:00:0a:0a:01:17",
                },
            }
        ]
    return made


def pod(
    name: str,
    claim: str,
    *,
    namespace: str = "default",
    on: str = "",
    phase: str = "Running",
    why: str = "",
) -> dict[str, Any]:
    """A pod that uses a claim."""
    uses = [{"name": "net", "resourceClaimName": claim}]
    spec: dict[str, Any] = {
        "containers": [{"name": "c", "image": "i", "resources": {"claims": [{"name": "net"}]}}],
        "resourceClaims": uses,
    }
    if on:
        spec["nodeName"] = on
    failed = [{"type": "PodScheduled", "status": "False", "message": why}] if why else []
    status = {"phase": phase, "conditions": failed}
    return {**_object("v1", "Pod", name, namespace, spec=spec), "status": status}


def network(name: str, *, parent: str, vlan: int = 0) -> dict[str, Any]:
    """A PodNetwork that the controller has served."""
    spec: dict[str, Any] = {"type": "macvlan", "parent": {"name": parent}}
    if vlan:
        spec = {"type": "vlan", "parent": {"name": parent}, "vlan": vlan}
    made = _object("cni.networking.x-k8s.io/v1alpha1", "PodNetwork", name, "", spec=spec)
    made["metadata"]["generation"] = 1
    ready = {"type": "Ready", "status": "True", "reason": "Served", "message": ""}
    return {**made, "status": {"observedGeneration": 1, "conditions": [ready]}}


def _object(version: str, kind: str, name: str, namespace: str, **parts: Any) -> dict[str, Any]:
    meta: dict[str, Any] = {"name": name, "uid": f"uid-{kind}-{namespace}-{name}"}
    if namespace:
        meta["namespace"] = namespace
    return {"apiVersion": version, "kind": kind, "metadata": meta, **parts}


def _class(name: str) -> dict[str, Any]:
    return {**device_class(name), "metadata": {"name": name, "uid": f"uid-class-{name}"}}


NODES: Final = ("rack1-a", "rack1-b", "rack1-c", "rack2-a", "rack2-b", "rack2-c")
APPS: Final = (
    # namespace, app, network, Gbit/s of each, and the links that its pods are on
    ("media", "encoder", "media-net", 12, ("rack1-a/eth1",) * 4 + ("rack1-b/eth1",) * 3),
    ("media", "packager", "media-net", 6, ("rack1-a/eth1",) * 3 + ("rack2-a/eth1",) * 4),
    ("storage", "osd", "storage-net", 24, ("rack1-b/eth2", "rack2-a/eth2", "rack2-b/eth2")),
    ("storage", "gateway", "storage-net", 8, ("rack2-b/eth2",) * 2),
    ("trading", "feed", "market-data", 0, ("rack2-b/eth1",) * 5 + ("rack1-c/eth1",) * 2),
    ("lab", "probe", "bench", 2, ("rack1-b/eth1", "rack2-a/eth1")),
)
NO_CARRIER: Final = {"key": f"{DRIVER}/no-carrier", "effect": "NoExecute"}
WAITS: Final = (
    "0/6 nodes are available: 6 cannot allocate all claims. still not schedulable, preemption: 0/6"
)


def scene() -> list[dict[str, Any]]:
    """Six nodes: apps on them, a failed link, a node that is not Ready, two pods that wait."""
    devices = {
        node: [link("eth1"), link("eth2", speed=50), link("eth3", speed=25, shares=4)]
        for node in NODES
    }
    devices["rack2-c"][0] = link("eth1", taints=[NO_CARRIER])
    found = [ready_node(node, "False" if node == "rack1-c" else "True") for node in NODES]
    found += [slice_of(node, *links) for node, links in devices.items()]
    found += map(_class, ("nics", "media-net", "storage-net"))
    found += [network("media-net", parent="eth1"), network("storage-net", parent="eth2", vlan=40)]
    found += _running()
    fault = "ADD macvlan failed: link eth1 has no carrier"
    found += [
        claim(
            "feed-9-net", "rack2-c/eth1", namespace="trading", network="market-data",
            pod="feed-9", ready=False, message=fault,
        ),
        pod("feed-9", "feed-9-net", namespace="trading", on="rack2-c", phase="Pending"),
        claim(
            "encoder-wide-net", namespace="media",
            selector=f'{SELECTS}.ifName == "eht1" && {SELECTS}.speed >= 100000',
        ),
        pod("encoder-wide", "encoder-wide-net", namespace="media", phase="Pending", why=WAITS),
        claim("replica-3-net", namespace="storage", selector=f"{SELECTS}.mtu > 9000"),
        pod("replica-3", "replica-3-net", namespace="storage", phase="Pending", why=WAITS),
    ]  # fmt: skip
    return found


def _running() -> Iterator[dict[str, Any]]:
    for number, (namespace, app, of, gigabits, places) in enumerate(APPS):
        for at, place in enumerate(places):
            name = f"{app}-{at}"
            offered = of if of in ("media-net", "storage-net") else "nics"
            yield claim(
                f"{name}-net", place, namespace=namespace, network=of, gigabits=gigabits,
                pod=name, ip=f"10.{number}.1.{at + 10}/24", device_class=offered,
            )  # fmt: skip
            yield pod(name, f"{name}-net", namespace=namespace, on=place.partition("/")[0])


def crowd(nodes: int, claims: int) -> list[dict[str, Any]]:
    """Return many nodes of four links each, with claims spread over them, each with a pod."""
    names = [f"node-{number:04d}" for number in range(nodes)]
    found = [ready_node(name) for name in names]
    found += [slice_of(name, *(link(f"eth{at}") for at in range(4))) for name in names]
    found.append(_class("nics"))
    for number in range(claims):
        found += crowd_pair(number, names[number % nodes])
    return found


def crowd_pair(number: int, node: str, *, ready: bool = True) -> list[dict[str, Any]]:
    """Return a claim of a crowd, and its pod."""
    name, place = f"app-{number:05d}", f"{node}/eth{number // 3 % 4}"
    space = f"team-{number % 20}"
    return [
        claim(
            f"{name}-net", place, namespace=space, network=f"net-{number % 6}", gigabits=2,
            pod=name, ready=ready, message="" if ready else "the link has no carrier",
            ip=f"10.{number // 60000}.{number // 250 % 250}.{number % 250}/16",
        ),
        pod(name, f"{name}-net", namespace=space, on=node),
    ]  # fmt: skip


MARKUP: Final = "<img src=x onerror=document.title='taken'><b>bold</b>"


def hostile() -> list[dict[str, Any]]:
    """Return what somebody wrote who would like the page to do something: markup in every text."""
    evil = link("eth9", taints=[{"key": MARKUP, "effect": "NoSchedule"}])
    evil["attributes"]["ifName"] = {"string": MARKUP}
    taken = claim(
        MARKUP, "evil-node/eth9", network=MARKUP, pod=MARKUP, ready=False, message=MARKUP, ip=MARKUP
    )
    waiting = claim("evil-wait", selector=f'{SELECTS}.ifName == "{MARKUP}x"')
    return [
        ready_node("evil-node"),
        slice_of("evil-node", evil),
        network(f"{MARKUP}-net", parent=MARKUP),
        taken,
        pod(MARKUP, MARKUP, on="evil-node"),
        waiting,
        pod("evil-wait", "evil-wait", phase="Pending", why=MARKUP),
    ]
