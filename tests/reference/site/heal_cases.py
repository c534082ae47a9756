"""Interfaces that heal, of kinds that other machines' kernels may lack: ipvlan and VLAN.

Pods stand on a link of a guest's node. The link is made again before anybody looks, and then once
more after it has been away. What pods on a macvlan have then, `test_flaps` sees on any machine.
"""

from collections.abc import Mapping
from typing import Any, Final

from netclaim.local.cluster import EmbeddedCluster
from netclaim.schema.kinds import CLAIM, CLASS, POD
from tests.embedded.local.test_cluster import add_pod, all_settled, claim_spec, make
from tests.embedded.local.test_flaps import (
    MADE_AGAIN,
    ROUTE,
    events,
    interface,
    ip_batch,
    lacking,
    make_again,
    node_of,
    opaque_of,
    published,
    shown,
)
from tests.reference.site.plugin_state import differences

PLUGINS: Final[Mapping[str, Mapping[str, Any]]] = {
    "ipvlan": {"type": "ipvlan", "name": "by-ipvlan"},
    "vlan": {"type": "vlan", "name": "by-vlan", "vlanId": 100},
}
LINK: Final = "data0"
SUBNETS: Final = {"ipvlan": "10.20.0.0/24", "vlan": "10.20.1.0/24"}
ROUTES: Final = {"ipvlan": "10.20.0.1", "vlan": "10.20.1.1"}


async def heal(cluster: EmbeddedCluster, node: str) -> list[str]:
    """Say where pods have something else on a link that came back than they had before."""
    make_again(cluster, node)
    await cluster.store.wait_for(lambda: published(cluster) == 1)
    spaces = await _pods(cluster)
    before = {kind: interface(netns) for kind, netns in spaces.items()}
    found = [f"{kind} has {has}" for kind, has in before.items() if not _is_whole(kind, has)]

    make_again(cluster, node)
    back = {(kind, "Normal", "NetworkInterfaceRestored") for kind in PLUGINS}
    await cluster.store.wait_for(lambda: back <= events(cluster))
    found += _compared("made again", before, spaces)

    ip_batch(cluster, node, f"link del {LINK}")
    await cluster.store.wait_for(lambda: lacking(cluster) == set(PLUGINS))
    found += [f"{kind} is still there" for kind, netns in spaces.items() if interface(netns)]
    ip_batch(cluster, node, MADE_AGAIN)
    await cluster.store.wait_for(lambda: not lacking(cluster))
    found += _compared("was away", before, spaces)
    found += [f"{event}" for event in events(cluster) if event[-1].endswith("Changed")]

    for kind in PLUGINS:
        cluster.verbs.delete(POD, kind, "default")
    await cluster.store.wait_for(
        lambda: not any(cluster.store.get(POD, kind, "default") for kind in PLUGINS)
    )
    return found + [f"left on the node: {name}" for name in _children(cluster, node)]


async def _pods(cluster: EmbeddedCluster) -> dict[str, str]:
    """Start a pod of each kind; returns their namespaces."""
    others = len(list(cluster.store.list(POD)))
    for kind, plugin in PLUGINS.items():
        written = claim_spec(LINK, SUBNETS[kind], **plugin)
        ipam = written["devices"]["config"][0]["opaque"]["parameters"]["config"]["ipam"]
        ipam["routes"] = [{**ROUTE["routes"][0], "gw": ROUTES[kind]}]
        make(cluster, CLASS, kind, {"config": [opaque_of(written)]})
        wanted = written["devices"]["requests"][0]["exactly"]
        exactly = {
            "deviceClassName": kind,
            "selectors": wanted["selectors"],
            "capacity": {"requests": {"bandwidth": "100M"}},
        }
        make(cluster, CLAIM, kind, {"devices": {"requests": [{"name": "a", "exactly": exactly}]}})
        add_pod(cluster, kind, resourceClaimName=kind)
    pods = await all_settled(cluster, others + len(PLUGINS))
    if reasons := [f"{kind}: {pods[kind].reason}" for kind in PLUGINS if pods[kind].reason]:
        raise AssertionError("; ".join(reasons))
    return {kind: cluster.netns_of(pods[kind].uid) for kind in PLUGINS}


def _is_whole(kind: str, has: tuple[Any, ...]) -> bool:
    """Whether there is all to lose: an address, a route to the subnet and one beyond, limits."""
    if not has:
        return False
    _, ips, ways, limits = has
    return len(ips) == 1 and ROUTES[kind] in {via for _, via in ways} and len(limits) == 2


def _compared(when: str, before: dict[str, Any], spaces: dict[str, str]) -> list[str]:
    now = {kind: interface(netns) for kind, netns in spaces.items()}
    return [f"{when}: {each}" for each in differences(before, now)]


def _children(cluster: EmbeddedCluster, node: str) -> list[str]:
    """Interfaces of pods that stayed in the node's own namespace."""
    links = shown(str(node_of(cluster, node)), "-details", "link", "show")
    kinds = {each["ifname"]: each.get("linkinfo", {}).get("info_kind") for each in links}
    return [name for name, kind in kinds.items() if kind in PLUGINS]


HEALS: Final = "ipvlan and VLAN come back with their link"
