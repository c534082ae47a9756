"""Addresses that several pods have on one network, from the claims' statuses. No I/O.

`host-local` knows the addresses of its own node only: the pods of a DaemonSet may all get the same
one, and no node can see that. Promise: pods count as on one network if their claims name the same
network, VLAN and subnet on links of the same name, on whatever nodes; or are on the same link of a
node. Limit: only plugins that put a pod on the segment of its link count; a bridge on the node
belongs to the node. Links of one network that nodes call differently are not compared.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import ip_interface
from typing import Any, Final

from netclaim.json_text import read_json
from netclaim.model.api.claim import DeviceResult, DeviceStatus, ResourceClaim

ON_SEGMENT: Final = ("macvlan", "ipvlan", "vlan", "host-device")
UNIQUE: Final = (
    "host-local knows only the addresses of its own node; lease them for the whole cluster, from an"
    " AddressPool with `ipam: {type: netclaim, pool: NAME}` (docs/address-pools.md)"
)


@dataclass(frozen=True, slots=True)
class User:
    """A pod with an address, or a claim if it is not known which pod."""

    namespace: str
    claim: str
    pod: str
    node: str

    def __str__(self) -> str:
        what = "" if self.pod else "claim "
        return f"{what}{self.namespace}/{self.pod or self.claim} ({self.node})"


@dataclass(frozen=True, slots=True)
class Duplicate:
    """An address on a network, and everybody who has it."""

    address: str
    network: str
    users: tuple[User, ...]


@dataclass(frozen=True, slots=True)
class _Segment:
    """What a claim says of the network that a device of it is on."""

    name: str
    vlan: int
    link: str


def duplicate_addresses(claims: Iterable[ResourceClaim]) -> list[Duplicate]:
    """Return the addresses that several pods have."""
    users: dict[tuple[str, ...], dict[User, None]] = {}
    for claim in claims:
        for given in claim.status.results:
            reported = claim.status.report_of(given)
            segment = _segment(claim, given) if reported is not None else None
            if reported is None or segment is None:
                continue
            for pod, text in _addresses(claim, reported):
                user = User(claim.metadata.namespace, claim.metadata.name, pod, given.pool)
                for key in _keys(segment, given, text):
                    users.setdefault(key, {})[user] = None
    found = {
        (key[0], tuple(sorted(having, key=str))): key[1]
        for key, having in users.items()
        if len(having) > 1
    }
    return [Duplicate(address, network, having) for (address, having), network in found.items()]


def _keys(segment: _Segment, given: DeviceResult, text: str) -> Iterator[tuple[str, ...]]:
    """Yield what an address must be unique in, with the address and the network's name first."""
    try:
        address = ip_interface(text)
    except ValueError:
        return
    tag = f", VLAN {segment.vlan}" if segment.vlan else ""
    first = (str(address.ip), f"{segment.name} on {segment.link}{tag}")
    yield (*first, str(address.network))
    yield (first[0], f"{given.device} of {given.pool}{tag}", "one link")


def _addresses(claim: ResourceClaim, reported: DeviceStatus) -> Iterator[tuple[str, str]]:
    if reported.shared.pods:
        for one in reported.shared.pods:
            yield from ((one.name, ip) for ip in one.ips)
        return
    pod = claim.status.pods[0] if len(claim.status.pods) == 1 else ""
    yield from ((pod, ip) for ip in reported.network_data.ips)


def _segment(claim: ResourceClaim, given: DeviceResult) -> _Segment | None:
    """Return the network of a device; None if it does not reach beyond the node."""
    config = config_of(claim, given)
    plugins = config.get("plugins")
    plugin = plugins[0] if isinstance(plugins, list) and plugins else config
    if not isinstance(plugin, Mapping) or plugin.get("type") not in ON_SEGMENT:
        return None
    tag = plugin.get("vlanId") if plugin.get("type") == "vlan" else 0
    name, link = config.get("name"), plugin.get("master")
    return _Segment(
        name if isinstance(name, str) else "",
        tag if isinstance(tag, int) else 0,
        link if link and isinstance(link, str) else given.device,
    )


def config_of(claim: ResourceClaim, given: DeviceResult) -> Mapping[str, Any]:
    """Return the network that an allocation has for a request; the claim's own entry counts."""
    allocation = claim.status.allocation
    found: Any = {}
    for entry in allocation.devices.config if allocation is not None else ():
        concerned = not entry.requests or given.request.partition("/")[0] in entry.requests
        opaque = entry.opaque
        if opaque is None or opaque.driver != given.driver or not concerned:
            continue
        if isinstance(opaque.parameters, Mapping) and opaque.parameters.get("config"):
            found = opaque.parameters["config"]
    if isinstance(found, str):
        try:
            found = read_json(found)
        except ValueError:
            return {}
    return found if isinstance(found, Mapping) else {}
