"""Functions that lose their kernel driver and get it again, on a guest's node.

A machine's udev would give the new link its name, and `netclaim try` lend it to the node; this does
both. It also gives the link the MAC that the function had: unless the card has one for a function,
igbvf draws one each time.
"""

from pathlib import Path
from typing import Any, Final

from netclaim.kernel import Netns, Rtnl, find_link, list_links, open_netns
from netclaim.kernel.requests.links import set_link
from netclaim.local.cluster import EmbeddedCluster
from netclaim.network import DRIVER_NAME
from netclaim.schema.kinds import CLAIM, POD, SLICE

IGBVF: Final = Path("/sys/bus/pci/drivers/igbvf")
NO_DRIVER: Final = f"{DRIVER_NAME}/no-driver"
LOST: Final = "a function without its kernel driver"
READER: Final = "reader"  # a pod with one function
READER_IFNAME: Final = "net1"


async def lose_drivers(cluster: EmbeddedCluster, machine: Netns) -> list[str]:
    """Say what is wrong with a free function and a pod's that lost their driver for a while."""
    (claim,) = (each for each in cluster.store.list(CLAIM) if _owner(each) == READER)
    (held,) = claim["status"]["allocation"]["devices"]["results"]
    given = {name for each in cluster.store.list(CLAIM) for name in _given(each)}
    free = min(name for name in _functions(cluster) if name not in given)
    found = []

    address, up = _functions(cluster)[free], await _is_up(cluster, free)
    (IGBVF / "unbind").write_text(address)
    await cluster.store.wait_for(lambda: _taints(cluster, free) == {NO_DRIVER})
    await _bind(cluster, machine, free)
    await cluster.store.wait_for(lambda: not _taints(cluster, free))
    if await _is_up(cluster, free) != up:
        found.append(f"{free} is not on or off as before its probe")

    address = _functions(cluster)[held["device"]]
    (IGBVF / "unbind").write_text(address)
    gone = {"Ready": "False", "Healthy": "False"}
    await cluster.store.wait_for(lambda: _conditions(cluster, claim) == gone)
    await cluster.store.wait_for(lambda: _taints(cluster, held["device"]) == {NO_DRIVER})
    await _bind(cluster, machine, held["device"])
    well = {"Ready": "True", "Healthy": "True"}
    await cluster.store.wait_for(lambda: _conditions(cluster, claim) == well)
    uid = cluster.verbs.get(POD, READER, "default")["metadata"]["uid"]
    with open_netns(cluster.netns_of(uid)) as pod, Rtnl.open(pod) as rtnl:
        link = await find_link(rtnl, READER_IFNAME)
    return found if link is not None and link.up else [*found, f"{READER} has {link}"]


async def _bind(cluster: EmbeddedCluster, machine: Netns, name: str) -> None:
    """Give a function its driver again, and the node its link."""
    attributes = _devices(cluster)[name]["attributes"]
    (IGBVF / "bind").write_text(attributes["pciAddress"]["string"])
    (node,) = cluster.nodes
    mac = attributes["mac"]["string"]
    with Rtnl.open(machine) as rtnl:
        (link,) = (each for each in await list_links(rtnl) if not each.kind and not each.loopback)
        await rtnl.call(set_link(link.index, mac=mac))
        await rtnl.call(set_link(link.index, netns_fd=node.netns.fd, name=name))


async def _is_up(cluster: EmbeddedCluster, name: str) -> bool:
    (node,) = cluster.nodes
    with Rtnl.open(node.netns) as rtnl:
        link = await find_link(rtnl, name)
    return link is not None and link.up


def _devices(cluster: EmbeddedCluster) -> dict[str, Any]:
    slices = (each["spec"] for each in cluster.store.list(SLICE))
    ours = (spec for spec in slices if spec["driver"] == DRIVER_NAME)
    return {device["name"]: device for spec in ours for device in spec["devices"]}


def _functions(cluster: EmbeddedCluster) -> dict[str, str]:
    """The PCI addresses of the node's functions, by the names of their devices."""
    attributes = {name: device["attributes"] for name, device in _devices(cluster).items()}
    return {
        name: each["pciAddress"]["string"]
        for name, each in attributes.items()
        if each["isSriovVf"]["bool"]
    }


def _taints(cluster: EmbeddedCluster, name: str) -> set[str]:
    return {taint["key"] for taint in _devices(cluster)[name].get("taints", ())}


def _owner(claim: Any) -> str:
    return str(claim["metadata"].get("ownerReferences", [{"name": ""}])[0]["name"])


def _given(claim: Any) -> list[str]:
    results = claim.get("status", {}).get("allocation", {}).get("devices", {}).get("results", ())
    return [each["device"] for each in results]


def _conditions(cluster: EmbeddedCluster, claim: Any) -> dict[str, str]:
    """What a claim's only device has, by type."""
    meta = claim["metadata"]
    now = cluster.verbs.get(CLAIM, meta["name"], meta["namespace"])
    (device,) = now["status"]["devices"]
    return {each["type"]: each["status"] for each in device["conditions"]}
