"""Plugins that make one link, in process and by the reference programs: the same of everything.

Kinds of link that this kernel lacks are compared as far as the error.
"""

from pathlib import Path
from typing import Any

import pytest

from tests.reference.site.plugin_cases import (
    DNS,
    DUAL_POOL,
    MAC,
    OTHER_MAC,
    POOL,
    POOL_OF_NONE,
    STATIC,
    case,
    link,
)
from tests.reference.site.plugin_site import Case, both, play
from tests.reference.site.plugin_state import differences

pytestmark = pytest.mark.reference


LONG_S = {"ma\u017fter": "eth1"}  # a master, to Go
CYRILLIC_A = {"m\u0430ster": "eth1"}  # none


def macvlan(name: str, **keys: Any) -> Case:
    """Describe a macvlan, on eth1 unless said otherwise."""
    return case("macvlan", name, **({"master": "eth1"} | keys))


def versions(ipam: dict[str, Any], *listed: str) -> list[Case]:
    """Describe the same macvlan in several versions of CNI."""
    return [macvlan(f"CNI {version}", version=version, ipam=ipam) for version in listed]


IPV6_GATEWAY = {
    "type": "static",
    "addresses": [{"address": "2001:db8::5/64", "gateway": "2001:db8::1"}],
    "routes": [{"dst": "::/0"}],
}


def addresses(*listed: str) -> dict[str, Any]:
    """Describe static addresses."""
    return {"type": "static", "addresses": [{"address": each} for each in listed]}


def with_route(**numbers: int) -> dict[str, Any]:
    """Describe a static address with a route that has these numbers."""
    return STATIC | {"routes": [{"dst": "203.0.113.0/24", "gw": "192.0.2.9"} | numbers]}


POD_MASTER = (link("dev0", "veth peer name dev1 address 02:00:00:00:02:02"), "link set dev0 up")
DEFAULT_ROUTE = ("address add 192.0.2.200/24 dev eth1", "route add default via 192.0.2.254")

