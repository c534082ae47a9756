"""What an ADD produced: interfaces, addresses, routes, name servers.

Promise: one type, the form of CNI 1.1.0, for every version read; addresses are in canonical form
however the plugin wrote them. Written as 1.0.0 or 1.1.0 nothing is lost, as 0.3.0 to 0.4.0 only
what those cannot hold (an interface's mtu, socketPath and pciID).
Limit: keys outside the specification are dropped. 0.1.0 and 0.2.0 have no place for interfaces, and
one address of each family.
"""

import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import msgspec

from netclaim.cni.errors import BadResultError
from netclaim.cni.version import CHAINING, SPEC_VERSIONS, at_least

KEPT: Final = 1024  # addresses; the same ones pass by many times in a call, and in the next


@lru_cache(maxsize=KEPT)
def _canonical_ip(text: str) -> str:
    if "%" in text:
        raise ValueError(f"{text!r} has a zone")
    return str(ipaddress.ip_address(text))


@lru_cache(maxsize=KEPT)
def _canonical_cidr(text: str) -> str:
    address, slash, prefix = text.partition("/")
    if not (slash and prefix.isdecimal()):
        raise ValueError(f"{text!r} is not ADDRESS/PREFIX")
    return str(ipaddress.ip_interface(f"{_canonical_ip(address)}/{prefix}"))


class Interface(
    msgspec.Struct,
    frozen=True,
    omit_defaults=True,
    rename={"socket_path": "socketPath", "pci_id": "pciID"},
):
    """A link that a plugin made or moved; on the host where `sandbox` is empty."""

    name: str
    mac: str = ""
    mtu: int = 0
    sandbox: str = ""  # path of the network namespace
    socket_path: str = ""
    pci_id: str = ""


class IPConfig(msgspec.Struct, frozen=True, omit_defaults=True):
    """An address, and the interface that has it by its place in the list."""

    address: str  # with the prefix length
    gateway: str = ""
    interface: int | None = None

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "address", _canonical_cidr(self.address))
        if self.gateway:
            msgspec.structs.force_setattr(self, "gateway", _canonical_ip(self.gateway))


class Route(msgspec.Struct, frozen=True, omit_defaults=True):
    """A route inside the container."""

    dst: str
    gw: str = ""
    mtu: int = 0
    advmss: int = 0
    priority: int = 0
    table: int | None = None
    scope: int | None = None

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "dst", _canonical_cidr(self.dst))
        if self.gw:
            msgspec.structs.force_setattr(self, "gw", _canonical_ip(self.gw))


class DNS(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a resolver in the container should use."""

    nameservers: tuple[str, ...] = ()
    domain: str = ""
    search: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NetworkData:
    """The part of a result that a claim's status shows: the interface inside the pod."""

    interface_name: str
    hardware_address: str
    ips: tuple[str, ...]  # canonical, each once


class Result(msgspec.Struct, frozen=True, omit_defaults=True):
    """A CNI result."""

    interfaces: tuple[Interface, ...] = ()
    ips: tuple[IPConfig, ...] = ()
    routes: tuple[Route, ...] = ()
    dns: DNS = DNS()

    def within(self, version: str) -> "Result":
        """Return what a result of this CNI version can hold."""
        if at_least(version, "1.0.0"):
            return self
        if at_least(version, CHAINING):
            links = tuple(
                Interface(link.name, link.mac, sandbox=link.sandbox) for link in self.interfaces
            )
            return msgspec.structs.replace(self, interfaces=links)
        families = list(_families(self))
        return Result(
            ips=tuple(IPConfig(ip.address, ip.gateway) for _, ip, _ in families),
            routes=tuple(route for _, _, routes in families for route in routes),
            dns=self.dns,
        )

    def to_dict(self, version: str) -> dict[str, Any]:
        """Return the result as an object of this CNI version, or of 0.3.0 where it is older."""
        version = version if at_least(version, CHAINING) else CHAINING
        written: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self.within(version)))
        written["cniVersion"] = version
        if not at_least(version, "1.0.0"):
            for ip in written.get("ips", ()):
                ip["version"] = "6" if ":" in ip["address"] else "4"
        return written

    def printed(self, version: str) -> bytes:
        """Return the result as a plugin prints it."""
        written = self.to_dict(version) if at_least(version, CHAINING) else _in_02x(self, version)
        if not written.get("dns"):
            written.pop("dns", None)
        return msgspec.json.encode(written)

    def network_data(self, ifname: str) -> NetworkData:
        """Return what the status shows of the interface that was asked for as `ifname`.

        Where a plugin made several links in the pod, the one of that name counts, else the last;
        addresses count unless they are on a link outside the pod.
        """
        inside = {n: link for n, link in enumerate(self.interfaces) if link.sandbox}
        links = list(inside.values())
        link = next((link for link in links if link.name == ifname), links[-1] if links else None)
        ips = (ip.address for ip in self.ips if ip.interface is None or ip.interface in inside)
        return NetworkData(
            interface_name=link.name if link else ifname,
            hardware_address=link.mac if link else "",
            ips=tuple(dict.fromkeys(ips)),
        )


