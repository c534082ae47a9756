"""Pods that have the same address on one network: an error that no single node can see. No I/O.

Promise: each address that several pods on one segment have is reported for all of them. Limit: only
plugins that put a pod on the segment of its link count; a bridge on the node belongs to the node.
"""

import ipaddress
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final, NamedTuple

from netclaim.cni.conflist import PluginConf
from netclaim.errors import NetclaimError
from netclaim.local.api.store import Store
from netclaim.local.result.interfaces import Interface
from netclaim.local.result.outcome import PodOutcome
from netclaim.local.topology import Topology
from netclaim.model.api.dra.claim import ResourceClaim
from netclaim.model.api.own_kinds.pod_network import PodNetwork
from netclaim.model.claims.claim import parse_claim
from netclaim.model.devices.link_name import GENERIC, link_of
from netclaim.network.devices.device import device_name
from netclaim.network.devices.network_device import is_device_of
from netclaim.network.networks.claims import with_networks
from netclaim.network.pod_network import network_of
from netclaim.network.request.parameters import read_claim
from netclaim.schema.kinds import CLAIM, CLASS, POD_NETWORK
from netclaim.screen.words import listed
from netclaim.survey.duplicates import ON_SEGMENT

HOST_LOCAL: Final = "host-local"
PER_NODE: Final = (
    "host-local knows only the addresses of its own node; lease them for the whole cluster, from an"
    " AddressPool with `ipam: {type: netclaim, pool: NAME}` (docs/address-pools.md)"
)
ON_ONE_NODE: Final = "give each network on this link a range of its own"


class _Use(NamedTuple):
    """An address on a segment, and the pod that has it."""

    segment: str
    address: str
    pod: PodOutcome
    ipam: str
    nodes: frozenset[str]  # that have a link on the segment


def with_duplicates(
    found: Sequence[PodOutcome], store: Store, topology: Topology, drivers: Collection[str]
) -> tuple[PodOutcome, ...]:
    """Return the outcomes, with an error for pods whose address another pod has too."""
    users: dict[tuple[str, str], list[_Use]] = {}
    for pod in found:
        if pod.state == "ready":
            for use in _uses(pod, store, topology, drivers):
                users.setdefault((use.segment, use.address), []).append(use)
    reasons = {
        use.pod.uid: _reason(uses)
        for uses in users.values()
        if len({use.pod.uid for use in uses}) > 1
        for use in uses
    }
    return tuple(
        replace(pod, state="stopped", stage="address", reason=reasons[pod.uid])
        if pod.uid in reasons
        else pod
        for pod in found
    )


def per_node_doubts(
    found: Sequence[PodOutcome], store: Store, topology: Topology, drivers: Collection[str]
) -> tuple[str, ...]:
    """Warn about PodNetworks on which every node would hand out the same addresses.

    Pods that have one address already are an error, which says the same. What others configure may
    be for one node.
    """
    doubts: dict[str, str] = {}
    for pod in found:
        if pod.state != "ready" or not _is_on_network(pod, store):
            continue
        for use in _uses(pod, store, topology, drivers):
            others = sorted(use.nodes - {pod.node})
            if use.ipam == HOST_LOCAL and others:
                where = f"{use.segment}: pods on {listed(others)} would get the addresses of those"
                doubts.setdefault(use.segment, f"{where} on {pod.node}; {PER_NODE}")
    return tuple(doubts.values())


def _is_on_network(pod: PodOutcome, store: Store) -> bool:
    """Whether a pod has an interface on a PodNetwork, which is the same on all its nodes."""
    for interface in pod.interfaces:
        claim = store.get(CLAIM, interface.claim, pod.namespace)
        for name in ResourceClaim.read(claim).classes if claim is not None else ():
            network = store.get(POD_NETWORK, name)
            if network is not None and not PodNetwork.read(network).spec.parent.overrides:
                return True
    return False


def _reason(uses: Sequence[_Use]) -> str:
    pods = {use.pod.uid: use.pod for use in uses}.values()
    named = ", ".join(f"{pod.namespace}/{pod.name} ({pod.node})" for pod in pods)
    across = len({pod.node for pod in pods}) > 1
    message = f"{uses[0].address} on {uses[0].segment} is used by {named}"
    if across and all(use.ipam == HOST_LOCAL for use in uses):
        return f"{message}; {PER_NODE}"
    return message if across else f"{message}; {ON_ONE_NODE}"


def _uses(
    pod: PodOutcome, store: Store, topology: Topology, drivers: Collection[str]
) -> Iterator[_Use]:
    for interface in pod.interfaces:
        plugin = _plugin(pod, interface, store, drivers)
        if plugin is None or plugin.type not in ON_SEGMENT:
            continue
        network = _network(topology, pod.node, interface.device, plugin)
        if not network:
            continue
        links = next(one.links for one in topology.networks if one.name == network)
        nodes = frozenset(link.node for link in links)
        tag = plugin.config.get("vlanId", 0) if plugin.type == "vlan" else 0
        segment = f"network {network}, VLAN {tag}" if tag else f"network {network}"
        for ip in interface.ips:
            yield _Use(segment, str(ipaddress.ip_interface(ip).ip), pod, plugin.ipam_type, nodes)


@dataclass(frozen=True, slots=True)
class _Networks:
    """The PodNetworks of the cluster, as the drivers know them: by their classes."""

    store: Store
    listed: ClassVar[bool] = True  # all there are

    def of_device(self, device: str) -> PodNetwork | None:
        """The network whose device this is."""
        there = map(network_of, self.store.list(CLASS))
        return next((one for one in there if one and is_device_of(one.name, device)), None)


def _plugin(
    pod: PodOutcome, interface: Interface, store: Store, drivers: Collection[str]
) -> PluginConf | None:
    """Return the plugin that made an interface; None if the claim does not say any more."""
    claim = store.get(CLAIM, interface.claim, pod.namespace)
    if claim is None:
        return None
    networks = _Networks(store)
    for driver in drivers:
        try:
            requests = read_claim(with_networks(parse_claim(claim).of_driver(driver), networks))
        except NetclaimError:
            continue
        for request in requests:
            if request.device.device == interface.device and request.ifname == interface.name:
                return request.network.plugins[0]
    return None


def _network(topology: Topology, node: str, device: str, plugin: PluginConf) -> str:
    """Return the topology's network that a device is on; empty if it was made later.

    The device that stands for no link is where the plugin's master is: on the primary network,
    which has the default route, if none is named.
    """
    device = link_of(device)
    if device == GENERIC:
        master = str(plugin.config.get("master") or "")
        if not master:
            return topology.networks[0].name
        device = device_name(master)
    for network in topology.networks:
        for link in network.links:
            if link.node == node and device_name(link.name) == device:
                return network.name
    return ""
