"""What endpoints a Service of a network should have.

They are as Kubernetes' own EndpointSlice controller makes them, but for the addresses, which are
those of the pods' interfaces on the network, and for readiness, which needs the interface too.
Addresses of both families are published whatever the Service's `ipFamilies` say: those are the
families of the cluster's primary network.

Promise: the same objects give the same endpoints. An address that a claim chose is published only
if it is in a range of the network, or a tenant could have others send traffic anywhere. No I/O.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any, TypeAlias

from netclaim.controller.services.interfaces import Interface
from netclaim.model.api.own_kinds.pod_network import PodNetwork, PodNetworkSpec
from netclaim.model.api.service import Service, ServicePort
from netclaim.model.claims.claim import JsonObject
from netclaim.model.pools.named_pools import POOLED

Address: TypeAlias = IPv4Address | IPv6Address
Ports: TypeAlias = tuple[tuple[tuple[str, str | int], ...], ...]
"""The ports of a slice: the fields of each, in the order of their names."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One address of a pod, as a slice has it; `group` says which slices it may be in."""

    group: tuple[str, Ports]  # the family, and the ports
    key: tuple[str, str]  # the pod's UID, and the address
    body: JsonObject


class Guard:
    """Which addresses of a network may be published."""

    def __init__(self, network: PodNetwork) -> None:
        ipams = list(_ipams(network.spec))
        self._leased = any(each.get("type") == POOLED for each in ipams)  # also if it was chosen
        self._chosen = "ips" in network.spec.allow
        written = (text for each in ipams for text in _subnets(each))
        self._ranges = [ip_network(text, strict=False) for text in written if _is_net(text)]

    def passes(self, address: Address) -> bool:
        """Whether an address is one that the network has, or at least not chosen by a claim.

        Who chose it does not follow from what the network allows now: it may have allowed more when
        the pod started, and claims of privileged namespaces choose in any case.
        """
        if self._leased:
            return True
        return any(address in each for each in self._ranges) if self._ranges else not self._chosen


def endpoints_of(
    service: Service,
    pods: Iterable[tuple[JsonObject, Iterable[Interface]]],
    guard: Guard,
    zone_of: Callable[[str], str],
) -> Iterator[Endpoint]:
    """The endpoints of a Service: its pods, each with its interfaces on the network."""
    for pod, interfaces in pods:
        if pod["ended"]:
            continue
        ports = _ports(service, pod)
        for interface in interfaces:
            for address in _published(interface, guard):
                family = f"IPv{address.version}"
                body = _body(service, pod, interface, address, zone_of)
                yield Endpoint((family, ports), (pod["metadata"]["uid"], str(address)), body)


def refused_addresses(interfaces: Iterable[Interface], guard: Guard) -> Iterator[Address]:
    """The addresses that are not published because a claim may have chosen them."""
    for interface in interfaces:
        yield from (each for each in _addresses(interface) if not guard.passes(each))


def _published(interface: Interface, guard: Guard) -> Iterator[Address]:
    """The first address of each family: those who read slices use only that."""
    families: set[int] = set()
    for address in _addresses(interface):
        if address.version not in families and guard.passes(address):
            families.add(address.version)
            yield address


def _addresses(interface: Interface) -> Iterator[Address]:
    """The addresses that the API server takes for an endpoint."""
    for text in interface.addresses:
        try:
            address = ip_address(text.partition("/")[0])
        except ValueError:
            continue
        if not (
            address.is_unspecified
            or address.is_loopback
            or address.is_link_local
            or address.is_multicast
        ):
            yield address


def _body(
    service: Service,
    pod: JsonObject,
    interface: Interface,
    address: Address,
    zone_of: Callable[[str], str],
) -> JsonObject:
    meta = pod["metadata"]
    serving = pod["ready"] and interface.works
    terminating = "deletionTimestamp" in meta
    ready = service.spec.publish_not_ready_addresses or (serving and not terminating)
    body: JsonObject = {
        "addresses": [str(address)],
        "conditions": {"ready": ready, "serving": serving, "terminating": terminating},
        "targetRef": {
            "kind": "Pod",
            "namespace": meta["namespace"],
            "name": meta["name"],
            "uid": meta["uid"],
        },
    }
    if pod["hostname"] and pod["subdomain"] == service.metadata.name:
        body["hostname"] = pod["hostname"]
    if node := pod["node"]:
        body["nodeName"] = node
        if zone := zone_of(node):
            body["zone"] = zone
    return body


def _ports(service: Service, pod: JsonObject) -> Ports:
    """The Service's ports in a pod; one that the pod does not name is left out."""
    found = ((port, _number(port, pod)) for port in service.spec.ports)
    fields = (_port(port, number) for port, number in found if number)
    return tuple(tuple(sorted(each.items())) for each in fields)


def _port(port: ServicePort, number: int) -> dict[str, str | int]:
    body: dict[str, str | int] = {"name": port.name, "port": number, "protocol": port.protocol}
    return body | ({"appProtocol": port.app_protocol} if port.app_protocol is not None else {})


def _number(port: ServicePort, pod: JsonObject) -> int:
    """The number of a port in a pod; 0 if no container has a port of its name."""
    wanted = port.target_port or port.port
    if isinstance(wanted, int):
        return wanted
    named = (each for each in pod["ports"] if each[:2] == [wanted, port.protocol])
    return next((int(number) for _, _, number in named), 0)


def _ipams(spec: PodNetworkSpec) -> Iterator[JsonObject]:
    """What a network says of its addresses, itself or in its CNI configuration."""
    for config in _objects([spec.config]):
        yield from _objects([config.get("ipam")])
        yield from _objects(each.get("ipam") for each in _objects(config.get("plugins")))
    yield from _objects([spec.ipam])


def _subnets(ipam: JsonObject) -> Iterator[Any]:
    """The subnets that an ipam configuration gives addresses from."""
    yield ipam.get("subnet")
    ranges = ipam.get("ranges")
    for each in ranges if isinstance(ranges, list) else ():
        yield from (one.get("subnet") for one in _objects(each))
    yield from (each.get("address") for each in _objects(ipam.get("addresses")))


def _objects(found: Any) -> Iterator[JsonObject]:
    """The objects of a list; what an admin wrote may be anything."""
    if not isinstance(found, str | dict) and isinstance(found, Iterable):
        yield from (each for each in found if isinstance(each, dict))


def _is_net(text: Any) -> bool:
    if not isinstance(text, str):  # a number would be read as an address
        return False
    try:
        ip_network(text, strict=False)
    except ValueError:
        return False
    return True
