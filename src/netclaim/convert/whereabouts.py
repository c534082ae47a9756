"""Read whereabouts' keys under `ipam`: the addresses of a pool, and what no pool can do.

    {"type": "whereabouts", "range": "10.10.1.0/24", "exclude": ["10.10.1.128/25"]}

Promise: a pod gets addresses that whereabouts could have given it, and with the same routes. What
whereabouts passes over is left out with a remark, as for other plugins. No I/O. Limit: what stands
in whereabouts' own file on the nodes is not seen.
"""

import ipaddress
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec

from netclaim.cni.key_case import fold
from netclaim.convert.definition import Definition, UnconvertedError
from netclaim.convert.remarks import Remark, within
from netclaim.model.address_space import IpAddress, IpNetwork, Range, space_of
from netclaim.model.claim import JsonObject
from netclaim.model.device_name import is_dns_label
from netclaim.model.named_pools import POOLED
from netclaim.paths import Path

WHEREABOUTS: Final = "whereabouts"
SMALLEST: Final = 2  # addresses: a network of two has neither of its own
RANGE_KEYS: Final = ("range", "range_start", "range_end", "exclude")
# How whereabouts works, and where it keeps its data; a pool has none of it.
INNER_KEYS: Final = frozenset({
    "configuration_path", "datastore", "etcd_ca_cert_file", "etcd_cert_file", "etcd_host",
    "etcd_key_file", "etcd_password", "etcd_username", "kubernetes", "leader_lease_duration",
    "leader_renew_deadline", "leader_retry_period", "log_file", "log_level",
    "reconciler_cron_expression", "sleep_for_race",
})  # fmt: skip
# What changes nothing that a pod can see, and why.
LEFT_OUT: Final[Mapping[str, str]] = {
    "node_slice_size": "left out: a pool needs no slices for nodes",
    "enable_overlapping_ranges": (
        "left out: in a domain no address is leased twice; networks that are separate have a"
        " network_name each"
    ),
}
KNOWN: Final = frozenset({
    "type", *RANGE_KEYS, "ipranges", "gateway", "routes", "dns", "network_name", "addresses",
    *INNER_KEYS, *LEFT_OUT,
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class PoolDraft:
    """The addresses that networks of Multus have from whereabouts, as a pool has them."""

    domain: str  # whereabouts' network_name
    ranges: tuple[Range, ...]  # at most one of each family
    at: Path  # of the first range, in the configuration that names it


@dataclass(frozen=True, slots=True)
class _Read:
    """The keys under `ipam`, in lower case, with how they are written."""

    found: Mapping[str, Any]
    spelled: Mapping[str, str]
    at: Path
    said: list[tuple[Path, str, bool]]

    @classmethod
    def of(cls, written: JsonObject, at: Path, said: list[tuple[Path, str, bool]]) -> "_Read":
        return cls(
            {fold(key): value for key, value in written.items()},
            {fold(key): key for key in written},
            at,
            said,
        )

    def path(self, key: str) -> Path:
        return (*self.at, self.spelled.get(key, key))

    def text(self, key: str) -> str:
        value = self.found.get(key) or ""
        if not isinstance(value, str):
            raise UnconvertedError("must be a string", path=self.path(key))
        return value

    def items(self, key: str) -> list[Any]:
        value = self.found.get(key) or []
        if not isinstance(value, list):
            raise UnconvertedError("must be a list", path=self.path(key))
        return value

    def say(self, key: str, text: str, *, lost: bool = False) -> None:
        self.said.append((self.path(key), text, lost))


def with_pool(definition: Definition) -> tuple[Definition, PoolDraft | None, tuple[Remark, ...]]:
    """Return a definition whose addresses are a pool's if they were whereabouts'.

    The pool has no name in it yet (`named`).
    """
    for number, plugin in enumerate(definition.plugins):
        ipam = plugin.get("ipam")
        if isinstance(ipam, dict) and ipam.get("type") == WHEREABOUTS:
            said: list[tuple[Path, str, bool]] = []
            read = _Read.of(ipam, (*definition.plugin_at(number), "ipam"), said)
            draft = _draft(read)
            changed = _with_ipam(plugin, read)
            remarks = (within(definition.text, at, text, lost=lost) for at, text, lost in said)
            return _with_plugin(definition, number, changed), draft, tuple(remarks)
    return definition, None, ()


def named(definition: Definition, pool: str) -> Definition:
    """Return a definition whose addresses are those of the pool of this name."""
    for number, plugin in enumerate(definition.plugins):
        ipam = plugin.get("ipam")
        if isinstance(ipam, dict) and ipam.get("type") == POOLED:
            changed = {**plugin, "ipam": {**ipam, "pool": pool}}
            return _with_plugin(definition, number, changed)
    return definition


def _with_plugin(definition: Definition, number: int, plugin: JsonObject) -> Definition:
    plugins = list(definition.plugins)
    plugins[number] = plugin
    is_list = "plugins" in definition.config
    config = {**definition.config, "plugins": plugins} if is_list else plugin
    return replace(definition, plugins=tuple(plugins), config=config)


def _with_ipam(plugin: JsonObject, read: _Read) -> JsonObject:
    """Return the plugin with a pool in the place of whereabouts, which says the rest of it."""
    ipam: JsonObject = {"type": POOLED, "pool": ""}
    if routes := read.items("routes"):
        ipam["routes"] = routes
    changed = {**plugin, "ipam": ipam}
    if (dns := read.found.get("dns")) and not plugin.get("dns"):
        changed["dns"] = dns
    return changed


def _draft(read: _Read) -> PoolDraft:
    for key in read.found:
        if key in LEFT_OUT:
            read.say(key, LEFT_OUT[key])
        elif key not in KNOWN:
            read.say(key, "left out: whereabouts has no such key, and passes over it")
    if read.items("addresses"):
        text = "every pod has them too; the addresses of a network with a pool are the pool's alone"
        read.say("addresses", text, lost=True)
    domain = read.text("network_name")
    if domain and not is_dns_label(domain):
        text = (
            "is the domain of a pool, which is a DNS label of at most 63 characters; choose another"
        )
        raise UnconvertedError(text, path=read.path("network_name"))
    ranges: dict[int, Range] = {}
    at: Path = ()
    for one in _ranges(read):
        found = _range(one)
        version = ipaddress.ip_network(found.cidr).version
        if version in ranges:
            text = f"a pod gets one IPv{version} address of a pool, and has one of the range before"
            one.say("range", text, lost=True)
            continue
        ranges[version] = found
        at = at or one.path("range")
    return PoolDraft(domain, _with_gateway(tuple(ranges.values()), read), at)


def _ranges(read: _Read) -> Iterator[_Read]:
    """Yield the ranges in their order: the one that stands by itself is the first."""
    if read.text("range"):
        yield read
    for number, one in enumerate(read.items("ipranges")):
        at = (*read.path("ipranges"), number)
        if not isinstance(one, dict):
            raise UnconvertedError("must be an object", path=at)
        yield _Read.of(one, at, read.said)
    if not read.text("range") and not read.items("ipranges"):
        raise UnconvertedError(
            "has no range, so whereabouts reads it from a file on each node; write it here",
            path=read.at,
        )


def _range(read: _Read) -> Range:
    """Read a range; a first or last address that whereabouts passes over is left out."""
    written, dash, rest = read.text("range").partition("-")
    try:
        last = ipaddress.ip_interface(rest if dash else written)
        start = str(ipaddress.ip_address(written)) if dash else read.text("range_start")
    except ValueError as error:
        text = "is not a network; for example 10.10.1.0/24"
        raise UnconvertedError(text, path=read.path("range")) from error
    network = last.network
    end = str(last.ip) if dash else read.text("range_end")
    ends = ("range", "range") if dash else ("range_start", "range_end")
    lowest, highest = _usable(network)
    first = _end(start, lowest, highest, read, ends[0]) or lowest
    final = _end(end, first, highest, read, ends[1]) or highest
    found = Range(
        str(network),
        start=str(first) if first != lowest else "",
        end=str(final) if final != highest else "",
        exclude=tuple(map(str, _excluded(network, read))),
    )
    if not space_of([found], network.version).size:
        raise UnconvertedError("no address of it is left for pods", path=read.path("range"))
    return found


def _usable(network: IpNetwork) -> tuple[IpAddress, IpAddress]:
    """The addresses that pods can have of a network; whereabouts leaves out its last, also of IPv6.

    A pool has that one of IPv6, which is an address like any other.
    """
    if network.num_addresses <= SMALLEST:
        return network.network_address, network.broadcast_address
    return network.network_address + 1, network.broadcast_address - (network.version == 4)


def _end(text: str, first: IpAddress, last: IpAddress, read: _Read, key: str) -> IpAddress | None:
    """Return the first or last address of a range; None if whereabouts passes over it."""
    if not text:
        return None
    try:
        address = ipaddress.ip_address(text)
    except ValueError as error:
        raise UnconvertedError("is not an address", path=read.path(key)) from error
    if address.version == first.version and int(first) <= int(address) <= int(last):
        return address
    read.say(key, f"left out: {address} is not from {first} to {last}")
    return None


def _excluded(network: IpNetwork, read: _Read) -> list[IpNetwork]:
    found: list[IpNetwork] = []
    for number, text in enumerate(read.items("exclude")):
        at = (*read.path("exclude"), number)
        try:
            one = ipaddress.ip_network(text, strict=False)
        except ValueError as error:
            raise UnconvertedError("is not a network or an address", path=at) from error
        if one.version != network.version or not one.overlaps(network):
            read.said.append((at, f"left out: {text} is not in {network}", False))
        else:  # of two networks that overlap, one is in the other
            found.append(one if one.prefixlen >= network.prefixlen else network)
    return collapsed(found)


def collapsed(networks: list[IpNetwork]) -> list[IpNetwork]:
    """Return networks of one family in order, as few as there can be."""
    return list(ipaddress.collapse_addresses(networks))  # type: ignore[type-var]


def _with_gateway(ranges: tuple[Range, ...], read: _Read) -> tuple[Range, ...]:
    """Return ranges with the gateway where it is in their network."""
    text = read.text("gateway")
    if not text:
        return ranges
    try:
        gateway = ipaddress.ip_address(text)
    except ValueError as error:
        raise UnconvertedError("is not an address", path=read.path("gateway")) from error
    having = tuple(
        msgspec.structs.replace(one, gateway=str(gateway))
        if gateway in ipaddress.ip_network(one.cidr)
        else one
        for one in ranges
    )
    if having == ranges:
        networks = " and ".join(one.cidr for one in ranges)
        read.say("gateway", f"left out: it is not in {networks}, so that no pod can reach it")
    return having
