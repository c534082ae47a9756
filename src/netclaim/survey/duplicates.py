"""Addresses that several pods have on one network, from the claims' statuses. No I/O.

`host-local` knows the addresses of its own node only: the pods of a DaemonSet may all get the same
one, and no node can see that. Promise: pods count as on one network if they are on the same
PodNetwork, whatever its links are called; or if their claims name the same network, VLAN and subnet
on links of the same name, on whatever nodes; or if they are on the same link of a node. Limit: only
plugins that put a pod on the segment of its link count; a bridge on the node belongs to the node. A
claim that does not say what its PodNetwork is (one that has a network's own device) counts if the
network's class does. Links of other networks that nodes call differently are not compared.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import ip_interface
from typing import Any, Final, NamedTuple

from netclaim.model.api.dra.claim import DeviceResult, DeviceStatus, ResourceClaim
from netclaim.model.api.dra.device_class import DeviceClass
from netclaim.model.devices.link_name import GENERIC, link_of
from netclaim.survey.claim_networks import config_of, first_plugin, networks_of

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


class _Place(NamedTuple):
    """An address, and where it must be the only one: on a PodNetwork, a named network or a link."""

    address: str
    network: str  # for people
    kind: str
    subnet: str = ""


class _Segment(NamedTuple):
    """What a claim says of the network that a device of it is on."""

    pod_network: str
    name: str
    vlan: int
    link: str


class AddressUsers:
    """Who has which address; claims may come, change and go. Each costs what it has itself.

    `networks` are the configurations of PodNetworks by name, see `networks_of`.
    """

    def __init__(self, networks: Mapping[str, Mapping[str, Any]]) -> None:
        self.networks = networks
        self._first: dict[_Place, User] = {}  # who has it, of those that one has
        self._several: dict[_Place, dict[User, None]] = {}  # the same of those that several have
        self._known: dict[tuple[str, str], tuple[tuple[_Place, User], ...]] = {}

    def put(self, claim: ResourceClaim) -> None:
        """Count a claim as it is now; what was known of it before is forgotten."""
        key = claim.metadata.namespace, claim.metadata.name
        self.forget(*key)
        if uses := tuple(dict.fromkeys(_uses(claim, self.networks))):
            self._known[key] = uses
        for place, user in uses:
            if place in self._several:
                self._several[place][user] = None
            elif place in self._first:
                self._several[place] = {self._first.pop(place): None, user: None}
            else:
                self._first[place] = user

    def forget(self, namespace: str, name: str) -> None:
        """Count a claim no longer."""
        for place, user in self._known.pop((namespace, name), ()):
            users = self._several.get(place)
            if users is None:
                del self._first[place]
                continue
            del users[user]
            if len(users) == 1:
                del self._several[place]
                (self._first[place],) = users

    @property
    def shared(self) -> int:
        """How many addresses several pods have; on two networks, it is one."""
        return len({place.address for place in self._several})

    def duplicates(self) -> list[Duplicate]:
        """Return the addresses that several pods have, once each for the same pods."""
        found: dict[tuple[str, tuple[User, ...]], str] = {}
        for place in sorted(self._several):
            users = tuple(sorted(self._several[place], key=str))
            found.setdefault((place.address, users), place.network)
        return [Duplicate(address, network, users) for (address, users), network in found.items()]


def duplicate_addresses(
    claims: Iterable[ResourceClaim], classes: Iterable[DeviceClass] = ()
) -> list[Duplicate]:
    """Return the addresses that several pods have; `classes` say what PodNetworks are."""
    users = AddressUsers(networks_of(classes))
    for claim in claims:
        users.put(claim)
    return users.duplicates()


def _uses(
    claim: ResourceClaim, networks: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[_Place, User]]:
    for given in claim.status.results:
        reported = claim.status.report_of(given)
        segment = _segment(claim, given, reported, networks) if reported is not None else None
        if reported is None or segment is None:
            continue
        for pod, text in _addresses(claim, reported):
            user = User(claim.metadata.namespace, claim.metadata.name, pod, given.pool)
            for place in _places(segment, given, text):
                yield place, user


def _places(segment: _Segment, given: DeviceResult, text: str) -> Iterator[_Place]:
    """Yield where an address must be the only one."""
    try:
        address = ip_interface(text)
    except ValueError:
        return
    ip, subnet = str(address.ip), str(address.network)
    tag = f", VLAN {segment.vlan}" if segment.vlan else ""
    if segment.pod_network:
        yield _Place(ip, segment.pod_network, "PodNetwork", subnet)
    else:
        yield _Place(ip, f"{segment.name} on {segment.link}{tag}", "network", subnet)
    yield _Place(ip, f"{segment.link} of {given.pool}{tag}", "link")


def _addresses(claim: ResourceClaim, reported: DeviceStatus) -> Iterator[tuple[str, str]]:
    if reported.shared.pods:
        for one in reported.shared.pods:
            yield from ((one.name, ip) for ip in one.ips)
        return
    pod = claim.status.pods[0] if len(claim.status.pods) == 1 else ""
    yield from ((pod, ip) for ip in reported.network_data.ips)


def _segment(
    claim: ResourceClaim,
    given: DeviceResult,
    reported: DeviceStatus,
    networks: Mapping[str, Mapping[str, Any]],
) -> _Segment | None:
    """Return the network of a device; None if it does not reach beyond the node."""
    pod_network = reported.pod_network
    config = config_of(claim, given) or networks.get(pod_network, {})
    plugin = first_plugin(config)
    if plugin.get("type") not in ON_SEGMENT:
        return None
    tag = plugin.get("vlanId") if plugin.get("type") == "vlan" else 0
    name, master, link = config.get("name"), plugin.get("master"), link_of(given.device)
    return _Segment(
        pod_network,
        name if isinstance(name, str) else "",
        tag if isinstance(tag, int) else 0,
        master if link == GENERIC and master and isinstance(master, str) else link,
    )