ADDRESSES = [
    macvlan("an address", ipam=POOL),
    macvlan("layer 2 only"),
    macvlan("two families and all kinds of routes", ipam=STATIC),
    macvlan("IPv6 with a gateway waits for detection", ipam=IPV6_GATEWAY),
    macvlan("name servers", ipam=POOL, dns=DNS),
    macvlan("no address left", ipam=POOL_OF_NONE, says="no IP addresses", tidy=False),
    macvlan("an address management without addresses", ipam={"type": "static"}, tidy=False),
    macvlan(
        "a route with bits beyond its prefix",
        ipam=STATIC | {"routes": [{"dst": "10.1.2.3/16"}]},
        says="10.1.2.3",
        tidy=False,
    ),
    macvlan(
        "a route over a gateway out of reach",
        ipam=STATIC | {"routes": [{"dst": "10.0.0.0/8", "gw": "172.16.0.1"}]},
        says="10.0.0.0",
        tidy=False,
    ),
    macvlan("a route's numbers below zero", ipam=with_route(priority=-1, table=-1)),
    macvlan("an address of IPv4 written as IPv6", ipam=addresses("::ffff:192.0.2.5/120")),
    macvlan("the network's own address", ipam=addresses("192.0.2.0/24")),
    macvlan("the same address twice", ipam=addresses("192.0.2.5/24", "192.0.2.5/24"), tidy=False),
    macvlan("an address of two", ipam=addresses("192.0.2.5/31")),
]
KEYS = [
    macvlan("mode left empty", mode="", ipam=POOL),
    macvlan("mode private", mode="private", ipam=POOL),
    macvlan("mode vepa", mode="vepa", ipam=POOL),
    macvlan("mode passthru", mode="passthru", ipam=POOL),
    macvlan("a mode that is none", mode="loud", ipam=POOL, says="loud"),
    macvlan("an MTU", mtu=1400, ipam=POOL),
    macvlan("an MTU above the master's", mtu=1501, ipam=POOL, says="MTU"),
    macvlan("a negative MTU", mtu=-1, ipam=POOL, says="MTU"),
    macvlan("a queue for broadcasts", bcqueuelen=123),
    macvlan("a queue that no number can be", bcqueuelen=1 << 32, steps=("ADD",)),
    macvlan("a queue below zero", bcqueuelen=-1, steps=("ADD",)),
    macvlan("an MTU that no number can be", mtu=1 << 32, says="MTU"),
    case(
        "macvlan", "keys in another case, and nulls", MASTER="eth1", Mtu=1300, mode=None, ipam=POOL
    ),
    case("macvlan", "keys with letters that Go folds", ipam=POOL, **LONG_S),
    case("macvlan", "keys that only look alike", ipam=POOL, **CYRILLIC_A),
    macvlan("a number where text belongs", mode=7, ipam=POOL, steps=("ADD",)),
]
MACS = [
    macvlan("a MAC", mac=MAC),
    macvlan("a MAC with dashes", mac=MAC.replace(":", "-")),
    macvlan("a MAC that is none", mac="home", says="home"),
    macvlan("a MAC with dots", mac="0200.0000.0042"),
    macvlan("a MAC of eight bytes", mac=f"{MAC}:00:00", tidy=False),
    macvlan("a MAC that no link may have", mac="01:00:00:00:00:42"),
    macvlan("a MAC by argument", args=(("IgnoreUnknown", "1"), ("MAC", MAC), ("K8S_POD_UID", "7"))),
    macvlan(
        "a MAC by capability goes over all",
        mac="02:00:00:00:00:41",
        args=(("MAC", OTHER_MAC),),
        runtimeConfig={"mac": MAC},
    ),
    macvlan("an argument nobody knows", args=(("COLOUR", "red"),), says="COLOUR"),
]
PLACES = [
    macvlan("the default route's link as master", master="", ipam=POOL, host=DEFAULT_ROUTE),
    macvlan("no master and no default route", master="", ipam=POOL, says="default route"),
    macvlan("a master that is not there", master="eth9", ipam=POOL),
    macvlan(
        "a master in the container", linkInContainer=True, master="dev0", ipam=POOL, pod=POD_MASTER
    ),
    macvlan(
        "a name that the container has", ipam=POOL, pod=(link("net1", "bridge"),), steps=("ADD",)
    ),
    macvlan("a name that the host has", ipam=POOL, host=(link("net1", "bridge"),)),
]
PROTOCOL = [
    # Each IPv6 address waits for duplicates, so one version of each form of a result has them.
    *versions(DUAL_POOL, "0.2.0", "0.4.0", "1.0.0"),
    *versions(POOL, "0.1.0", "0.3.0", "0.3.1", "7.0.0"),
    macvlan("readiness", ipam=POOL, steps=("STATUS",)),
    macvlan("readiness before CNI 1.1.0", ipam=POOL, version="1.0.0", steps=("STATUS", "GC")),
    macvlan("readiness of no address management", ipam={"type": "nobody"}, steps=("STATUS",)),
    macvlan("DEL without ADD", ipam=POOL, steps=("DEL", "ADD", "DEL")),
    macvlan("ADD twice", ipam=POOL, steps=("ADD", "ADD", "DEL"), tidy=False),
]
ABSENT_HERE = [
    case("ipvlan", "an address", master="eth1", ipam=POOL),
    case("ipvlan", "a mode that is none", master="eth1", mode="l4", ipam=POOL, says="l4"),
    case("ipvlan", "no master, no default route", ipam=POOL, says="default", steps=("ADD",)),
    case("ipvlan", "a master that is not there", master="eth9", ipam=POOL, steps=("ADD", "DEL")),
    case("vlan", "an address", master="eth1", vlanId=5, ipam=POOL),
    case("vlan", "no master", vlanId=5, ipam=POOL, says="master", steps=("ADD",)),
    case("vlan", "an id too high", master="eth1", vlanId=4095, says="4095", steps=("ADD",)),
    case("vlan", "an MTU too high", master="eth1", vlanId=5, mtu=9000, says="MTU", steps=("ADD",)),
    case("vlan", "readiness", master="eth1", vlanId=5, ipam=POOL, steps=("STATUS",)),
    case("vlan", "readiness without addresses", master="eth1", vlanId=5, steps=("STATUS",)),
    case("ipvlan", "readiness without addresses", master="eth1", steps=("STATUS",)),
    case("dummy", "readiness without addresses", steps=("STATUS",)),
    case("dummy", "an address", ipam=POOL),
    case("dummy", "no address management", says="IPAM", steps=("ADD",)),
]
TAP = [
    case("tap", "an address", ipam=POOL),
    case("tap", "layer 2 only"),
    case("tap", "several queues, MTU and MAC", multiQueue=True, mtu=1300, mac=MAC),
    case("tap", "an owner", owner=1000),
    case("tap", "an owner and a group", owner=1000, group=100),
    case("tap", "an owner of a great number", owner=(1 << 32) - 2, group=1 << 31),
    case("tap", "an owner that no number can be", owner=1 << 32, steps=("ADD",)),
    case("tap", "an owner, a group, several queues", owner=0, group=0, multiQueue=True),
    case("tap", "a port of a bridge", bridge="br0", pod=(link("br0", "bridge"),)),
    case("tap", "a bridge that is not there", bridge="br9", says="br9", tidy=False),
    case("tap", "two families", ipam=STATIC),
    case("tap", "a MAC by capability", runtimeConfig={"mac": MAC}, args=(("MAC", OTHER_MAC),)),
]


@pytest.mark.parametrize(
    "case", [*ADDRESSES, *KEYS, *MACS, *PLACES, *PROTOCOL, *ABSENT_HERE, *TAP], ids=str
)
def test_links_come_and_go_alike(case: Case, cni_plugins: Path, tmp_path: Path) -> None:
    """Results, kernel state and leases are the same after every step."""
    reference, ours = both(cni_plugins, tmp_path, lambda site: play(site, case))
    assert differences(reference, ours) == []
