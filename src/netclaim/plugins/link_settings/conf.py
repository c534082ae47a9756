"""The keys of link-settings: routes, rules, neighbours, offloads, sizes, BPF programs.

Promise: what no kernel takes is refused here, with the path of the key. Lists are bounded, since
their length is a tenant's choice. No I/O. Their names are dranet's.
"""

from typing import Annotated, Final

import msgspec

from netclaim.kernel.requests.ip import IpAddress, Network
from netclaim.plugins.engine.conf import U32, Conf, read_cidr, read_ip
from netclaim.plugins.engine.errors import ConfError
from netclaim.plugins.engine.key_rules import KeyRule
from netclaim.plugins.shared.mac import check_mac

LIST_MAX: Final = 64  # of each list: an entry takes the kernel and us some 50 us of a hook's time
SIZE_MAX: Final = 524_280  # 8 * 65535, the kernel's most for one packet
PRIORITY_MAX: Final = 32_765  # the rule of the main table comes after it
SCOPE_MAX: Final = 255  # a byte
LOCAL_TABLE: Final = 255  # the kernel's own; what is in there comes before every rule


def read_network(written: str) -> Network:
    """Read a network in CIDR notation."""
    interface = read_cidr(written)
    if interface.ip != interface.network.network_address:
        raise ConfError(f"{written} has bits beyond its prefix; write {interface.network}")
    return interface.network


def read_range(written: str) -> Network:
    """Read a network, or a single address."""
    return read_network(written if "/" in written else f"{(ip := read_ip(written))}/{_bits(ip)}")


def _bits(ip: IpAddress) -> int:
    return ip.max_prefixlen


class RouteConf(Conf, frozen=True):
    """A route over the interface."""

    destination: Annotated[
        str, KeyRule("where to", check=read_network, missing="for example 10.0.0.0/8")
    ] = ""
    gateway: Annotated[str, KeyRule("by which host; none: on the link itself", check=read_ip)] = ""
    source: Annotated[str, KeyRule("the source of packets that have none", check=read_ip)] = ""
    scope: Annotated[U32, KeyRule("how far it is; 253: the link", high=SCOPE_MAX)] = 0
    table: Annotated[U32, KeyRule("the routing table; 0: the main one, or the VRF's")] = 0
    priority: Annotated[U32, KeyRule("the metric; lower ones are preferred")] = 0
    mtu: Annotated[U32, KeyRule("the largest packet")] = 0

    def refuse(self) -> None:
        version = read_network(self.destination).version
        for key, written in (("gateway", self.gateway), ("source", self.source)):
            if written and read_ip(written).version != version:
                message = f"{written} is of another address family than {self.destination}"
                raise ConfError(message, path=(key,))
        if self.table == LOCAL_TABLE:
            raise ConfError("table 255 is the kernel's own; choose another", path=("table",))


class RuleConf(Conf, frozen=True):
    """Which packets are routed by which table."""

    source: Annotated[str, KeyRule("where packets come from", check=read_range)] = ""
    destination: Annotated[str, KeyRule("where they go", check=read_range)] = ""
    table: Annotated[U32, KeyRule("the routing table", missing="for example 100")] = 0
    priority: Annotated[
        U32, KeyRule("its place; 0: before all others there are", high=PRIORITY_MAX)
    ] = 0

    def refuse(self) -> None:
        if not self.table:
            raise ConfError("table is missing; for example 100", path=("table",))
        if not self.source and not self.destination:
            message = "source or destination is missing; for all packets, write 0.0.0.0/0 or ::/0"
            raise ConfError(message, path=("source",))
        versions = {read_range(each).version for each in (self.source, self.destination) if each}
        if len(versions) > 1:
            message = f"{self.destination} is of another address family than {self.source}"
            raise ConfError(message, path=("destination",))


class NeighborConf(Conf, frozen=True):
    """Who has an address on the link."""

    destination: Annotated[
        str, KeyRule("the address", check=read_ip, missing="for example 10.10.1.1")
    ] = ""
    hardware_addr: Annotated[
        str, KeyRule("its MAC", check=check_mac, missing="for example 02:42:0a:0a:01:01")
    ] = ""


Switches = dict[str, bool]


class EthtoolConf(Conf, frozen=True):
    """What `ethtool` switches."""

    features: Annotated[Switches, KeyRule("offloads, by the names that `ethtool -k` shows")] = (
        msgspec.field(default_factory=dict)
    )
    private_flags: Annotated[Switches, KeyRule("flags that the card's driver defines")] = (
        msgspec.field(default_factory=dict)
    )

    def refuse(self) -> None:
        for key, switches in (("features", self.features), ("privateFlags", self.private_flags)):
            if len(switches) > LIST_MAX:
                raise ConfError(_too_many(len(switches)), path=(key,))


class SettingsConf(Conf, frozen=True):
    """All keys."""

    routes: Annotated[tuple[RouteConf, ...], KeyRule("routes over it, in any order")] = ()
    rules: Annotated[tuple[RuleConf, ...], KeyRule("which packets use which routing table")] = ()
    neighbors: Annotated[
        tuple[NeighborConf, ...], KeyRule("hosts whose MAC is known and stays")
    ] = ()
    ethtool: Annotated[EthtoolConf, KeyRule("what `ethtool` switches")] = EthtoolConf()
    gso_max_size: Annotated[
        U32, KeyRule("the largest packet that the stack hands to the card", high=SIZE_MAX)
    ] = 0
    gro_max_size: Annotated[
        U32, KeyRule("the largest packet that received ones are joined to", high=SIZE_MAX)
    ] = 0
    gso_ipv4_max_size: Annotated[
        U32, KeyRule("the same as gsoMaxSize for IPv4", name="gsoIPv4MaxSize", high=SIZE_MAX)
    ] = 0
    gro_ipv4_max_size: Annotated[
        U32, KeyRule("the same as groMaxSize for IPv4", name="groIPv4MaxSize", high=SIZE_MAX)
    ] = 0
    disable_ebpf_programs: Annotated[
        bool, KeyRule("detach the XDP and TCX programs that see its packets")
    ] = False

    def refuse(self) -> None:
        for key in ("routes", "rules", "neighbors"):
            count = len(getattr(self, key))
            if count > LIST_MAX:
                raise ConfError(_too_many(count), path=(key,))


def _too_many(count: int) -> str:
    return f"has {count} entries; at most {LIST_MAX} are possible"