def read_result(output: bytes, config_version: str) -> Result:
    """Read what a plugin printed; it may leave out the version that its configuration had."""
    try:
        raw = msgspec.json.decode(output)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadResultError(f"not JSON: {error}") from error
    return result_from(raw, config_version)


def result_from(raw: object, config_version: str) -> Result:
    """Read a result from its decoded JSON."""
    if not isinstance(raw, dict):
        raise BadResultError("not an object")
    try:
        present: dict[str, Any] = _without_nulls(raw)
    except RecursionError as error:  # JSON may be nested twice as deep as we can follow
        raise BadResultError("nested too deeply") from error
    version = present.get("cniVersion") or config_version
    if version not in SPEC_VERSIONS:
        raise BadResultError(f"a result of the unknown CNI version {version!r}")
    try:
        if not at_least(version, CHAINING):
            present = _from_02x(present)
        return msgspec.convert(present, Result)
    except (msgspec.ValidationError, AttributeError, TypeError) as error:
        raise BadResultError(f"not a valid result of CNI {version}: {error}") from error


def _without_nulls(raw: Any) -> Any:
    """Drop what is null: plugins written in Go print it for an empty list."""
    if isinstance(raw, dict):
        return {key: _without_nulls(value) for key, value in raw.items() if value is not None}
    if isinstance(raw, list):
        return [_without_nulls(value) for value in raw if value is not None]
    return raw


def _families(result: Result) -> Iterator[tuple[str, IPConfig, tuple[Route, ...]]]:
    """Yield what the oldest versions have of a result: an address of each family, its routes."""
    for key, colon in (("ip4", False), ("ip6", True)):
        ip = next((ip for ip in result.ips if (":" in ip.address) is colon), None)
        if ip is not None:
            yield key, ip, tuple(route for route in result.routes if (":" in route.dst) is colon)


def _in_02x(result: Result, version: str) -> dict[str, Any]:
    written: dict[str, Any] = {"cniVersion": version}
    for key, ip, routes in _families(result):
        written[key] = {"ip": ip.address} | ({"gateway": ip.gateway} if ip.gateway else {})
        if routes:
            written[key]["routes"] = routes
    return written | {"dns": msgspec.to_builtins(result.dns)}


def _from_02x(raw: dict[str, Any]) -> dict[str, Any]:
    """Turn ip4 and ip6, each with its routes, into two lists."""
    families = [raw[key] for key in ("ip4", "ip6") if key in raw]
    return {
        "ips": [
            {"address": family.get("ip"), "gateway": family.get("gateway", "")}
            for family in families
        ],
        "routes": [route for family in families for route in family.get("routes", ())],
        "dns": raw.get("dns", {}),
    }
